#include "cuda/indexed_transfer.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "core/array/access_tracker.hpp"
#include "core/async/task.hpp"
#include "core/system/pages.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/io_endpoint.hpp"
#include "cuda/launch/indexed_kernel.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/index_fence.hpp"
#include "cuda/route/index_table.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/stream/capture.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream_access.hpp"

namespace via::cuda {
namespace {

constexpr char kWhat[] = "a copy by index on a device";

// The number of the internal stream for tasks.
constexpr int32_t kTaskStream = 1;

// Rows go so many bytes at a time through scratch memory: enough to keep the link busy, and to lose little between two.
constexpr int64_t kPartBytes = int64_t{128} << 20;
constexpr int64_t kBouncedBytes = int64_t{4} << 20;

constexpr Side kPageable{VIA_DEVICE_CPU, 0};

struct Launch {
    const IndexedRows &rows;
    uint64_t fault;
};

Status launch_on(const void *what, const ResolvedStream &stream) {
    const auto &launch = *static_cast<const Launch *>(what);
    return launch_indexed(launch.rows, launch.fault, stream);
}

// The part of one side: the rest is memory that every kernel reaches.
constexpr Side kBuffer{VIA_DEVICE_CUDA_HOST, 0};

Status launch_part(const Transfer &transfer, const IndexedRows &rows, uint64_t fault, const ResolvedStream &stream) {
    const Launch launch{rows, fault};
    return launch_where_reached(transfer, stream, launch_on, &launch);
}

Transfer with_dst_only(const Transfer &transfer) {
    Transfer part = transfer;
    part.src_side = kBuffer;
    return part;
}

Transfer with_src_only(const Transfer &transfer) {
    Transfer part = transfer;
    part.dst_side = kBuffer;
    return part;
}

// ------------------------------------------------------------------------------------------------ staged

// The packed rows of host memory, as bytes that workers of the ring read and write.
class PackedRows final : public IoEndpoint {
public:
    PackedRows(const IndexedTransfer &transfer, const IndexedRows &rows) : transfer_(transfer), rows_(rows) {}

    Status read(void *slot, int64_t offset, int64_t nbytes) override {
        transfer_.pack(rows_, offset, nbytes, static_cast<char *>(slot));
        return VIA_OK;
    }

    Status write(const void *slot, int64_t offset, int64_t nbytes) override {
        transfer_.unpack(rows_, offset, nbytes, static_cast<const char *>(slot));
        return VIA_OK;
    }

private:
    const IndexedTransfer &transfer_;
    const IndexedRows &rows_;
};

// A staged copy under way, a part of the rows at a time.
class StagedRows {
public:
    StagedRows(const IndexedTransfer &transfer, const IndexedRows &reached, const ResolvedStream &stream,
               via_task *task)
        : transfer_(transfer), reached_(reached), stream_(stream), task_(task) {}

    VIA_NODISCARD Status run() {
        const IndexedRows &rows = transfer_.rows;
        const int64_t each = std::clamp<int64_t>(kPartBytes / rows.row_bytes, 1, rows.count);
        for (int64_t first = 0; first < rows.count; first += each) {
            if (is_cancelled(task_)) {
                return fail(VIA_ERROR_CANCELLED, "the task was cancelled after %lld of %lld rows", as_printed(first),
                            as_printed(rows.count));
            }
            VIA_TRY(run_part(first, std::min(each, rows.count - first)));
        }
        return VIA_OK;
    }

private:
    Status run_part(int64_t first, int64_t count) {
        const IndexedRows on_host = via::part_of(transfer_.rows, first, count);
        const IndexedRows on_device = via::part_of(reached_, first, count);
        Scratch scratch;
        VIA_TRY(scratch.allocate(on_host.nbytes(), stream_));
        auto *packed = static_cast<char *>(scratch.address());
        const bool to_device = is_to_device(transfer_.transfer);
        if (to_device) {
            VIA_TRY(cross(on_host, packed));
            return end_failed(
                launch_part(with_dst_only(transfer_.transfer), unpacked_from(on_device, packed), 0, stream_), stream_);
        }
        VIA_TRY(end_failed(launch_part(with_src_only(transfer_.transfer), packed_from(on_device, packed), 0, stream_),
                           stream_));
        return end_failed(cross(on_host, packed), stream_);
    }

