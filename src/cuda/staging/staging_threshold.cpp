#include "cuda/staging/staging_threshold.hpp"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/system/thread_count.hpp"
#include "cuda/topology/pci_topology.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr double kSlowLink = 20;  // GB/s: PCIe 3 x16 carries 16, PCIe 4 x16 carries 32

struct State {
    std::atomic<int64_t> to_device{0};  // 0: nothing was measured
    std::atomic<int64_t> to_host{0};
    std::atomic<int64_t> link{-1};  // GB/s; -1: not asked yet
};

State states[kMostDevices];

int64_t known_link(int32_t device_id) {
    std::atomic<int64_t> &link = states[device_id].link;
    int64_t known = link.load(std::memory_order_relaxed);
    if (known < 0) {
        known = static_cast<int64_t>(link_speed(device_id));
        link.store(known, std::memory_order_relaxed);
    }
    return known;
}

void print_size(int64_t nbytes, char (&text)[32]) {
    if (nbytes == kNeverStaged) {
        std::snprintf(text, sizeof text, "never");
    } else {
        std::snprintf(text, sizeof text, "%" PRId64, nbytes);
    }
}

bool parse_size(const char *text, int64_t *out_nbytes) {
    if (std::strcmp(text, "never") == 0) {
        *out_nbytes = kNeverStaged;
        return true;
    }
    char *end = nullptr;
    *out_nbytes = std::strtoll(text, &end, 10);
    return end != text && *end == '\0' && *out_nbytes > 0;
}

}  // namespace

// Measured on an H200 with PCIe 5 x16. Towards the device the driver copies 10 to 18 GB/s, and so does one worker; two
// workers are faster from 512 KiB on. Towards the host one worker is faster from 128 KiB on: 21 us where the driver
// takes 22 to 35. A slower link leaves less to gain.
StagingThresholds shipped_thresholds(double link, int32_t workers) {
    if (workers < 2) {
        return {.to_device = kNeverStaged, .to_host = kNeverStaged};
    }
    const bool slow = link > 0 && link < kSlowLink;
    return {.to_device = slow ? 2 * kMiB : 512 * kKiB, .to_host = slow ? 2 * kMiB : 128 * kKiB};
}

int64_t find_threshold(const RouteTimes *times, int32_t count) {
    int64_t found = kNeverStaged;
    for (int32_t i = count - 1; i >= 0 && times[i].staged < times[i].driver; --i) {
        found = std::max(times[i].nbytes, kLeastStaged);
    }
    return found;
}

int64_t staging_threshold(Direction direction, int32_t device_id) {
    StagingThresholds measured{};
    if (measured_thresholds(device_id, &measured)) {
        return std::max(measured.of(direction), kLeastStaged);
    }
    return shipped_thresholds(static_cast<double>(known_link(device_id)), num_threads()).of(direction);
}

void set_thresholds(int32_t device_id, const StagingThresholds &measured) {
    states[device_id].to_host.store(measured.to_host, std::memory_order_relaxed);
    states[device_id].to_device.store(measured.to_device, std::memory_order_release);
}

bool measured_thresholds(int32_t device_id, StagingThresholds *out_measured) {
    out_measured->to_device = states[device_id].to_device.load(std::memory_order_acquire);
    out_measured->to_host = states[device_id].to_host.load(std::memory_order_relaxed);
    return out_measured->to_device != 0;
}

void print_thresholds(const char *pci_id, const StagingThresholds &thresholds, char *out_line) {
    char to_device[32];
    char to_host[32];
    print_size(thresholds.to_device, to_device);
    print_size(thresholds.to_host, to_host);
    std::snprintf(out_line, kCalibrationLine, "%s to_device %s to_host %s", pci_id, to_device, to_host);
}

bool parse_thresholds(const char *line, char *out_pci_id, StagingThresholds *out_crossovers) {
    char to_device[32];
    char to_host[32];
    int end = 0;
    return std::sscanf(line, "%31s to_device %31s to_host %31s%n", out_pci_id, to_device, to_host, &end) == 3 &&
           line[end] == '\0' && parse_size(to_device, &out_crossovers->to_device) &&
           parse_size(to_host, &out_crossovers->to_host);
}

}  // namespace via::cuda
