// What the operating system knows about a host address.
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

// The mapping that holds the address; one of no bytes if there is none.
// Errors: VIA_ERROR_IO where the system does not tell.
VIA_NODISCARD Status find_host_mapping(const void *address, HostMapping *out_mapping);

// True if the byte at the address can be read now.
bool is_readable(const void *address);

// Memory that the process may have: what the machine has, or less where a limit was set for its control groups; 0 where
// the system does not tell.
int64_t usable_memory();

// The limit in a cgroup's memory.max ("max", "1073741824"); 0 if there is none in it.
int64_t parse_memory_max(const char *text);

// The CPU's model name, cut to capacity - 1 bytes; "CPU" where the system does not tell.
void cpu_name(int64_t capacity, char *name);

}  // namespace via
