// How many threads this process was given to use.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via {

inline constexpr int32_t kMostThreads = 1024;

// Threads that one copy may use, the caller's included.
int32_t num_threads();
VIA_NODISCARD Status set_num_threads(int32_t count);

// CPUs of the affinity mask, or fewer if a cgroup allows less time than these have.
int32_t usable_cpus();

// The quotient of a cgroup's cpu.max ("max 100000", "150000 100000"), rounded up; 0 if there is no limit in it.
int32_t parse_cpu_max(const char *text);

}  // namespace via
