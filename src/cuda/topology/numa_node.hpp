// Memory for the ring: how much of it there may be, and which memory and CPUs are near the device.
#pragma once

#include <sched.h>

#include <cstdint>

#include "core/system/address_probe.hpp"

namespace via::cuda {

// The bytes that one device's ring may hold: 64 MiB, or a sixteenth of usable_memory().
int64_t most_ring_bytes();

// The memory node that the device is attached to; -1 if there is one only, or it cannot be told.
int32_t node_of_device(int32_t device_id);

// CPUs of a node; empty if there is nothing to choose from.
struct CpuSet {
    bool is_set;
    cpu_set_t cpus;
};

CpuSet cpus_of_node(int32_t node);

// Reads the kernel's form of a list of CPUs ("0-3,8,10-11"); false if it is none.
bool parse_cpu_list(const char *text, cpu_set_t *out_cpus);

// Moves the calling thread, one of the library's own, to some CPUs for a while, as far as it may use them.
class NearDevice {
public:
    explicit NearDevice(const CpuSet *cpus);
    ~NearDevice();
    NearDevice(const NearDevice &) = delete;
    NearDevice &operator=(const NearDevice &) = delete;

private:
    bool moved_ = false;
    cpu_set_t before_;
};

}  // namespace via::cuda
