#include "cuda/indexed_transfer.hpp"

#include "core/array/access_tracker.hpp"
#include "core/async/task.hpp"
#include "cuda/launch/indexed_kernel.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/route/converted_items.hpp"
#include "cuda/route/index_fence.hpp"
#include "cuda/route/index_table.hpp"
#include "cuda/route/packed_parts.hpp"
#include "cuda/route/transfer_order.hpp"
#include "cuda/stream/capture.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream_access.hpp"

namespace via::cuda {
namespace {

constexpr char kWhat[] = "a copy by index on a device";

Status launch_part(const Transfer &transfer, const IndexedRows &rows, uint64_t fault, const ResolvedStream &stream) {
    return launch_where_reached(transfer, stream,
                                [&](const ResolvedStream &home) { return launch_indexed(rows, fault, home); });
}

// The rows, packed one after the other.
class PackedRows final : public PackedItems {
public:
    PackedRows(const IndexedTransfer &transfer, const IndexedRows &rows, uint64_t fault)
        : PackedItems(transfer.transfer, rows.count, rows.row_bytes, transfer.host), rows_(rows), fault_(fault) {}

    Status copy_on_device(const ResolvedStream &stream) override {
        return launch_part(reached(), rows_, fault_, stream);
    }

private:
    Status pack_items(int64_t first, int64_t count, char *packed, const ResolvedStream &stream) override {
        const IndexedRows rows = packed_from(via::part_of(rows_, first, count), packed);
        return launch_part(with_src_only(reached()), rows, 0, stream);
    }

    Status unpack_items(int64_t first, int64_t count, const char *packed, const ResolvedStream &stream) override {
        const IndexedRows rows = unpacked_from(via::part_of(rows_, first, count), packed);
        return launch_part(with_dst_only(reached()), rows, 0, stream);
    }

