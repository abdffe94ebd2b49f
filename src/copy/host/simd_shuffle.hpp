// Lines that are put together or spread by byte shuffles: see shuffle_line.hpp and simd.hpp.
#pragma once

#include "copy/host/elements.hpp"
#include "copy/host/panels.hpp"
#include "copy/host/shuffle_line.hpp"
#include "copy/host/simd_vector.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace via {
namespace {

#if defined(__SSSE3__)
inline Lane<char> shuffle_bytes(Lane<char> bytes, Lane<char> mask) {
    return reinterpret_cast<Lane<char>>(
        _mm_shuffle_epi8(reinterpret_cast<__m128i>(bytes), reinterpret_cast<__m128i>(mask)));
}
#elif defined(__aarch64__)
inline Lane<char> shuffle_bytes(Lane<char> bytes, Lane<char> mask) {
    return reinterpret_cast<Lane<char>>(
        vqtbl1q_u8(reinterpret_cast<uint8x16_t>(bytes), reinterpret_cast<uint8x16_t>(mask)));
}
#else
inline Lane<char> shuffle_bytes(Lane<char> bytes, Lane<char>) { return bytes; }
#endif

// Stores those bytes that the mask picks.
#if defined(__AVX512BW__) && defined(__AVX512VL__)
inline void store_picked(char *address, Lane<char> bytes, Lane<char> mask) {
    const __mmask16 none = _mm_movepi8_mask(reinterpret_cast<__m128i>(mask));
    _mm_mask_storeu_epi8(address, _knot_mask16(none), reinterpret_cast<__m128i>(bytes));
}
#else
inline void store_picked(char *, Lane<char>, Lane<char>) {}
#endif

// The windows of all lanes of a line: `each` for every lane, some of which may pick nothing.
struct Shuffles {
    static constexpr int32_t kMostLanes = 16;
    static constexpr int32_t kMost = 16;  // of a lane

    int32_t lanes;
    int32_t each = 0;
    int64_t to[kMostLanes];
    ShuffleWindow windows[kMostLanes][kMost];

    // As many as the kernel for it takes.
    int32_t padded() const { return each <= 8 ? each : kMost; }

    Shuffles(const ShuffleLine &line, int64_t run, Gaps gaps) : lanes((line.nbytes + 15) / 16) {
        int32_t counts[kMostLanes];
        for (int32_t lane = 0; lane < lanes; ++lane) {
            to[lane] = lane_start(line, lane);
            counts[lane] = find_windows(line, run, lane, kMost, gaps, windows[lane]);
            each = counts[lane] > each ? counts[lane] : each;
        }
        for (int32_t lane = 0; lane < lanes; ++lane) {
            for (int32_t i = counts[lane]; i < padded(); ++i) {
                windows[lane][i].from = windows[lane][0].from;
                __builtin_memset(windows[lane][i].mask, 0x80, sizeof windows[lane][i].mask);
            }
        }
    }
};

// The lines of a panel, one after another along an axis.
struct Lines {
    int64_t extent;
    int64_t block;  // indices of the axis in a line; the last line may overlap that before
    int64_t dst_step;
    int64_t src_step;
    int64_t low;  // what a line takes of src
    int64_t high;
    int64_t ahead;

    // On copies: for all the compiler knows, a store of bytes may change what is behind a reference.
    template <typename Body>
    [[gnu::always_inline]] void visit(char *dst, const char *src, const Body body) const {
        const int64_t dst_apart = block * dst_step;
        const int64_t src_apart = block * src_step;
#pragma GCC unroll 4
        for (int64_t left = extent / block; left > 0; --left) {
            body(dst, src);
            dst += dst_apart;
            src += src_apart;
        }
    }

    // Of the next piece, unless the processor reads it ahead by itself: lines less than a cache line apart make a row,
    // which may be long.
    // Always inlined: GCC drops calls of functions that do nothing else.
    [[gnu::always_inline]] void read_ahead(const char *src) const {
        constexpr int64_t kLong = 2048;
        const int64_t apart = block * src_step;
        const int64_t count = (extent - 1) / block + 1;
        const bool meet = most(apart, -apart) < high - low + kLine;
        const int64_t first = low + (meet ? least((count - 1) * apart, 0) : 0);
        const int64_t last = high + (meet ? most((count - 1) * apart, 0) : 0);
        if (ahead == 0 || last - first >= kLong) {
            return;
        }
        src += ahead;
        for (int64_t i = 0; i < (meet ? 1 : count); ++i, src += apart) {
            for (int64_t at = first; at < last; at += kLine) {
                __builtin_prefetch(src + at, 0, 2);
            }
        }
    }

