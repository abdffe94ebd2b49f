// The thread pool: helper threads that share the work of a caller. Started when needed; idle ones end.
#pragma once

#include <cstdint>

namespace via {

// Calls work(context, i) once for each i from 0 to count - 1, on up to `threads` threads, the caller's included.
// Returns after all calls. Several callers may use it at once; the work must not. Never fails: without further threads
// the caller does all the work.
void parallel_for(int64_t count, int32_t threads, void (*work)(void *context, int64_t index), void *context);

// Counts the helpers, for tests.
int32_t helper_count();

}  // namespace via
