// Waits of the program's main thread, which signals end as they end every other wait in Python: Ctrl-C raises.
#pragma once

#include <cstdint>

#include "errors.hpp"
#include "gil.hpp"

namespace viapy {

// Stores 1 if what the handle stands for is done.
using Ask = via_status (*)(void *handle, int32_t *out_done);

inline constexpr double kForever = 1e18;

// Asks, without the GIL, until it is done or `seconds` have passed; handlers of signals run in between. False with an
// exception set: of a handler's, or the status's that the question was answered with.
bool poll_until_done(Ask ask, void *handle, double seconds, int32_t *out_done);

// For a scope in which the library calls back: waits in there are the library's to refuse, or to wait.
class InsideCallback {
public:
    InsideCallback();
    ~InsideCallback();
    InsideCallback(const InsideCallback &) = delete;
    InsideCallback &operator=(const InsideCallback &) = delete;
};

bool is_inside_callback();

// Whether the calling thread is the one that runs handlers of signals, and is not inside a callback.
bool waits_for_signals();

// Waits without the GIL: by `work`, which returns a via_status and does nothing but wait. The main thread asks first
// until there is nothing to wait for any more. False with an exception set.
template <class Work>
bool wait_for(Ask ask, void *handle, Work work) {
    int32_t done = 0;
    if (waits_for_signals() && !poll_until_done(ask, handle, kForever, &done)) {
        return false;
    }
    via_status status = without_gil(true, work);
    return status == VIA_OK || (raise_status(status), false);
}

}  // namespace viapy