    // Brings packed bytes across the link, after the stream's work and before what follows on it.
    Status cross(const IndexedRows &rows, char *packed) {
        VIA_TRY(wait_for_stream(stream_));
        const bool to_device = is_to_device(transfer_.transfer);
        const Side device{VIA_DEVICE_CUDA, stream_.device_id};
        Transfer dense{to_device ? packed : rows.dst,
                       to_device ? rows.src : packed,
                       rows.nbytes(),
                       to_device ? device : kPageable,
                       to_device ? kPageable : device,
                       nullptr,
                       nullptr};
        StagedPlan plan;
        if (!can_stage_io(dense, &plan)) {
            return bounce(rows, packed);
        }
        PackedRows packing(transfer_, rows);
        UniqueFence fence;
        VIA_TRY(transfer_io({&dense, &packing, num_threads(), 0, nullptr, plan}, fence.out()));
        return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
    }

    // Does the same by this thread and the driver, where there is no ring.
    Status bounce(const IndexedRows &rows, char *packed) {
        const int64_t nbytes = rows.nbytes();
        const int64_t each = std::min(nbytes, kBouncedBytes);
        const std::unique_ptr<char[]> buffer(new (std::nothrow) char[static_cast<size_t>(each)]);
        if (buffer == nullptr) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld bytes of rows", as_printed(each));
        }
        for (int64_t at = 0; at < nbytes; at += each) {
            VIA_TRY(bounce_part(rows, packed + at, at, std::min(each, nbytes - at), buffer.get()));
        }
        return VIA_OK;
    }

    Status bounce_part(const IndexedRows &rows, char *packed, int64_t at, int64_t nbytes, char *buffer) {
        ContextScope scope;
        VIA_TRY(scope.enter(stream_.context));
        const auto size = static_cast<size_t>(nbytes);
        if (is_to_device(transfer_.transfer)) {
            transfer_.pack(rows, at, nbytes, buffer);
            VIA_TRY_CUDA(cuMemcpyHtoDAsync(number_of(packed), buffer, size, stream_.handle));
            return wait_for_stream(stream_);
        }
        VIA_TRY_CUDA(cuMemcpyDtoHAsync(buffer, number_of(packed), size, stream_.handle));
        VIA_TRY(wait_for_stream(stream_));
        transfer_.unpack(rows, at, nbytes, buffer);
        return VIA_OK;
    }

    const IndexedTransfer &transfer_;
    const IndexedRows &reached_;
    const ResolvedStream &stream_;
    via_task *const task_;
};

// ------------------------------------------------------------------------------------------------ peers

// A copy between two devices under way. Each stream is of its device.
class PeerRows {
public:
    PeerRows(const IndexedTransfer &transfer, const IndexedRows &reached, const ResolvedStream &src,
             const ResolvedStream &dst)
        : transfer_(transfer), reached_(reached), src_(src), dst_(dst) {}

    VIA_NODISCARD Status run() {
        const int64_t each = std::clamp<int64_t>(kPartBytes / reached_.row_bytes, 1, reached_.count);
        for (int64_t first = 0; first < reached_.count; first += each) {
            VIA_TRY(run_part(via::part_of(reached_, first, std::min(each, reached_.count - first))));
        }
        return VIA_OK;
    }

private:
    // Scratch memory is freed in the order of its own stream: packed bytes behind the copy that reads them.
    Status run_part(const IndexedRows &rows) {
        Scratch packed;
        Scratch landing;
        VIA_TRY(packed.allocate(rows.nbytes(), src_));
        VIA_TRY(landing.allocate(rows.nbytes(), dst_));
        return end_failed(end_failed(enqueue_part(rows, packed.address(), landing.address()), src_), dst_);
    }

