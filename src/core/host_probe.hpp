// What the operating system knows about a host address.
#pragma once

#include <cstdint>

namespace via {

struct HostMapping {
    void *base;
    int64_t nbytes;
    bool readable;
    bool writable;
};

// The mapping that holds the address; false if there is none, or the system does not tell.
bool find_host_mapping(const void *address, HostMapping *out_mapping);

// True if the byte at the address can be read now.
bool is_readable(const void *address);

// Memory that there is in the machine, or that this process' control group may use.
int64_t host_memory_bytes();

// The CPU's model name, cut to capacity - 1 bytes; "CPU" where the system does not tell.
void cpu_name(int64_t capacity, char *name);

}  // namespace via
