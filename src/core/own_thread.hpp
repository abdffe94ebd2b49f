// Starting threads of the library's own: detached, out of the way of signals, with room for callbacks of the caller.
#pragma once

#include <cstddef>

namespace via {

// A thread that runs begin(context), which names itself; false if none can be had.
bool create_own_thread(void *(*begin)(void *), void *context, size_t stack_bytes);

// Starts body() on a thread called `name` (at most 15 characters, a literal); false if none can be had.
bool start_own_thread(const char *name, void (*body)());

}  // namespace via
