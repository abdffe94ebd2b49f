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

}  // namespace via
