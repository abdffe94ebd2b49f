// What the tests of work in the background share: fences that a test reaches, and waiting with a limit.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}
#undef fail  // the library has a function of that name

#include <atomic>
#include <iterator>
#include <thread>
#include <vector>

#include "../limits.h"
#include "children.hpp"
#include "core/array/access_tracker.hpp"
#include "core/async/fence.hpp"

inline void sleep_ms(int64_t milliseconds) {
    const timespec time{static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000 * 1000000)};
    nanosleep(&time, nullptr);
}

// False if it does not come true within ten seconds.
template <typename Condition>
bool eventually(const Condition &condition) {
    for (int32_t i = 0; i < 100000; ++i) {
        if (condition()) {
            return true;
        }
        usleep(100);
    }
    return false;
}

// A fence that the test reaches. `alive` counts how many there are, so that none is lost or released twice.
class FakeFence final : public via::Fence {
public:
    explicit FakeFence(bool is_reached = false) : complete_(is_reached) {
        alive++;
        see_writes();
    }

    // Makes it one of a call that begins now.
    void see_writes() { set_writes_seen(via::write_changes()); }

    bool is_complete() override {
        asked++;
        return !cannot_be_asked_here && !is_hidden && complete_.load();
    }
    via::Status wait() override {
        waits++;
        while (!complete_.load()) {
            usleep(50);
        }
        return failure.load() == VIA_OK ? VIA_OK : via::fail_with_code(failure.load(), 700, "the device has failed");
    }
    via::Status make_stream_wait(const via::ResolvedStream &) override {
        orders++;
        return VIA_OK;
    }
    bool is_on_device() override { return on_device; }
    bool may_fail() override { return nobody_may_miss; }
    bool has_failed() override { return nobody_may_miss && complete_.load() && failure.load() != VIA_OK; }
    void reach() { complete_.store(true); }
    using via::Fence::set_point;

    static inline std::atomic<int32_t> alive{0};
    // As in a callback of the driver.
    static inline thread_local bool cannot_be_asked_here = false;
    std::atomic<int32_t> asked{0};
    std::atomic<int32_t> waits{0};
    std::atomic<int32_t> orders{0};
    std::atomic<via::Status> failure{VIA_OK};
    bool on_device = false;
    bool nobody_may_miss = false;        // its failure
    std::atomic<bool> is_hidden{false};  // its end, from all but those that wait for it

private:
    // Inlined where GCC 16 guesses that a fence is one of these, it is warned of for what it would touch there.
    [[gnu::noinline]] ~FakeFence() override { alive--; }
    std::atomic<bool> complete_;
};

// No thread can be started meanwhile, unless the stack of an earlier one lies about: for processes that had none. Not
// under sanitizers, which need more address space than is left.
class NoThreads {
public:
    NoThreads() {
        getrlimit(RLIMIT_AS, &before_);
        rlimit limit = before_;
        limit.rlim_cur = size_t{1} << 20;
        setrlimit(RLIMIT_AS, &limit);
    }
    ~NoThreads() { setrlimit(RLIMIT_AS, &before_); }
    NoThreads(const NoThreads &) = delete;
    NoThreads &operator=(const NoThreads &) = delete;

private:
    rlimit before_{};
};

inline int no_fence_is_left(void **) {
    // The last callback may still be releasing.
    return eventually([] { return FakeFence::alive.load() == 0; }) ? 0 : -1;
}

#define FENCE_TEST(function) cmocka_unit_test_teardown(function, no_fence_is_left)
