// Division by a number that is known before the launch, as a multiplication.
#pragma once

#include "cuda/kernels/device.cuh"

namespace via::kernels {

// For numerators below half of what Index holds. With s the bits of divisor - 1, a factor of 2^(bits - 1 + s) / divisor
// rounded up is less than 2^bits, and too large by so little that the quotient is exact.
template <class Index>
struct Divisor {
    Index divisor;  // at least 2
    Index factor;
    int32_t shift;
};

template <class Index>
VIA_DEVICE Index divide(Index numerator, const Divisor<Index> &by) {
    return multiply_high(numerator, by.factor) >> by.shift;
}

template <class Index>
inline Divisor<Index> make_divisor(int64_t divisor) {
    __extension__ using Twice = unsigned __int128;
    constexpr int32_t kBits = sizeof(Index) * 8;
    const auto d = static_cast<Twice>(divisor);
    int32_t s = 1;
    while (Twice{1} << s < d) {
        ++s;
    }
    return {static_cast<Index>(d), static_cast<Index>(((Twice{1} << (kBits - 1 + s)) + d - 1) / d), s - 1};
}

}  // namespace via::kernels
