// The thread pool: helper threads that share the work of a caller. Started when needed; idle ones end.
#pragma once

#include <cstdint>

namespace via {

// Whether all of the work takes a multiple of the time that waking a thread takes, or less. The caller does brief work
// alone while helpers come late, which they do where other processes keep the processors busy.
enum class Length { Long, Brief };

// Calls work(context, i) once for each i from 0 to count - 1, on up to `threads` threads, the caller's included.
// Returns after all calls. Several callers may use it at once; the work must not. Never fails: without further threads
// the caller does all the work.
void parallel_for(int64_t count, int32_t threads, void (*work)(void *context, int64_t index), void *context,
                  Length length = Length::Long);

// Returns whether a helper works, or polls for work: it joins at once then, and need not be woken.
bool helpers_are_awake();

// Counts the helpers, for tests.
int32_t helper_count();

}  // namespace via
