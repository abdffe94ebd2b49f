#include "core/system/thread_count.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "core/system/cgroup.hpp"

namespace via {
namespace {

int32_t cpus_of_affinity() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
        return std::clamp(CPU_COUNT(&cpus), 1, kMostThreads);
    }
    // The mask is too small for the number of CPUs.
    return static_cast<int32_t>(std::clamp<long>(sysconf(_SC_NPROCESSORS_ONLN), 1, kMostThreads));
}

// Reads VIADUCT_NUM_THREADS; 0 if it is unset or invalid.
int32_t threads_of_environment() {
    const char *text = secure_getenv("VIADUCT_NUM_THREADS");
    if (text == nullptr || *text == '\0') {
        return 0;
    }
    char *end = nullptr;
    const long count = std::strtol(text, &end, 10);
    return *end == '\0' && count >= 1 && count <= kMostThreads ? static_cast<int32_t>(count) : 0;
}

constinit std::atomic<int32_t> known_count{0};

}  // namespace

int32_t parse_cpu_max(const char *text) {
    long long quota = 0;
    long long period = 0;
    if (std::sscanf(text, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) {
        return 0;
    }
    return static_cast<int32_t>(std::clamp<long long>(quota / period + (quota % period != 0 ? 1 : 0), 1, kMostThreads));
}

int32_t usable_cpus() {
    const int32_t cpus = cpus_of_affinity();
    const int64_t limit = least_of_cgroups(kCpuLimit, [](const char *text) -> int64_t { return parse_cpu_max(text); });
    return limit > 0 ? static_cast<int32_t>(std::min<int64_t>(cpus, limit)) : cpus;
}

int32_t num_threads() {
    int32_t count = known_count.load(std::memory_order_relaxed);
    if (count != 0) {
        return count;
    }
    const int32_t wanted = threads_of_environment();
    const int32_t found = wanted > 0 ? wanted : usable_cpus();
    // Keeps the value that another thread sets meanwhile.
    return known_count.compare_exchange_strong(count, found, std::memory_order_relaxed) ? found : count;
}

Status set_num_threads(int32_t count) {
    if (count < 0 || count > kMostThreads) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "count is %d; expected 0 to %d", count, kMostThreads);
    }
    known_count.store(count, std::memory_order_relaxed);
    return VIA_OK;
}

}  // namespace via
