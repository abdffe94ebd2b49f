// Number of threads that this process may use.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via {

inline constexpr int32_t kMostThreads = 1024;

// Get and set the number of threads that one copy may use, the caller's included.
int32_t num_threads();
VIA_NODISCARD Status set_num_threads(int32_t count);

// Counts the CPUs of the affinity mask, or fewer if a cgroup limits CPU time.
int32_t usable_cpus();

// Parses the quotient of a cgroup's cpu.max ("max 100000", "150000 100000"), rounded up; 0 if it holds no limit.
int32_t parse_cpu_max(const char *text);

}  // namespace via
