#include "cuda/topology/topology.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "core/system/small_file.hpp"
#include "cuda/driver/driver.hpp"

namespace via::cuda {

bool pci_id(int32_t device_id, char *out_id) {
    CUdevice device = 0;
    if (driver().cuDeviceGet(&device, device_id) != CUDA_SUCCESS ||
        driver().cuDeviceGetPCIBusId(out_id, kPciIdBytes, device) != CUDA_SUCCESS) {
        return false;
    }
    for (char *c = out_id; *c != '\0'; ++c) {
        *c = static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
    }
    return true;
}

// Reads a file of the device's folder in sysfs, such as "numa_node". Returns false if there is none.
static bool read_pci_file(int32_t device_id, const char *name, char *text, size_t capacity) {
    char id[kPciIdBytes];
    char path[128];
    if (!pci_id(device_id, id)) {
        return false;
    }
    std::snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", id, name);
    return read_small_file(path, text, capacity);
}

double parse_link_speed(const char *rate, const char *width) {
    const double transfers = std::strtod(rate, nullptr);  // a bit each, on each lane
    const double lanes = std::strtod(width, nullptr);
    return transfers > 0 && lanes > 0 && lanes <= 64 ? transfers * lanes / 8 : 0;
}

// The most it can do: a link that rests is slowed down.
double link_speed(int32_t device_id) {
    char rate[64];
    char width[64];
    return read_pci_file(device_id, "max_link_speed", rate, sizeof rate) &&
                   read_pci_file(device_id, "max_link_width", width, sizeof width)
               ? parse_link_speed(rate, width)
               : 0;
}

namespace {

constexpr int64_t kMostRingBytes = int64_t{64} << 20;
constexpr int64_t kShareOfMemory = 16;

bool contains(const cpu_set_t &all, const cpu_set_t &some) {
    cpu_set_t both;
    CPU_AND(&both, &all, &some);
    return CPU_EQUAL(&both, &some) != 0;
}

std::atomic<int64_t> ring_bytes_found{-1};

}  // namespace

int64_t find_ring_bytes() {
    const int64_t most = std::min(kMostRingBytes, usable_memory() / kShareOfMemory);
    ring_bytes_found.store(most, std::memory_order_relaxed);
    return most;
}

int64_t most_ring_bytes() {
    const int64_t most = ring_bytes_found.load(std::memory_order_relaxed);
    return most >= 0 ? most : find_ring_bytes();
}

int32_t node_of_device(int32_t device_id) {
    char text[64];
    cpu_set_t nodes;
    if (!read_small_file("/sys/devices/system/node/online", text, sizeof text) || !parse_cpu_list(text, &nodes) ||
        CPU_COUNT(&nodes) < 2 || !read_pci_file(device_id, "numa_node", text, sizeof text)) {
        return -1;
    }
    return static_cast<int32_t>(std::strtol(text, nullptr, 10));
}

CpuSet cpus_of_node(int32_t node) {
    CpuSet set{};
    char path[96];
    char text[1024];
    std::snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    set.is_set = node >= 0 && read_small_file(path, text, sizeof text) && parse_cpu_list(text, &set.cpus);
    return set;
}

bool parse_cpu_list(const char *text, cpu_set_t *out_cpus) {
    CPU_ZERO(out_cpus);
    while (*text >= '0' && *text <= '9') {
        char *end = nullptr;
        const long first = std::strtol(text, &end, 10);
        const long last = *end == '-' ? std::strtol(end + 1, &end, 10) : first;
        if (last < first || last >= CPU_SETSIZE) {
            return false;
        }
        for (long cpu = first; cpu <= last; ++cpu) {
            CPU_SET(static_cast<size_t>(cpu), out_cpus);
        }
        text = *end == ',' ? end + 1 : end;
    }
    return (*text == '\0' || *text == '\n') && CPU_COUNT(out_cpus) > 0;
}

NearDevice::NearDevice(const CpuSet *cpus) {
    if (cpus == nullptr || !cpus->is_set || sched_getaffinity(0, sizeof before_, &before_) != 0 ||
        contains(cpus->cpus, before_)) {
        return;
    }
    cpu_set_t wanted;
    CPU_AND(&wanted, &before_, &cpus->cpus);
    moved_ = CPU_COUNT(&wanted) > 0 && sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

NearDevice::~NearDevice() {
    if (moved_) {
        (void)sched_setaffinity(0, sizeof before_, &before_);
    }
}

}  // namespace via::cuda
