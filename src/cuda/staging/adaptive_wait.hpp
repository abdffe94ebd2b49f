// Waits that spin before they give up the processor.
#pragma once

#include <sched.h>

#include <mutex>

#include "core/base/spin.hpp"

namespace via::cuda {

// Returns once the condition is true. Asks rarely, since asking calls the driver. After about 50 us it yields the
// processor between questions.
template <class Condition>
void wait_until(const Condition &condition) {
    constexpr int32_t kLooks = 100;
    constexpr int32_t kPauses = 10;
    if (!spin_until(condition, kLooks, kPauses)) {
        while (!condition()) {
            sched_yield();
        }
    }
}

// A mutex that is held briefly: waiters spin before they sleep.
class AdaptiveMutex {
public:
    void lock() {
        constexpr int32_t kLooks = 500;
        if (!spin_until([&] { return mutex_.try_lock(); }, kLooks)) {
            mutex_.lock();
        }
    }
    void unlock() { mutex_.unlock(); }

private:
    std::mutex mutex_;
};

}  // namespace via::cuda
