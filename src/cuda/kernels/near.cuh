// Loads and stores of sixteen bytes that begin anywhere, in memory that ends anywhere. Reads only bytes of the source,
// and writes only elements of the run. Addresses are multiples of an element.
#pragma once

#include "cuda/kernels/device.cuh"

namespace via::kernels {

// The bytes from the first to behind the last element of a source.
struct Extent {
    uint64_t low;
    uint64_t bytes;
};

// Computes all addresses before the first load, so that no branch comes between loads.
VIA_DEVICE bool holds(const Extent &extent, uint64_t address, uint64_t bytes) {
    const uint64_t at = address - extent.low;
    const bool begins = at < extent.bytes;
    const bool ends = at + bytes <= extent.bytes;
    return begins && ends;
}

// Loads the bytes of an aligned sixteen that are of the extent, the others as 0. Rarely needed, and therefore kept
// short.
VIA_DEVICE Words<16> load_edge(const Extent &extent, uint64_t address) {
    Words<16> words{};
    VIA_NO_UNROLL
    for (uint32_t i = 16; i-- > 0;) {
        const bool there = holds(extent, address + i, 1);
        const uint32_t byte = there ? load_global<uint8_t>(address + i) : 0;
        VIA_UNROLL
        for (uint32_t k = 3; k > 0; --k) {
            words.at[k] = shift_words(words.at[k - 1], words.at[k], 24);
        }
        words.at[0] = words.at[0] << 8 | byte;
    }
    return words;
}

// Returns sixteen bytes of two sixteens, from number `past` (0 to 15) on. Of eight words it drops two and then one in
// front, and then bytes.
template <int kElement>
VIA_DEVICE Words<16> cut_out(const Words<16> &low, const Words<16> &high, uint32_t past) {
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
        five[i] = kElement < 8 && (past & 4) != 0 ? six[i + 1] : six[i];
    }
    Words<16> words;
    VIA_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
        words.at[i] = kElement < 4 ? shift_words(five[i], five[i + 1], (past & 3) * 8) : five[i];
    }
    return words;
}

// A load of sixteen bytes that begin anywhere.
struct LooseLoad {
    uint64_t address;
    bool wanted;

    VIA_DEVICE uint64_t aligned() const { return address & ~uint64_t{15}; }
    VIA_DEVICE uint32_t past() const { return static_cast<uint32_t>(address & 15); }
    VIA_DEVICE uint32_t bytes() const { return past() != 0 ? 32 : 16; }
};

// Returns whether all whole sixteens that hold what is wanted are of the extent.
template <uint32_t kCount>
VIA_DEVICE bool holds_all(const Extent &extent, const LooseLoad (&loads)[kCount]) {
    bool inside = true;
    VIA_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
        const bool held = holds(extent, loads[i].aligned(), loads[i].bytes());
        const bool idle = !loads[i].wanted;
        inside = inside && (held || idle);
    }
    return inside;
}

// Issues all of them before the first is used. `inside` says that they are known to be of the extent.
template <int kElement, uint32_t kCount>
VIA_DEVICE void load_loose(const Extent &extent, const LooseLoad (&loads)[kCount], Words<16> *out_words,
                           bool inside = false) {
    inside = inside || holds_all(extent, loads);
    Words<16> low[kCount];
    Words<16> high[kCount];
    VIA_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
        if (loads[i].wanted && inside) {
            low[i] = load_global<Words<16>>(loads[i].aligned());
        }
        if (loads[i].wanted && inside && loads[i].past() != 0) {
            high[i] = load_global<Words<16>>(loads[i].aligned() + 16);
        }
    }
    if (!inside) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kCount; ++i) {
            if (loads[i].wanted) {
                low[i] = load_edge(extent, loads[i].aligned());
                high[i] = load_edge(extent, loads[i].aligned() + 16);
            }
        }
    }
    VIA_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
        out_words[i] = cut_out<kElement>(low[i], high[i], loads[i].past());
    }
}

template <int kElement>
VIA_DEVICE Word<kElement> element_of(const Words<16> &words, uint32_t i) {
    if constexpr (kElement < 4) {
        constexpr uint32_t kPerWord = 4 / kElement;
        return static_cast<Word<kElement>>(words.at[i / kPerWord] >> (8 * kElement * (i % kPerWord)));
    } else {
        Word<kElement> element;
        VIA_UNROLL
        for (uint32_t k = 0; k < kElement / 4; ++k) {
            element.at[k] = words.at[i * (kElement / 4) + k];
        }
        return element;
    }
}

// Returns the word of four bytes at byte number `at` and after, in its low bytes.
VIA_DEVICE uint32_t bytes_at(const Words<16> &words, uint32_t at) {
    const uint32_t low = (at & 4) != 0 ? words.at[1] : words.at[0];
    const uint32_t high = (at & 4) != 0 ? words.at[3] : words.at[2];
    return ((at & 8) != 0 ? high : low) >> (at & 3) * 8;
}

// Stores `kBytes` aligned bytes of a sixteen, and moves on, if they end by `end`.
template <uint32_t kBytes>
VIA_DEVICE void store_some(uint64_t address, uint32_t end, const Words<16> &words, bool wanted, uint32_t *at) {
    if (!wanted || *at + kBytes > end) {
        return;
    }
    if constexpr (kBytes < 4) {
        store_global(address + *at, static_cast<Word<kBytes>>(bytes_at(words, *at)));
    } else {
        Words<kBytes> some;
        VIA_UNROLL
        for (uint32_t k = 0; k < kBytes / 4; ++k) {
            some.at[k] = bytes_at(words, *at + 4 * k);
        }
        store_global(address + *at, some);
    }
    *at += kBytes;
}

// Stores bytes begin to end - 1 of an aligned sixteen, as few and as large parts as are aligned: one by one, parts of
// small elements would be most of the stores of short rows, and each may cross a link by itself.
template <uint32_t kElement>
VIA_DEVICE void store_part(uint64_t address, uint32_t begin, uint32_t end, const Words<16> &words) {
    uint32_t at = begin;
    if constexpr (kElement == 1) {
        store_some<1>(address, end, words, (at & 1) != 0, &at);
    }
    store_some<2>(address, end, words, (at & 2) != 0, &at);
    store_some<4>(address, end, words, (at & 4) != 0, &at);
    store_some<8>(address, end, words, true, &at);
    store_some<4>(address, end, words, true, &at);
    store_some<2>(address, end, words, true, &at);
    if constexpr (kElement == 1) {
        store_some<1>(address, end, words, true, &at);
    }
}

// Stores the elements of a sixteen that belong to a run of `count`. `first` is the number of the sixteen's first
// element, below 0 if that comes before the run.
template <int kElement, class Index>
VIA_DEVICE void store_near(uint64_t address, Index first, Index count, const Words<16> &words) {
    constexpr uint32_t kCount = 16 / kElement;
    if (first < count && first + kCount <= count) {
        store_global(address, words);
        return;
    }
    if constexpr (kElement < 4) {
        const Index begin = first < count ? Index{0} : Index{0} - first;
        if (begin < kCount) {
            const Index left = count - (first + begin);
            const uint32_t end = left < kCount - begin ? static_cast<uint32_t>(begin + left) : kCount;
            store_part<kElement>(address, static_cast<uint32_t>(begin) * kElement, end * kElement, words);
        }
    } else {
        VIA_UNROLL
        for (uint32_t i = 0; i < kCount; ++i) {
            if (first + i < count) {
                store_global(address + i * kElement, element_of<kElement>(words, i));
            }
        }
    }
}

}  // namespace via::kernels
