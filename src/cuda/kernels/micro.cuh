// A square of elements turned in registers: as many words as a word has elements.
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

VIA_DEVICE void exchange(uint32_t &a, uint32_t &b) {
    const uint32_t kept = a;
    a = b;
    b = kept;
}

// The squares within 4-byte words, each in its place.
template <int kElement, int kWord, int kCount>
VIA_DEVICE void turn_small(Words<kWord> (&square)[kCount]) {
    VIA_UNROLL
    for (int j = 0; j < kWord / 4; ++j) {
        if constexpr (kElement == 1) {
            VIA_UNROLL
            for (int i = 0; i < kCount; i += 4) {
                turn_bytes(square[i].at[j], square[i + 1].at[j], square[i + 2].at[j], square[i + 3].at[j]);
            }
        } else if constexpr (kElement == 2) {
            VIA_UNROLL
            for (int i = 0; i < kCount; i += 2) {
                turn_halves(square[i].at[j], square[i + 1].at[j]);
            }
        }
    }
}

// Blocks of kSize elements of 4 bytes or less, or elements of more, change places across the diagonal.
template <int kElement, int kWord, int kCount>
VIA_DEVICE void turn_blocks(Words<kWord> (&square)[kCount]) {
    constexpr int kUnit = kElement > 4 ? kElement : 4;      // bytes of a block
    constexpr int kRows = kElement < 4 ? 4 / kElement : 1;  // words that a block spans
    constexpr int kBlocks = kWord / kUnit;
    VIA_UNROLL
    for (int i = 0; i < kBlocks; ++i) {
        VIA_UNROLL
        for (int j = 0; j < i; ++j) {
            VIA_UNROLL
            for (int row = 0; row < kRows; ++row) {
                VIA_UNROLL
                for (int part = 0; part < kUnit / 4; ++part) {
                    exchange(square[i * kRows + row].at[j * (kUnit / 4) + part],
                             square[j * kRows + row].at[i * (kUnit / 4) + part]);
                }
            }
        }
    }
}

// Element i of word k becomes element k of word i.
template <int kElement, int kWord, int kCount>
VIA_DEVICE void turn_square(Words<kWord> (&square)[kCount]) {
    static_assert(kCount == kWord / kElement);
    if constexpr (kCount > 1) {
        turn_small<kElement>(square);
        turn_blocks<kElement>(square);
    }
}

}  // namespace via::kernels
