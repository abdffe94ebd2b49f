// Elements that are adjacent in dst and a few elements apart in src, or go backwards there: see simd.hpp.
#pragma once

#include "copy/host/panels.hpp"
#include "copy/host/simd_transpose.hpp"

namespace via {
namespace {

// Of as many lanes as elements are apart, one after another: what was picked from those before goes first.
template <typename T, int Apart, int FromLane, int... I>
[[gnu::always_inline]] inline Lane<T> pick(Lane<T> picked, Lane<T> from, std::integer_sequence<int, I...>) {
    constexpr int kCount = kPerLane<T>;
    return __builtin_shufflevector(picked, from, (I * Apart / kCount == FromLane ? kCount + I * Apart % kCount : I)...);
}

// A lane of elements, the first of them at src.
template <typename T, int Apart>
struct Sparse {
    static constexpr int64_t kReach = Apart;  // elements that are read for each one

    template <int... L>
    static Lane<T> gather(const char *src, std::integer_sequence<int, L...>) {
        Lane<T> picked = {};
        ((picked = pick<T, Apart, L>(picked, load<Lane<T>>(src + L * kLane),
                                     std::make_integer_sequence<int, kPerLane<T>>())),
         ...);
        return picked;
    }
    static Lane<T> gather(const char *src) { return gather(src, std::make_integer_sequence<int, Apart>()); }
};

template <typename T>
struct Sparse<T, -1> {
    static constexpr int64_t kReach = 1;

    template <int... I>
    static Lane<T> transpose_round(Lane<T> lane, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(lane, lane, (kPerLane<T> - 1 - I)...);
    }
    static Lane<T> gather(const char *src) {
        constexpr int64_t kSize = sizeof(T);
        return transpose_round(load<Lane<T>>(src - kLane + kSize), std::make_integer_sequence<int, kPerLane<T>>());
    }
};

// Returns how many elements are done. The gap behind the last element may not be there to be read.
template <typename Source, typename T>
inline int64_t gather_line(char *dst, const char *src, int64_t src_step, int64_t count) {
    const int64_t most = Source::kReach > 1 ? count - 1 : count;
    if (most < kPerLane<T>) {
        return 0;
    }
    for (int64_t i = 0; i < most; i += kPerLane<T>) {
        const int64_t from = least(i, most - kPerLane<T>);
        store(dst + from * int64_t{sizeof(T)}, Source::gather(src + from * src_step));
    }
    return most;
}

template <typename T>
inline int64_t gather_some(char *dst, const char *src, int64_t src_step, int64_t count) {
    switch (src_step / int64_t{sizeof(T)}) {
        case -1:
            return gather_line<Sparse<T, -1>, T>(dst, src, src_step, count);
        case 2:
            return gather_line<Sparse<T, 2>, T>(dst, src, src_step, count);
        case 3:
            return gather_line<Sparse<T, 3>, T>(dst, src, src_step, count);
        default:
            return gather_line<Sparse<T, 4>, T>(dst, src, src_step, count);
    }
}

// The lines that hold the elements of a short axis; a long one the processor reads ahead by itself.
inline void read_line_ahead(const char *src, const Axis &axis) {
    constexpr int64_t kLong = 2048;
    const int64_t reach = (axis.extent - 1) * axis.src_step;
    const int64_t nbytes = reach < 0 ? -reach : reach;
    const char *lowest = reach < 0 ? src + reach : src;
    for (int64_t at = 0; nbytes < kLong && at <= nbytes; at += kLine) {
        __builtin_prefetch(lowest + at, 0, 2);
    }
}

template <typename T>
void gather_elements(const Piece &piece) {
    const Axis inner = piece.axes[0];
    const Axis outer = piece.axes[1];
    for_each_panel(piece, [inner, outer, ahead = piece.ahead](char *dst, const char *src) {
        for (int64_t j = 0; j < outer.extent; ++j, dst += outer.dst_step, src += outer.src_step) {
            if (ahead != 0) {
                read_line_ahead(src + ahead, inner);
            }
            const int64_t done = kShufflesBytes ? gather_some<T>(dst, src, inner.src_step, inner.extent) : 0;
            for (int64_t i = done; i < inner.extent; ++i) {
                store(dst + i * inner.dst_step, load<T>(src + i * inner.src_step));
            }
        }
    });
}

}  // namespace
}  // namespace via