    Status enqueue_part(const IndexedRows &rows, void *packed, void *landing) {
        const Transfer &whole = transfer_.transfer;
        VIA_TRY(launch_part(with_src_only(whole), packed_from(rows, static_cast<char *>(packed)), 0, src_));
        VIA_TRY(follow(src_, dst_));  // which allocates
        const Transfer dense{landing, packed, rows.nbytes(), whole.dst_side, whole.src_side, nullptr, nullptr};
        {
            ContextScope scope;
            VIA_TRY(enter_for(src_, &scope));
            VIA_TRY(copy_to_peer(dense, src_));
        }
        VIA_TRY(follow(dst_, src_));
        return launch_part(with_dst_only(whole), unpacked_from(rows, static_cast<const char *>(landing)), 0, dst_);
    }

    const IndexedTransfer &transfer_;
    const IndexedRows &reached_;
    const ResolvedStream &src_;
    const ResolvedStream &dst_;
};

Status run_between_devices(const IndexedTransfer &transfer, const IndexedRows &reached, const ResolvedStream &stream) {
    const int32_t dst = transfer.transfer.dst_side.device_id;
    const int32_t src = transfer.transfer.src_side.device_id;
    VIA_TRY(check_peer_stream(transfer.transfer, stream));
    const bool is_src = stream.device_id == src;
    SideStream side;
    VIA_TRY(side.take(is_src ? dst : src, stream));
    VIA_TRY(follow(side.get(), stream));
    const Status status = PeerRows(transfer, reached, is_src ? stream : side.get(), is_src ? side.get() : stream).run();
    const Status joined = follow(stream, side.get());
    return end_failed(end_failed(status == VIA_OK ? joined : status, side.get()), stream);
}

// ------------------------------------------------------------------------------------------------ all routes

bool has_device_lists(const IndexedTransfer &transfer) {
    return transfer.dst_index != nullptr || transfer.src_index != nullptr;
}

Status check_list(const char *argument, via_array *list, const ResolvedStream &stream) {
    if (list == nullptr || list->device_type != VIA_DEVICE_CUDA) {
        return VIA_OK;
    }
    const Side side{list->device_type, list->device_id};
    const Transfer reads{list->data, list->data, 1, kBuffer, side, nullptr, nullptr};
    return reaches_memory(reads, stream)
               ? VIA_OK
               : fail(VIA_ERROR_UNSUPPORTED, "%s is memory of another context than stream; expected the same one",
                      argument);
}

Status check(const IndexedTransfer &transfer, const ResolvedStream &stream) {
    const Transfer &whole = transfer.transfer;
    const IndexedRoute route = indexed_route(whole);
    if (stream.capturing && route != IndexedRoute::Kernel) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is being captured, and %s; expected memory that one device reaches",
                    route == IndexedRoute::Peer   ? "dst and src are on two devices"
                    : is_pageable(whole.dst_side) ? "dst is pageable memory"
                                                  : "src is pageable memory");
    }
    if (route == IndexedRoute::Peer) {
        VIA_TRY(need_kernels(whole.src_side.device_id, kWhat));
        return need_kernels(whole.dst_side.device_id, kWhat);
    }
    VIA_TRY(need_kernels(device_of_transfer(whole), kWhat));
    VIA_TRY(prepare_kernel(whole, stream));
    VIA_TRY(check_list("dst_index", transfer.dst_index, stream));
    return check_list("src_index", transfer.src_index, stream);
}

Status wait_until_arrays_ready(const IndexedTransfer &transfer, const ResolvedStream &stream) {
    for (via_array *array :
         {transfer.transfer.dst_array, transfer.transfer.src_array, transfer.dst_index, transfer.src_index}) {
        VIA_TRY(array != nullptr ? wait_until_ready(array, stream) : VIA_OK);
    }
    return VIA_OK;
}

