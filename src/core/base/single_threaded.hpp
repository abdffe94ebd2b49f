// Whether the process has one thread.
#pragma once

namespace via {

// Points to glibc's __libc_single_threaded, otherwise to a 0: glibc has it since 2.32, and a library that also loads
// with older ones cannot name it.
extern const char *single_threaded_flag;

inline bool is_single_threaded() { return *single_threaded_flag != 0; }

}  // namespace via
