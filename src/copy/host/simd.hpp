// The kernels themselves, compiled once per instruction set: the file that includes this defines VIA_VECTOR_BYTES, and
// is compiled for a processor that has vectors of that size. All of it has internal linkage, and it uses nothing that
// has not (see piece.hpp).
#pragma once

#include "copy/host/panels.hpp"
#include "copy/host/simd_channels.hpp"
#include "copy/host/simd_rows.hpp"
#include "copy/host/simd_sparse.hpp"
#include "copy/host/simd_transpose.hpp"

namespace via {
namespace {

template <typename T>
void transpose(const Piece &piece) {
    constexpr int64_t kSize = sizeof(T);
    const Axis inner = piece.axes[0];
    const Axis outer = piece.axes[1];
    for_each_panel(piece, [inner, outer, ahead = piece.ahead](char *dst, const char *src) {
        const int64_t row = split_channels<T>(dst, src, inner, outer);
        const int64_t column = row > 0 ? 0 : join_channels<T>(dst, src, inner, outer);
        transpose_block<T>(dst + column * outer.dst_step + row * kSize, outer.dst_step, outer.extent - column,
                           src + column * kSize + row * inner.src_step, inner.src_step, inner.extent - row, ahead);
    });
}

constexpr SimdKernels make_kernels(const char *name) noexcept {
    return {name,
            copy_rows,
            stream_rows,
            {transpose<uint8_t>, transpose<uint16_t>, transpose<uint32_t>, transpose<uint64_t>, transpose<Element16>},
            {gather_elements<uint8_t>, gather_elements<uint16_t>, gather_elements<uint32_t>}};
}

}  // namespace
}  // namespace via
