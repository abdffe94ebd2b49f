// Rows of sixteen bytes turned into columns in registers.
#pragma once

#include "cuda/kernels/device.cuh"

namespace via::kernels {

// Four words of four bytes each; byte i of word k becomes byte k of word i.
VIA_DEVICE void turn_bytes(uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d) {
    const uint32_t ab_low = permute_bytes(a, b, 0x5140);   // a0 b0 a1 b1
    const uint32_t cd_low = permute_bytes(c, d, 0x5140);   // c0 d0 c1 d1
    const uint32_t ab_high = permute_bytes(a, b, 0x7362);  // a2 b2 a3 b3
    const uint32_t cd_high = permute_bytes(c, d, 0x7362);
    a = permute_bytes(ab_low, cd_low, 0x5410);  // a0 b0 c0 d0
    b = permute_bytes(ab_low, cd_low, 0x7632);
    c = permute_bytes(ab_high, cd_high, 0x5410);
    d = permute_bytes(ab_high, cd_high, 0x7632);
}

VIA_DEVICE void turn_halves(uint32_t &a, uint32_t &b) {
    const uint32_t low = permute_bytes(a, b, 0x5410);
    b = permute_bytes(a, b, 0x7632);
    a = low;
}

// The squares within 4-byte words, each in its place.
template <int kElement, int kRows>
VIA_DEVICE void turn_small(Words<16> (&rows)[kRows]) {
    VIA_UNROLL
    for (int j = 0; j < 4; ++j) {
        if constexpr (kElement == 1) {
            VIA_UNROLL
            for (int i = 0; i < kRows; i += 4) {
                turn_bytes(rows[i].at[j], rows[i + 1].at[j], rows[i + 2].at[j], rows[i + 3].at[j]);
            }
        } else if constexpr (kElement == 2) {
            VIA_UNROLL
            for (int i = 0; i < kRows; i += 2) {
                turn_halves(rows[i].at[j], rows[i + 1].at[j]);
            }
        }
    }
}

// Behind that: element `number` of each of the rows, one after the other.
template <int kElement, int kRows>
VIA_DEVICE Words<kRows * kElement> column_of(const Words<16> (&rows)[kRows], int number) {
    constexpr int kWords = kElement > 4 ? kElement / 4 : 1;  // 4-byte words of an element
    constexpr int kSmall = kElement < 4 ? 4 / kElement : 1;  // rows of a square within a word
    Words<kRows * kElement> column;
    VIA_UNROLL
    for (int i = 0; i < kRows * kElement / 4; ++i) {
        column.at[i] = rows[i / kWords * kSmall + number % kSmall].at[number / kSmall * kWords + i % kWords];
    }
    return column;
}

}  // namespace via::kernels
