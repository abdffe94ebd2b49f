#include "support/gil.hpp"

#include <unistd.h>

namespace viapy {

// At finalization, CPython before 3.14 unwinds the thread here, through frames that a running call of the library may
// need. The thread stops instead, as in 3.14.
void restore_thread(PyThreadState *state) {
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;) {
            pause();
        }
    }
}

}  // namespace viapy
