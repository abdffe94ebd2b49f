#include "copy/host/tile_passes.hpp"

#include <cstdlib>

#include "copy/plan/cache_sizes.hpp"

namespace via {
namespace {

// An odd number of lines, so that equal places of successive rows are in different sets of the cache.
int64_t row_pitch(int64_t nbytes) { return ((nbytes + kLineBytes - 1) / kLineBytes | 1) * kLineBytes; }

// The steps of the plan's axes in the scratch that has the rows of dst; returns its size.
int64_t row_steps(const Plan &plan, int64_t *steps) {
    int64_t nbytes = plan.run;
    for (int32_t i = 0; i < plan.ndim; ++i) {
        nbytes = i == plan.row_ndim ? row_pitch(nbytes) : nbytes;
        steps[i] = nbytes;
        nbytes *= plan.block[i];
    }
    return nbytes;
}

// The same where elements are in the order of src, and adjacent along the first axis.
int64_t squeezed_steps(const Plan &plan, int64_t *steps) {
    int64_t nbytes = plan.run;
    int64_t done = 0;
    for (int32_t count = 0; count < plan.ndim; ++count) {
        int64_t least = INT64_MAX;
        for (int32_t i = 0; i < plan.ndim; ++i) {
            const int64_t step = std::abs(plan.axes[i].src_step);
            least = step > done && step < least ? step : least;
        }
        for (int32_t i = 0; i < plan.ndim; ++i) {
            if (std::abs(plan.axes[i].src_step) == least) {
                steps[i] = nbytes;
                nbytes *= plan.block[i];
            }
        }
        nbytes = done == 0 && least < INT64_MAX ? row_pitch(nbytes) : nbytes;
        done = least;
    }
    return nbytes;
}

}  // namespace

int64_t row_bytes_of(const Plan &plan) {
    int64_t nbytes = plan.run;
    for (int32_t i = 0; i < plan.row_ndim; ++i) {
        nbytes *= plan.block[i];
    }
    return nbytes;
}

int64_t scratch_bytes_of(const Plan &plan) {
    int64_t steps[VIA_MAX_NDIM] = {};
    return (plan.by_rows ? row_steps(plan, steps) : 0) + (plan.squeezes ? squeezed_steps(plan, steps) : 0);
}

TilePasses::TilePasses(const Plan &plan, char *scratch) : plan_(plan), rows_(scratch), squeezed_(scratch) {
    int64_t dst[VIA_MAX_NDIM];
    int64_t src[VIA_MAX_NDIM];
    int64_t rows[VIA_MAX_NDIM];
    int64_t squeezed[VIA_MAX_NDIM] = {};
    for (int32_t i = 0; i < plan.ndim; ++i) {
        dst[i] = plan.axes[i].dst_step;
        src[i] = plan.axes[i].src_step;
    }
    squeezed_ += plan.by_rows ? row_steps(plan, rows) : 0;
    if (plan.squeezes) {
        squeezed_steps(plan, squeezed);
        add_pass(squeezed, src, 0, plan.run, true, false);
    }
    main_ = count_;
    const int64_t *from = plan.squeezes ? squeezed : src;
    add_pass(plan.by_rows ? rows : dst, from, 0, plan.run, plan.by_rows, plan.streaming && !plan.by_rows);
    if (plan.by_rows) {
        add_pass(dst, rows, plan.row_ndim, kRowBytes, false, plan.streaming);
    }
}

// Axes that a tile has one index of are none of its own, nor what src repeats where it is squeezed.
void TilePasses::add_pass(const int64_t *to, const int64_t *from, int32_t first, int64_t run, bool into_scratch,
                          bool streaming) {
    TilePass &pass = passes_[count_++];
    pass.run = run;
    pass.ndim = 0;
    for (int32_t i = first; i < plan_.ndim; ++i) {
        if (plan_.block[i] == 1 || (to[i] == 0 && from[i] == 0)) {
            continue;
        }
        int32_t at = pass.ndim++;
        for (; at > 0 && pass.axes[at - 1].dst_step > to[i]; --at) {
            pass.axes[at] = pass.axes[at - 1];
            pass.of[at] = pass.of[at - 1];
        }
        pass.axes[at] = {plan_.block[i], to[i], from[i]};
        pass.of[at] = i;
    }
    const WalkOrder order = order_walk(run, pass.ndim, pass.axes, pass.of, into_scratch);
    pass.walk = order.walk;
    pass.flipped = order.flipped;
    pass.kernel = walk_kernel(order.walk, run, streaming);
    for (; pass.ndim < 2; ++pass.ndim) {
        pass.axes[pass.ndim] = {1, 0, 0};
        pass.of[pass.ndim] = -1;
    }
}

void TilePasses::run_pass(TilePass *pass, char *dst, const char *src, const TilePart &part, int64_t ahead) const {
    for (int32_t i = 0; i < pass->ndim; ++i) {
        pass->axes[i].extent = pass->of[i] >= 0 ? part.extents[pass->of[i]] : 1;
    }
    if (pass->flipped) {
        const WalkStart start = start_of(pass->axes, pass->ndim);
        dst += start.dst;
        src += start.src;
    }
    pass->kernel({dst, src, pass->run, pass->axes, pass->ndim, ahead});
}

void TilePasses::run(const TilePart &part) {
    const char *src = part.src;
    if (plan_.squeezes) {
        run_pass(&passes_[0], squeezed_, src, part, part.ahead);
        src = squeezed_;
    }
    const int64_t ahead = plan_.squeezes ? 0 : part.ahead;
    passes_[main_].run = part.run;
    run_pass(&passes_[main_], plan_.by_rows ? rows_ : part.dst, src, part, ahead);
    if (plan_.by_rows) {
        TilePass &rows = passes_[main_ + 1];
        rows.run = part.run;
        for (int32_t i = 0; i < plan_.row_ndim; ++i) {
            rows.run *= part.extents[i];
        }
        run_pass(&rows, part.dst, rows_, part, 0);
    }
}

}  // namespace via
