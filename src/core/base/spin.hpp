// Polls for a few microseconds before a thread sleeps or yields.
#pragma once

#include <cstdint>

namespace via {

// Pauses the processor for tens of cycles.
inline void cpu_relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Asks up to `looks` times, with `pauses` pauses after each; returns whether the condition came true.
template <class Condition>
bool spin_until(const Condition &condition, int32_t looks, int32_t pauses = 1) {
    for (int32_t look = 0; look < looks; ++look) {
        if (condition()) {
            return true;
        }
        for (int32_t i = 0; i < pauses; ++i) {
            cpu_relax();
        }
    }
    return false;
}

// Locks a mutex that many threads come for at once, each for a few instructions. Sleeps only after some tries: to sleep
// and be woken takes many times as long, and each would wait for that of all before it.
template <class Mutex>
void lock_soon(Mutex *mutex) {
    constexpr int32_t kTries = 100;
    constexpr int32_t kPauses = 4;
    if (!spin_until([&] { return mutex->try_lock(); }, kTries, kPauses)) {
        mutex->lock();
    }
}

}  // namespace via
