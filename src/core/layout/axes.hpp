// Normalises the loops of a strided copy: destination steps are positive and ascending, and mergeable loops are merged.
// Walks through them.
#pragma once

#include <utility>

#include "core/base/checked.hpp"
#include "core/base/status.hpp"
#include "core/layout/axis.hpp"

namespace via {

// Inserts an axis, sorted by destination step, and returns its number. Row-major arrays, read from the last axis, need
// no moves.
inline int32_t insert_axis(const Axis &axis, Axis *axes, int32_t *ndim) {
    int32_t at = (*ndim)++;
    for (; at > 0 && axes[at - 1].dst_step > axis.dst_step; --at) {
        axes[at] = axes[at - 1];
    }
    axes[at] = axis;
    return at;
}

// Sets the steps of one side to those of packed elements, in the order of the axes.
inline void pack_steps(int64_t item, int64_t Axis::*step, Axis *axes, int32_t ndim) {
    for (int32_t i = 0; i < ndim; ++i) {
        axes[i].*step = item;
        item *= axes[i].extent;
    }
}

// Returns the bits that any step of one side has; the lowest says what all of them are multiples of.
inline uint64_t bits_of_steps(const Axis *axes, int32_t ndim, int64_t Axis::*step) {
    uint64_t bits = 0;
    for (int32_t i = 0; i < ndim; ++i) {
        bits |= static_cast<uint64_t>(axes[i].*step);
    }
    return bits;
}

// Reverses the direction of an axis.
inline void flip(Axis *axis, int64_t *dst_offset, int64_t *src_offset) {
    *dst_offset += (axis->extent - 1) * axis->dst_step;
    *src_offset += (axis->extent - 1) * axis->src_step;
    axis->dst_step = -axis->dst_step;
    axis->src_step = -axis->src_step;
}

inline bool continues(const Axis &inner, const Axis &outer) {
    int64_t dst_step = 0;
    int64_t src_step = 0;
    return multiply(inner.dst_step, inner.extent, &dst_step) && dst_step == outer.dst_step &&
           multiply(inner.src_step, inner.extent, &src_step) && src_step == outer.src_step;
}

// Merges axes that continue one another in both arrays, and lengthens the run by elements adjacent in both.
inline void merge_axes(int64_t *run, Axis *axes, int32_t *ndim) {
    const int32_t count = std::exchange(*ndim, 0);
    for (int32_t i = 0; i < count; ++i) {
        const Axis axis = axes[i];
        if (*ndim == 0 && axis.dst_step == *run && axis.src_step == *run) {
            *run *= axis.extent;
        } else if (*ndim > 0 && continues(axes[*ndim - 1], axis)) {
            axes[*ndim - 1].extent *= axis.extent;
        } else {
            axes[(*ndim)++] = axis;
        }
    }
}

// Calls visit(dst_offset, src_offset) for each index of the axes, the first innermost, up to the first failure.
template <class Visit>
Status for_each_index(const Axis *axes, int32_t ndim, const Visit &visit, int64_t dst = 0, int64_t src = 0) {
    if (ndim == 0) {
        return visit(dst, src);
    }
    const Axis &axis = axes[ndim - 1];
    for (int64_t i = 0; i < axis.extent; ++i) {
        VIA_TRY(for_each_index(axes, ndim - 1, visit, dst + i * axis.dst_step, src + i * axis.src_step));
    }
    return VIA_OK;
}

}  // namespace via
