#include "copy/host/elements.hpp"

#include <algorithm>
#include <cstring>

#include "copy/host/host_kernels.hpp"
#include "copy/host/panels.hpp"

namespace via {
namespace {

template <int64_t Bytes>
inline void copy_next(char **dst, const char **src, const Axis &axis) {
    std::memcpy(*dst, *src, Bytes);
    *dst += axis.dst_step;
    *src += axis.src_step;
}

// By turns of several elements: the cost of a loop would otherwise exceed that of the copying.
template <int64_t Bytes>
inline void copy_line(char *dst, const char *src, const Axis axis) {
    constexpr int kTurn = 8;
    int64_t left = axis.extent;
    for (; left >= kTurn; left -= kTurn) {
        for (int i = 0; i < kTurn; ++i) {
            copy_next<Bytes>(&dst, &src, axis);
        }
    }
    for (; left > 0; --left) {
        copy_next<Bytes>(&dst, &src, axis);
    }
}

template <int64_t Bytes>
void copy_elements(const Piece &piece) {
    const Axis inner = piece.axes[0];
    const Axis outer = piece.axes[1];
    for_each_panel(piece, [inner, outer](char *dst, const char *src) {
        for (int64_t j = 0; j < outer.extent; ++j) {
            copy_line<Bytes>(dst + j * outer.dst_step, src + j * outer.src_step, inner);
        }
    });
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
    switch (nbytes) {
        case 1:
            return copy_elements<1>;
        case 2:
            return copy_elements<2>;
        case 3:
            return copy_elements<3>;
        case 4:
            return copy_elements<4>;
        case 6:
            return copy_elements<6>;
        case 8:
            return copy_elements<8>;
        case 12:
            return copy_elements<12>;
        case 16:
            return copy_elements<16>;
        case 24:
            return copy_elements<24>;
        case 32:
            return copy_elements<32>;
        default:
            return simd_kernels().rows;
    }
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
