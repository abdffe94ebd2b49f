// Describes the plan of a copy.
#include "copy/explain.hpp"

#include "copy/choose_tiles.hpp"
#include "copy/copy.hpp"
#include "copy/copy_plan.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/host/tile_passes.hpp"
#include "copy/host/walk.hpp"
#include "copy/plan.hpp"
#include "core/base/text_buffer.hpp"
#include "core/base/thread_state.hpp"
#include "cuda/device.hpp"
#include "cuda/transfer_plan.hpp"

namespace via {

void describe_axes(const Axis *axes, int32_t ndim, bool in_bits, TextBuffer *text) {
    text->add("loops:");
    for (int32_t i = 0; i < ndim; ++i) {
        const Axis &axis = axes[i];
        text->add("%s %lld (dst %+lld, src %+lld)", i > 0 ? "," : "", as_printed(axis.extent),
                  as_printed(axis.dst_step), as_printed(axis.src_step));
    }
    text->add(ndim == 0 ? " none\n"
              : in_bits ? ", innermost first, steps in bits\n"
                        : ", innermost first, steps in bytes\n");
}

namespace {

const char *kernel_name(Walk walk) {
    return walk == Walk::Elements || walk == Walk::Repeat ? "scalar" : simd_kernels().name;
}

// Returns how a tile is walked. A copy that is not cut is one tile.
Walk walk_of(const Plan &plan) {
    const TilePasses passes(plan, nullptr);
    return passes.main().walk;
}

void describe_tile(const Plan &plan, TextBuffer *text) {
    text->add("tile: %lld bytes", as_printed(plan.run_block));
    for (int32_t i = 0; i < plan.ndim; ++i) {
        text->add(" x %lld", as_printed(plan.block[i]));
    }
    text->add(plan.squeezes ? ", gaps left out in a scratch" : "");
    if (plan.by_rows) {
        text->add(", written in rows of %lld bytes from a scratch", as_printed(row_bytes_of(plan)));
    }
    text->add("\ntiles: ");
    for (int32_t i = 0; i < plan.loop_ndim; ++i) {
        const TileLoop &loop = plan.loops[i];
        text->add(loop.of == TileLoop::kRun ? "%s%lld of the run" : "%s%lld of loop %d", i > 0 ? ", " : "",
                  as_printed(loop.axis.extent), loop.of + 1);
    }
    text->add(plan.loop_ndim == 0 ? "1\n" : ", innermost first\n");
}

void describe_loops(const Plan &plan, TextBuffer *text) {
    const Walk walk = walk_of(plan);
    text->add("route: %s, %s kernel%s\n", plan.ndim == 0 ? "contiguous" : walk_name(walk), kernel_name(walk),
              plan.streaming ? ", streaming stores" : "");
    text->add("element: %lld bytes adjacent in both", as_printed(plan.run));
    text->add(plan.trailing_bits != 0 ? " and %d bits\n" : "\n", plan.trailing_bits);
    describe_axes(plan.axes, plan.ndim, plan.in_bits, text);
    describe_tile(plan, text);
    text->add("threads: %d\n", plan.threads);
    text->add("bytes: %lld, each moved once\n", as_printed(plan.nbytes));
}

void describe_transfer(const CopyPlan &plan, TextBuffer *text) {
    text->add("route: ");
    cuda::describe_transfer(plan.transfer, plan.device, text);
    text->add("\nelement: %lld bytes adjacent in both\n", as_printed(plan.loops.run));
    if (plan.loops.ndim > 0) {
        describe_axes(plan.loops.axes, plan.loops.ndim, plan.loops.in_bits, text);
    }
    text->add("bytes: %lld, each moved once\n", as_printed(plan.transfer.nbytes));
}

void describe_bits(const Plan &plan, const char *way, TextBuffer *text) {
    text->add("route: bits%s\n", way);
    text->add("element: %lld bits adjacent in both\n",
              as_printed(plan.in_bits ? plan.run : plan.run * 8 + plan.trailing_bits));
    describe_axes(plan.axes, plan.ndim, plan.in_bits, text);
    text->add("bytes: %lld, each moved once\n", as_printed(plan.nbytes));
}

Status describe_copy(via_array *dst, via_array *src, TextBuffer *text) {
    CopyPlan plan;
    VIA_TRY(are_plain(dst, src) ? VIA_OK : cuda::need("this copy"));
    VIA_TRY(prepare_copy(dst, src, Ask::Large, &plan));
    VIA_TRY(plan_for_text(&plan));
    if (plan.through_host || plan.loops.in_bits) {
        describe_bits(plan.loops, plan.through_host ? ", by way of the host's memory" : "", text);
    } else if (plan.on_host) {
        count(Counter::PlannedRoutes, 1);
        choose_tiles(&plan.loops);
        describe_loops(plan.loops, text);
    } else {
        describe_transfer(plan, text);
    }
    return VIA_OK;
}

}  // namespace

Status explain_copy(via_array *dst, via_array *src, int64_t capacity, char *text, int64_t *out_length) {
    TextBuffer description(text, capacity);
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        description.add("route: none, there are no elements\n");
    } else {
        VIA_TRY(describe_copy(dst, src, &description));
    }
    *out_length = description.length();
    return VIA_OK;
}

}  // namespace via
