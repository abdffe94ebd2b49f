// How failure travels inside the library: a via_status up the call chain, its text in the thread's error record.
// No exceptions and no allocation, so that out-of-memory can be reported too.
#pragma once

#include <cstdint>

#include "viaduct/viaduct.h"

namespace via {

using Status = via_status;

#define VIA_NODISCARD __attribute__((warn_unused_result))

// Writes the error text (printf format) and returns `status`, so that `return fail(...)` reads naturally.
VIA_NODISCARD Status fail(Status status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

// The same, with the errno or CUresult that via_last_error_code() is to tell.
VIA_NODISCARD Status fail_with_code(Status status, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

// A number as %lld takes it.
constexpr long long as_printed(int64_t value) { return value; }

// Puts "function: " before the text of the failure just recorded, and makes it valid UTF-8.
void name_failure(const char *function) __attribute__((cold));

// Puts "PATH: " before the text of the failure just recorded, unless the text names the file. Returns `status`;
// VIA_OK changes nothing.
VIA_NODISCARD Status name_path(const char *path, Status status);

const char *last_error_text();
int32_t last_error_code();

// The name of a status; "VIA_ERROR_UNKNOWN" for a number that is none.
const char *status_name(int32_t status);

struct ThreadState;

// Keeps the thread's last error over a callback: inside, failures are recorded elsewhere, unless there was no memory
// for the thread to have records of its own.
class CallbackScope {
public:
    CallbackScope();
    ~CallbackScope();
    CallbackScope(const CallbackScope &) = delete;
    CallbackScope &operator=(const CallbackScope &) = delete;

private:
    ThreadState &state_;  // the callback may be what attaches the thread to another one
};

// True while the calling thread is inside a callback of the caller.
bool inside_callback();

}  // namespace via

#define VIA_TRY(expression)                                                      \
    do {                                                                         \
        if (via_status status_ = (expression); status_ != VIA_OK) [[unlikely]] { \
            return status_;                                                      \
        }                                                                        \
    } while (false)
