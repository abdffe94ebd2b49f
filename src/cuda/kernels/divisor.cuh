// Division by a number that is known before the launch, as a multiplication.
#pragma once

#include "cuda/kernels/device.cuh"

namespace via::kernels {

// For numerators below half of what Index holds. With s the bits of divisor - 1, a factor of 2^(bits + s) / divisor
// rounded up is too large by so little that the quotient is exact. It lies between 2^bits and its double; 2^bits of it
// are an addition.
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
    __extension__ using Twice = unsigned __int128;
    constexpr int32_t kBits = sizeof(Index) * 8;
    const auto d = static_cast<Twice>(divisor);
    int32_t s = 0;
    while (Twice{1} << s < d) {
        ++s;
    }
    const Twice rest = (Twice{1} << s) - d;  // 2^(bits + s) / d is 2^bits and 2^bits * rest / d
    return {static_cast<Index>(d), static_cast<Index>(((rest << kBits) + d - 1) / d), s};
}

}  // namespace via::kernels
