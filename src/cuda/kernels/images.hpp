// The kernels' machine code, as the build has put it into the library.
#pragma once

#include <cstdint>

namespace via::kernels {

// Fat binaries, the last followed by nullptr; none in a build without nvcc.
extern const void *const images[];

// Of the Toolkit that they were built with, as cuDriverGetVersion counts: 13000.
extern const int32_t toolkit_version;

// Why there are none, "" if there are.
extern const char *const why_no_images;

}  // namespace via::kernels
