// The workers of one transfer, and what they share.
#include <atomic>

#include "core/async/task.hpp"
#include "core/async/thread_pool.hpp"
#include "core/base/first_failure.hpp"
#include "core/base/no_cancellation.hpp"
#include "file/io_chunks.hpp"
#include "file/parallel_io.hpp"

namespace via {
namespace {

class Run {
public:
    Run(Parts *parts, int64_t done_before, int64_t total, via_task *task)
        : parts_(parts), done_before_(done_before), total_(total), task_(task) {}
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;

    Status move(int32_t threads) {
        const NoCancellation whole;
        parallel_for(threads, threads, work, this);
        return outcome();
    }

private:
    // Each goes on until there is nothing left, so one that wakes late holds up nobody.
    static void work(void *run, int64_t) { static_cast<Run *>(run)->work_here(); }

    void work_here() {
        for (int64_t number = next_++; number < parts_->count() && !is_stopped(); number = next_++) {
            int64_t nbytes = 0;
            if (const Status status = parts_->move(number, &nbytes); status != VIA_OK) {
                return stop(status);
            }
            report_progress(task_, done_before_ + (done_ += nbytes));
        }
    }

    // Asked while there is something left: whoever stops then leaves it.
    bool is_stopped() {
        if (is_cancelled(task_)) {
            cancelled_.store(true, std::memory_order_relaxed);
        }
        return stopped_.load(std::memory_order_relaxed) || cancelled_.load(std::memory_order_relaxed);
    }

    void stop(Status status) {
        failure_.keep(status);
        stopped_.store(true, std::memory_order_relaxed);
    }

    Status outcome() {
        const auto done = static_cast<long long>(done_before_ + done_);
        const auto total = static_cast<long long>(total_);
        if (failure_.status() != VIA_OK) {
            return fail_with_code(failure_.status(), failure_.record().code,
                                  "%.700s; %lld of %lld bytes had been moved", failure_.record().text, done, total);
        }
        return cancelled_.load(std::memory_order_relaxed)
                   ? fail(VIA_ERROR_CANCELLED, "the task was cancelled after %lld of %lld bytes", done, total)
                   : VIA_OK;
    }

    Parts *const parts_;
    const int64_t done_before_;
    const int64_t total_;
    via_task *const task_;
    std::atomic<int64_t> next_{0};
    std::atomic<int64_t> done_{0};
    std::atomic<bool> stopped_{false};
    std::atomic<bool> cancelled_{false};
    FirstFailure failure_;
};

}  // namespace

Status parallel_io(Parts *parts, int32_t threads, int64_t done_before, int64_t total, via_task *task) {
    Run run(parts, done_before, total, task);
    return run.move(threads);
}

}  // namespace via
