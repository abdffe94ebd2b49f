// Lines for a person: to the file that VIADUCT_LOG_FILE names, else to stderr.
#pragma once

#include "core/diagnostics/debug_options.hpp"

namespace via {

// Where lines go from now on; nullptr, or a file that cannot be opened: stderr.
void open_log(const char *path);

// Writes one line (printf format, without its end), which names the thread; a long one is cut. Each goes out by one
// call of the system, so that those of threads and processes do not mix. Allocates nothing; errno and the thread's last
// error stay.
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

// The same for what is rare and good to know: written from the level "info" on.
#define VIA_NOTE(...)                               \
    do {                                            \
        if (::via::is_debugging(::via::kNotable)) { \
            ::via::log_line(__VA_ARGS__);           \
        }                                           \
    } while (false)

}  // namespace via
