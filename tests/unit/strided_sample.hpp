// Random strided copies in the normal form of a transfer, and a naive copy to compare with.
#pragma once

#include "copy_support.hpp"

#include "core/layout/axis.hpp"

// Bytes are counted from the lowest address of either side.
struct StridedSample {
    std::vector<via::Axis> axes;
    int64_t run = 1;
    int64_t nbytes = 1;
    int64_t dst_bytes = 1;
    int64_t src_bytes = 1;
    int64_t src_first = 0;

    int32_t ndim() const { return static_cast<int32_t>(axes.size()); }
};

// Steps of one side: the axes nest in a random order, with gaps between them.
inline std::vector<int64_t> random_steps(Random *random, const std::vector<int64_t> &extents, int64_t run) {
    std::vector<size_t> order(extents.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
        std::swap(order[i], order[static_cast<size_t>(random->between(0, static_cast<int64_t>(i)))]);
    }
    std::vector<int64_t> steps(extents.size());
    int64_t span = run;
    for (const size_t axis : order) {
        steps[axis] = span + (random->chance(3) ? random->between(1, 2 * run) : 0);
        span = steps[axis] * extents[axis];
    }
    return steps;
}

// Some axes of the source go backwards, some stand still.
inline StridedSample random_sample(Random *random, int64_t most_run, int32_t most_axes, int64_t most_extent) {
    StridedSample made;
    made.run = made.nbytes = made.dst_bytes = made.src_bytes = random->between(1, most_run);
    std::vector<int64_t> extents(static_cast<size_t>(random->between(1, most_axes)));
    for (int64_t &extent : extents) {
        extent = random->between(2, most_extent);
    }
    const std::vector<int64_t> to = random_steps(random, extents, made.run);
    const std::vector<int64_t> from = random_steps(random, extents, made.run);
    for (size_t i = 0; i < extents.size(); ++i) {
        const int64_t reach = (extents[i] - 1) * from[i];
        const bool still = random->chance(6);
        const bool back = !still && random->chance(4);
        made.axes.push_back({extents[i], to[i], still ? 0 : back ? -from[i] : from[i]});
        made.nbytes *= extents[i];
        made.dst_bytes += (extents[i] - 1) * to[i];
        made.src_bytes += still ? 0 : reach;
        made.src_first += back ? reach : 0;
    }
    std::sort(made.axes.begin(), made.axes.end(),
              [](const via::Axis &a, const via::Axis &b) { return a.dst_step < b.dst_step; });
    return made;
}

// A matrix with these steps on one side, and a row-major one on the other.
inline StridedSample matrix_sample(bool dst_is_strided, int64_t item, int64_t rows, int64_t columns, int64_t row_step,
                                   int64_t column_step) {
    const int64_t strided_bytes = (rows - 1) * row_step + (columns - 1) * column_step + item;
    const int64_t dense_bytes = rows * columns * item;
    StridedSample made;
    made.run = item;
    made.nbytes = dense_bytes;
    made.dst_bytes = dst_is_strided ? strided_bytes : dense_bytes;
    made.src_bytes = dst_is_strided ? dense_bytes : strided_bytes;
    made.axes = {{columns, dst_is_strided ? column_step : item, dst_is_strided ? item : column_step},
                 {rows, dst_is_strided ? row_step : columns * item, dst_is_strided ? columns * item : row_step}};
    if (made.axes[0].dst_step > made.axes[1].dst_step) {
        std::swap(made.axes[0], made.axes[1]);
    }
    return made;
}

inline void copy_naively(char *dst, const char *src, int64_t run, int32_t ndim, const via::Axis *axes) {
    if (ndim == 0) {
        std::memcpy(dst, src, static_cast<size_t>(run));
        return;
    }
    const via::Axis &last = axes[ndim - 1];
    for (int64_t i = 0; i < last.extent; ++i) {
        copy_naively(dst + i * last.dst_step, src + i * last.src_step, run, ndim - 1, axes);
    }
}
