// Starting threads of the library's own: detached, out of the way of signals, with room for callbacks of the caller.
//
// A signal that is sent to the process is for threads whose stacks the program knows, so the library's threads block
// all but those of their own faults. Where the main thread has left by pthread_exit, nobody else may be there to take
// one: another thread of the library's, with the main thread's mask, then lives as long as any of the others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace via {

// A thread that has been idle for so long ends: nothing remains of a burst, and of a process whose main thread has
// left. Starting one again costs little beside such a pause.
inline constexpr int64_t kIdleSeconds = 2;

// Starts body() on a thread called `name` (at most 15 characters, a literal); false if none can be had.
bool start_library_thread(const char *name, void (*body)());

// The same with a stack that is enough for the library's own code and no callback of the caller.
bool start_small_thread(const char *name, void (*body)());

// To be called as the main thread leaves, on it.
void note_main_thread_leaves();

}  // namespace via
