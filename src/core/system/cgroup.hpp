// The limits that were set for this process by control groups, of version 1 and 2.
#pragma once

#include <cstdint>

namespace via {

// Where a limit is written: in one file of the unified hierarchy, in up to two of the controller's own in version 1.
struct CgroupLimit {
    const char *unified_file;
    const char *controller;
    const char *files[2];
};

inline constexpr CgroupLimit kMemoryLimit{"memory.max", "memory", {"memory.limit_in_bytes", nullptr}};
inline constexpr CgroupLimit kCpuLimit{"cpu.max", "cpu", {"cpu.cfs_quota_us", "cpu.cfs_period_us"}};

// The least limit that is set for this process's group and all that hold it; 0 if there is none. `parse` reads one, two
// files being one text: 0 where there is no limit in it.
int64_t least_of_cgroups(const CgroupLimit &limit, int64_t (*parse)(const char *text));

}  // namespace via
