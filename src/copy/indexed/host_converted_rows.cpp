#include "copy/indexed/host_converted_rows.hpp"

#include <algorithm>

#include "copy/element_plan.hpp"
#include "copy/indexed/host_rows.hpp"
#include "copy/plan/cache_sizes.hpp"
#include "core/async/thread_pool.hpp"
#include "core/base/cached_objects.hpp"

namespace via {
namespace {

// Rows from here on are worth a conversion each, in the larger of the two elements.
constexpr int64_t kLongRow = int64_t{8} << 10;

// Rows from here on are shared among threads.
constexpr int64_t kSharedRow = int64_t{4} << 20;

// What is brought together at a time.
constexpr int64_t kScratchBytes = int64_t{64} << 10;

struct Scratch {
    alignas(kLineBytes) char src[kScratchBytes];
    alignas(kLineBytes) char dst[kScratchBytes];
};

constinit CachedObjects<Scratch, 32> scratches;

// Where rows are, other than in the arrays: packed, or nullptr.
struct Packed {
    const char *src;
    char *dst;
};

ElementLoops at_row(const ConvertedRows &rows, int64_t k) {
    ElementLoops loops = rows.row;
    loops.src = rows.rows.src_row(k);
    loops.dst = rows.rows.dst_row(k);
    return loops;
}

// Converts elements of one row.
void convert_row(const ConvertedRows &rows, int64_t k, int64_t first, int64_t count, const Packed &packed) {
    const ElementLoops loops = at_row(rows, k);
    if (packed.src != nullptr) {
        convert_from_packed(loops, rows.elements, first, count, packed.src);
    } else if (packed.dst != nullptr) {
        convert_to_packed(loops, rows.elements, first, count, packed.dst);
    } else {
        convert_part(loops, rows.elements, first, count);
    }
}

// Converts short rows, as many as fit the scratch.
void convert_together(const ConvertedRows &rows, const Packed &packed, Scratch *scratch) {
    const char *src = packed.src;
    char *dst = packed.dst;
    if (src == nullptr && !is_straight(rows, RowSide::Src)) {
        copy_rows_here(packed_from(rows_of(rows, RowSide::Src), scratch->src));
        src = scratch->src;
    }
    const bool scatters = dst == nullptr && !is_straight(rows, RowSide::Dst);
    dst = scatters ? scratch->dst : dst;
    const ElementLoops loops = merged(loops_of(rows, src, dst), rows.elements);
    convert_part(loops, rows.elements, 0, loops.count);
    if (scatters) {
        copy_rows_here(unpacked_from(rows_of(rows, RowSide::Dst), scratch->dst));
    }
}

// Converts whole rows on the calling thread.
void convert_here(const ConvertedRows &rows, const Packed &packed) {
    const int64_t src_bytes = packed_row_bytes(rows, RowSide::Src);
    const int64_t dst_bytes = packed_row_bytes(rows, RowSide::Dst);
    Scratch *scratch = std::max(src_bytes, dst_bytes) < kLongRow ? scratches.take() : nullptr;
    const int64_t each = scratch != nullptr ? kScratchBytes / std::max(src_bytes, dst_bytes) : 1;
    for (int64_t k = 0; k < rows.rows.count; k += each) {
        const int64_t count = std::min(each, rows.rows.count - k);
        const Packed from{packed.src != nullptr ? packed.src + k * src_bytes : nullptr,
                          packed.dst != nullptr ? packed.dst + k * dst_bytes : nullptr};
        if (scratch != nullptr) {
            convert_together(rows.part(k, count), from, scratch);
        } else {
            convert_row(rows, k, 0, rows.row.count, from);
        }
    }
    if (scratch != nullptr) {
        scratches.give_back(scratch);
    }
}

int64_t wider_row_bytes(const ConvertedRows &rows) {
    return std::max(packed_row_bytes(rows, RowSide::Src), packed_row_bytes(rows, RowSide::Dst));
}

// Converts what packed elements belong to: part of the first row, whole rows, and part of the last one. `place` returns
// the packed elements from a number on.
template <class Place>
void convert_packed(const ConvertedRows &rows, int64_t first, int64_t count, const Place &place) {
    const int64_t elements = rows.row.count;
    int64_t done = 0;
    while (done < count) {
        const int64_t k = (first + done) / elements;
        const int64_t within = (first + done) % elements;
        const int64_t left = count - done;
        if (within == 0 && left >= elements) {
            convert_here(rows.part(k, left / elements), place(done));
            done += left / elements * elements;
        } else {
            const int64_t some = std::min(elements - within, left);
            convert_row(rows, k, within, some, place(done));
            done += some;
        }
    }
}

}  // namespace

// Long rows are shared among threads themselves.
void convert_rows(const ConvertedRows &rows) {
    if (wider_row_bytes(rows) >= kSharedRow) {
        for (int64_t k = 0; k < rows.rows.count; ++k) {
            convert_elements(at_row(rows, k), rows.elements);
        }
        return;
    }
    const int64_t count = rows.rows.count;
    const int64_t nbytes = count * wider_row_bytes(rows);
    const int32_t threads = threads_worth(nbytes);
    const int64_t each = std::max<int64_t>(share_of(nbytes, threads) / wider_row_bytes(rows), 1);
    parallel_ranges(0, count, each, threads,
                    [&](int64_t from, int64_t to) { convert_here(rows.part(from, to - from), {nullptr, nullptr}); });
}

Status convert_rows_in_pieces(const ConvertedRows &rows, int64_t done_before, via_task *task) {
    const int64_t nbytes = rows.rows.count * packed_row_bytes(rows, RowSide::Dst);
    return run_in_pieces(rows.rows.count, nbytes, done_before, task,
                         [&](int64_t first, int64_t last) { convert_rows(rows.part(first, last - first)); });
}

void pack_converted_rows(const ConvertedRows &rows, int64_t offset, int64_t nbytes, char *packed) {
    const int64_t item = item_of(rows, RowSide::Dst);
    convert_packed(rows, offset / item, nbytes / item,
                   [=](int64_t done) { return Packed{nullptr, packed + done * item}; });
}

void unpack_converted_rows(const ConvertedRows &rows, int64_t offset, int64_t nbytes, const char *packed) {
    const int64_t item = item_of(rows, RowSide::Src);
    convert_packed(rows, offset / item, nbytes / item,
                   [=](int64_t done) { return Packed{packed + done * item, nullptr}; });
}

}  // namespace via
