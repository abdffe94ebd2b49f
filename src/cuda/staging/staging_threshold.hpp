// From which size on a staged copy beats the driver's own: a shipped table, or what was measured here.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "cuda/staging/staging.hpp"

namespace via::cuda {

constexpr int64_t kNeverStaged = INT64_MAX;

// Copies of fewer bytes than this are not staged, whatever was measured: one thread and one copy of the device's serve
// them best.
constexpr int64_t kLeastStaged = (int64_t{64} << 10) + 1;

struct StagingThresholds {
    int64_t to_device;
    int64_t to_host;

    int64_t of(Direction direction) const { return direction == Direction::ToDevice ? to_device : to_host; }
};

// The shipped table. `link` is in GB/s one way, 0 if unknown; `workers` is how many threads a copy may use.
StagingThresholds shipped_thresholds(double link, int32_t workers);

// The size from which on `staged` was the faster at every size, in a table of times of both; kNeverStaged if at none.
struct RouteTimes {
    int64_t nbytes;
    double driver;
    double staged;
};
int64_t find_threshold(const RouteTimes *times, int32_t count);

// What holds for a device now.
int64_t staging_threshold(Direction direction, int32_t device_id);

// Puts what was measured in the place of the table.
void set_thresholds(int32_t device_id, const StagingThresholds &measured);

// What was measured; false if nothing was.
bool measured_thresholds(int32_t device_id, StagingThresholds *out_measured);

// One line of a saved calibration: "0000:3b:00.0 to_device 524288 to_host never".
constexpr int32_t kCalibrationLine = 128;
void print_thresholds(const char *pci_id, const StagingThresholds &thresholds, char *out_line);
bool parse_thresholds(const char *line, char *out_pci_id, StagingThresholds *out_crossovers);

}  // namespace via::cuda