    const IndexedRows &rows_;  // with lists that the device reaches
    const uint64_t fault_;     // the address of the record of faults; 0: none
};

// ------------------------------------------------------------------------------------------------ all routes

bool has_device_lists(const IndexedTransfer &transfer) {
    return transfer.dst_index != nullptr || transfer.src_index != nullptr;
}

Status check_list(const char *argument, via_array *list, const ResolvedStream &stream) {
    if (list == nullptr || list->device_type != VIA_DEVICE_CUDA) {
        return VIA_OK;
    }
    const Side side{list->device_type, list->device_id};
    const Transfer reads{list->data, list->data, 1, {VIA_DEVICE_CUDA_HOST, 0}, side, nullptr, nullptr};
    return reaches_memory(reads, stream)
               ? VIA_OK
               : fail(VIA_ERROR_UNSUPPORTED, "%s is memory of another context than stream; expected the same one",
                      argument);
}

Status check(const IndexedTransfer &transfer, const ResolvedStream &stream) {
    VIA_TRY(need_kernels_of_items(transfer.transfer, kWhat));
    VIA_TRY(check_items(transfer.transfer, stream));
    if (items_route(transfer.transfer) == ItemsRoute::Peer) {
        return VIA_OK;  // each device launches its part where its list is reached
    }
    VIA_TRY(check_list("dst_index", transfer.dst_index, stream));
    return check_list("src_index", transfer.src_index, stream);
}

// Lists are waited for where a kernel reads them.
Status wait_before(const IndexedTransfer &transfer, const ResolvedStream &stream) {
    VIA_TRY(wait_for_items(transfer.transfer, stream));
    for (via_array *list : {transfer.dst_index, transfer.src_index}) {
        VIA_TRY(list != nullptr ? wait_until_ready(list, stream) : VIA_OK);
    }
    return VIA_OK;
}

// Queues the copy, after everything has been waited for. Tables are kept until the work has ended.
Status enqueue(const IndexedTransfer &transfer, IndexTable *table, const ResolvedStream &stream, via_task *task,
               FaultRecord *record) {
    if (has_device_lists(transfer) && !stream.capturing) {
        VIA_TRY(record->make({stream.context, stream.context_id}, transfer.rows));
    }
    ReachedLists lists;
    IndexedRows reached;
    VIA_TRY(lists.find(transfer, table, stream, &reached));
    if (transfer.converted != nullptr) {
        ConvertedItems rows(transfer, reached);
        return enqueue_items(rows, stream, task);
    }
    PackedRows rows(transfer, reached, record->address());
    return enqueue_items(rows, stream, task);
}

// Records the end of the work, with the faults that it finds. Waits for it if no fence can be recorded.
Status record_end(const IndexedTransfer &transfer, IndexTable *table, const ResolvedStream &stream, FaultRecord *record,
                  Fence **out_fence) {
    UniqueFence end;
    VIA_TRY(record_or_wait(stream, end.out()));
    if (end.get() == nullptr) {
        return record->check();
    }
    if (host_bytes(transfer) > 0) {
        table->note_run(end.get());
    }
    if (record->address() == 0) {
        *out_fence = end.release();
        return VIA_OK;
    }
    Fence *plain = retained(end.get());
    if (make_index_fence(plain, record, out_fence) == VIA_OK) {
        return VIA_OK;
    }
    VIA_TRY(end.get()->wait());
    return record->check();
}

// Tracks the arrays: readers of dst learn of faults.
Status note_arrays(const IndexedTransfer &transfer, Fence *end) {
    VIA_TRY(set_last_write(transfer.transfer.dst_array->storage, end));
    for (via_array *array : {transfer.transfer.src_array, transfer.dst_index, transfer.src_index}) {
        VIA_TRY(array != nullptr ? add_access(array->storage, end) : VIA_OK);
    }
    return VIA_OK;
}

Status capture(const IndexedTransfer &transfer, IndexTable *table, const ResolvedStream &stream) {
    for (via_array *array :
         {transfer.transfer.dst_array, transfer.transfer.src_array, transfer.dst_index, transfer.src_index}) {
        VIA_TRY(array != nullptr ? hold_in_graph(stream, array->storage) : VIA_OK);
    }
    FaultRecord none;
    return enqueue(transfer, table, stream, nullptr, &none);
}

// Queues the work after what comes before, and notes its end on the arrays.
Status run_on(const IndexedTransfer &transfer, IndexTable *table, const ResolvedStream &stream) {
    VIA_TRY(wait_before(transfer, stream));
    FaultRecord record;
    VIA_TRY(end_failed(enqueue(transfer, table, stream, nullptr, &record), stream));
    UniqueFence end;
    VIA_TRY(record_end(transfer, table, stream, &record, end.out()));
    return end.get() != nullptr ? note_arrays(transfer, end.get()) : VIA_OK;
}

}  // namespace

Status prepare_indexed(const IndexedTransfer &transfer, via_stream *stream) {
    ResolvedStream resolved;
    VIA_TRY(resolve_for(transfer.transfer, kWhat, stream, &resolved));
    return check(transfer, resolved);
}

Status indexed_now(const IndexedTransfer &transfer, IndexTable *table) {
    ResolvedStream stream;
    VIA_TRY(resolve_for(transfer.transfer, kWhat, nullptr, &stream));
    VIA_TRY(check(transfer, stream));
    VIA_TRY(follow_other_device(transfer.transfer, stream));
    const RelaxedCapture relaxed;
    VIA_TRY(wait_before(transfer, stream));
    FaultRecord record;
    VIA_TRY(end_failed(enqueue(transfer, table, stream, nullptr, &record), stream));
    VIA_TRY(wait_for_stream(stream));
    return record.check();
}

Status indexed_on(const IndexedTransfer &transfer, IndexTable *table, via_stream *stream) {
    ResolvedStream resolved;
    VIA_TRY(resolve_for(transfer.transfer, kWhat, stream, &resolved));
    VIA_TRY(check(transfer, resolved));
    if (resolved.capturing) {
        VIA_TRY(wait_before(transfer, resolved));
        return capture(transfer, table, resolved);
    }
    return run_on(transfer, table, resolved);
}

Status indexed_for_task(const IndexedTransfer &transfer, IndexTable *table, via_task *task, Fence **out_fence) {
    ResolvedStream stream;
    VIA_TRY(internal_stream(device_of_transfer(transfer.transfer), kTaskStream, &stream));
    const RelaxedCapture relaxed;
    VIA_TRY(check(transfer, stream));
    FaultRecord record;
    VIA_TRY(end_failed(enqueue(transfer, table, stream, task, &record), stream));
    return record_end(transfer, table, stream, &record, out_fence);
}

}  // namespace via::cuda
