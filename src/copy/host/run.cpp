#include "copy/run.hpp"

#include <algorithm>
#include <cstring>

#include "copy/bits.hpp"
#include "copy/choose_loops.hpp"
#include "copy/host/blocked_transpose.hpp"
#include "copy/host/elements.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/plan/cache_sizes.hpp"
#include "copy/trailing_bits.hpp"
#include "core/async/task.hpp"
#include "core/async/thread_pool.hpp"
#include "core/base/thread_state.hpp"

namespace via {
namespace {

Kernel choose_kernel(const Plan &plan) {
    switch (plan.loops) {
        case LoopKind::Transpose:
            return transpose_kernel(plan.run, plan.streaming);
        case LoopKind::Repeat:
            return repeat_element;
        case LoopKind::Elements:
            return has_even_gaps(plan) ? simd_kernels().gather[plan.run / 2] : element_kernel(plan.run);
        case LoopKind::Tiles:
            return element_kernel(plan.run);
        default:
            return plan.streaming ? simd_kernels().rows_streaming : simd_kernels().rows;
    }
}

void run_by_scratch(const Plan &plan, const Piece &piece);

constexpr int32_t kCuts = 3;  // the run and the panel's axes are cut into blocks, the other axes are single indices

int64_t count_blocks(int64_t extent, int64_t block) { return block > 0 ? (extent - 1) / block + 1 : 0; }

// All blocks of a plan, numbered: blocks of the run first, then of the panel's axes, then the indices of the others.
class Blocks {
public:
    Blocks(const Plan &plan, Kernel kernel) : plan_(plan), kernel_(kernel) {
        counts_[0] = std::max<int64_t>(count_blocks(plan.run, plan.run_block), 1);
        counts_[1] = count_blocks(plan.axes[0].extent, plan.block[0]);
        counts_[2] = count_blocks(plan.axes[1].extent, plan.block[1]);
        total_ = counts_[0] * counts_[1] * counts_[2];
        for (int32_t level = kCuts; level < depth(); ++level) {
            total_ *= extent(level);
        }
    }

    int64_t total() const { return total_; }

    // Does blocks first to last - 1.
    void run(int64_t first, int64_t last) const {
        if (first == last) {
            return;
        }
        Cursor cursor;
        locate(first, &cursor);
        for (int64_t i = first; i < last; ++i) {
            run_block(cursor);
            step(&cursor);
        }
    }

private:
    // Where a block starts: its indices by axis of the numbering, and the addresses of the axes that are not cut.
    struct Cursor {
        int64_t index[VIA_MAX_NDIM + 1];
        char *dst;
        const char *src;
    };

    int32_t depth() const { return std::max(plan_.ndim - plan_.held[0] - plan_.held[1], 2) + 1; }
    int64_t extent(int32_t level) const { return level < kCuts ? counts_[level] : plan_.axes[level - 1].extent; }

    void locate(int64_t number, Cursor *cursor) const {
        cursor->dst = plan_.dst;
        cursor->src = plan_.src;
        for (int32_t level = 0; level < depth(); ++level) {
            const int64_t index = number % extent(level);
            number /= extent(level);
            cursor->index[level] = index;
            if (level >= kCuts) {
                cursor->dst += index * plan_.axes[level - 1].dst_step;
                cursor->src += index * plan_.axes[level - 1].src_step;
            }
        }
    }

    void step(Cursor *cursor) const {
        for (int32_t level = 0; level < depth(); ++level) {
            const bool outer = level >= kCuts;
            if (++cursor->index[level] < extent(level)) {
                cursor->dst += outer ? plan_.axes[level - 1].dst_step : 0;
                cursor->src += outer ? plan_.axes[level - 1].src_step : 0;
                return;
            }
            cursor->index[level] = 0;
            if (outer) {
                cursor->dst -= (extent(level) - 1) * plan_.axes[level - 1].dst_step;
                cursor->src -= (extent(level) - 1) * plan_.axes[level - 1].src_step;
            }
        }
    }

    void run_block(const Cursor &cursor) const {
        const int64_t from = cursor.index[0] * plan_.run_block;
        Piece piece{cursor.dst + from, cursor.src + from, std::min(plan_.run_block, plan_.run - from), {}, {}, 0, 0};
        piece.inner = cut(0, cursor.index[1], &piece);
        piece.before = cursor.index[1] * plan_.block[0];
        piece.after = plan_.axes[0].extent - piece.before - piece.inner.extent;
        piece.outer = cut(1, cursor.index[2], &piece);
        if (plan_.loops == LoopKind::Scratch) {
            run_by_scratch(plan_, piece);
        } else {
            kernel_(piece);
        }
    }

    Axis cut(int32_t axis, int64_t number, Piece *piece) const {
        Axis part = plan_.axes[axis];
        const int64_t from = number * plan_.block[axis];
        piece->dst += from * part.dst_step;
        piece->src += from * part.src_step;
        part.extent = std::min(plan_.block[axis], part.extent - from);
        return part;
    }

