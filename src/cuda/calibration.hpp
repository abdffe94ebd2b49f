// Measures from which size on a staged copy beats the driver's, and saves the result to a file.
#pragma once

#include "core/base/status.hpp"

namespace via::cuda {

VIA_NODISCARD Status calibrate(int32_t device_id);
VIA_NODISCARD Status save_calibration(const char *path);
VIA_NODISCARD Status load_calibration(const char *path);

}  // namespace via::cuda
