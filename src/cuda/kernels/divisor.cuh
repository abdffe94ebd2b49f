// Index arithmetic: its width, and division by a number that is known before the launch, as a multiplication.
#pragma once

#include "cuda/kernels/device.cuh"

namespace via::kernels {

// Divides numerators below half of Index's range. With s the bits of divisor - 1, the factor is 2^(bits + s) / divisor,
// rounded up. Its error is so small that the quotient is exact. It is between 2^bits and its double; 2^bits of it are
// an addition.
template <class Index>
struct Divisor {
    Index divisor;  // at least 1
    Index factor;
    int32_t shift;
};

template <class Index>
VIA_DEVICE Index divide(Index numerator, const Divisor<Index> &by) {
    return (multiply_high(numerator, by.factor) + numerator) >> by.shift;
}

// A loop of blocks or threads. Steps are in bytes.
template <class Index>
struct LoopAxis {
    Divisor<Index> extent;
    int64_t dst_step;
    int64_t src_step;
};
using OuterAxis = LoopAxis<uint32_t>;  // that no tile goes along

// Moves two addresses by so many indices of an axis.
template <class Steps, class Index>
VIA_DEVICE void move_by(const Steps &axis, Index indices, uint64_t *dst, uint64_t *src) {
    *dst += static_cast<uint64_t>(static_cast<int64_t>(indices) * axis.dst_step);
    *src += static_cast<uint64_t>(static_cast<int64_t>(indices) * axis.src_step);
}

// Takes the lowest digit off a number whose digits count to different bases.
template <class Index>
VIA_DEVICE Index take_digit(Index *number, const Divisor<Index> &base) {
    const Index rest = divide(*number, base);
    const Index digit = *number - rest * base.divisor;
    *number = rest;
    return digit;
}

template <class Index>
inline Divisor<Index> make_divisor(int64_t divisor) {
    __extension__ using Widest = unsigned __int128;
    using Twice = std::conditional_t<sizeof(Index) == 8, Widest, uint64_t>;
    constexpr int32_t kBits = sizeof(Index) * 8;
    const auto d = static_cast<uint64_t>(divisor);
    const int32_t s = d > 1 ? 64 - __builtin_clzll(d - 1) : 0;
    const Twice rest = (Twice{1} << s) - d;  // 2^(bits + s) / d is 2^bits and 2^bits * rest / d
    return {static_cast<Index>(d), static_cast<Index>(((rest << kBits) + d - 1) / d), s};
}

template <class Index, class Axis>
inline LoopAxis<Index> make_loop(const Axis &axis) {
    return {make_divisor<Index>(axis.extent), axis.dst_step, axis.src_step};
}

// Widths of the index arithmetic of rows. Narrow: every index fits 31 bits, and there are few axes, so that a launch
// passes little.
struct Narrow {
    using Index = uint32_t;
    static constexpr int32_t kAxes = 10;
};
struct Wide {
    using Index = uint64_t;
    static constexpr int32_t kAxes = 64;
};

}  // namespace via::kernels
