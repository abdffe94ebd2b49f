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

// Returns the whole sixteens of a source.
inline Extent whole_of(const Extent &extent) {
    const uint64_t low = (extent.low + 15) / 16 * 16;
    const uint64_t end = (extent.low + extent.bytes) / 16 * 16;
    return {low, end > low ? end - low : 0};
}

// Computes all addresses before the first load, so that no branch comes between loads.
VIA_DEVICE bool holds(const Extent &extent, uint64_t address, uint64_t bytes) {
    const uint64_t at = address - extent.low;
    const bool begins = at < extent.bytes;
    const bool ends = at + bytes <= extent.bytes;
    return begins && ends;
}

VIA_DEVICE uint32_t at_most_16(uint64_t bytes) { return bytes < 16 ? static_cast<uint32_t>(bytes) : 16; }

// Loads the bytes of an aligned sixteen that are of the extent, the others as 0. Four loads are under way at once: one
// after another, they would take longer than the rest of a small copy, and all at once take registers of all threads.
VIA_DEVICE Words<16> load_edge(const Extent &extent, uint64_t address) {
    const uint64_t past = extent.low + extent.bytes;
    const uint32_t begin = address < extent.low ? at_most_16(extent.low - address) : 0;
    const uint32_t end = address < past ? at_most_16(past - address) : 0;
    Words<16> words{};
    VIA_NO_UNROLL
    for (uint32_t at = 0; at < 16; at += 4) {
        uint32_t bytes[4];
        VIA_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            bytes[i] = at + i >= begin && at + i < end ? load_global<uint8_t>(address + at + i) : 0;
        }
        VIA_UNROLL
        for (uint32_t k = 0; k < 3; ++k) {
            words.at[k] = words.at[k + 1];
        }
        words.at[3] = bytes[3] << 24 | bytes[2] << 16 | bytes[1] << 8 | bytes[0];
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

// Returns the sixteen bytes of shared memory from byte `past` of a sixteen on. Larger elements are loaded one by one,
// which takes fewer instructions than to cut them out.
template <int kElement>
VIA_DEVICE Words<16> cut_at(const Words<16> *from, uint32_t past) {
    if constexpr (kElement < 4) {
        return cut_out<kElement>(from[0], from[past != 0 ? 1 : 0], past);
    } else {
        const auto *elements =
            reinterpret_cast<const Words<kElement> *>(reinterpret_cast<const unsigned char *>(from) + past);
        Words<16> words;
        VIA_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            words.at[i] = elements[i * 4 / kElement].at[i % (kElement / 4)];
        }
        return words;
    }
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

// Loads what is known to be of a source. Issues all loads before the first is used: no branch may come between them.
template <int kElement, uint32_t kCount>
VIA_DEVICE void load_inside(const LooseLoad (&loads)[kCount], Words<16> *out_words) {
    Words<16> low[kCount];
    Words<16> high[kCount];
    VIA_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
        if (loads[i].wanted) {
            low[i] = load_global<Words<16>>(loads[i].aligned());
        }
        if (loads[i].wanted && loads[i].past() != 0) {
            high[i] = load_global<Words<16>>(loads[i].aligned() + 16);
        }
    }
    VIA_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
        out_words[i] = cut_out<kElement>(low[i], high[i], loads[i].past());
    }
}

// Issues all of them before the first is used.
template <int kElement, uint32_t kCount>
VIA_DEVICE void load_loose(const Extent &extent, const LooseLoad (&loads)[kCount], Words<16> *out_words) {
    if (holds_all(extent, loads)) {
        load_inside<kElement>(loads, out_words);
        return;
    }
    VIA_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
        if (loads[i].wanted) {
            const Words<16> low = load_edge(extent, loads[i].aligned());
            const Words<16> high = load_edge(extent, loads[i].aligned() + 16);
            out_words[i] = cut_out<kElement>(low, high, loads[i].past());
        }
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
