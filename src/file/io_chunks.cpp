#include "file/io_chunks.hpp"

#include <algorithm>
#include <atomic>

#include "copy/choose_tiles.hpp"
#include "copy/normalise.hpp"
#include "copy/plan.hpp"
#include "copy/run.hpp"
#include "core/array/view.hpp"
#include "core/async/task.hpp"
#include "core/async/thread_pool.hpp"
#include "core/base/first_failure.hpp"
#include "core/base/no_cancellation.hpp"

namespace via {
namespace {

// Copies on this thread only: other threads copy other chunks.
Status copy_singles(via_array *dst, via_array *src) {
    Plan plan;
    VIA_TRY(normalise_copy(dst, src, &plan));
    choose_tiles(&plan, 1);
    run_plan(plan);
    return VIA_OK;
}

// The workers of one transfer, and their shared state.
class Run {
public:
    Run(int64_t count, MoveChunk move, const void *context, const IoRun &run)
        : count_(count), move_(move), context_(context), run_(run) {}
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;

    Status move_all() {
        const NoCancellation whole;
        parallel_for(run_.threads, run_.threads, work, this);
        return outcome();
    }

private:
    // Each worker takes chunks until none is left, so one that starts late blocks no other.
    static void work(void *run, int64_t) { static_cast<Run *>(run)->work_here(); }

    void work_here() {
        for (int64_t number = next_++; number < count_ && !is_stopped(); number = next_++) {
            int64_t nbytes = 0;
            if (const Status status = move_(context_, number, &nbytes); status != VIA_OK) {
                return stop(status);
            }
            report_progress(run_.task, run_.done_before + (done_ += nbytes));
        }
    }

    // Called before each chunk; the chunk stays unmoved if it returns true.
    bool is_stopped() {
        if (is_cancelled(run_.task)) {
            cancelled_.store(true, std::memory_order_relaxed);
        }
        return stopped_.load(std::memory_order_relaxed) || cancelled_.load(std::memory_order_relaxed);
    }

    void stop(Status status) {
        failure_.keep(status);
        stopped_.store(true, std::memory_order_relaxed);
    }

    Status outcome() {
        const int64_t done = run_.done_before + done_;
        if (failure_.status() != VIA_OK) {
            return fail_with_code(failure_.status(), failure_.record().code, "%.700s; %lld of %lld bytes were moved",
                                  failure_.record().text, as_printed(done), as_printed(run_.total));
        }
        return cancelled_.load(std::memory_order_relaxed) ? fail_cancelled(done, run_.total, "bytes") : VIA_OK;
    }

