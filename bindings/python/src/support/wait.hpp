// Waits of the main thread that signals interrupt: Ctrl-C raises.
#pragma once

#include <cstdint>

#include "support/errors.hpp"
#include "support/gil.hpp"

namespace viapy {

// Stores 1 if the handle's work is done.
using PollFunction = via_status (*)(void *handle, int32_t *out_done);

template <class Handle, via_status (*query)(Handle *, int32_t *)>
via_status poll_handle(void *handle, int32_t *out_done) {
    return query(static_cast<Handle *>(handle), out_done);
}

inline constexpr double kForever = 1e18;

// Polls without the GIL until done or until `seconds` have passed, and runs signal handlers in between. False with an
// exception set by a handler or by the poll's status.
bool poll_until_done(PollFunction ask, void *handle, double seconds, int32_t *out_done);

// Marks a scope in which the library calls back, where waits may be refused.
class InsideCallback {
public:
    InsideCallback();
    ~InsideCallback();
    InsideCallback(const InsideCallback &) = delete;
    InsideCallback &operator=(const InsideCallback &) = delete;
};

bool is_inside_callback();

// Returns whether the calling thread runs signal handlers and is not inside a callback.
bool waits_for_signals();

// Waits without the GIL by `work`, which returns a via_status. The main thread polls first until nothing is left to
// wait for. False with an exception set.
template <class Work>
bool wait_for(PollFunction ask, void *handle, Work work) {
    int32_t done = 0;
    if (waits_for_signals() && !poll_until_done(ask, handle, kForever, &done)) {
        return false;
    }
    return ok_or_raise(without_gil(true, work));
}

// Waits, without the GIL, until the host may read the content. Returns at once if it may already. False with an
// exception set on failure.
bool wait_until_ready(via_array *array);

}  // namespace viapy
