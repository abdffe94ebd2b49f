// Starts threads of the library: detached, with signals blocked, and with stack for callbacks of the caller.
//
// Signals to the process are meant for the program's own threads, so the library's threads block all except those of
// their own faults. After the main thread has left by pthread_exit, no thread may be able to receive one. A thread with
// the main thread's mask then runs as long as any other thread of the library.
#pragma once

#include <cstdint>

namespace via {

// Idle time after which a thread ends, so that a process whose main thread has left can end. Restarting one costs
// little compared with such a pause.
inline constexpr int64_t kIdleSeconds = 2;

// Starts body() on a thread named `name` (a literal of at most 15 characters); false if that fails.
bool start_library_thread(const char *name, void (*body)());

// Does the same with a small stack, for the library's own code only.
bool start_small_thread(const char *name, void (*body)());

// Called on the main thread when it ends.
void note_main_thread_leaves();

}  // namespace via
