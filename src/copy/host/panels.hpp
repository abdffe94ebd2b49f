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

}  // namespace
}  // namespace via
