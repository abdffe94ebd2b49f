#include "copy/run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "copy/bits.hpp"
#include "copy/choose_tiles.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/host/tile_passes.hpp"
#include "copy/host/walk.hpp"
#include "copy/plan/cache_sizes.hpp"
#include "core/async/task.hpp"
#include "core/async/thread_pool.hpp"
#include "core/base/cached_objects.hpp"
#include "core/base/copy_contiguous.hpp"
#include "core/base/rounding.hpp"
#include "core/base/thread_state.hpp"

namespace via {
namespace {

// So few bytes come from the last-level cache soon enough without being read ahead, and so little memory that they
// extend over.
constexpr int64_t kNearBytes = int64_t{2} << 20;
constexpr int64_t kNearSpan = int64_t{4} << 20;

// Returns how many bytes the source extends over, its gaps included.
int64_t source_span(const Plan &plan) {
    int64_t nbytes = plan.run;
    for (int32_t i = 0; i < plan.ndim; ++i) {
        nbytes += (plan.axes[i].extent - 1) * std::abs(plan.axes[i].src_step);
    }
    return nbytes;
}

// On the heap: a caller's stack may be small.
struct Scratch {
    alignas(kLineBytes) char bytes[kScratchBytes];
};

// One each for the threads of a usual machine's copies.
constinit CachedObjects<Scratch, 32> scratches;

// All tiles of a plan, numbered: the innermost loop around them counts first.
class Tiles {
public:
    explicit Tiles(const Plan &plan) : plan_(plan) {
        for (int32_t level = 0; level < plan.loop_ndim; ++level) {
            total_ *= plan.loops[level].axis.extent;
        }
    }

    int64_t total() const { return total_; }

    // Does tiles first to last - 1. Without memory for a scratch they are copied straight, which is slower.
    void run(int64_t first, int64_t last) const {
        if (first >= last) {
            return;
        }
        if (!plan_.by_rows && !plan_.squeezes) {
            run_with(plan_, nullptr, first, last);
        } else if (Scratch *scratch = scratches.take(); scratch != nullptr) {
            run_with(plan_, scratch->bytes, first, last);
            scratches.give_back(scratch);
        } else {
            Plan straight = plan_;
            straight.by_rows = straight.squeezes = straight.streaming = false;
            run_with(straight, nullptr, first, last);
        }
    }

private:
    // Where a tile starts, by index and by address, and how much it has of each axis.
    struct Cursor {
        char *dst;
        const char *src;
        int64_t index[VIA_MAX_NDIM + 1];
        int64_t run;
        int64_t extents[VIA_MAX_NDIM];
    };

    void run_with(const Plan &plan, char *scratch, int64_t first, int64_t last) const {
        const bool reads_ahead = plan.nbytes > kNearBytes && source_span(plan) > kNearSpan;
        TilePasses passes(plan, scratch);
        Cursor cursor;
        locate(first, &cursor);
        for (int64_t i = first; i < last; ++i) {
            const int64_t ahead = reads_ahead && i + 1 < last ? next_source(cursor) - cursor.src : 0;
            passes.run({cursor.dst, cursor.src, cursor.run, cursor.extents, ahead});
            step(&cursor);
        }
        if (plan.streaming) {
            end_streaming();
        }
    }

    // Of the next tile, from what has been read of which more is to be read ahead.
    const char *next_source(const Cursor &cursor) const {
        const char *src = cursor.src;
        for (int32_t level = 0; level < plan_.loop_ndim; ++level) {
            const Axis &axis = plan_.loops[level].axis;
            if (cursor.index[level] + 1 < axis.extent) {
                return src + axis.src_step;
            }
            src -= cursor.index[level] * axis.src_step;
        }
        return src;
    }

    void locate(int64_t number, Cursor *cursor) const {
        cursor->dst = plan_.dst;
        cursor->src = plan_.src;
        cursor->run = plan_.run_block;
        std::copy_n(plan_.block, plan_.ndim, cursor->extents);
        for (int32_t level = 0; level < plan_.loop_ndim; ++level) {
            const Axis &axis = plan_.loops[level].axis;
            cursor->index[level] = number % axis.extent;
            number /= axis.extent;
            cursor->dst += cursor->index[level] * axis.dst_step;
            cursor->src += cursor->index[level] * axis.src_step;
            cut_end(level, cursor);
        }
    }

    void step(Cursor *cursor) const {
        for (int32_t level = 0; level < plan_.loop_ndim; ++level) {
            const Axis &axis = plan_.loops[level].axis;
            const bool more = ++cursor->index[level] < axis.extent;
            cursor->dst += axis.dst_step;
            cursor->src += axis.src_step;
            if (!more) {
                cursor->index[level] = 0;
                cursor->dst -= axis.extent * axis.dst_step;
                cursor->src -= axis.extent * axis.src_step;
            }
            cut_end(level, cursor);
            if (more) {
                return;
            }
        }
    }

    // The last tile of a loop may have less.
    void cut_end(int32_t level, Cursor *cursor) const {
        const int32_t of = plan_.loops[level].of;
        const int64_t index = cursor->index[level];
        if (of == TileLoop::kRun) {
            cursor->run = std::min(plan_.run_block, plan_.run - index * plan_.run_block);
        } else {
            cursor->extents[of] = std::min(plan_.block[of], plan_.axes[of].extent - index * plan_.block[of]);
        }
    }

