// Sizes that follow from the processor's caches.
#pragma once

#include <cstdint>

namespace via {

inline constexpr int64_t kLineBytes = 64;

// Shorter runs gain nothing from streaming stores: their first and last cache lines are written in part.
inline constexpr int64_t kLeastStreamedRun = 1024;
inline constexpr int64_t kLeastStreamedRow = 384;  // of a tile

// Returns the size from which on a copy had better bypass the cache.
int64_t streaming_bytes();

}  // namespace via