// Workers of the host read or write an array.
Status wait_on_host(const IndexedTransfer &transfer) {
    VIA_TRY(via::wait_until_ready(transfer.transfer.dst_array->storage));
    return via::wait_until_ready(transfer.transfer.src_array->storage);
}

Status enqueue_route(const IndexedTransfer &transfer, const IndexedRows &reached, const ResolvedStream &stream,
                     via_task *task, uint64_t fault) {
    switch (indexed_route(transfer.transfer)) {
        case IndexedRoute::Peer:
            return run_between_devices(transfer, reached, stream);
        case IndexedRoute::Staged:
            return StagedRows(transfer, reached, stream, task).run();
        default:
            break;
    }
    VIA_TRY(launch_part(transfer.transfer, reached, fault, stream));
    // Pageable memory may go away, or be read, when the call has returned.
    return has_pageable(transfer.transfer) ? wait_for_stream(stream) : VIA_OK;
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
    return enqueue_route(transfer, reached, stream, task, record->address());
}

// Records the end of the work, with the faults that it finds. Waits for it if no fence can be recorded.
Status record_end(const IndexedTransfer &transfer, IndexTable *table, const ResolvedStream &stream, FaultRecord *record,
                  Fence **out_fence) {
    UniqueFence end;
    bool recorded = false;
    {
        const CallbackScope quiet;
        recorded = record_fence(stream, end.out()) == VIA_OK;
    }
    if (!recorded) {
        VIA_TRY(wait_for_stream(stream));
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

Status wait_before(const IndexedTransfer &transfer, const ResolvedStream &stream) {
    if (indexed_route(transfer.transfer) == IndexedRoute::Staged) {
        VIA_TRY(wait_on_host(transfer));
        return await_work(stream);
    }
    return wait_until_arrays_ready(transfer, stream);
}

Status resolve_for(const IndexedTransfer &transfer, via_stream *stream, ResolvedStream *out_stream) {
    VIA_TRY(need_driver(kWhat));
    return resolve(stream, device_of_transfer(transfer.transfer), out_stream);
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

IndexedRoute indexed_route(const Transfer &transfer) {
    if (devices_differ(transfer)) {
        return IndexedRoute::Peer;
    }
    return has_pageable(transfer) && !is_straight(transfer) ? IndexedRoute::Staged : IndexedRoute::Kernel;
}

Status prepare_indexed(const IndexedTransfer &transfer, via_stream *stream) {
    ResolvedStream resolved;
    VIA_TRY(resolve_for(transfer, stream, &resolved));
    return check(transfer, resolved);
}

Status indexed_now(const IndexedTransfer &transfer, IndexTable *table) {
    ResolvedStream stream;
    VIA_TRY(resolve_for(transfer, nullptr, &stream));
    VIA_TRY(check(transfer, stream));
    if (devices_differ(transfer.transfer)) {
        ResolvedStream other;
        const int32_t dst = transfer.transfer.dst_side.device_id;
        VIA_TRY(resolve(nullptr, stream.device_id == dst ? transfer.transfer.src_side.device_id : dst, &other));
        VIA_TRY(is_idle(other) ? VIA_OK : follow(stream, other));
    }
    const RelaxedCapture relaxed;
    VIA_TRY(wait_before(transfer, stream));
    FaultRecord record;
    const Status status = enqueue(transfer, table, stream, nullptr, &record);
    VIA_TRY(status != VIA_OK ? end_failed(status, stream) : wait_for_stream(stream));
    return record.check();
}

Status indexed_on(const IndexedTransfer &transfer, IndexTable *table, via_stream *stream) {
    ResolvedStream resolved;
    VIA_TRY(resolve_for(transfer, stream, &resolved));
    VIA_TRY(check(transfer, resolved));
    if (resolved.capturing) {
        VIA_TRY(wait_until_arrays_ready(transfer, resolved));
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
