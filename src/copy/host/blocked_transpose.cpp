#include "copy/host/blocked_transpose.hpp"

#include <algorithm>

#include "copy/host/host_kernels.hpp"
#include "copy/plan/cache_sizes.hpp"
#include "core/base/checked.hpp"

namespace via {
namespace {

// A side of a block is lengthened until it has this many bytes adjacent in dst, or in src. What falls short of both
// fits into the scratch.
int64_t least_row(int64_t run) { return run == 1 ? 512 : 1024; }
int64_t least_column(int64_t run) { return run <= 2 ? 128 : 256; }

constexpr int64_t kMostRow = 4096;

// An odd number of lines, so that equal places of successive rows are in different sets of the cache.
int64_t row_pitch(int64_t nbytes) { return ((nbytes + kLineBytes - 1) / kLineBytes | 1) * kLineBytes; }

bool ends_at(int64_t extent, int64_t step, int64_t end) {
    int64_t product = 0;
    return multiply(extent, step, &product) && product == end;
}

// Of the axes around the panel, the one along which dst (side 0) or src (side 1) goes on where the panel's axis ends;
// 0 if there is none.
int32_t find_next_axis(const Plan &plan, int32_t side, int32_t around) {
    const Axis &inner = plan.axes[side];
    for (int32_t i = 2; i < around; ++i) {
        const Axis &axis = plan.axes[i];
        if (side == 0 ? ends_at(inner.extent, inner.dst_step, axis.dst_step)
                      : ends_at(inner.extent, inner.src_step, axis.src_step)) {
            return i;
        }
    }
    return 0;
}

// Lets the panel's axis be walked whole within each block, and the next one take its place. `nbytes`: of the side.
void lengthen(Plan *plan, int32_t side, int64_t least, int64_t *nbytes) {
    while (*nbytes * plan->axes[side].extent < least) {
        const int32_t around = plan->ndim - plan->held[0] - plan->held[1];
        const int32_t next = find_next_axis(*plan, side, around);
        if (next == 0) {
            return;
        }
        *nbytes *= plan->axes[side].extent;
        std::swap(plan->axes[side], plan->axes[next]);
        std::rotate(plan->axes + next, plan->axes + next + 1, plan->axes + around);
        ++plan->held[side];
    }
}

// Whether so many rows crowd into so few sets of the second-level cache (8 ways of 128 KiB are usual) that what is read
// ahead would be thrown out unread. Steps of large powers of two do that.
bool rows_crowd(int64_t rows, int64_t step) {
    constexpr int64_t kSetBytes = int64_t{128} << 10;
    return rows * std::min(step & -step, kSetBytes) > 8 * kSetBytes;
}

// As many columns as make whole lines of src, then rows as long as there is room for, then columns for what is left.
void cut_sides(Plan *plan, int64_t row, int64_t column) {
    const int64_t held = column / plan->run;
    plan->block[0] = std::clamp<int64_t>(least_column(plan->run) / column, 1, plan->axes[0].extent);
    const int64_t room = std::min(kMostRow, kScratchBytes / (held * plan->block[0]) - 2 * kLineBytes);
    plan->block[1] = std::clamp<int64_t>(room / row, 1, plan->axes[1].extent);
    const int64_t columns = kScratchBytes / row_pitch(row * plan->block[1]) / held;
    plan->block[0] = std::clamp<int64_t>(columns, 1, plan->axes[0].extent);
}

}  // namespace

bool lengthen_sides(Plan *plan) {
    int64_t row = plan->run;
    int64_t column = plan->run;
    if (plan->axes[0].extent * row >= kLeastStreamedRow && plan->axes[1].extent * column >= kLineBytes) {
        return false;
    }
    if (rows_crowd(plan->axes[0].extent, plan->axes[0].src_step)) {
        return false;
    }
    lengthen(plan, 0, least_row(plan->run), &row);
    lengthen(plan, 1, least_column(plan->run), &column);
    if (plan->held[0] + plan->held[1] == 0) {
        return false;
    }
    // The axis of the source is cut first, and so goes on first: what is read ahead is read next.
    std::swap(plan->axes[0], plan->axes[1]);
    cut_sides(plan, row, column);
    return true;
}

namespace {

// The axes of a side, from the innermost on: those that are held, read from the end, then the one that is cut.
struct Side {
    Axis axes[VIA_MAX_NDIM];
    int32_t count;
};

Side side_of(const Plan &plan, int32_t first, int32_t held, const Axis &cut) {
    Side side;
    for (side.count = 0; side.count < held; ++side.count) {
        side.axes[side.count] = plan.axes[first - side.count];
    }
    side.axes[side.count++] = cut;
    return side;
}

// Sets a step of each axis of a side as if they were dense; returns what they span together.
int64_t make_dense(Side *side, int64_t Axis::*step, int64_t nbytes) {
    for (int32_t i = 0; i < side->count; ++i) {
        side->axes[i].*step = nbytes;
        nbytes *= side->axes[i].extent;
    }
    return nbytes;
}

void begin_part(Plan *part, char *dst, const char *src, int64_t run, LoopKind loops, bool streaming) {
    part->dst = dst;
    part->src = src;
    part->run = part->run_block = run;
    part->ndim = 0;
    part->loops = loops;
    part->streaming = streaming;
    part->threads = 1;
    part->held[0] = part->held[1] = 0;
}

void add_axes(const Axis *axes, int32_t count, Plan *part) {
    part->ndim = static_cast<int32_t>(std::copy_n(axes, count, part->axes + part->ndim) - part->axes);
}

void end_part(Plan *part) {
    for (int32_t i = part->ndim; i < 2; ++i) {
        part->axes[i] = {1, 0, 0};
    }
    part->block[0] = part->axes[0].extent;
    part->block[1] = part->axes[1].extent;
}

}  // namespace

namespace {

// Along the rows of src, what the next panels need.
void read_ahead(const Piece &piece) {
    constexpr int64_t kAhead = 256;
    for (int64_t i = 0; i < piece.inner.extent; ++i) {
        const char *next = piece.src + i * piece.inner.src_step + kAhead;
        for (int64_t at = 0; at < piece.outer.extent * piece.run; at += kLineBytes) {
            __builtin_prefetch(next + at);
        }
    }
}

}  // namespace

void transpose_ahead(const Piece &piece) {
    read_ahead(piece);
    transpose_kernel(piece.run, false)(piece);
}

void plan_scratch(const Plan &plan, const Piece &piece, char *scratch, Plan *out_transposed, Plan *out_flush) {
    Side rows = side_of(plan, plan.ndim - 1, plan.held[0], piece.outer);
    Side columns = side_of(plan, plan.ndim - 1 - plan.held[0], plan.held[1], piece.inner);
    const Side written = columns;
    const int64_t nbytes = make_dense(&rows, &Axis::dst_step, plan.run);
    make_dense(&columns, &Axis::dst_step, row_pitch(nbytes));

    begin_part(out_transposed, scratch, piece.src, plan.run, LoopKind::Transpose, false);
    add_axes(rows.axes, 1, out_transposed);
    add_axes(columns.axes, columns.count, out_transposed);
    add_axes(rows.axes + 1, rows.count - 1, out_transposed);
    end_part(out_transposed);

    begin_part(out_flush, piece.dst, scratch, nbytes, LoopKind::Rows, plan.streaming && nbytes >= kLeastStreamedRow);
    add_axes(written.axes, written.count, out_flush);
    for (int32_t i = 0; i < written.count; ++i) {
        out_flush->axes[i].src_step = columns.axes[i].dst_step;
    }
    end_part(out_flush);
}

}  // namespace via
