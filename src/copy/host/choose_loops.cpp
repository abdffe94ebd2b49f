#include "copy/choose_loops.hpp"

#include <algorithm>
#include <cstdlib>

#include "copy/copy.hpp"
#include "copy/host/blocked_transpose.hpp"
#include "copy/plan/cache_sizes.hpp"

namespace via {
namespace {

// From here on a run is copied as bytes, not as an element of its own size.
constexpr int64_t kRowBytes = 64;

// Memory is handed out in pieces of this size at least; a thread woken for less costs more than it brings.
constexpr int64_t kBytesPerThread = int64_t{1} << 20;

// From here on a permute of short sides gains from a scratch: the second-level cache does not hold it.
constexpr int64_t kLargeBytes = int64_t{2} << 20;

constexpr int64_t kRunBlock = int64_t{1} << 20;
constexpr int64_t kPanelBytes = int64_t{1} << 18;

bool is_simd_element(int64_t run) { return run <= 16 && (run & (run - 1)) == 0; }

// The axis along which the source moves least, if that is less than along the first; 0 if there is none.
int32_t find_source_axis(const Plan &plan) {
    int32_t best = 0;
    for (int32_t i = 1; i < plan.ndim; ++i) {
        const int64_t step = std::abs(plan.axes[i].src_step);
        if (step != 0 && step < std::abs(plan.axes[best].src_step)) {
            best = i;
        }
    }
    return best;
}

// Moves an axis up beside the first one; the others keep their order.
void bring_to_panel(Plan *plan, int32_t axis) { std::rotate(plan->axes + 1, plan->axes + axis, plan->axes + axis + 1); }

// The kernels turn blocks whose source goes forward along the panel's second axis; the destination may go backwards.
void make_source_forward(Plan *plan) {
    Axis &axis = plan->axes[1];
    if (axis.src_step < 0) {
        plan->dst += (axis.extent - 1) * axis.dst_step;
        plan->src += (axis.extent - 1) * axis.src_step;
        axis.dst_step = -axis.dst_step;
        axis.src_step = -axis.src_step;
    }
}

// Around the panel, those axes first along which one of the arrays moves least: what is left of the cache lines that
// the panel has touched is used soon, on either side.
void order_outer_axes(Plan *plan) {
    const auto nearest = [](const Axis &axis) { return std::min(axis.dst_step, std::abs(axis.src_step)); };
    std::sort(plan->axes + 2, plan->axes + plan->ndim,
              [&](const Axis &a, const Axis &b) { return nearest(a) < nearest(b); });
}

LoopKind choose_order(Plan *plan) {
    const bool adjacent = plan->axes[0].dst_step == plan->run;
    if (plan->axes[0].src_step == 0) {
        return adjacent ? LoopKind::Repeat : LoopKind::Elements;
    }
    const int32_t axis = find_source_axis(*plan);
    if (axis == 0) {
        return LoopKind::Elements;
    }
    bring_to_panel(plan, axis);
    make_source_forward(plan);
    order_outer_axes(plan);
    const bool turnable = adjacent && plan->axes[1].src_step == plan->run && is_simd_element(plan->run);
    return turnable ? LoopKind::Transpose : LoopKind::Tiles;
}

LoopKind choose(Plan *plan) {
    if (plan->ndim == 0) {
        return LoopKind::Contiguous;
    }
    return plan->run >= kRowBytes ? LoopKind::Rows : choose_order(plan);
}

// Blocks of about kPanelBytes, the panel's first axis being cut last. Small copies, which are many, pay no division.
void cut_panel(Plan *plan) {
    if (plan->nbytes <= kPanelBytes) {
        plan->block[0] = plan->axes[0].extent;
        plan->block[1] = plan->axes[1].extent;
        return;
    }
    const int64_t first = std::max<int64_t>(kPanelBytes / std::max<int64_t>(plan->run_block, 1), 1);
    plan->block[0] = std::min(plan->axes[0].extent, first);
    plan->block[1] = std::min(plan->axes[1].extent, std::max<int64_t>(first / std::max<int64_t>(plan->block[0], 1), 1));
}

void cut_tiles(Plan *plan, int64_t first, int64_t second) {
    plan->block[0] = std::min(plan->axes[0].extent, std::max<int64_t>(first / plan->run, 1));
    plan->block[1] = std::min(plan->axes[1].extent, std::max<int64_t>(second / plan->run, 1));
}

// Where one side is short, the other makes up for it.
void cut_transposes(Plan *plan) {
    cut_tiles(plan, plan->run == 1 ? kTransposeRowBytes / 2 : kTransposeRowBytes, kTransposeColumnBytes);
    if (plan->block[0] == plan->axes[0].extent) {
        plan->block[1] =
            std::min(plan->axes[1].extent, std::max(plan->block[1], kTransposeBytes / plan->run / plan->block[0]));
    } else if (plan->block[1] == plan->axes[1].extent && !plan->streaming) {
        plan->block[0] =
            std::min(plan->axes[0].extent, std::max(plan->block[0], kTransposeBytes / plan->run / plan->block[1]));
    }
}

void choose_blocks(Plan *plan) {
    plan->run_block = std::min(plan->run, kRunBlock);
    switch (plan->loops) {
        case LoopKind::Transpose:
            return cut_transposes(plan);
        case LoopKind::Tiles:
            return cut_tiles(plan, 256, 256);
        case LoopKind::Scratch:
            return;
        default:
            return cut_panel(plan);
    }
}

bool can_stream(const Plan &plan) {
    switch (plan.loops) {
        case LoopKind::Contiguous:
        case LoopKind::Scratch:
            return true;
        case LoopKind::Transpose:
            return plan.axes[0].extent * plan.run >= kLeastStreamedRow && plan.axes[1].extent * plan.run >= kLineBytes;
        case LoopKind::Rows:
            return plan.run >= kLeastStreamedRun;
        default:
            return false;
    }
}

void begin_route(Plan *plan, bool large) {
    for (int32_t i = plan->ndim; i < 2; ++i) {
        plan->axes[i] = {1, 0, 0};
    }
    plan->loops = choose(plan);
    plan->threads = 1;
    plan->streaming = false;
    plan->held[0] = plan->held[1] = 0;
    if (large && plan->loops == LoopKind::Transpose && lengthen_sides(plan)) {
        plan->loops = LoopKind::Scratch;
    }
}

}  // namespace

const char *loop_kind_name(LoopKind loops) {
    switch (loops) {
        case LoopKind::Contiguous:
            return "contiguous";
        case LoopKind::Rows:
            return "rows";
        case LoopKind::Transpose:
            return "transpose";
        case LoopKind::Scratch:
            return "scratch";
        case LoopKind::Tiles:
            return "tiles";
        case LoopKind::Elements:
            return "elements";
        case LoopKind::Repeat:
            return "repeat";
    }
    return "?";
}

bool has_even_gaps(const Plan &plan) {
    constexpr int64_t kLeastLine = 64;
    const int64_t run = plan.run;
    const Axis &axis = plan.axes[0];
    const bool even =
        axis.src_step == -run || axis.src_step == 2 * run || axis.src_step == 3 * run || axis.src_step == 4 * run;
    return (run == 1 || run == 2 || run == 4) && even && axis.dst_step == run && axis.extent * run >= kLeastLine;
}

void choose_loops(Plan *plan) {
    begin_route(plan, plan->nbytes >= kLargeBytes);
    if (plan->nbytes >= 2 * kBytesPerThread) {
        plan->threads = static_cast<int32_t>(std::min<int64_t>(num_threads(), plan->nbytes / kBytesPerThread));
        plan->streaming = plan->nbytes >= streaming_bytes() && can_stream(*plan);
    }
    choose_blocks(plan);
}

void choose_loops_single(Plan *plan, bool streaming) {
    begin_route(plan, streaming || plan->nbytes >= kLargeBytes);
    plan->streaming = streaming && can_stream(*plan);
    choose_blocks(plan);
}

}  // namespace via
