// Errors inside the library: a via_status goes up the call chain, its text lies in the thread's error record. Neither
// throws nor allocates, so that out-of-memory can be reported too.
#pragma once

#include <cstdint>

#include "viaduct/viaduct.h"

namespace via {

using Status = via_status;

#define VIA_NODISCARD __attribute__((warn_unused_result))

// Records the error text (printf format) and returns `status`. Texts read "argument is X; expected Y".
VIA_NODISCARD Status fail(Status status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

// Does the same with the errno or CUresult for via_last_error_code().
VIA_NODISCARD Status fail_with_code(Status status, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

// Does the same with the errno, and appends its name and text: ": ENOSPC (No space left on device)".
VIA_NODISCARD Status fail_with_errno(Status status, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

// Returns the first of two results that is a failure.
constexpr Status first_of(Status before, Status after) { return before != VIA_OK ? before : after; }

// Converts a number for %lld.
constexpr long long as_printed(int64_t value) { return value; }

// Prefixes the recorded text with "function: ", and makes it valid UTF-8. Makes it the thread's last error, which
// failures inside calls that succeed are not.
void name_failure(const char *function) __attribute__((cold));

// Prefixes the recorded text with "PATH: ", unless the text contains the path. Returns `status`; VIA_OK changes
// nothing.
VIA_NODISCARD Status name_path(const char *path, Status status);

// Return what the thread has recorded last.
const char *last_error_text();
int32_t last_error_code();

// Returns the name of a status; "VIA_ERROR_UNKNOWN" for any other number.
const char *status_name(int32_t status);

struct ThreadState;

// Preserves the thread's last error during a callback: failures inside it go to another record. Threads without memory
// for a state of their own have a single record. Preserves too what the thread's call has seen of writes.
class CallbackScope {
public:
    CallbackScope();
    ~CallbackScope();
    CallbackScope(const CallbackScope &) = delete;
    CallbackScope &operator=(const CallbackScope &) = delete;

private:
    ThreadState &state_;  // the callback may attach the thread to another state
    const uint64_t writes_seen_;
};

// Returns true while the calling thread is inside a callback of the caller.
bool inside_callback();

}  // namespace via

#define VIA_TRY(expression)                                                      \
    do {                                                                         \
        if (via_status status_ = (expression); status_ != VIA_OK) [[unlikely]] { \
            return status_;                                                      \
        }                                                                        \
    } while (false)
