// Conversions of adjacent elements, once per instruction set. Plain structs only: see copy/host/piece.hpp.
#pragma once

#include "core/layout/scalar_kinds.hpp"

namespace via {

using DecodeRun = void (*)(void *wide, const void *src, int64_t count);
using EncodeRun = void (*)(void *dst, const void *wide, int64_t count, bool saturates);
using SwapRun = void (*)(void *dst, const void *src, int64_t count);
// Of float32: by scales[0] and offsets[0], or by one of each for each number.
using AffineRun = void (*)(void *dst, const void *src, int64_t count, const float *scales, const float *offsets,
                           bool by_number);

// In one step.
struct DirectRuns {
    EncodeRun run;
    EncodeRun run_streaming;  // with stores that bypass the cache; dst is at a line of the cache
};

struct ConvertKernels {
    const char *name;
    DecodeRun decode[kScalarKinds];
    EncodeRun encode[kWideKinds][kScalarKinds];
    DirectRuns (*direct)(ScalarKind dst, ScalarKind src);  // for pairs that are common; otherwise nullptr
    SwapRun swap[3];                                       // the bytes of 2 << index
    AffineRun affine;
};

// The best that this processor can run.
const ConvertKernels &convert_kernels();

// Each of them, numbered as simd_kernels_at; nullptr where the processor or the build lacks it.
const ConvertKernels *convert_kernels_at(int level);

extern const ConvertKernels base_conversions;
extern const ConvertKernels avx2_conversions;
extern const ConvertKernels avx512_conversions;

}  // namespace via