    const Plan &plan_;
    int64_t total_ = 1;
};

// Below, no copy takes long enough to wake a thread for it alone; from kLongBytes on any does.
constexpr int64_t kLeastMeasured = int64_t{256} << 10;
constexpr int64_t kLongBytes = int64_t{2} << 20;

// Returns whether waking a thread for so much time of the caller's is worth it.
bool is_worth_waking(std::chrono::nanoseconds rest) {
    constexpr std::chrono::microseconds kAwake{14};
    constexpr std::chrono::microseconds kAsleep{25};  // waking one takes 6 us of the caller's on a virtual machine
    return rest > (helpers_are_awake() ? kAwake : kAsleep);
}

// Runs some tiles alone, and measures them: the time of a byte differs thirtyfold among layouts. Returns whether the
// rest is worth waking a thread.
bool run_first_tiles(const Tiles &tiles, int64_t some, int64_t last, int64_t *first) {
    const auto start = std::chrono::steady_clock::now();
    const int64_t end = std::min(*first + some, last);
    tiles.run(*first, end);
    const auto took = std::chrono::steady_clock::now() - start;
    *first = end;
    return is_worth_waking(took * (last - end) / some);
}

// Tiles first to last - 1, on as many threads as the plan says. Where two threads write near each other, cache lines go
// from one to the other, and more that their processors read ahead: what a thread takes at a time is whole steps of a
// loop that goes far in dst, if the plan has found one.
void run_tiles(const Plan &plan, const Tiles &tiles, int64_t first, int64_t last) {
    const int64_t tile_bytes = std::max<int64_t>(plan.nbytes / tiles.total(), 1);
    const int64_t some = std::max<int64_t>(share_of(plan.nbytes, plan.threads) / tile_bytes, 1);
    const int64_t step = plan.parts_dst ? tiles.total() / plan.loops[plan.loop_ndim - 1].axis.extent : 1;
    const int64_t each = round_up(some, step);
    const auto run = [&](int64_t from, int64_t to) { tiles.run(from, to); };
    if (plan.nbytes >= kLongBytes || plan.threads == 1) {
        parallel_ranges(first, last, each, plan.threads, run);
        return;
    }
    const BriefWork work;
    const bool shared =
        work.is_in_succession() || (plan.nbytes >= kLeastMeasured && run_first_tiles(tiles, some, last, &first));
    parallel_ranges(first, last, each, shared ? plan.threads : 1, run, Length::Brief);
}

// The usual small copy: one tile, straight from one array to the other.
void run_whole(const Plan &plan, bool streaming) {
    Axis axes[VIA_MAX_NDIM];
    int32_t of[VIA_MAX_NDIM];
    for (int32_t i = 0; i < plan.ndim; ++i) {
        axes[i] = plan.axes[i];
        of[i] = i;
    }
    for (int32_t i = plan.ndim; i < 2; ++i) {
        axes[i] = {1, 0, 0};
    }
    const WalkOrder order = order_walk(plan.run, plan.ndim, axes, of, false);
    char *dst = plan.dst;
    const char *src = plan.src;
    if (order.flipped) {
        const WalkStart start = start_of(axes, plan.ndim);
        dst += start.dst;
        src += start.src;
    }
    walk_kernel(order.walk, plan.run, streaming)({dst, src, plan.run, axes, std::max(plan.ndim, 2), 0});
    if (streaming) {
        end_streaming();
    }
}

// Up to here a run of bytes is copied before anything could be decided about it.
constexpr int64_t kShortRun = int64_t{4} << 10;

// Cut from the outermost axis.
Status run_bits_in_pieces(const Plan &plan, int64_t done_before, via_task *task) {
    Plan piece = plan;
    Axis &axis = piece.axes[std::max(plan.ndim - 1, 0)];
    return run_in_pieces(plan.ndim > 0 ? axis.extent : 1, plan.nbytes, done_before, task,
                         [&](int64_t first, int64_t last) {
                             if (plan.ndim > 0) {
                                 axis.extent = last - first;
                                 piece.dst_bit = plan.dst_bit + first * axis.dst_step;
                                 piece.src_bit = plan.src_bit + first * axis.src_step;
                             }
                             run_bits(piece);
                         });
}

void finish(const Plan &plan) {
    if (plan.trailing_bits != 0) [[unlikely]] {
        copy_bits(plan.dst + plan.run, 0, plan.src + plan.run, 0, plan.trailing_bits);
    }
}

}  // namespace

void run_plan(const Plan &plan) {
    if (plan.loop_ndim == 0 && !plan.by_rows && !plan.squeezes) {
        run_whole(plan, plan.streaming);
        return;
    }
    const Tiles tiles(plan);
    run_tiles(plan, tiles, 0, tiles.total());
}

void run_copy(Plan *plan) {
    count(Counter::PlannedRoutes, 1);
    if (plan->in_bits) [[unlikely]] {
        run_bits(*plan);
        return;
    }
    if (plan->ndim == 0 && plan->run <= kShortRun) {
        copy_contiguous(plan->dst, plan->src, plan->run);
    } else if (is_small(*plan)) {
        run_whole(*plan, false);
    } else {
        choose_tiles(plan);
        run_plan(*plan);
    }
    finish(*plan);
}

Status run_copy_in_pieces(Plan *plan, int64_t done_before, via_task *task) {
    count(Counter::PlannedRoutes, 1);
    if (plan->in_bits) [[unlikely]] {
        return run_bits_in_pieces(*plan, done_before, task);
    }
    choose_tiles(plan);
    const Tiles tiles(*plan);
    const Status status = run_in_pieces(tiles.total(), plan->nbytes, done_before, task,
                                        [&](int64_t first, int64_t last) { run_tiles(*plan, tiles, first, last); });
    if (status == VIA_OK) {
        finish(*plan);
    }
    return status;
}

}  // namespace via
