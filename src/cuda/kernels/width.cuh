// How wide the kernels' index arithmetic is.
#pragma once

#include <cstdint>

namespace via::kernels {

// Every index fits 31 bits, offsets in elements 32, and there are few axes, so that a launch passes little.
struct Narrow {
    using Index = uint32_t;
    using Step = int32_t;
    static constexpr int32_t kAxes = 10;
};
struct Wide {
    using Index = uint64_t;
    using Step = int64_t;
    static constexpr int32_t kAxes = 64;
};

}  // namespace via::kernels