    // The last line, which is not whole.
    Lines last() const {
        Lines lines = *this;
        lines.extent = block;
        return lines;
    }
};

// Loops over lines, along the longest axis that is left, and the others as panels.
inline Lines lines_of(const Piece &piece, const ShuffleLine &line, Gaps gaps, Axis *rest, int32_t *out_ndim) {
    Axis along = piece.axes[line.axis];
    int64_t block = line.block;
    int32_t longest = -1;
    for (int32_t i = 0; i < piece.ndim; ++i) {
        const bool free = i != line.axis && !line.has(i);
        longest = free && (longest < 0 || piece.axes[i].extent > piece.axes[longest].extent) ? i : longest;
    }
    if (line.has(line.axis) && longest >= 0) {
        along = piece.axes[longest];
        block = 1;
    } else {
        longest = -1;
    }
    *out_ndim = kPanelNdim;
    for (int32_t i = 0; i < piece.ndim; ++i) {
        if (i != line.axis && !line.has(i) && i != longest) {
            rest[(*out_ndim)++] = piece.axes[i];
        }
    }
    const int64_t low = gaps == Gaps::InSrc ? line.low : 0;
    const int64_t high = gaps == Gaps::InSrc ? line.high : line.nbytes;
    return {along.extent, block, along.dst_step, along.src_step, low, high, piece.ahead};
}

template <int Count>
[[gnu::always_inline]] inline Lane<char> put_together(const char *src, const ShuffleWindow *windows) {
    Lane<char> lane = {};
    for (int i = 0; i < Count; ++i) {
        const auto mask = load<Lane<char>>(reinterpret_cast<const char *>(windows[i].mask));
        lane |= shuffle_bytes(load<Lane<char>>(src + windows[i].from), mask);
    }
    return lane;
}

template <int Count>
[[gnu::always_inline]] inline void spread(char *dst, Lane<char> lane, const ShuffleWindow *windows) {
    for (int i = 0; i < Count; ++i) {
        const auto mask = load<Lane<char>>(reinterpret_cast<const char *>(windows[i].mask));
        store_picked(dst + windows[i].from, shuffle_bytes(lane, mask), mask);
    }
}

// Copies one lane of a line, so many bytes from where the line begins.
template <int Count, Gaps Side>
[[gnu::always_inline]] inline void shuffle_lane(char *dst, const char *src, int64_t at, const ShuffleWindow *windows) {
    if constexpr (Side == Gaps::InSrc) {
        store(dst + at, put_together<Count>(src, windows));
    } else {
        spread<Count>(dst, load<Lane<char>>(src + at), windows);
    }
}

// Lines of one lane: masks and places stay in registers.
template <int Count, Gaps Side>
[[gnu::noinline]] void shuffle_lanes(char *dst, const char *src, const Lines &lines, const Shuffles &shuffles) {
    ShuffleWindow windows[Count];
    for (int i = 0; i < Count; ++i) {
        windows[i] = shuffles.windows[0][i];
    }
    lines.visit(dst, src, [&windows](char *to, const char *from) { shuffle_lane<Count, Side>(to, from, 0, windows); });
}

template <int Count, Gaps Side>
[[gnu::noinline]] void shuffle_lines(char *dst, const char *src, const Lines &lines, const Shuffles &shuffles) {
    const int32_t lanes = shuffles.lanes;
    const int64_t *places = shuffles.to;
    const auto *windows = shuffles.windows;
    lines.visit(dst, src, [=](char *to, const char *from) {
        for (int32_t i = 0; i < lanes; ++i) {
            shuffle_lane<Count, Side>(to, from, places[i], windows[i]);
        }
    });
}

using ShuffleLines = void (*)(char *dst, const char *src, const Lines &lines, const Shuffles &shuffles);

template <int Count, Gaps Side>
inline ShuffleLines choose_lines(const Shuffles &shuffles) {
    if constexpr (Count == 0) {
        return nullptr;
    } else {
        return shuffles.each < Count               ? choose_lines<Count - 1, Side>(shuffles)
               : shuffles.lanes == 1 && Count <= 5 ? shuffle_lanes<Count, Side>
                                                   : shuffle_lines<Count, Side>;
    }
}

template <Gaps Side>
void shuffle(const Piece &piece) {
    ShuffleLine line;
    const Reversed reversed(piece.axes, piece.ndim);
    if (!find_line(piece.run, Side == Gaps::InSrc ? piece.axes : reversed.axes, piece.ndim, &line)) {
        return element_kernel(piece.run)(piece);
    }
    const Shuffles shuffles(line, piece.run, Side);
    const ShuffleLines work = shuffles.each <= 8 ? choose_lines<8, Side>(shuffles) : shuffle_lines<16, Side>;
    Axis rest[VIA_MAX_NDIM + kPanelNdim];
    int32_t ndim = 0;
    const Lines lines = lines_of(piece, line, Side, rest, &ndim);
    const int64_t last = lines.extent % lines.block != 0 ? lines.extent - lines.block : 0;
    for_each_panel({piece.dst, piece.src, piece.run, rest, ndim, 0}, [=, &shuffles](char *dst, const char *src) {
        lines.read_ahead(src);
        work(dst, src, lines, shuffles);
        if (last > 0) {
            work(dst + last * lines.dst_step, src + last * lines.src_step, lines.last(), shuffles);
        }
    });
}

}  // namespace
}  // namespace via
