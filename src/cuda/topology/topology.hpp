// A device's place on the PCI bus and among NUMA nodes: link speed, memory limits, and the CPUs next to it.
#pragma once

#include <sched.h>

#include <cstdint>

#include "core/system/address_probe.hpp"

namespace via::cuda {

constexpr int32_t kPciIdBytes = 32;

// Writes the PCI id as in sysfs: "0000:3b:00.0". Returns false if the driver does not say.
bool pci_id(int32_t device_id, char *out_id);

// Returns what the link carries one way, in GB/s of raw bits, or 0 if unknown (virtual machines often hide it).
double link_speed(int32_t device_id);

// Computes that from the contents of the two files: "32.0 GT/s PCIe" and "16".
double parse_link_speed(const char *rate, const char *width);

// Returns the bytes that one device's ring may have: 64 MiB, or a sixteenth of usable_memory() if that is less. Reads
// several files, as the limit of a container may have changed: for those who make a ring.
int64_t find_ring_bytes();

// Returns what was found last, without a system call: for planning.
int64_t most_ring_bytes();

// Returns the memory node of the device, or -1 if there is only one or it is unknown.
int32_t node_of_device(int32_t device_id);

// Returns the CPUs of a node. Empty if there is only one node.
struct CpuSet {
    bool is_set;
    cpu_set_t cpus;
};

CpuSet cpus_of_node(int32_t node);

// Parses the kernel's list of CPUs ("0-3,8,10-11"). Returns false for anything else.
bool parse_cpu_list(const char *text, cpu_set_t *out_cpus);

// Moves the calling thread, one of the library, to some CPUs for a scope, as far as its affinity allows.
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
