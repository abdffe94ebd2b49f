// Threads that help a caller with its own work. They are started when needed, wait in between, and end when
// idle for long.
#pragma once

#include <cstdint>

namespace via {

// Calls work(context, i) once for each i from 0 to count - 1, on up to `threads` threads, of which the caller is one;
// returns when all calls have. Several callers may do so at once. The work must not call this itself. Never fails:
// what no thread can be had for, the caller does.
void parallel_for(int64_t count, int32_t threads, void (*work)(void *context, int64_t index), void *context);

// How many helpers there are now, for the tests.
int32_t helper_count();

}  // namespace via
