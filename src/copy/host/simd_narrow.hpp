// Blocks of a matrix with a side shorter than a lane, transposed in registers: see simd.hpp.
#pragma once

#include "copy/host/simd_transpose.hpp"

namespace via {
namespace {

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

// Calls work with the least constant, of a lane's elements, half and a quarter of them, that is not less than `count`.
template <typename T, int Most = kPerLane<T>, typename Work>
inline void with_most(int64_t count, const Work &work) {
    if constexpr (Most > 2 && 4 * Most > kPerLane<T>) {
        if (count <= Most / 2) {
            with_most<T, Most / 2>(count, work);
            return;
        }
    }
    work(std::integral_constant<int, Most>());
}

// A vector of a lane each of several rows, which are `apart` rows from each other.
template <int64_t Bytes, typename At>
[[gnu::always_inline]] inline auto load_lanes(const char *src, At rows, int64_t first, int64_t apart) {
    if constexpr (Bytes == kLane) {
        return load<Lane<char>>(src + rows[first]);
    } else {
        return join(load_lanes<Bytes / 2>(src, rows, first, apart),
                    load_lanes<Bytes / 2>(src, rows, first + apart * (Bytes / 2 / kLane), apart),
                    std::make_integer_sequence<int, static_cast<int>(Bytes)>());
    }
}

// A vector of rows by up to `Most` columns, less than a lane has: what would bring the others into place is left out.
// The columns are the last of each lane if it is `Back`: it begins before its row, and ends with it.
template <int64_t Bytes, int Most, bool Back, typename T, typename At>
[[gnu::always_inline]] inline void turn_tall(const Block<T, At> block) {
    using V = typename VectorOf<T, Bytes>::Type;
    constexpr int kCount = kPerLane<T>;
    const int64_t before = Back ? kCount - block.column_count : 0;
    const char *src = block.src - before * int64_t{sizeof(T)};
    V rows[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
        rows[i] = reinterpret_cast<V>(load_lanes<Bytes>(src, block.rows, i, kCount));
    }
    transpose_lanes<Bytes, T>(rows);
#pragma GCC unroll 16
    for (int i = 0; i < Most; ++i) {
        if (Back ? i >= before : i < block.column_count) {
            store(block.dst + block.columns[i - before], rows[i]);
        }
    }
}

// Less than a page: what lies between such rows may be read.
constexpr int64_t kNearRows = 2048;

// How many rows are too near the end of the block for a lane that begins with them to be within it.
inline int64_t count_cut(int64_t step, int64_t width) {
    const int64_t more = kLane - width;
    return step >= more ? 1 : (more + step - 1) / step;
}

// A few columns, in vectors of as many rows as there are. Lanes of the rows that are cut begin before them.
template <int Most, int64_t Bytes = kVector, typename T>
[[gnu::noinline]] void transpose_tall(const Block<T, Stepped> block, int64_t cut) {
    constexpr int64_t kRows = Bytes / int64_t{sizeof(T)};
    if constexpr (Bytes > kLane) {
        if (block.row_count < kRows + cut) {
            transpose_tall<Most, Bytes / 2>(block, cut);
            return;
        }
    }
    const bool forward = block.rows.step > 0;
    const int64_t last = block.row_count - kRows;
    turn_tall<Bytes, kPerLane<T>, true>(block.from(forward ? last : 0, 0));
    const int64_t end = forward ? block.row_count - cut : block.row_count;
    for (int64_t i = forward ? 0 : cut; i < (forward ? last : block.row_count); i += kRows) {
        turn_tall<Bytes, Most, false>(block.from(least(i, end - kRows), 0));
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

// Not inlined: it is rare, and would take the registers of vectors.
[[gnu::noinline]] void store_rest(char *dst, Lane<char> value, int64_t nbytes) { store_part(dst, value, nbytes); }

// From byte `By` of each lane on.
template <int By, int... I>
inline Lane<char> shift(Lane<char> value, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(value, Lane<char>{}, (I + By)...);
}

// The columns of a lane that have come to be in one vector, of `Height` bytes each; what is stored behind one is
// written again with the next, except behind `last`.
template <int Height, bool Last>
[[gnu::always_inline]] inline void store_columns(char *dst, Lane<char> value, int64_t height, const char *last) {
    const auto put = [=](char *to, Lane<char> column) {
        if (!Last || to <= last) {
            store(to, column);
        } else {
            store_rest(to, column, height);
        }
    };
    constexpr auto kBytes = std::make_integer_sequence<int, static_cast<int>(kLane)>();
    put(dst, value);
    if constexpr (Height <= 8) {
        put(dst + height, shift<Height>(value, kBytes));
    }
    if constexpr (Height <= 4) {
        put(dst + 2 * height, shift<2 * Height>(value, kBytes));
        put(dst + 3 * height, shift<3 * Height>(value, kBytes));
    }
}

template <int64_t Bytes, int Most, bool Last, typename T, int... L>
[[gnu::always_inline]] inline void store_flat(char *dst, const typename VectorOf<T, Bytes>::Type (&rows)[Most],
                                              int64_t height, const char *last, std::integer_sequence<int, L...>) {
    constexpr int kHeight = Most * static_cast<int>(sizeof(T));
    constexpr int64_t kEach = kLane / kHeight;
    const auto store_lane = [&]<int Number>(std::integral_constant<int, Number>) {
#pragma GCC unroll 16
        for (int i = 0; i < Most; ++i) {
            using Plain = typename VectorOf<char, Bytes>::Type;
            store_columns<kHeight, Last>(dst + (Number * Most + i) * kEach * height,
                                         lane<Number>(reinterpret_cast<Plain>(rows[i])), height, last);
        }
    };
    (store_lane(std::integral_constant<int, L>()), ...);
}

// A vector of columns by up to `Most` rows, a power of two, less than a lane has; columns are adjacent in dst.
template <int64_t Bytes, int Most, bool Last, typename T>
[[gnu::always_inline]] inline void turn_flat(const Block<T, Stepped> block, const char *last) {
    using V = typename VectorOf<T, Bytes>::Type;
    V rows[Most];
#pragma GCC unroll 16
    for (int i = 0; i < Most; ++i) {
        rows[i] = load<V>(block.src + block.rows[least(i, block.row_count - 1)]);
    }
    transpose_first<Bytes, T, Most>(rows);
    store_flat<Bytes, Most, Last, T>(block.dst, rows, block.columns.step, last, kLanesOf<Bytes>);
}

template <int Most, int64_t Bytes = kVector, typename T>
[[gnu::noinline]] void transpose_flat(const Block<T, Stepped> block) {
    constexpr int64_t kColumns = Bytes / int64_t{sizeof(T)};
    if constexpr (Bytes > kLane) {
        if (block.column_count < kColumns) {
            transpose_flat<Most, Bytes / 2>(block);
            return;
        }
    }
    const char *last = block.dst + block.column_count * block.columns.step - kLane;
    int64_t j = 0;
    for (; block.dst + (j + kColumns - 1) * block.columns.step <= last; j += kColumns) {
        turn_flat<Bytes, Most, false>(block.from(0, j), last);
    }
    for (; j < block.column_count; j += kColumns) {
        turn_flat<Bytes, Most, true>(block.from(0, least(j, block.column_count - kColumns)), last);
    }
}

template <typename T>
inline bool transpose_few_rows(const Block<T, Stepped> &block) {
    constexpr int64_t kCount = kPerLane<T>;
    const bool adjacent = block.columns.step == block.row_count * int64_t{sizeof(T)};
    if (block.row_count >= kCount || block.column_count < kCount || !adjacent) {
        return false;
    }
    with_most<T>(block.row_count, [&](auto most) { transpose_flat<most>(block); });
    return true;
}

template <typename T>
inline void transpose_short(const Block<T, Listed> &block, const Narrow narrow) {
    transpose_narrow(block, narrow);
}

// Both return false if the block is not for them: rows that are near each other, and columns that meet in dst.
template <typename T>
inline bool transpose_few_columns(const Block<T, Stepped> &block) {
    constexpr int64_t kCount = kPerLane<T>;
    const int64_t step = most(block.rows.step, -block.rows.step);
    if (block.column_count >= kCount || block.row_count < kCount || step == 0 || step > kNearRows) {
        return false;
    }
    const int64_t cut = count_cut(step, block.column_count * int64_t{sizeof(T)});
    if (block.row_count < kCount + cut) {
        return false;
    }
    with_most<T>(block.column_count, [&](auto most) { transpose_tall<most>(block, cut); });
    return true;
}

template <typename T>
inline void transpose_short(const Block<T, Stepped> &block, const Narrow narrow) {
    if (!transpose_few_columns(block) && !transpose_few_rows(block)) {
        transpose_narrow(block, narrow);
    }
}

}  // namespace
}  // namespace via
