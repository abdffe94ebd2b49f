// Debug options, read from the environment when the library is loaded: checks of handles (VIADUCT_CHECK) and logging of
// calls (VIADUCT_LOG). The log: lines to the file that VIADUCT_LOG_FILE names, otherwise to stderr.
#pragma once

#include <cstdint>

namespace via {

inline constexpr uint32_t kHandles = 1;        // check every handle that a caller passes
inline constexpr uint32_t kAbortOnMisuse = 2;  // abort on a wrong handle
inline constexpr uint32_t kBacktraces = 4;     // record where each handle was made, for the report at exit
inline constexpr uint32_t kFailures = 8;       // log every failing call
inline constexpr uint32_t kNotable = 16;       // log rare events
inline constexpr uint32_t kCalls = 32;         // log every call

// Nearly always 0: the one number that every call reads. Set before the first call, and constant afterwards.
extern uint32_t debug_options __attribute__((visibility("hidden")));

inline bool is_debugging(uint32_t what) { return (debug_options & what) != 0; }

// Writes one line (printf format, without newline), with the thread's number; cuts a long one. Makes one system call,
// so that the lines of threads and processes do not mix. Allocates nothing, and preserves errno and the last error.
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

// Logs a rare event, from the level "info" on.
#define VIA_NOTE(...)                               \
    do {                                            \
        if (::via::is_debugging(::via::kNotable)) { \
            ::via::log_line(__VA_ARGS__);           \
        }                                           \
    } while (false)

}  // namespace via
