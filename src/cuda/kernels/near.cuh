// Words that begin anywhere, out of memory that ends anywhere: only bytes of the source are ever read.
#pragma once

#include "cuda/kernels/device.cuh"

namespace via::kernels {

// The bytes from the first to behind the last element of a source.
struct Extent {
    uint64_t low;
    uint64_t bytes;
};

VIA_DEVICE bool holds(const Extent &extent, uint64_t address, uint64_t bytes) {
    const uint64_t at = address - extent.low;
    return at < extent.bytes && at + bytes <= extent.bytes;
}

// A word at a multiple of 4. What is not of the extent comes as 0.
VIA_DEVICE uint32_t load_near(const Extent &extent, uint64_t address) {
    if (holds(extent, address, 4)) {
        return load_global<Words<4>>(address).at[0];
    }
    uint32_t word = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        if (holds(extent, address + i, 1)) {
            word |= static_cast<uint32_t>(load_global<uint8_t>(address + i)) << (8 * i);
        }
    }
    return word;
}

// 4 bytes that begin anywhere.
VIA_DEVICE uint32_t load_loose(const Extent &extent, uint64_t address) {
    const uint64_t aligned = address & ~uint64_t{3};
    const uint32_t bits = static_cast<uint32_t>(address & 3) * 8;
    const uint32_t low = load_near(extent, aligned);
    return bits == 0 ? low : shift_words(low, load_near(extent, aligned + 4), bits);
}

VIA_DEVICE Words<16> load_near_16(const Extent &extent, uint64_t address) {
    if (holds(extent, address, 16)) {
        return load_global<Words<16>>(address);
    }
    Words<16> words;
    VIA_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
        words.at[i] = load_near(extent, address + 4 * i);
    }
    return words;
}

// 16 bytes that begin anywhere: of two aligned sixteens eight words, of which first two, then one is dropped in front,
// and then bytes.
VIA_DEVICE Words<16> load_loose_16(const Extent &extent, uint64_t address) {
    const uint64_t aligned = address & ~uint64_t{15};
    const uint32_t past = static_cast<uint32_t>(address & 15);
    const Words<16> low = load_near_16(extent, aligned);
    if (past == 0) {
        return low;
    }
    const Words<16> high = load_near_16(extent, aligned + 16);
    const uint32_t all[8] = {low.at[0],  low.at[1],  low.at[2],  low.at[3],
                             high.at[0], high.at[1], high.at[2], high.at[3]};
    uint32_t six[6];
    uint32_t five[5];
    VIA_UNROLL
    for (uint32_t i = 0; i < 6; ++i) {
        six[i] = (past & 8) != 0 ? all[i + 2] : all[i];
    }
    VIA_UNROLL
    for (uint32_t i = 0; i < 5; ++i) {
        five[i] = (past & 4) != 0 ? six[i + 1] : six[i];
    }
    Words<16> words;
    VIA_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
        words.at[i] = shift_words(five[i], five[i + 1], (past & 3) * 8);
    }
    return words;
}

// The elements of a word that belong to a run of `count`, of which the word's first is number `first`; that may be
// before the run, counted below 0.
template <int kElement>
VIA_DEVICE void store_part(uint64_t address, uint64_t first, uint64_t count, uint32_t word) {
    VIA_UNROLL
    for (uint32_t i = 0; i < 4 / kElement; ++i) {
        if (first + i < count) {
            store_global(address + i * kElement, static_cast<Word<kElement>>(word >> (8 * kElement * i)));
        }
    }
}

// The whole of it where that belongs to the run.
template <int kElement>
VIA_DEVICE void store_near(uint64_t address, uint64_t first, uint64_t count, uint32_t word) {
    if (first < count && first + 4 / kElement <= count) {
        store_global(address, Words<4>{{word}});
    } else {
        store_part<kElement>(address, first, count, word);
    }
}

}  // namespace via::kernels
