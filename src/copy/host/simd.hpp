// The kernels themselves, compiled once per instruction set: the file that includes this defines VIA_VECTOR_BYTES, and
// is compiled for a processor that has vectors of that size. All of it has internal linkage, and it uses nothing that
// has not (see piece.hpp).
#pragma once

#include "copy/host/panels.hpp"
#include "copy/host/simd_channels.hpp"
#include "copy/host/simd_lines.hpp"
#include "copy/host/simd_narrow.hpp"
#include "copy/host/simd_rows.hpp"
#include "copy/host/simd_shuffle.hpp"
#include "copy/host/simd_transpose.hpp"

namespace via {
namespace {

// A lane of both sides at least.
template <bool Ahead, typename T, typename At>
inline void transpose_large(const Block<T, At> block, int64_t ahead) {
    if (!transpose_by_lines<Ahead>(block, ahead)) {
        transpose_wide<Ahead>(block, ahead);
    }
}

// Any number of columns and rows.
template <typename T, typename At>
inline void transpose_block(const Block<T, At> block, int64_t ahead) {
    if (block.column_count >= kPerLane<T> && block.row_count >= kPerLane<T>) {
        if (ahead != 0) {
            transpose_large<true>(block, ahead);
        } else {
            transpose_large<false>(block, 0);
        }
    } else if (block.column_count > 0 && block.row_count > 0) {
        if constexpr (kPerLane<T> > 1) {
            for (int64_t i = 0; ahead != 0 && i < block.row_count; ++i) {
                __builtin_prefetch(block.src + block.rows[i] + ahead, 0, 2);
            }
            transpose_short(block, narrow_of(block.dst, block.src, block.row_count, block.column_count, block.rows,
                                             block.columns, sizeof(T)));
        }
    }
}

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
            kShufflesBytes ? shuffle<Gaps::InSrc> : nullptr,
            kShufflesBytes && kStoresPicked ? shuffle<Gaps::InDst> : nullptr};
}

}  // namespace
}  // namespace via
