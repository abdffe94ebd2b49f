// Waiting for what takes microseconds.
#pragma once

#include <sched.h>

#include <cstdint>
#include <mutex>

#include "core/base/cpu_relax.hpp"

namespace via::cuda {

// Pauses between two questions: short ones at first; after about 50 us others get the processor.
class Backoff {
public:
    void pause() {
        if (asked_ < kShort) {
            asked_++;
            for (int32_t i = 0; i < kSpins; ++i) {
                cpu_relax();
            }
        } else {
            sched_yield();
        }
    }

private:
    static constexpr int32_t kShort = 100;
    static constexpr int32_t kSpins = 10;
    int32_t asked_ = 0;
};

// A mutex whose holders are quick as a rule, so that it is worth looking again before sleeping.
class AdaptiveMutex {
public:
    void lock() {
        for (int32_t i = 0; i < kLooks; ++i) {
            if (mutex_.try_lock()) {
                return;
            }
            cpu_relax();
        }
        mutex_.lock();
    }
    void unlock() { mutex_.unlock(); }

private:
    static constexpr int32_t kLooks = 500;
    std::mutex mutex_;
};

}  // namespace via::cuda
