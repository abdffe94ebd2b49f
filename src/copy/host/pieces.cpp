// A copy of the host's in pieces, between which it can be stopped.
#include <algorithm>
#include <cstring>

#include "copy/bits.hpp"
#include "copy/run.hpp"
#include "copy/host/trailing_bits.hpp"
#include "core/async/task.hpp"

namespace via {
namespace {

constexpr int64_t kPieceBytes = int64_t{8} << 20;

// Up to here a run of bytes is copied before anything could be decided about it.
constexpr int64_t kShortRun = int64_t{4} << 10;

// Pieces are cut from the outermost axis, or from the one run that there is.
class Cutter {
public:
    explicit Cutter(const Plan &plan) : plan_(plan), extent_(is_run() ? plan.run : plan.axes[plan.ndim - 1].extent) {
        const int64_t each = is_run() ? 1 : std::max<int64_t>(plan.nbytes / extent_, 1);
        step_ = std::clamp<int64_t>(kPieceBytes / each, 1, std::max<int64_t>(extent_, 1));
    }

    int64_t extent() const { return extent_; }
    int64_t step() const { return step_; }

    // Indices `from` to `to` - 1.
    Plan cut(int64_t from, int64_t to) const {
        Plan piece = plan_;
        piece.nbytes = plan_.nbytes / extent_ * (to - from);
        piece.trailing_bits = 0;
        if (is_run()) {
            piece.dst += from;
            piece.src += from;
            piece.run = to - from;
        } else if (Axis &axis = piece.axes[plan_.ndim - 1]; plan_.in_bits) {
            piece.dst_bit += from * axis.dst_step;
            piece.src_bit += from * axis.src_step;
            axis.extent = to - from;
        } else {
            piece.dst += from * axis.dst_step;
            piece.src += from * axis.src_step;
            axis.extent = to - from;
        }
        return piece;
    }

private:
    bool is_run() const { return plan_.ndim == 0; }

    const Plan &plan_;
    int64_t extent_;
    int64_t step_;
};

Status cancelled(int64_t done, int64_t total) {
    return fail(VIA_ERROR_CANCELLED, "the task was cancelled after %lld of %lld bytes", static_cast<long long>(done),
                static_cast<long long>(total));
}

}  // namespace

void run_copy(Plan *plan) {
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
    if (plan->trailing_bits != 0) [[unlikely]] {
        copy_trailing_bits(plan->dst + plan->run, plan->src + plan->run, plan->trailing_bits);
    }
}

Status run_copy_in_pieces(const Plan &plan, int64_t done_before, via_task *task) {
    const Cutter cutter(plan);
    for (int64_t from = 0; from < cutter.extent(); from += cutter.step()) {
        const int64_t done = plan.nbytes / cutter.extent() * from;
        if (is_cancelled(task)) {
            return cancelled(done, plan.nbytes);
        }
        report_progress(task, done_before + done);
        Plan piece = cutter.cut(from, std::min(from + cutter.step(), cutter.extent()));
        run_copy(&piece);
    }
    if (plan.trailing_bits != 0) {
        copy_trailing_bits(plan.dst + plan.run, plan.src + plan.run, plan.trailing_bits);
    }
    report_progress(task, done_before + plan.nbytes);
    return VIA_OK;
}

}  // namespace via
