// Sizes that follow from the processor's caches.
#pragma once

#include <cstdint>

namespace via {

inline constexpr int64_t kLineBytes = 64;

// Lines that are a multiple of this apart share an eighth of the sets of the first-level cache, or fewer.
inline constexpr int64_t kLineConflict = 8 * kLineBytes;

// Shorter runs gain nothing from streaming stores: their first and last cache lines are written in part.
inline constexpr int64_t kLeastStreamedRun = 1024;
inline constexpr int64_t kLeastStreamedRow = 384;  // of a tile

// Returns the size of the last-level cache. A copy whose source and destination fill it had better bypass it.
int64_t last_level_bytes();

}  // namespace via
