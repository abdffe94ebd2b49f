// The loops around a panel. All of it has internal linkage (see piece.hpp): each instruction set has its own.
#pragma once

#include "copy/host/piece.hpp"
#include "viaduct/viaduct.h"

namespace via {
namespace {

constexpr int32_t kPanelNdim = 2;

// Calls body(dst, src) for each panel.
template <typename Body>
inline void for_each_panel(const Piece &piece, const Body &body) {
    char *dst = piece.dst;
    const char *src = piece.src;
    int64_t index[VIA_MAX_NDIM];
    for (int32_t i = kPanelNdim; i < piece.ndim; ++i) {
        index[i] = 0;
    }
    for (int32_t level = 0; level < piece.ndim;) {
        body(dst, src);
        for (level = kPanelNdim; level < piece.ndim; ++level) {
            const Axis &axis = piece.axes[level];
            dst += axis.dst_step;
            src += axis.src_step;
            if (++index[level] < axis.extent) {
                break;
            }
            index[level] = 0;
            dst -= axis.extent * axis.dst_step;
            src -= axis.extent * axis.src_step;
        }
    }
}

// From here on a side of a transpose is not made longer, in bytes.
constexpr int64_t kLongSide = 128;

// Which of an array's axes make up the two sides of a transpose: those along which elements are adjacent in dst, one
// axis after another, and those of src. The first of each side are axes 0 and 1.
struct Sides {
    int64_t rows;     // elements adjacent in dst
    int64_t columns;  // elements adjacent in src
    int32_t row_ndim;
    int32_t column_ndim;
    int32_t rest_ndim;
    int32_t row_axes[VIA_MAX_NDIM];
    int32_t column_axes[VIA_MAX_NDIM];
    int32_t rest_axes[VIA_MAX_NDIM];
};

inline bool goes_on(int64_t step, int64_t nbytes, int64_t count) {
    return step == nbytes * count && nbytes * count < kLongSide;
}

// Whether a few planes become the channels of pixels, or the other way, for which there are kernels.
inline bool moves_channels(int64_t run, const Axis &inner, const Axis &outer) {
    constexpr int64_t kLeastPixels = 16;
    const auto are_channels = [run](const Axis &axis) {
        return axis.extent >= 2 && axis.extent <= 4 && run * (axis.extent == 2 ? 1 : 2) <= 8;
    };
    const bool splits = inner.src_step == outer.extent * run && inner.extent >= kLeastPixels;
    const bool joins = outer.dst_step == inner.extent * run && outer.extent >= kLeastPixels;
    return (splits && are_channels(outer)) || (joins && are_channels(inner));
}

// Lengthens the sides by the axes that continue them, the shorter side first.
inline void find_sides(int64_t run, const Axis *axes, int32_t ndim, Sides *out) {
    out->rows = axes[0].extent;
    out->columns = axes[1].extent;
    out->row_ndim = out->column_ndim = 1;
    out->row_axes[0] = 0;
    out->column_axes[0] = 1;
    out->rest_ndim = 0;
    for (int32_t i = kPanelNdim; i < ndim; ++i) {
        out->rest_axes[out->rest_ndim++] = i;
    }
    if (moves_channels(run, axes[0], axes[1])) {
        return;
    }
    for (int32_t at = 0; at < out->rest_ndim;) {
        const int32_t axis = out->rest_axes[at];
        const Axis &next = axes[axis];
        const bool for_rows = goes_on(next.dst_step, run, out->rows);
        const bool for_columns = goes_on(next.src_step, run, out->columns);
        if (!for_rows && !for_columns) {
            ++at;
            continue;
        }
        if (for_rows && (!for_columns || out->rows <= out->columns)) {
            out->row_axes[out->row_ndim++] = axis;
            out->rows *= next.extent;
        } else {
            out->column_axes[out->column_ndim++] = axis;
            out->columns *= next.extent;
        }
        for (int32_t i = at + 1; i < out->rest_ndim; ++i) {
            out->rest_axes[i - 1] = out->rest_axes[i];
        }
        --out->rest_ndim;
        at = 0;
    }
}

}  // namespace
}  // namespace via
