// Small blocks of a matrix, transposed in registers: see simd.hpp.
#pragma once

#include "copy/host/panels.hpp"
#include "copy/host/simd_vector.hpp"

namespace via {
namespace {

template <typename T>
constexpr int kPerLane = static_cast<int>(kLane / static_cast<int64_t>(sizeof(T)));

// The elements of one half of each lane of a and b, in turns.
template <typename T, int Half, typename V, int... I>
inline V interleave(V a, V b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b,
                                   (I / kPerLane<T> * kPerLane<T> + Half * kPerLane<T> / 2 + I % kPerLane<T> / 2 +
                                    I % 2 * static_cast<int>(sizeof...(I)))...);
}

// In each lane, element i of row j becomes element j of row i. Interleaving the first half of the rows with the second
// moves the top bit of the row number to the bottom of the element number; done for each bit, they have changed places.
// Of fewer rows than a lane has elements, each comes to have several columns, one after another.
// Inlined wherever it is called, or the rows would leave the registers.
template <int64_t Bytes, typename T, int Rows>
[[gnu::always_inline]] inline void transpose_first(typename VectorOf<T, Bytes>::Type (&rows)[Rows]) {
    using V = typename VectorOf<T, Bytes>::Type;
    constexpr auto kIndices = std::make_integer_sequence<int, static_cast<int>(Bytes / int64_t{sizeof(T)})>();
    for (int step = 1; step < Rows; step *= 2) {
        V transposed[Rows];
        for (int i = 0; i < Rows / 2; ++i) {
            transposed[2 * i] = interleave<T, 0>(rows[i], rows[i + Rows / 2], kIndices);
            transposed[2 * i + 1] = interleave<T, 1>(rows[i], rows[i + Rows / 2], kIndices);
        }
        for (int i = 0; i < Rows; ++i) {
            rows[i] = transposed[i];
        }
    }
}

template <int64_t Bytes, typename T>
[[gnu::always_inline]] inline void transpose_lanes(typename VectorOf<T, Bytes>::Type (&rows)[kPerLane<T>]) {
    transpose_first<Bytes, T, kPerLane<T>>(rows);
}

template <int L, typename V>
inline Lane<char> lane(V vector) {
    return __builtin_shufflevector(vector, vector, L * 16, L * 16 + 1, L * 16 + 2, L * 16 + 3, L * 16 + 4, L * 16 + 5,
                                   L * 16 + 6, L * 16 + 7, L * 16 + 8, L * 16 + 9, L * 16 + 10, L * 16 + 11,
                                   L * 16 + 12, L * 16 + 13, L * 16 + 14, L * 16 + 15);
}

// Where the elements of a side of a transpose are in the other array: bytes from the first of them. Each is as far from
// the one before,
struct Stepped {
    int64_t step;
    int64_t operator[](int64_t i) const { return i * step; }
    int64_t base(int64_t i) const { return i * step; }
    Stepped behind(int64_t) const { return *this; }
};
// or it is listed.
struct Listed {
    const int64_t *at;
    int64_t operator[](int64_t i) const { return at[i]; }
    int64_t base(int64_t) const { return 0; }
    Listed behind(int64_t i) const { return {at + i}; }
};

// A block of a transpose: element (i, j) goes from src + rows[i] + j elements to dst + columns[j] + i elements.
template <typename T, typename At>
struct Block {
    char *dst;
    const char *src;
    At rows;
    At columns;
    int64_t row_count;
    int64_t column_count;

    [[gnu::always_inline]] Block from(int64_t row, int64_t column) const {
        constexpr int64_t kSize = sizeof(T);
        return {dst + row * kSize + columns.base(column),
                src + column * kSize + rows.base(row),
                rows.behind(row),
                columns.behind(column),
                row_count - row,
                column_count - column};
    }

    Block part(int64_t row, int64_t rows_of_it, int64_t column, int64_t columns_of_it) const {
        Block cut = from(row, column);
        cut.row_count = rows_of_it;
        cut.column_count = columns_of_it;
        return cut;
    }
};

template <typename At, typename V, int... L>
inline void store_lanes(char *dst, At columns, int64_t first, int64_t apart, V vector,
                        std::integer_sequence<int, L...>) {
    (store(dst + columns[first + L * apart], lane<L>(vector)), ...);
}

template <typename V, int... I>
inline auto join(V a, V b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, I...);
}

