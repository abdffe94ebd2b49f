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

// Moves rows between arrays and packed elements; nullptr stands for the array.
class RowMove {
public:
    RowMove(const Transfer &transfer, const ConvertedRows &rows, const char *src, char *dst)
        : transfer_(transfer), rows_(rows), src_(src), dst_(dst) {}

    Status enqueue(const ResolvedStream &stream) {
        if (changes_nothing(rows_.elements) && (src_ != nullptr || dst_ != nullptr)) {
            return dst_ != nullptr ? pack_rows(transfer_, rows_of(rows_, RowSide::Src), dst_, stream)
                                   : unpack_rows(transfer_, rows_of(rows_, RowSide::Dst), src_, stream);
        }
        Scratch from;
        Scratch to;
        VIA_TRY(gather(&from, stream));
        const bool scatters = dst_ == nullptr && !is_straight(rows_, RowSide::Dst);
        if (scatters) {
            VIA_TRY(to.allocate(rows_.rows.count * packed_row_bytes(rows_, RowSide::Dst), stream));
        }
        auto *out = scatters ? static_cast<char *>(to.address()) : dst_;
        VIA_TRY(convert(out, stream));
        return scatters ? unpack_rows(transfer_, rows_of(rows_, RowSide::Dst), out, stream) : VIA_OK;
    }

private:
    // Brings the elements of rows together, unless they are straight.
    Status gather(Scratch *scratch, const ResolvedStream &stream) {
        if (src_ != nullptr || is_straight(rows_, RowSide::Src)) {
            return VIA_OK;
        }
        VIA_TRY(scratch->allocate(rows_.rows.count * packed_row_bytes(rows_, RowSide::Src), stream));
        auto *packed = static_cast<char *>(scratch->address());
        src_ = packed;
        return pack_rows(transfer_, rows_of(rows_, RowSide::Src), packed, stream);
    }

    Status convert(char *out, const ResolvedStream &stream) const {
        const ElementLoops loops = loops_of(rows_, src_, out);
        const auto launch = [&](const ResolvedStream &home) { return launch_convert(loops, rows_.elements, home); };
        if (src_ != nullptr && out != nullptr) {
            return launch(stream);
        }
        return launch_where_reached(src_ != nullptr  ? with_dst_only(transfer_)
                                    : out != nullptr ? with_src_only(transfer_)
                                                     : transfer_,
                                    stream, launch);
    }

    const Transfer &transfer_;
    const ConvertedRows rows_;
    const char *src_;
    char *const dst_;
};

// Moves parts, so that their scratch is small.
Status move_rows(const Transfer &transfer, const ConvertedRows &rows, const char *src, char *dst,
                 const ResolvedStream &stream) {
    const int64_t src_bytes = packed_row_bytes(rows, RowSide::Src);
    const int64_t dst_bytes = packed_row_bytes(rows, RowSide::Dst);
    const int64_t each = std::clamp<int64_t>(kPartBytes / std::max(src_bytes, dst_bytes), 1, rows.rows.count);
    for (int64_t first = 0; first < rows.rows.count; first += each) {
        const int64_t count = std::min(each, rows.rows.count - first);
        RowMove move(transfer, rows.part(first, count), src != nullptr ? src + first * src_bytes : nullptr,
                     dst != nullptr ? dst + first * dst_bytes : nullptr);
        VIA_TRY(move.enqueue(stream));
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
