// The kernels that exist once per instruction set.
#pragma once

#include "copy/host/piece.hpp"

namespace via {

struct SimdKernels {
    const char *name;
    int level;              // as of simd_kernels_at
    Kernel rows;            // runs of any length
    Kernel rows_streaming;  // the same, bypassing the cache; end_streaming comes after the last of them
    // Elements of 1 << index bytes, adjacent in dst along the inner axis and in src along the outer one.
    Kernel transpose[5];
    // Elements that shuffles_well, and those that do the other way. nullptr where the processor lacks byte shuffles, or
    // stores of some bytes of a vector.
    Kernel shuffle;
    Kernel spread;
};

// The best that this processor can run.
const SimdKernels &simd_kernels();

// Makes streaming stores visible before anything that this thread writes later. It waits for them: once per thread.
void end_streaming();

// Each of them; the tests try all. nullptr where the processor or the build lacks it. Levels above 0 have F16C too, as
// every processor with AVX2.
inline constexpr int kSimdLevels = 3;
inline constexpr int kLineLevel = 2;  // a vector is a line of the cache
const SimdKernels *simd_kernels_at(int level);

extern const SimdKernels base_kernels;
extern const SimdKernels avx2_kernels;
extern const SimdKernels avx512_kernels;

}  // namespace via
