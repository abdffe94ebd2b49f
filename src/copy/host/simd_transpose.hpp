// Small blocks of a matrix, turned in registers: see simd.hpp.
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
// Inlined wherever it is called, or the rows would leave the registers.
template <int64_t Bytes, typename T>
[[gnu::always_inline]] inline void transpose_lanes(typename VectorOf<T, Bytes>::Type (&rows)[kPerLane<T>]) {
    using V = typename VectorOf<T, Bytes>::Type;
    constexpr int kRows = kPerLane<T>;
    constexpr auto kIndices = std::make_integer_sequence<int, static_cast<int>(Bytes / int64_t{sizeof(T)})>();
    for (int step = 1; step < kRows; step *= 2) {
        V turned[kRows];
        for (int i = 0; i < kRows / 2; ++i) {
            turned[2 * i] = interleave<T, 0>(rows[i], rows[i + kRows / 2], kIndices);
            turned[2 * i + 1] = interleave<T, 1>(rows[i], rows[i + kRows / 2], kIndices);
        }
        for (int i = 0; i < kRows; ++i) {
            rows[i] = turned[i];
        }
    }
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
};

template <typename At, typename V, int... L>
inline void store_lanes(char *dst, At columns, int64_t first, int64_t apart, V vector,
                        std::integer_sequence<int, L...>) {
    (store(dst + columns[first + L * apart], lane<L>(vector)), ...);
}

template <int64_t Bytes>
constexpr auto kLanesOf = std::make_integer_sequence<int, static_cast<int>(Bytes / kLane)>();

// A lane of rows by `Bytes` of columns; what lies `ahead` of them in src is read ahead. Elements of a whole lane have
// nothing to be transposed.
template <int64_t Bytes, bool Ahead, typename T, typename At>
[[gnu::always_inline]] inline void turn(const Block<T, At> block, int64_t ahead) {
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
        turn<Bytes, Ahead>(block.from(i, 0), ahead);
    }
    if (i < block.row_count) {
        turn<Bytes, Ahead>(block.from(block.row_count - kRows, 0), ahead);
    }
}

// A lane of columns or more, in vectors as wide as there are columns for; the last may be turned twice, too.
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

// --------------------------------------------------------------------------------- sides shorter than a lane

// Bytes 8 and more of the two halves are those of the second one.
using Halves = typename VectorOf<uint64_t, kLane>::Type;

// The nbytes (1 to 16) at src, the rest zero, without reading more.
inline Lane<char> load_part(const char *src, int64_t nbytes) {
    Halves halves = {0, 0};
    if (nbytes == kLane) {
        return load<Lane<char>>(src);
    }
    if (nbytes >= 8) {
        halves[0] = load<uint64_t>(src);
        halves[1] = nbytes > 8 ? load<uint64_t>(src + nbytes - 8) >> (8 * (kLane - nbytes)) : 0;
    } else if (nbytes >= 4) {
        halves[0] = load<uint32_t>(src) | uint64_t{load<uint32_t>(src + nbytes - 4)} << (8 * (nbytes - 4));
    } else if (nbytes >= 2) {
        halves[0] = load<uint16_t>(src) | uint64_t{load<uint16_t>(src + nbytes - 2)} << (8 * (nbytes - 2));
    } else {
        halves[0] = load<uint8_t>(src);
    }
    return reinterpret_cast<Lane<char>>(halves);
}

// The first nbytes (1 to 16), without writing more.
inline void store_part(char *dst, Lane<char> value, int64_t nbytes) {
    const Halves halves = reinterpret_cast<Halves>(value);
    if (nbytes == kLane) {
        store(dst, value);
    } else if (nbytes >= 8) {
        store(dst, uint64_t{halves[0]});
        if (nbytes > 8) {
            store(dst + nbytes - 8, uint64_t{halves[0] >> (8 * (nbytes - 8)) | halves[1] << (8 * (kLane - nbytes))});
        }
    } else if (nbytes >= 4) {
        store(dst, static_cast<uint32_t>(halves[0]));
        store(dst + nbytes - 4, static_cast<uint32_t>(halves[0] >> (8 * (nbytes - 4))));
    } else if (nbytes >= 2) {
        store(dst, static_cast<uint16_t>(halves[0]));
        store(dst + nbytes - 2, static_cast<uint16_t>(halves[0] >> (8 * (nbytes - 2))));
    } else {
        store(dst, static_cast<uint8_t>(halves[0]));
    }
}