    const int64_t count_;
    const MoveChunk move_;
    const void *const context_;
    const IoRun &run_;
    std::atomic<int64_t> next_{0};
    std::atomic<int64_t> done_{0};
    std::atomic<bool> stopped_{false};
    std::atomic<bool> cancelled_{false};
    FirstFailure failure_;
};

Status pass(ExtentIo &io, Direction direction, char *memory, int64_t offset, int64_t nbytes) {
    return direction == Direction::Read ? io.read(memory, offset, nbytes) : io.write(memory, offset, nbytes);
}

}  // namespace

Status parallel_io(int64_t count, MoveChunk move, const void *context, const IoRun &run) {
    return Run(count, move, context, run).move_all();
}

Status move_adjacent(ExtentIo &extent_io, Direction direction, int64_t offset, void *memory, int64_t nbytes,
                     const IoRun &run) {
    const bool is_write = direction == Direction::Write;
    const int64_t before = is_write ? extent_io.bytes_from_border(offset) : reinterpret_cast<intptr_t>(memory);
    const auto move = [&](int64_t first, int64_t count, int64_t *out_nbytes) {
        *out_nbytes = count;
        return pass(extent_io, direction, static_cast<char *>(memory) + first, offset + first, count);
    };
    return aligned_io(nbytes, extent_io.piece_bytes(), before, move, run);
}

Status read_adjacent(cuda::IoEndpoint &io, int64_t offset, void *memory, int64_t nbytes, const IoRun &run) {
    const auto read = [&](int64_t first, int64_t count, int64_t *out_nbytes) {
        *out_nbytes = count;
        return io.read(static_cast<char *>(memory) + first, offset + first, count);
    };
    return aligned_io(nbytes, FileIo::kPieceBytes, reinterpret_cast<intptr_t>(memory), read, run);
}

Slabs::Slabs(via_array *array, int64_t most_bytes) : array_(array), inner_bytes_(array->item_bytes()) {
    const int64_t *shape = array->shape();
    level_ = std::max(array->ndim - 1, 0);
    while (level_ > 0 && inner_bytes_ * shape[level_] <= most_bytes) {
        inner_bytes_ *= shape[level_--];
    }
    extent_ = array->ndim > 0 ? shape[level_] : 1;
    block_ = std::clamp<int64_t>(most_bytes / inner_bytes_, 1, extent_);
    blocks_ = divide_up(extent_, block_);
    std::for_each_n(shape, level_, [&](int64_t outer) { outer_ *= outer; });
}

Status Slabs::view(int64_t number, via_array **out_view) const {
    if (array_->ndim == 0) {
        return slice_view(array_, nullptr, nullptr, nullptr, out_view);
    }
    const int64_t first = number % blocks_ * block_;
    const int64_t *steps = array_->steps();
    char *data = static_cast<char *>(array_->data) + first * steps[level_];
    int64_t outer = number / blocks_;
    for (int32_t i = level_ - 1; i >= 0; --i) {
        data += outer % array_->shape()[i] * steps[i];
        outer /= array_->shape()[i];
    }
    Layout layout{};
    layout.ndim = array_->ndim - level_;
    std::copy_n(array_->shape() + level_, layout.ndim, layout.shape);
    std::copy_n(steps + level_, layout.ndim, layout.steps);
    layout.shape[0] = std::min(block_, extent_ - first);
    return make_view(array_, data, array_->dtype, layout, array_->flags, out_view);
}

Status move_slabs(ExtentIo &extent_io, Direction direction, via_array *array, const IoRun &run) {
    const int64_t most_bytes = extent_io.piece_bytes();
    const Slabs slabs(array, most_bytes);
    BufferPool buffers(std::max(most_bytes, slabs.slab_bytes()));
    const auto move = [&](int64_t number, int64_t *out_nbytes) {
        Buffer buffer(buffers);
        VIA_TRY(buffer.acquire());
        return slabs.move(number, direction, buffer.get(), copy_singles, [&](char *memory, int64_t at, int64_t nbytes) {
            *out_nbytes = nbytes;
            return pass(extent_io, direction, memory, at, nbytes);
        });
    };
    return parallel_io(slabs.count(), move, run);
}

Status move_staged(via_array *array, Direction direction, cuda::IoEndpoint *io, int64_t begin, const IoRun &run,
                   bool *out_served, Fence **out_fence) {
    constexpr int64_t kBorder = int64_t{64} << 10;
    UniqueArray dense;
    CopyPlan plan;
    cuda::StagedPlan staged;
    VIA_TRY(make_dense(array, array->dtype, nullptr, dense.out()));
    via_array *dst = direction == Direction::Read ? array : dense.get();
    via_array *src = direction == Direction::Read ? dense.get() : array;
    VIA_TRY(normalise_copy(dst, src, &plan.loops));
    VIA_TRY(make_transfer(plan.loops, dst, src, Ask::Never, &plan.transfer));
    *out_served = cuda::can_stage_io(plan.transfer, &staged);
    return *out_served
               ? cuda::transfer_io(plan.transfer, staged, {io, run.threads, 0, begin % kBorder}, run.task, out_fence)
               : VIA_OK;
}

}  // namespace via
