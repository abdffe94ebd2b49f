// Limits of this process's control groups, of version 1 and 2.
#pragma once

#include <cstdint>

namespace via {

// Files that hold a limit: one of the unified hierarchy, up to two of the controller in version 1.
struct CgroupLimit {
    const char *unified_file;
    const char *controller;
    const char *files[2];
};

inline constexpr CgroupLimit kMemoryLimit{"memory.max", "memory", {"memory.limit_in_bytes", nullptr}};
inline constexpr CgroupLimit kCpuLimit{"cpu.max", "cpu", {"cpu.cfs_quota_us", "cpu.cfs_period_us"}};

// Returns the smallest limit of this process's group and its ancestors; 0 if there is none. `parse` reads the limit
// from the text of a file (two files are joined), and returns 0 if it holds none.
int64_t least_of_cgroups(const CgroupLimit &limit, int64_t (*parse)(const char *text));

}  // namespace via
