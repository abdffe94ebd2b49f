// Tasks of work that does what a test wants, and callbacks that remember what they were reported.
#pragma once

#include <pthread.h>
#include <string.h>

#include <string>

#include "core/async/task.hpp"
#include "core/async/task_executor.hpp"
#include "core/base/thread_state.hpp"
#include "pending_work.hpp"

// Work that does what its test wants, step by step.
struct FakeWork final : via::TaskWork {
    via::Status run(via_task *own_task, via::Fence **out_fence) override {
        runs++;
        ran_on = pthread_self();
        while (held && !(heeds_cancel && via::is_cancelled(own_task))) {
            usleep(50);
        }
        if (fence != nullptr) {
            fence->retain();
            *out_fence = fence;
        }
        if (heeds_cancel && via::is_cancelled(own_task)) {
            return via::fail(VIA_ERROR_CANCELLED, "stopped in the middle");
        }
        return status == VIA_OK ? VIA_OK : via::fail_with_code(status, 77, "%s", text.c_str());
    }

    void end() override {
        if (at_end != nullptr) {
            at_end(this);
        }
        ends++;
    }

    std::atomic<bool> held{false};
    bool heeds_cancel = false;
    FakeFence *fence = nullptr;
    via::Status status = VIA_OK;
    std::string text = "cuMemcpy: CUDA_ERROR_ILLEGAL_ADDRESS";
    void (*at_end)(FakeWork *fake) = nullptr;
    via_task *task = nullptr;
    std::atomic<int32_t> runs{0};
    std::atomic<int32_t> ends{0};
    pthread_t ran_on{};
};

// What a callback was reported.
struct Heard {
    std::atomic<int32_t> times{0};
    std::atomic<int32_t> status{-1};
    std::string text;
    pthread_t on{};
    int32_t ends_then = -1;
    FakeWork *work = nullptr;
    static void hear(int32_t status, const char *text, void *context) {
        auto *heard = static_cast<Heard *>(context);
        heard->text = text;
        heard->on = pthread_self();
        heard->ends_then = heard->work != nullptr ? heard->work->ends.load() : -1;
        heard->status = status;
        heard->times++;
    }
    bool within_time() {
        return eventually([this] { return times == 1; });
    }
};

inline via_task *start(FakeWork *work, via::Fence *dependency = nullptr, bool immediate = false, int64_t nbytes = 100) {
    via_task *task = nullptr;
    assert_int_equal(via::start_task(work, nbytes, dependency, immediate, &task), VIA_OK);
    work->task = task;
    return task;
}

inline void expect_progress(via_task *task, int64_t done, int64_t total) {
    int64_t found_done = -1;
    int64_t found_total = -1;
    via::task_progress(task, &found_done, &found_total);
    assert_int_equal(found_done, done);
    assert_int_equal(found_total, total);
}

inline bool is_here(pthread_t thread) { return pthread_equal(thread, pthread_self()) != 0; }
