// The size from which on a staged copy beats the driver's: of a shipped table, or as measured on this machine.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "cuda/staging/staging.hpp"

namespace via::cuda {

constexpr int64_t kNeverStaged = INT64_MAX;

// Smaller copies of adjacent bytes are never staged: one thread and one copy of the device are fastest.
constexpr int64_t kLeastStaged = (int64_t{64} << 10) + 1;

enum class Direction : int32_t { ToDevice, ToHost };

struct StagingThresholds {
    int64_t to_device;
    int64_t to_host;

    int64_t of(Direction direction) const { return direction == Direction::ToDevice ? to_device : to_host; }
};

// Returns the shipped table. `link` is in GB/s one way, 0 if unknown; `workers` is how many threads a copy may use.
StagingThresholds shipped_thresholds(double link, int32_t workers);

// Returns the size from which on `staged` is faster at every size of the table, or kNeverStaged.
struct RouteTimes {
    int64_t nbytes;
    double driver;
    double staged;
};
int64_t find_threshold(const RouteTimes *times, int32_t count);

// Returns whether copies of so many bytes are staged: by the device's measured threshold if there is one.
bool reaches_threshold(Direction direction, int64_t nbytes, int32_t device_id);

// Returns what a copy engine moves of pinned memory, in bytes a nanosecond: measured on PCIe 5 x16, and in
// proportion on a link that says how fast it is.
double link_rate(int32_t device_id);

// Replaces the shipped table by what was measured.
void set_thresholds(int32_t device_id, const StagingThresholds &measured);

// Returns false if nothing was measured.
bool measured_thresholds(int32_t device_id, StagingThresholds *out_measured);

// Writes and reads one line of a saved calibration: "0000:3b:00.0 to_device 524288 to_host never".
constexpr int32_t kCalibrationLine = 128;
void print_thresholds(const char *pci_id, const StagingThresholds &thresholds, char *out_line);
bool parse_thresholds(const char *line, char *out_pci_id, StagingThresholds *out_crossovers);

}  // namespace via::cuda
