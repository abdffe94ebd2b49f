// Calls a function when a thread ends.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace via {

// A thread-specific key, created at first use. Not a function-local static: a child forked while another thread creates
// the key would wait for that thread.
class ThreadExit {
public:
    constexpr explicit ThreadExit(void (*at_exit)(void *value)) noexcept : at_exit_(at_exit) {}

    // Arranges that at_exit(value) is called when the calling thread ends; false if there is no key for it.
    bool defer(void *value) {
        int64_t key = key_.load(std::memory_order_acquire);
        if (key == kNone && !make(&key)) {
            return false;
        }
        return pthread_setspecific(static_cast<pthread_key_t>(key), value) == 0;
    }

private:
    static constexpr int64_t kNone = -1;

    // Uses the key of another thread that was quicker.
    bool make(int64_t *key) {
        pthread_key_t made = 0;
        if (pthread_key_create(&made, at_exit_) != 0) {
            return false;
        }
        if (key_.compare_exchange_strong(*key, int64_t{made}, std::memory_order_acq_rel)) {
            *key = int64_t{made};
        } else {
            (void)pthread_key_delete(made);
        }
        return true;
    }

    void (*const at_exit_)(void *value);
    std::atomic<int64_t> key_{kNone};
};

}  // namespace via
