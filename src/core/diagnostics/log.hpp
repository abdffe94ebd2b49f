// The log: lines to the file that VIADUCT_LOG_FILE names, otherwise to stderr.
#pragma once

#include "core/diagnostics/debug_options.hpp"

namespace via {

// Sends further lines to the file; to stderr for nullptr or a file that cannot be opened.
void open_log(const char *path);

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
