// Asks the operating system about host memory and the CPU.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via {

struct HostMapping {
    void *base;
    int64_t nbytes;
    bool readable;
    bool writable;
};

// Finds the mapping that holds the address; one of no bytes if there is none.
// Errors: VIA_ERROR_IO if /proc/self/maps cannot be read.
VIA_NODISCARD Status find_host_mapping(const void *address, HostMapping *out_mapping);

// Returns true if the byte at the address can be read now.
bool is_readable(const void *address);

// Returns the bytes of memory that the process may use: those of the machine, or the limit of its control groups; 0 if
// unknown.
int64_t usable_memory();

// Parses a cgroup's memory.max ("max", "1073741824"); 0 if it holds no limit.
int64_t parse_memory_max(const char *text);

// Writes the model name of the CPU, cut to capacity - 1 bytes; "CPU" if unknown.
void cpu_name(int64_t capacity, char *name);

}  // namespace via
