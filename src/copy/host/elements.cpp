#include "copy/host/elements.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "copy/host/host_kernels.hpp"
#include "copy/host/panels.hpp"
#include "copy/host/walk.hpp"
#include "copy/plan/cache_sizes.hpp"

namespace via {
namespace {

template <int64_t Bytes>
struct MoveConstant {
    void operator()(char *dst, const char *src) const { std::memcpy(dst, src, Bytes); }
};

// Elements of one to two times `Bytes`: two moves that overlap.
template <int64_t Bytes>
struct MoveEnds {
    int64_t last;
    void operator()(char *dst, const char *src) const {
        char first_bytes[Bytes];
        char last_bytes[Bytes];
        std::memcpy(first_bytes, src, Bytes);
        std::memcpy(last_bytes, src + last, Bytes);
        std::memcpy(dst, first_bytes, Bytes);
        std::memcpy(dst + last, last_bytes, Bytes);
    }
};

// By turns of several elements, each placed from where the turn begins: a sum that waits for the one before would take
// longer than the copying.
//
// Not inlined: among more loops, steps would not stay in registers.
template <typename Move>
[[gnu::noinline]] void copy_line(char *dst, const char *src, int64_t left, int64_t to, int64_t from, const Move move) {
    constexpr int64_t kTurn = 4;
    for (; left >= kTurn; left -= kTurn) {
        move(dst, src);
        move(dst + to, src + from);
        move(dst + 2 * to, src + 2 * from);
        move(dst + 3 * to, src + 3 * from);
        dst += kTurn * to;
        src += kTurn * from;
    }
    for (; left > 0; --left) {
        move(dst, src);
        dst += to;
        src += from;
    }
}

template <typename Move>
inline void copy_panels(const Piece &piece, const Move move) {
    const Axis inner = piece.axes[0];
    const Axis outer = piece.axes[1];
    for_each_panel(piece, [inner, outer, move](char *dst, const char *src) {
        for (int64_t j = 0; j < outer.extent; ++j) {
            copy_line(dst + j * outer.dst_step, src + j * outer.src_step, inner.extent, inner.dst_step, inner.src_step,
                      move);
        }
    });
}

// Whether panels go along lines of src, several elements of each, that lie apart: the processor reads none of them
// ahead by itself.
bool gathers_lines(const Piece &piece) {
    constexpr int64_t kLeast = 4;
    return std::abs(piece.axes[0].src_step) >= 2 * kLineBytes &&
           kLeast * std::abs(piece.axes[1].src_step) <= kLineBytes;
}

// The same, and reads the next piece ahead. Apart from that, or its registers would slow it down.
template <typename Move>
[[gnu::noinline]] void copy_panels_ahead(const Piece &piece, const Move move) {
    const Axis inner = piece.axes[0];
    const Axis outer = piece.axes[1];
    const int64_t step = std::abs(outer.src_step);
    const int64_t apart = step == 0 ? outer.extent : kLineBytes / step;
    for_each_panel(piece, [inner, outer, apart, ahead = piece.ahead, move](char *dst, const char *src) {
        for (int64_t from = 0; from < outer.extent; from += apart) {
            const char *next = src + from * outer.src_step + ahead;
            for (int64_t i = 0; i < inner.extent; ++i, next += inner.src_step) {
                __builtin_prefetch(next, 0, 2);
            }
            const int64_t end = std::min(from + apart, outer.extent);
            for (int64_t j = from; j < end; ++j) {
                copy_line(dst + j * outer.dst_step, src + j * outer.src_step, inner.extent, inner.dst_step,
                          inner.src_step, move);
            }
        }
    });
}

template <int64_t Bytes>
void copy_elements(const Piece &piece) {
    if (piece.run == Bytes && piece.ahead != 0 && gathers_lines(piece)) {
        copy_panels_ahead(piece, MoveConstant<Bytes>());
    } else if (piece.run == Bytes) {
        copy_panels(piece, MoveConstant<Bytes>());
    } else {
        copy_panels(piece, MoveEnds<Bytes>{piece.run - Bytes});
    }
}

// A pattern grown to this is copied as a whole: large enough for the C library to be fast, and always in the cache.
constexpr int64_t kPatternBytes = 4096;

void repeat_line(char *dst, const char *src, int64_t run, int64_t count) {
    const int64_t nbytes = run * count;
    if (count == 0) {
        return;
    }
    if (run == 1) {
        std::memset(dst, static_cast<unsigned char>(*src), static_cast<size_t>(count));
        return;
    }
    std::memcpy(dst, src, static_cast<size_t>(run));
    int64_t filled = run;
    while (filled < nbytes) {
        const int64_t pattern = filled < kPatternBytes ? filled : kPatternBytes / run * run;
        const int64_t size = std::min(std::max(pattern, run), nbytes - filled);
        std::memcpy(dst + filled, dst, static_cast<size_t>(size));
        filled += size;
    }
}

}  // namespace

Kernel element_kernel(int64_t nbytes) {
    static constexpr Kernel kKernels[] = {copy_elements<1>, copy_elements<2>,  copy_elements<4>,
                                          copy_elements<8>, copy_elements<16>, copy_elements<32>};
    if (nbytes >= kRowBytes || nbytes <= 0) {
        return simd_kernels().rows;
    }
    return kKernels[63 - __builtin_clzll(static_cast<unsigned long long>(nbytes))];
}

void repeat_element(const Piece &piece) {
    const Axis inner = piece.axes[0];
    const Axis outer = piece.axes[1];
    for_each_panel(piece, [inner, outer, run = piece.run](char *dst, const char *src) {
        for (int64_t j = 0; j < outer.extent; ++j) {
            repeat_line(dst + j * outer.dst_step, src + j * outer.src_step, run, inner.extent);
        }
    });
}

}  // namespace via