template <int64_t Bytes>
constexpr auto kLanesOf = std::make_integer_sequence<int, static_cast<int>(Bytes / kLane)>();

// A lane of rows by `Bytes` of columns; what lies `ahead` of them in src is read ahead. Elements of a whole lane have
// nothing to be transposed.
template <int64_t Bytes, bool Ahead, typename T, typename At>
[[gnu::always_inline]] inline void transpose_lane_of_rows(const Block<T, At> block, int64_t ahead) {
    using Plain = typename VectorOf<char, Bytes>::Type;
    constexpr int kRows = kPerLane<T>;
    for (int i = 0; Ahead && i < kRows; ++i) {
        __builtin_prefetch(block.src + block.rows[i] + ahead, 0, 2);
    }
    if constexpr (sizeof(T) == kLane) {
        store_lanes(block.dst, block.columns, 0, 1, load<Plain>(block.src + block.rows[0]), kLanesOf<Bytes>);
    } else {
        typename VectorOf<T, Bytes>::Type rows[kRows];
        for (int i = 0; i < kRows; ++i) {
            rows[i] = load<typename VectorOf<T, Bytes>::Type>(block.src + block.rows[i]);
        }
        transpose_lanes<Bytes, T>(rows);
        for (int i = 0; i < kRows; ++i) {
            store_lanes(block.dst, block.columns, i, kRows, reinterpret_cast<Plain>(rows[i]), kLanesOf<Bytes>);
        }
    }
}

// The same for a lane of rows or more; the last of them may be transposed twice. Not inlined: among more loops, the
// compiler moves the rows out of registers.
template <int64_t Bytes, bool Ahead, typename T, typename At>
[[gnu::noinline]] void transpose_rows(const Block<T, At> block, int64_t ahead) {
    constexpr int64_t kRows = kPerLane<T>;
    int64_t i = 0;
    for (; i + kRows <= block.row_count; i += kRows) {
        transpose_lane_of_rows<Bytes, Ahead>(block.from(i, 0), ahead);
    }
    if (i < block.row_count) {
        transpose_lane_of_rows<Bytes, Ahead>(block.from(block.row_count - kRows, 0), ahead);
    }
}

// A lane of columns or more, in vectors as wide as there are columns for; the last may be transposed twice, too.
template <bool Ahead, int64_t Bytes = kVector, typename T, typename At>
inline void transpose_wide(const Block<T, At> block, int64_t ahead) {
    constexpr int64_t kColumns = Bytes / int64_t{sizeof(T)};
    int64_t j = 0;
    for (; j + kColumns <= block.column_count; j += kColumns) {
        transpose_rows<Bytes, Ahead>(block.from(0, j), ahead);
    }
    if constexpr (Bytes > kLane) {
        if (block.column_count - j >= kPerLane<T>) {
            transpose_wide<Ahead, Bytes / 2>(block.from(0, j), ahead);
            return;
        }
    }
    if (j < block.column_count) {
        transpose_rows<kLane, Ahead>(block.from(0, block.column_count - kPerLane<T>), ahead);
    }
}

// A side that goes along several axes, listed: of the last of them, a part at a time.
struct ListedSide {
    static constexpr int64_t kMost = 256;
    Axis last;
    int64_t part;   // indices of the last axis that are listed
    int64_t inner;  // elements for each of them
    int64_t at[kMost];

    int64_t count(int64_t from) const { return least(part, last.extent - from) * inner; }
};

// Parts of about equal size; `step` is that of the other array.
inline void list_side(const Axis *axes, const int32_t *of, int32_t ndim, int64_t Axis::*step, int64_t lane,
                      ListedSide *out) {
    out->last = axes[of[ndim - 1]];
    int64_t filled = 1;
    out->at[0] = 0;
    for (int32_t k = 0; k < ndim; ++k) {
        const Axis &axis = axes[of[k]];
        int64_t extent = axis.extent;
        if (k == ndim - 1) {
            const int64_t parts = (extent - 1) / (ListedSide::kMost / filled) + 1;
            const int64_t even = (extent - 1) / parts + 1;
            out->inner = filled;
            out->part = extent = ndim > 1 || parts == 1 ? even : ((even - 1) / lane + 1) * lane;
        }
        for (int64_t i = filled; i < extent * filled; ++i) {
            out->at[i] = out->at[i - filled] + axis.*step;
        }
        filled *= extent;
    }
}

}  // namespace
}  // namespace via
