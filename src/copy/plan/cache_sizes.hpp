// Sizes that follow from the processor's caches.
#pragma once

#include <cstdint>

namespace via {

// The pieces a transpose is done in: bytes along the axis that is adjacent in dst, and in src.
inline constexpr int64_t kTransposeRowBytes = 1024;
inline constexpr int64_t kTransposeColumnBytes = 2048;

// What such a piece has at least, unless there is no more.
inline constexpr int64_t kTransposeBytes = int64_t{1} << 15;

inline constexpr int64_t kLineBytes = 64;

// Shorter runs gain nothing from streaming stores: their first and last cache lines are written in part.
inline constexpr int64_t kLeastStreamedRun = 1024;
inline constexpr int64_t kLeastStreamedRow = 384;  // of a transpose

// From how many bytes on a copy had better not go through the cache.
int64_t streaming_bytes();

}  // namespace via
