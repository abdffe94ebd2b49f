// Blocks of a matrix, transposed into whole cache lines of dst: see simd.hpp.
//
// A transpose by lanes writes a line in parts, one for each lane of rows. Where columns are a multiple of some hundred
// bytes apart in dst, their lines compete for a few sets of the first-level cache, and leave it half written. Here each
// is written at once, where a vector is a line. Halves gain nothing (measured with AVX2).
#pragma once

#include "copy/host/simd_transpose.hpp"

namespace via {
namespace {

using Pairs = Vector<uint64_t>;  // a lane is two of them
constexpr int kLanes = static_cast<int>(kVector / kLane);

// Every other lane of a, and then of b.
template <int From, int... I>
inline Pairs pick_lanes(Pairs a, Pairs b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, ((I / 2 * 2 + From) * 2 + I % 2)...);
}

// Lane i of vector j becomes lane j of vector i.
[[gnu::always_inline]] inline void exchange_lanes(Pairs (&vectors)[kLanes]) {
    constexpr auto kIndices = std::make_integer_sequence<int, 2 * kLanes>();
    for (int step = 1; step < kLanes; step *= 2) {
        Pairs picked[kLanes];
        for (int i = 0; i < kLanes / 2; ++i) {
            picked[i] = pick_lanes<0>(vectors[2 * i], vectors[2 * i + 1], kIndices);
            picked[i + kLanes / 2] = pick_lanes<1>(vectors[2 * i], vectors[2 * i + 1], kIndices);
        }
        for (int i = 0; i < kLanes; ++i) {
            vectors[i] = picked[i];
        }
    }
}

// A lane of rows, transposed lane by lane.
template <bool Ahead, typename T, typename At>
[[gnu::always_inline]] inline void load_rows(const Block<T, At> &block, int64_t ahead, Pairs (&out)[kPerLane<T>]) {
    if constexpr (sizeof(T) == kLane) {
        out[0] = load<Pairs>(block.src + block.rows[0]);
    } else {
        Vector<T> rows[kPerLane<T>];
        for (int i = 0; i < kPerLane<T>; ++i) {
            rows[i] = load<Vector<T>>(block.src + block.rows[i]);
        }
        transpose_lanes<kVector, T>(rows);
        for (int i = 0; i < kPerLane<T>; ++i) {
            out[i] = reinterpret_cast<Pairs>(rows[i]);
        }
    }
    for (int i = 0; Ahead && i < kPerLane<T>; ++i) {
        __builtin_prefetch(block.src + block.rows[i] + ahead, 0, 2);
    }
}

// A vector of rows by a vector of columns, each of which is a line of dst.
template <bool Ahead, typename T, typename At>
[[gnu::always_inline]] inline void turn_vectors(const Block<T, At> block, int64_t ahead) {
    Pairs lanes[kLanes][kPerLane<T>];
    for (int k = 0; k < kLanes; ++k) {
        load_rows<Ahead>(block.from(k * kPerLane<T>, 0), ahead, lanes[k]);
    }
    for (int i = 0; i < kPerLane<T>; ++i) {
        Pairs columns[kLanes];
        for (int k = 0; k < kLanes; ++k) {
            columns[k] = lanes[k][i];
        }
        exchange_lanes(columns);
        for (int k = 0; k < kLanes; ++k) {
            store(block.dst + block.columns[i + k * kPerLane<T>], columns[k]);
        }
    }
}

// Whole vectors of rows and columns.
template <bool Ahead, typename T, typename At>
[[gnu::noinline]] void transpose_vectors(const Block<T, At> block, int64_t ahead) {
    constexpr int64_t kCount = kVector / int64_t{sizeof(T)};
    for (int64_t j = 0; j < block.column_count; j += kCount) {
        for (int64_t i = 0; i < block.row_count; i += kCount) {
            turn_vectors<Ahead>(block.from(i, j), ahead);
        }
    }
}

// Whether the elements of a side are whole lines apart, and compete for the sets of a cache: others are spread over
// all.
inline bool are_lines_apart(const Stepped &side, int64_t) { return side.step % kLineConflict == 0; }
inline bool are_lines_apart(const Listed &side, int64_t count) {
    int64_t any = 0;
    for (int64_t i = 0; i < count; ++i) {
        any |= side.at[i];
    }
    return any % kLineConflict == 0;
}

// The elements of one side that fill vectors from the first line on.
struct Whole {
    int64_t first;
    int64_t count;
    int64_t end() const { return first + count; }
};

template <typename T>
inline Whole find_whole(uintptr_t address, int64_t count) {
    constexpr int64_t kSize = sizeof(T);
    const int64_t first = static_cast<int64_t>(-address % kLine) / kSize;
    return {first, count > first ? (count - first) & -(kVector / kSize) : 0};
}

// Whether little is left at both ends.
inline bool is_most(const Whole &whole, int64_t count) { return 8 * whole.count >= 7 * count; }

// Blocks whose columns start lines of dst at the same rows. Returns false if this is none, or hardly one.
template <bool Ahead, typename T, typename At>
inline bool transpose_by_lines(const Block<T, At> &block, int64_t ahead) {
    constexpr int64_t kLeast = kPerLane<T>;
    if (kVector != kLine || reinterpret_cast<uintptr_t>(block.dst) % sizeof(T) != 0 ||
        !are_lines_apart(block.columns, block.column_count)) {
        return false;
    }
    const Whole rows = find_whole<T>(reinterpret_cast<uintptr_t>(block.dst), block.row_count);
    Whole columns = find_whole<T>(reinterpret_cast<uintptr_t>(block.src), block.column_count);
    if (!is_most(columns, block.column_count) || !are_lines_apart(block.rows, block.row_count)) {
        columns = find_whole<T>(0, block.column_count);
    }
    if (!is_most(rows, block.row_count) || 2 * columns.count < block.column_count) {
        return false;
    }
    transpose_vectors<Ahead>(block.part(rows.first, rows.count, columns.first, columns.count), ahead);
    // The edges: a lane at least, part of which may be transposed twice.
    const auto edge = [&](const Whole &of_rows, const Whole &of_columns) {
        if (of_rows.count > 0 && of_columns.count > 0) {
            const int64_t row = least(of_rows.first, block.row_count - kLeast);
            const int64_t column = least(of_columns.first, block.column_count - kLeast);
            transpose_wide<Ahead>(
                block.part(row, most(of_rows.end() - row, kLeast), column, most(of_columns.end() - column, kLeast)),
                ahead);
        }
    };
    edge({0, rows.first}, {0, block.column_count});
    edge({rows.end(), block.row_count - rows.end()}, {0, block.column_count});
    edge(rows, {0, columns.first});
    edge(rows, {columns.end(), block.column_count - columns.end()});
    return true;
}

}  // namespace
}  // namespace via
