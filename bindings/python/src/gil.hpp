// Letting other Python threads run while this one copies or waits.
#pragma once

#include <unistd.h>

#include "python.hpp"

namespace viapy {

// From here on a copy takes longer than handing the GIL over does.
inline constexpr int64_t kBytesWorthUnlocking = 64 * 1024;

// Takes the GIL back. At finalization CPython before 3.14 ends the thread here, by an unwinding that would run
// destructors which need the GIL; as 3.14 does, such a thread stops instead.
inline void restore_thread(PyThreadState *state) {
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;) {
            pause();
        }
    }
}

// Calls work(), which returns a via_status, with the GIL given up if that pays.
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
