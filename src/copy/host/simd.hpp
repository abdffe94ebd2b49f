// The kernels themselves, compiled once per instruction set: the file that includes this defines VIA_VECTOR_BYTES, and
// is compiled for a processor that has vectors of that size. All of it has internal linkage, and it uses nothing that
// has not (see piece.hpp).
#pragma once

#include "copy/host/panels.hpp"
#include "copy/host/simd_channels.hpp"
#include "copy/host/simd_rows.hpp"
#include "copy/host/simd_shuffle.hpp"
#include "copy/host/simd_transpose.hpp"

namespace via {
namespace {

// Sides that go along one axis each.
template <typename T>
void transpose_panels(const Piece &piece) {
    constexpr int64_t kSize = sizeof(T);
    const Axis inner = piece.axes[0];
    const Axis outer = piece.axes[1];
    for_each_panel(piece, [inner, outer, ahead = piece.ahead](char *dst, const char *src) {
        const int64_t row = split_channels<T>(dst, src, inner, outer);
        const int64_t column = row > 0 ? 0 : join_channels<T>(dst, src, inner, outer);
        transpose_block(Block<T, Stepped>{dst + column * outer.dst_step + row * kSize,
                                          src + column * kSize + row * inner.src_step,
                                          {inner.src_step},
                                          {outer.dst_step},
                                          inner.extent - row,
                                          outer.extent - column},
                        ahead);
    });
}

template <typename T>
void transpose_sides(const Piece &piece, const Sides &sides) {
    ListedSide rows;
    ListedSide columns;
    list_side(piece.axes, sides.row_axes, sides.row_ndim, &Axis::src_step, kPerLane<T>, &rows);
    list_side(piece.axes, sides.column_axes, sides.column_ndim, &Axis::dst_step, kPerLane<T>, &columns);
    Axis rest[VIA_MAX_NDIM];
    for (int32_t i = 0; i < sides.rest_ndim; ++i) {
        rest[kPanelNdim + i] = piece.axes[sides.rest_axes[i]];
    }
    const Piece panels{piece.dst, piece.src, piece.run, rest, kPanelNdim + sides.rest_ndim, 0};
    for_each_panel(panels, [&](char *dst, const char *src) {
        for (int64_t j = 0; j < columns.last.extent; j += columns.part) {
            for (int64_t i = 0; i < rows.last.extent; i += rows.part) {
                transpose_block(Block<T, Listed>{dst + i * rows.last.dst_step + j * columns.last.dst_step,
                                                 src + i * rows.last.src_step + j * columns.last.src_step,
                                                 {rows.at},
                                                 {columns.at},
                                                 rows.count(i),
                                                 columns.count(j)},
                                piece.ahead);
            }
        }
    });
}

template <typename T>
void transpose(const Piece &piece) {
    Sides sides;
    find_sides(sizeof(T), piece.axes, piece.ndim, &sides);
    if (sides.row_ndim + sides.column_ndim == kPanelNdim) {
        transpose_panels<T>(piece);
    } else {
        transpose_sides<T>(piece, sides);
    }
}

constexpr SimdKernels make_kernels(const char *name) noexcept {
    return {name,
            VIA_VECTOR_BYTES / 32,
            copy_rows,
            stream_rows,
            {transpose<uint8_t>, transpose<uint16_t>, transpose<uint32_t>, transpose<uint64_t>, transpose<Element16>},
            kShufflesBytes ? shuffle : nullptr};
}

}  // namespace
}  // namespace via
