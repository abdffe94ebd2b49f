#include "cuda/indexed_transfer.hpp"

#include "cuda/launch/indexed_kernel.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/route/converted_items.hpp"
#include "cuda/route/index_fence.hpp"
#include "cuda/route/index_table.hpp"
#include "cuda/route/packed_parts.hpp"

namespace via::cuda {
namespace {

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

}  // namespace

// Tables are kept until the work has ended.
Status IndexedTransfer::enqueue(const ResolvedStream &stream, via_task *task, FaultRecord *faults) const {
    const bool has_device_lists = dst_index != nullptr || src_index != nullptr;
    if (has_device_lists && !stream.capturing) {
        VIA_TRY(faults->make({stream.context, stream.context_id}, rows));
    }
    ReachedLists lists;
    IndexedRows reached;
    VIA_TRY(lists.find(*this, table, stream, &reached));
    if (converted != nullptr) {
        ConvertedItems items(*this, reached);
        return enqueue_items(items, stream, task);
    }
    PackedRows items(*this, reached, faults->address());
    return enqueue_items(items, stream, task);
}

void IndexedTransfer::note_run(Fence *end) const {
    if (host_bytes(*this) > 0) {
        table->note_run(end);
    }
}

}  // namespace via::cuda
