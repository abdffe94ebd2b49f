#include "copy/thread_count.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "copy/copy.hpp"
#include "copy/small_file.hpp"

namespace via {
namespace {

constexpr char kCgroupRoot[] = "/sys/fs/cgroup";

int32_t cpus_of_affinity() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
        return std::clamp(CPU_COUNT(&cpus), 1, kMostThreads);
    }
    // More CPUs than the mask has room for.
    return static_cast<int32_t>(std::clamp<long>(sysconf(_SC_NPROCESSORS_ONLN), 1, kMostThreads));
}

// The path of this process in the unified hierarchy, "" in the root or without one.
void own_cgroup(char *path, size_t capacity) {
    char text[4096];
    path[0] = '\0';
    if (!read_small_file("/proc/self/cgroup", text, sizeof text)) {
        return;
    }
    const char *line = std::strncmp(text, "0::", 3) == 0 ? text : std::strstr(text, "\n0::");
    if (line != nullptr) {
        line = std::strchr(line, '/');
        const size_t length = line == nullptr ? 0 : std::min(std::strcspn(line, "\n"), capacity - 1);
        std::memcpy(path, line == nullptr ? "" : line, length);
        path[length] = '\0';
    }
}

int32_t limit_of_group(const char *group) {
    char path[4096 + 64];
    char text[64];
    std::snprintf(path, sizeof path, "%s%s/cpu.max", kCgroupRoot, group);
    return read_small_file(path, text, sizeof text) ? parse_cpu_max(text) : 0;
}

// The least limit of this process's group and of all that hold it; 0 if there is none.
int32_t limit_of_cgroups() {
    char group[4096];
    own_cgroup(group, sizeof group);
    int32_t least = 0;
    while (true) {
        const int32_t limit = limit_of_group(group);
        least = limit > 0 && (least == 0 || limit < least) ? limit : least;
        char *last = std::strrchr(group, '/');
        if (last == nullptr) {
            return least;
        }
        *last = '\0';
    }
}

// VIADUCT_NUM_THREADS, 0 if it is not set or makes no sense.
int32_t threads_of_environment() {
    const char *text = std::getenv("VIADUCT_NUM_THREADS");
    if (text == nullptr || *text == '\0') {
        return 0;
    }
    char *end = nullptr;
    const long count = std::strtol(text, &end, 10);
    return *end == '\0' && count >= 1 && count <= kMostThreads ? static_cast<int32_t>(count) : 0;
}

constinit std::atomic<int32_t> known_count{0};

int32_t default_count() {
    const int32_t count = threads_of_environment();
    return count > 0 ? count : usable_cpus();
}

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
    const int32_t limit = limit_of_cgroups();
    return limit > 0 ? std::min(cpus, limit) : cpus;
}

int32_t num_threads() {
    int32_t count = known_count.load(std::memory_order_relaxed);
    if (count == 0) {
        count = default_count();
        known_count.store(count, std::memory_order_relaxed);
    }
    return count;
}

Status set_num_threads(int32_t count) {
    if (count < 0 || count > kMostThreads) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "count is %d; expected 0 to %d", count, kMostThreads);
    }
    known_count.store(count, std::memory_order_relaxed);
    return VIA_OK;
}

}  // namespace via
