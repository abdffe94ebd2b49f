// A moment's rest in a loop that asks again and again.
#pragma once

namespace via {

inline void cpu_relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace via
