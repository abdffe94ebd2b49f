// Releases the GIL for copies and waits.
#pragma once

#include "support/python.hpp"

namespace viapy {

// Size from which a copy takes longer than releasing the GIL.
inline constexpr int64_t kBytesWorthUnlocking = 64 * 1024;

// Reacquires the GIL. At finalization, the thread stops here for good.
void restore_thread(PyThreadState *state);

// Calls work(), which returns a via_status, and releases the GIL for it if `unlock` is set.
template <class Work>
via_status without_gil(bool unlock, Work work) {
    if (!unlock) {
        return work();
    }
    PyThreadState *state = PyEval_SaveThread();
    via_status status = work();
    restore_thread(state);
    return status;
}

}  // namespace viapy
