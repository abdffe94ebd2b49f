// Small blocks of a matrix, turned in registers: see simd.hpp.
#pragma once

#include "copy/host/simd_vector.hpp"

namespace via {
namespace {

template <typename T>
constexpr int kPerLane = static_cast<int>(kLane / static_cast<int64_t>(sizeof(T)));
template <typename T>
constexpr int kPerVector = static_cast<int>(kVector / static_cast<int64_t>(sizeof(T)));

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

template <typename V, int... L>
inline void store_lanes(char *dst, int64_t step, V vector, std::integer_sequence<int, L...>) {
    (store(dst + L * step, lane<L>(vector)), ...);
}

template <int64_t Bytes>
constexpr auto kLanesOf = std::make_integer_sequence<int, static_cast<int>(Bytes / kLane)>();

// A lane of rows by `Bytes` of columns; what lies `ahead` of them in src is read ahead. Elements of a whole lane have
// nothing to be transposed.
template <typename T, int64_t Bytes, bool Ahead>
inline void turn(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t ahead) {
    using Plain = typename VectorOf<char, Bytes>::Type;
    for (int i = 0; Ahead && i < kPerLane<T>; ++i) {
        __builtin_prefetch(src + i * src_step + ahead, 0, 2);
    }
    if constexpr (sizeof(T) == kLane) {
        store_lanes(dst, dst_step, load<Plain>(src), kLanesOf<Bytes>);
    } else {
        constexpr int kRows = kPerLane<T>;
        typename VectorOf<T, Bytes>::Type rows[kRows];
        for (int i = 0; i < kRows; ++i) {
            rows[i] = load<typename VectorOf<T, Bytes>::Type>(src + i * src_step);
        }
        transpose_lanes<Bytes, T>(rows);
        for (int i = 0; i < kRows; ++i) {
            store_lanes(dst + i * dst_step, kRows * dst_step, reinterpret_cast<Plain>(rows[i]), kLanesOf<Bytes>);
        }
    }
}

// The same for a lane of rows or more; the last of them may be transposed twice. Not inlined: among more loops, the
// compiler moves the rows out of registers.
template <typename T, int64_t Bytes, bool Ahead>
[[gnu::noinline]] void transpose_rows(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t rows,
                                      int64_t ahead) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int64_t kRows = kPerLane<T>;
    int64_t i = 0;
    for (; i + kRows <= rows; i += kRows) {
        turn<T, Bytes, Ahead>(dst + i * kSize, dst_step, src + i * src_step, src_step, ahead);
    }
    if (i < rows) {
        i = rows - kRows;
        turn<T, Bytes, Ahead>(dst + i * kSize, dst_step, src + i * src_step, src_step, ahead);
    }
}

// A lane of columns or more, in vectors as wide as there are columns for; the last may be turned twice, too.
template <typename T, bool Ahead, int64_t Bytes = kVector>
inline void transpose_wide(char *dst, int64_t dst_step, int64_t columns, const char *src, int64_t src_step,
                           int64_t rows, int64_t ahead) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int64_t kColumns = Bytes / kSize;
    int64_t j = 0;
    for (; j + kColumns <= columns; j += kColumns) {
        transpose_rows<T, Bytes, Ahead>(dst + j * dst_step, dst_step, src + j * kSize, src_step, rows, ahead);
    }
    if constexpr (Bytes > kLane) {
        if (columns - j >= kPerLane<T>) {
            transpose_wide<T, Ahead, Bytes / 2>(dst + j * dst_step, dst_step, columns - j, src + j * kSize, src_step,
                                                rows, ahead);
            return;
        }
    }
    if (j < columns) {
        j = columns - kPerLane<T>;
        transpose_rows<T, kLane, Ahead>(dst + j * dst_step, dst_step, src + j * kSize, src_step, rows, ahead);
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

// Up to a lane of rows by up to a lane of columns; `readable` bytes may be read from src on.
template <typename T>
inline void transpose_part(char *dst, int64_t dst_step, int64_t columns, const char *src, int64_t src_step,
                           int64_t rows, int64_t readable) {
    constexpr int64_t kSize = sizeof(T);
    Lane<T> lanes[kPerLane<T>] = {};
    for (int64_t i = 0; i < rows; ++i) {
        const bool whole = i * src_step + kLane <= readable;
        lanes[i] = reinterpret_cast<Lane<T>>(load_part(src + i * src_step, whole ? kLane : columns * kSize));
    }
    transpose_lanes<kLane, T>(lanes);
    for (int64_t j = 0; j < columns; ++j) {
        store_part(dst + j * dst_step, reinterpret_cast<Lane<char>>(lanes[j]), rows * kSize);
    }
}

template <>
inline void transpose_part<Element16>(char *dst, int64_t, int64_t, const char *src, int64_t, int64_t, int64_t) {
    store(dst, load<Lane<char>>(src));
}

// A side of less than a lane. Rows that follow one another closely may be read past their end, into the next.
template <typename T>
inline void transpose_narrow(char *dst, int64_t dst_step, int64_t columns, const char *src, int64_t src_step,
                             int64_t rows) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int64_t kRows = kPerLane<T>;
    for (int64_t j = 0; j < columns; j += kRows) {
        const int64_t width = least(kRows, columns - j);
        const int64_t readable = src_step > 0 ? (rows - 1) * src_step + (columns - j) * kSize : 0;
        for (int64_t i = 0; i < rows; i += kRows) {
            transpose_part<T>(dst + j * dst_step + i * kSize, dst_step, width, src + j * kSize + i * src_step, src_step,
                              least(kRows, rows - i), readable - i * src_step);
        }
    }
}

// Any number of columns and rows.
template <typename T>
inline void transpose_block(char *dst, int64_t dst_step, int64_t columns, const char *src, int64_t src_step,
                            int64_t rows, int64_t ahead) {
    if (columns >= kPerLane<T> && rows >= kPerLane<T>) {
        if (ahead != 0) {
            transpose_wide<T, true>(dst, dst_step, columns, src, src_step, rows, ahead);
        } else {
            transpose_wide<T, false>(dst, dst_step, columns, src, src_step, rows, 0);
        }
    } else if (columns > 0 && rows > 0) {
        for (int64_t i = 0; ahead != 0 && i < rows; ++i) {
            __builtin_prefetch(src + i * src_step + ahead, 0, 2);
        }
        transpose_narrow<T>(dst, dst_step, columns, src, src_step, rows);
    }
}

}  // namespace
}  // namespace via
