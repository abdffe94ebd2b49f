// The limits that were set for this process, in the unified hierarchy of control groups.
#pragma once

#include <cstdint>

namespace via {

// The least limit that a file ("cpu.max") sets in this process's group and in all that hold it; 0 if there is none.
// `parse` reads one: 0 where there is no limit in it.
int64_t least_of_cgroups(const char *file, int64_t (*parse)(const char *text));

}  // namespace via
