#include "cuda/indexed_transfer.hpp"

#include <algorithm>

#include "cuda/convert_transfer.hpp"
#include "cuda/launch/convert_kernel.hpp"
#include "cuda/launch/indexed_kernel.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/index_fence.hpp"
#include "cuda/route/index_table.hpp"
#include "cuda/route/packed_parts.hpp"

namespace via::cuda {
namespace {

Status launch_part(const Transfer &transfer, const IndexedRows &rows, uint64_t fault, const ResolvedStream &stream) {
    return launch_where_reached(transfer, stream,
                                [&](const ResolvedStream &home) { return launch_indexed(rows, fault, home); });
}

Status pack_rows(const Transfer &transfer, const IndexedRows &rows, char *packed, const ResolvedStream &stream) {
    return launch_part(with_src_only(transfer), packed_from(rows, packed), 0, stream);
}

Status unpack_rows(const Transfer &transfer, const IndexedRows &rows, const char *packed,
                   const ResolvedStream &stream) {
    return launch_part(with_dst_only(transfer), unpacked_from(rows, packed), 0, stream);
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
        return pack_rows(reached(), via::part_of(rows_, first, count), packed, stream);
    }

    Status unpack_items(int64_t first, int64_t count, const char *packed, const ResolvedStream &stream) override {
        return unpack_rows(reached(), via::part_of(rows_, first, count), packed, stream);
    }

    const IndexedRows &rows_;  // with lists that the device reaches
    const uint64_t fault_;     // the address of the record of faults; 0: none
};

// Rows that a device brings together at a time: enough to keep it busy, in little memory.
constexpr int64_t kPartBytes = int64_t{32} << 20;

// Converts rows between arrays, or scratch, and packed elements; nullptr stands for the array.
Status convert_rows(const Transfer &transfer, const ConvertedRows &rows, const char *src, char *dst,
                    const ResolvedStream &stream) {
    const ElementLoops loops = loops_of(rows, src, dst);
    const auto launch = [&](const ResolvedStream &home) { return launch_convert(loops, rows.elements, home); };
    if (src != nullptr && dst != nullptr) {
        return launch(stream);
    }
    return launch_where_reached(src != nullptr   ? with_dst_only(transfer)
                                : dst != nullptr ? with_src_only(transfer)
                                                 : transfer,
                                stream, launch);
}

// Moves rows between arrays and packed elements; nullptr stands for the array. Rows that are not straight are brought
// together in scratch memory before they are converted, or spread out from there.
Status move_part(const Transfer &transfer, const ConvertedRows &rows, const char *src, char *dst,
                 const ResolvedStream &stream) {
    if (changes_nothing(rows.elements) && (src != nullptr || dst != nullptr)) {
        return dst != nullptr ? pack_rows(transfer, rows_of(rows, RowSide::Src), dst, stream)
                              : unpack_rows(transfer, rows_of(rows, RowSide::Dst), src, stream);
    }
    Scratch from;
    Scratch to;
    if (src == nullptr && !is_straight(rows, RowSide::Src)) {
        VIA_TRY(from.allocate(rows.rows.count * packed_row_bytes(rows, RowSide::Src), stream));
        auto *packed = static_cast<char *>(from.address());
        VIA_TRY(pack_rows(transfer, rows_of(rows, RowSide::Src), packed, stream));
        src = packed;
    }
    const bool scatters = dst == nullptr && !is_straight(rows, RowSide::Dst);
    if (scatters) {
        VIA_TRY(to.allocate(rows.rows.count * packed_row_bytes(rows, RowSide::Dst), stream));
        dst = static_cast<char *>(to.address());
    }
    VIA_TRY(convert_rows(transfer, rows, src, dst, stream));
    return scatters ? unpack_rows(transfer, rows_of(rows, RowSide::Dst), dst, stream) : VIA_OK;
}

// Moves parts, so that their scratch is small.
Status move_rows(const Transfer &transfer, const ConvertedRows &rows, const char *src, char *dst,
                 const ResolvedStream &stream) {
    const int64_t src_bytes = packed_row_bytes(rows, RowSide::Src);
    const int64_t dst_bytes = packed_row_bytes(rows, RowSide::Dst);
    const int64_t each = std::clamp<int64_t>(kPartBytes / std::max(src_bytes, dst_bytes), 1, rows.rows.count);
    for (int64_t first = 0; first < rows.rows.count; first += each) {
        const int64_t count = std::min(each, rows.rows.count - first);
        VIA_TRY(move_part(transfer, rows.part(first, count), src != nullptr ? src + first * src_bytes : nullptr,
                          dst != nullptr ? dst + first * dst_bytes : nullptr, stream));
    }
    return VIA_OK;
}

// Rows by index that are converted.
class ConvertedItems final : public PackedItems {
public:
    // `reached` has the lists that the device reaches.
    ConvertedItems(const IndexedTransfer &transfer, const IndexedRows &reached)
        : PackedItems(transfer.transfer, reached.count,
                      transfer.converted->row.count * link_of(transfer.converted->elements).bytes, transfer.host),
          link_(link_of(transfer.converted->elements)),
          rows_{reached, transfer.converted->row, transfer.converted->elements} {}

    Status copy_on_device(const ResolvedStream &stream) override {
        return move_rows(reached(), rows_, nullptr, nullptr, stream);
    }

private:
    Status pack_items(int64_t first, int64_t count, char *packed, const ResolvedStream &stream) override {
        return move_rows(with_src_only(reached()), rows_.with(link_.before).part(first, count), nullptr, packed,
                         stream);
    }

    Status unpack_items(int64_t first, int64_t count, const char *packed, const ResolvedStream &stream) override {
        return move_rows(with_dst_only(reached()), rows_.with(link_.after).part(first, count), packed, nullptr, stream);
    }

    const LinkConversion link_;
    const ConvertedRows rows_;
};

}  // namespace

// Tables are kept until the work has ended.
Status IndexedTransfer::enqueue(const ResolvedStream &stream, via_task *task, IndexFence **out_faults) const {
    const bool has_device_lists = dst_index != nullptr || src_index != nullptr;
    if (has_device_lists && !stream.capturing) {
        VIA_TRY(make_index_fence(stream.key(), rows, out_faults));
    }
    ReachedLists lists;
    IndexedRows reached;
    VIA_TRY(lists.find(*this, table, stream, &reached));
    if (converted != nullptr) {
        ConvertedItems items(*this, reached);
        return enqueue_items(items, stream, task);
    }
    PackedRows items(*this, reached, *out_faults != nullptr ? (*out_faults)->record() : 0);
    return enqueue_items(items, stream, task);
}

void IndexedTransfer::note_run(Fence *end) const {
    if (host_bytes(*this) > 0) {
        table->note_run(end);
    }
}

}  // namespace via::cuda