// How sides shorter than a lane are read and written: whole lanes, where what they have more is the block's own.
struct Narrow {
    const char *last;    // rows are adjacent in src: the last place where a lane may be read
    char *last_written;  // columns are adjacent in dst, and what is written past one is written again by the next
};

// Up to a lane of rows by up to a lane of columns.
template <typename T, typename At>
[[gnu::always_inline]] inline void transpose_part(const Block<T, At> block, const Narrow narrow) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int kCount = kPerLane<T>;
    Lane<T> lanes[kCount];
    const int64_t width = least(block.column_count, kCount) * kSize;
    const int64_t height = least(block.row_count, kCount) * kSize;
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
        const char *row = block.src + block.rows[least(i, block.row_count - 1)];
        const bool whole = width == kLane || row <= narrow.last;
        lanes[i] = reinterpret_cast<Lane<T>>(whole ? load<Lane<char>>(row) : load_part(row, width));
    }
    transpose_lanes<kLane, T>(lanes);
#pragma GCC unroll 16
    for (int j = 0; j < kCount; ++j) {
        char *column = block.dst + block.columns[j * kSize < width ? j : 0];
        if (j * kSize < width && (height == kLane || column <= narrow.last_written)) {
            store(column, lanes[j]);
        } else if (j * kSize < width) {
            store_part(column, reinterpret_cast<Lane<char>>(lanes[j]), height);
        }
    }
}

// A side of less than a lane.
template <typename T, typename At>
[[gnu::noinline]] void transpose_narrow(const Block<T, At> block, const Narrow narrow) {
    constexpr int64_t kCount = kPerLane<T>;
    for (int64_t j = 0; j < block.column_count; j += kCount) {
        const int64_t column = block.column_count >= kCount ? least(j, block.column_count - kCount) : 0;
        for (int64_t i = 0; i < block.row_count; i += kCount) {
            const int64_t row = block.row_count >= kCount ? least(i, block.row_count - kCount) : 0;
            transpose_part(block.from(row, column), narrow);
        }
    }
}

inline Narrow narrow_of(char *, const char *, int64_t, int64_t, const Listed &, const Listed &, int64_t) { return {}; }
inline Narrow narrow_of(char *dst, const char *src, int64_t rows, int64_t columns, const Stepped &of_rows,
                        const Stepped &of_columns, int64_t size) {
    Narrow narrow{};
    if (of_rows.step == columns * size && rows * columns * size >= kLane) {
        narrow.last = src + rows * columns * size - kLane;
    }
    if (of_columns.step == rows * size && rows * columns * size >= kLane) {
        narrow.last_written = dst + rows * columns * size - kLane;
    }
    return narrow;
}

// Any number of columns and rows.
template <typename T, typename At>
inline void transpose_block(const Block<T, At> block, int64_t ahead) {
    if (block.column_count >= kPerLane<T> && block.row_count >= kPerLane<T>) {
        if (ahead != 0) {
            transpose_wide<true>(block, ahead);
        } else {
            transpose_wide<false>(block, 0);
        }
    } else if (block.column_count > 0 && block.row_count > 0) {
        if constexpr (kPerLane<T> > 1) {
            for (int64_t i = 0; ahead != 0 && i < block.row_count; ++i) {
                __builtin_prefetch(block.src + block.rows[i] + ahead, 0, 2);
            }
            transpose_narrow(block, narrow_of(block.dst, block.src, block.row_count, block.column_count, block.rows,
                                              block.columns, sizeof(T)));
        }
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
