// Tiles of conversions: boxes of a power of two of elements.
#pragma once

#include "core/layout/element_loops.hpp"
#include "cuda/kernels/convert.cuh"

namespace via::cuda {

// What a kernel's tiles hold.
struct ConvertTileSize {
    int32_t bits;  // two to the power of these elements
    int32_t dst_bytes;
    int32_t src_bytes;
};

// Plans the tiles, which a launch numbers from 0. Returns how many there are.
uint64_t plan_convert_tiles(const ElementLoops &loops, const ConvertTileSize &size, kernels::ConvertParams *params);

}  // namespace via::cuda
