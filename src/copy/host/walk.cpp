#include "copy/host/walk.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "copy/host/elements.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/host/panels.hpp"
#include "copy/host/shuffle_line.hpp"
#include "copy/plan/cache_sizes.hpp"

namespace via {
namespace {

// A repeated element is a row of its own from here on; below, it is a side of a transpose.
constexpr int64_t kLeastRepeat = 64;

// Moves an axis up to the second place; the others keep their order.
void bring_to_panel(int32_t axis, Axis *axes, int32_t *of) {
    if (axis == 1) {
        return;
    }
    std::rotate(axes + 1, axes + axis, axes + axis + 1);
    std::rotate(of + 1, of + axis, of + axis + 1);
}

// Around the panel, those axes first along which the memory that is far away moves least: what is left of the cache
// lines that the panel has touched is used soon.
void order_outer_axes(int32_t first, int32_t ndim, Axis *axes, int32_t *of, bool into_scratch) {
    const auto reach = [&](const Axis &axis) {
        return into_scratch ? std::abs(axis.src_step) : std::min(std::abs(axis.dst_step), std::abs(axis.src_step));
    };
    for (int32_t i = first + 1; i < ndim; ++i) {
        for (int32_t k = i; k > first && reach(axes[k]) < reach(axes[k - 1]); --k) {
            std::swap(axes[k], axes[k - 1]);
            std::swap(of[k], of[k - 1]);
        }
    }
}

void turn_round(Axis *axis) {
    axis->dst_step = -axis->dst_step;
    axis->src_step = -axis->src_step;
}

// An axis that would continue the columns of a transpose if src went forward along it; nullptr if there is none.
Axis *find_backward(int64_t run, int32_t ndim, Axis *axes) {
    Sides sides;
    find_sides(run, axes, ndim, &sides);
    for (int32_t i = 0; i < sides.rest_ndim; ++i) {
        Axis &axis = axes[sides.rest_axes[i]];
        if (axis.src_step < 0 && goes_on(-axis.src_step, run, sides.columns)) {
            return &axis;
        }
    }
    return nullptr;
}

// The kernels transpose blocks whose source goes forward along the second axis, and along those that continue it; the
// destination may go backwards. Returns whether it does.
bool make_source_forward(int64_t run, int32_t ndim, Axis *axes) {
    bool flipped = axes[1].src_step < 0;
    if (flipped) {
        turn_round(&axes[1]);
    }
    const auto is_backward = [](const Axis &axis) { return axis.src_step < 0; };
    if (axes[1].src_step != run || std::none_of(axes + kPanelNdim, axes + ndim, is_backward)) {
        return flipped;
    }
    while (Axis *axis = find_backward(run, ndim, axes)) {
        turn_round(axis);
        flipped = true;
    }
    return flipped;
}

// Returns how many windows of a lane byte shuffles may take to be better than a transpose in registers, whose shorter
// side fills lanes or not; INT32_MAX if there is no such transpose.
int32_t windows_of_transpose(int64_t run, const Axis *axes, int32_t ndim) {
    constexpr int64_t kLargeBlock = 256;
    if (!is_simd_element(run) || axes[0].dst_step != run || axes[1].src_step != run) {
        return INT32_MAX;
    }
    if (moves_channels(run, axes[0], axes[1])) {
        return 0;
    }
    Sides sides;
    find_sides(run, axes, ndim, &sides);
    const int64_t lane = kLaneBytes / run;
    const int64_t shorter = std::min(sides.rows, sides.columns);
    const int64_t block = sides.rows * sides.columns * run;
    const bool fills = std::max(sides.rows, sides.columns) >= lane || block >= kRowBytes;
    // Lanes of src that are not filled cost more than elements; lanes of dst less.
    const int64_t least_columns = std::min<int64_t>(lane, 5);
    if (!fills || shorter < std::max<int64_t>(lane / 4, 2) || sides.columns < least_columns) {
        return INT32_MAX;
    }
    return block < kLargeBlock || 2 * shorter < lane ? most_windows(run) : shorter < lane ? 3 : 2;
}

// Whether byte shuffles take fewer operations than moving elements, or transposing them.
bool is_for_shuffles(int64_t run, const Axis *axes, int32_t ndim, int32_t most) {
    return most > 0 && simd_kernels().shuffle != nullptr &&
           shuffles_well(run, axes, ndim, std::min(most, most_windows(run)));
}

bool is_for_spreading(int64_t run, const Axis *axes, int32_t ndim) {
    return simd_kernels().spread != nullptr &&
           shuffles_well(run, Reversed(axes, ndim).axes, ndim, most_windows_spread(run));
}

// Elements one by one go fastest along a long loop, wherever that leads within a tile.
void bring_longest_inside(int32_t ndim, Axis *axes, int32_t *of) {
    constexpr int64_t kLong = 16;
    const auto shorter = [](const Axis &a, const Axis &b) { return a.extent < b.extent; };
    if (axes[0].extent < kLong) {
        const auto longest = std::max_element(axes, axes + ndim, shorter) - axes;
        std::swap(axes[0], axes[longest]);
        std::swap(of[0], of[longest]);
    }
}

// Elements that are repeated, or where no transpose helps.
Walk along_one_axis(int64_t run, const Axis *axes, int32_t ndim, bool repeats) {
    if (axes[0].src_step == 0 && axes[0].dst_step == run) {
        return Walk::Repeat;
    }
    if (!repeats && is_for_shuffles(run, axes, ndim, INT32_MAX)) {
        return Walk::Shuffle;
    }
    return !repeats && is_for_spreading(run, axes, ndim) ? Walk::Spread : Walk::Elements;
}

}  // namespace

int32_t find_source_axis(const Axis *axes, int32_t ndim) {
    int32_t best = -1;
    int64_t least = INT64_MAX;
    for (int32_t i = 0; i < ndim; ++i) {
        const int64_t step = std::abs(axes[i].src_step);
        if (step != 0 && step < least) {
            best = i;
            least = step;
        }
    }
    return best;
}

WalkOrder order_walk(int64_t run, int32_t ndim, Axis *axes, int32_t *of, bool into_scratch) {
    if (run >= kRowBytes || ndim == 0) {
        order_outer_axes(1, ndim, axes, of, into_scratch || run < kLeastStreamedRun);
        return {Walk::Rows, false};
    }
    const int32_t axis = find_source_axis(axes, ndim);
    const bool repeats = axes[0].src_step == 0 && axes[0].extent * run >= kLeastRepeat;
    if (axis <= 0 || repeats) {
        const Walk walk = along_one_axis(run, axes, ndim, repeats);
        order_outer_axes(1, ndim, axes, of, true);
        if (walk == Walk::Elements) {
            bring_longest_inside(ndim, axes, of);
        }
        return {walk, false};
    }
    bring_to_panel(axis, axes, of);
    const bool flipped = make_source_forward(run, ndim, axes);
    order_outer_axes(2, ndim, axes, of, into_scratch);
    const int32_t windows = windows_of_transpose(run, axes, ndim);
    if (is_for_shuffles(run, axes, ndim, windows)) {
        return {Walk::Shuffle, flipped};
    }
    if (windows < INT32_MAX) {
        return {Walk::Transpose, flipped};
    }
    if (is_for_spreading(run, axes, ndim)) {
        return {Walk::Spread, flipped};
    }
    bring_longest_inside(ndim, axes, of);
    return {Walk::Elements, flipped};
}

WalkStart start_of(const Axis *axes, int32_t ndim) {
    WalkStart start{0, 0};
    for (int32_t i = 0; i < ndim; ++i) {
        if (axes[i].dst_step < 0) {
            start.dst -= (axes[i].extent - 1) * axes[i].dst_step;
            start.src -= (axes[i].extent - 1) * axes[i].src_step;
        }
    }
    return start;
}

Kernel walk_kernel(Walk walk, int64_t run, bool streaming) {
    switch (walk) {
        case Walk::Rows:
            return streaming ? simd_kernels().rows_streaming : simd_kernels().rows;
        case Walk::Transpose:
            return simd_kernels().transpose[__builtin_ctzll(static_cast<unsigned long long>(run))];
        case Walk::Repeat:
            return repeat_element;
        case Walk::Shuffle:
            return simd_kernels().shuffle;
        case Walk::Spread:
            return simd_kernels().spread;
        default:
            return element_kernel(run);
    }
}

const char *walk_name(Walk walk) {
    constexpr const char *kNames[] = {"rows", "transpose", "shuffle", "spread", "elements", "repeat"};
    static_assert(std::size(kNames) == static_cast<size_t>(Walk::Repeat) + 1, "one name for each walk");
    return kNames[static_cast<int32_t>(walk)];
}

}  // namespace via