    const Plan &plan_;
    Kernel kernel_;
    int64_t counts_[kCuts];
    int64_t total_;
};

void run_part(const Plan &part, Kernel kernel) {
    const Blocks blocks(part, kernel);
    blocks.run(0, blocks.total());
}

void run_by_scratch(const Plan &plan, const Piece &piece) {
    alignas(kLineBytes) char scratch[kScratchBytes];
    Plan turn;
    Plan flush;
    plan_scratch(plan, piece, scratch, &turn, &flush);
    run_part(turn, transpose_ahead);
    run_part(flush, choose_kernel(flush));
}

// What a thread takes at a time: enough to be worth the taking, and several times each, so that one that is held up
// does not hold up the copy.
constexpr int64_t kShareBytes = int64_t{1} << 18;

struct Shares {
    const Blocks &blocks;
    int64_t first;
    int64_t last;
    int64_t each;
};

void run_share(void *context, int64_t index) {
    const auto &shares = *static_cast<const Shares *>(context);
    const int64_t first = shares.first + index * shares.each;
    shares.blocks.run(first, std::min(first + shares.each, shares.last));
}

// Blocks first to last - 1, on as many threads as the plan says.
void run_blocks(const Plan &plan, const Blocks &blocks, int64_t first, int64_t last) {
    if (plan.threads == 1) {
        blocks.run(first, last);
        return;
    }
    const int64_t block_bytes = std::max<int64_t>(plan.nbytes / blocks.total(), 1);
    Shares shares{blocks, first, last, std::max<int64_t>(kShareBytes / block_bytes, 1)};
    parallel_for(count_blocks(last - first, shares.each), plan.threads, run_share, &shares);
}

// The usual small copy.
bool is_one_block(const Plan &plan) {
    return plan.ndim <= 2 && plan.run_block == plan.run && plan.block[0] == plan.axes[0].extent &&
           plan.block[1] == plan.axes[1].extent;
}

// Up to here a run of bytes is copied before anything could be decided about it.
constexpr int64_t kShortRun = int64_t{4} << 10;

// Between two of these a copy can be stopped.
constexpr int64_t kPieceBytes = int64_t{8} << 20;

Status cancelled(int64_t done, int64_t total) {
    return fail(VIA_ERROR_CANCELLED, "the task was cancelled after %lld of %lld bytes", static_cast<long long>(done),
                static_cast<long long>(total));
}

// Cut from the outermost axis.
Status run_bits_in_pieces(const Plan &plan, int64_t done_before, via_task *task) {
    Plan piece = plan;
    Axis &axis = piece.axes[std::max(plan.ndim - 1, 0)];
    const int64_t extent = plan.ndim > 0 ? axis.extent : 1;
    const int64_t each = std::max<int64_t>(plan.nbytes / extent, 1);
    const int64_t step = std::max<int64_t>(kPieceBytes / each, 1);
    for (int64_t from = 0; from < extent; from += step) {
        if (is_cancelled(task)) {
            return cancelled(each * from, plan.nbytes);
        }
        report_progress(task, done_before + each * from);
        if (plan.ndim > 0) {
            axis.extent = std::min(step, extent - from);
            piece.dst_bit = plan.dst_bit + from * axis.dst_step;
            piece.src_bit = plan.src_bit + from * axis.src_step;
        }
        run_bits(piece);
    }
    report_progress(task, done_before + plan.nbytes);
    return VIA_OK;
}

void finish(const Plan &plan) {
    if (plan.trailing_bits != 0) [[unlikely]] {
        copy_trailing_bits(plan.dst + plan.run, plan.src + plan.run, plan.trailing_bits);
    }
}

}  // namespace

void run_plan(const Plan &plan) {
    if (is_one_block(plan)) {
        choose_kernel(plan)({plan.dst, plan.src, plan.run, plan.axes[0], plan.axes[1], 0, 0});
        return;
    }
    const Blocks blocks(plan, choose_kernel(plan));
    run_blocks(plan, blocks, 0, blocks.total());
}

void run_copy(Plan *plan) {
    count(Counter::PlannedRoutes, 1);
    if (plan->in_bits) [[unlikely]] {
        run_bits(*plan);
        return;
    }
    if (plan->ndim == 0 && plan->run <= kShortRun) {
        std::memcpy(plan->dst, plan->src, static_cast<size_t>(plan->run));
    } else {
        choose_loops(plan);
        run_plan(*plan);
    }
    finish(*plan);
}

Status run_copy_in_pieces(Plan *plan, int64_t done_before, via_task *task) {
    count(Counter::PlannedRoutes, 1);
    if (plan->in_bits) [[unlikely]] {
        return run_bits_in_pieces(*plan, done_before, task);
    }
    choose_loops(plan);
    const Blocks blocks(*plan, choose_kernel(*plan));
    const int64_t block_bytes = std::max<int64_t>(plan->nbytes / std::max<int64_t>(blocks.total(), 1), 1);
    const int64_t step = std::max<int64_t>(kPieceBytes / block_bytes, 1);
    for (int64_t first = 0; first < blocks.total(); first += step) {
        const int64_t done = block_bytes * first;
        if (is_cancelled(task)) {
            return cancelled(done, plan->nbytes);
        }
        report_progress(task, done_before + done);
        run_blocks(*plan, blocks, first, std::min(first + step, blocks.total()));
    }
    finish(*plan);
    report_progress(task, done_before + plan->nbytes);
    return VIA_OK;
}

}  // namespace via
