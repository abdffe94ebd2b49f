#include "cuda/route/converted_items.hpp"

#include <algorithm>

#include "cuda/launch/convert_kernel.hpp"
#include "cuda/launch/indexed_kernel.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/memory/stream_scratch.hpp"

namespace via::cuda {
namespace {

// Rows that a device brings together at a time: enough to keep it busy, in little memory.
constexpr int64_t kPartBytes = int64_t{32} << 20;

Status launch_rows(const Transfer &transfer, const IndexedRows &rows, const ResolvedStream &stream) {
    return launch_where_reached(transfer, stream,
                                [&](const ResolvedStream &home) { return launch_indexed(rows, 0, home); });
}

// Moves rows between arrays and packed elements; nullptr stands for the array.
class RowMove {
public:
    RowMove(const Transfer &transfer, const ConvertedRows &rows, const char *src, char *dst)
        : transfer_(transfer), rows_(rows), src_(src), dst_(dst) {}

    Status enqueue(const ResolvedStream &stream) {
        if (changes_nothing(rows_.elements) && (src_ != nullptr || dst_ != nullptr)) {
            return copy(stream);
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
        return scatters
                   ? launch_rows(with_dst_only(transfer_), unpacked_from(rows_of(rows_, RowSide::Dst), out), stream)
                   : VIA_OK;
    }

private:
    Status copy(const ResolvedStream &stream) const {
        return dst_ != nullptr
                   ? launch_rows(with_src_only(transfer_), packed_from(rows_of(rows_, RowSide::Src), dst_), stream)
                   : launch_rows(with_dst_only(transfer_), unpacked_from(rows_of(rows_, RowSide::Dst), src_), stream);
    }

    // Brings the elements of rows together, unless they are straight.
    Status gather(Scratch *scratch, const ResolvedStream &stream) {
        if (src_ != nullptr || is_straight(rows_, RowSide::Src)) {
            return VIA_OK;
        }
        VIA_TRY(scratch->allocate(rows_.rows.count * packed_row_bytes(rows_, RowSide::Src), stream));
        auto *packed = static_cast<char *>(scratch->address());
        src_ = packed;
        return launch_rows(with_src_only(transfer_), packed_from(rows_of(rows_, RowSide::Src), packed), stream);
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

}  // namespace

ConvertedItems::ConvertedItems(const IndexedTransfer &transfer, const IndexedRows &reached)
    : PackedItems(transfer.transfer, reached.count,
                  transfer.converted->row.count * link_of(transfer.converted->elements).bytes, transfer.host),
      link_(link_of(transfer.converted->elements)),
      rows_{reached, transfer.converted->row, transfer.converted->elements} {}

Status ConvertedItems::copy_on_device(const ResolvedStream &stream) {
    return move_rows(reached(), rows_, nullptr, nullptr, stream);
}

Status ConvertedItems::pack_items(int64_t first, int64_t count, char *packed, const ResolvedStream &stream) {
    return move_rows(with_src_only(reached()), rows_.with(link_.before).part(first, count), nullptr, packed, stream);
}

Status ConvertedItems::unpack_items(int64_t first, int64_t count, const char *packed, const ResolvedStream &stream) {
    return move_rows(with_dst_only(reached()), rows_.with(link_.after).part(first, count), packed, nullptr, stream);
}

}  // namespace via::cuda
