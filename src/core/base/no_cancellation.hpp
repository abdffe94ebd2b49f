// A scope without thread cancellation, and what is only done in one.
#pragma once

#include <pthread.h>
#include <unistd.h>

namespace via {

// Defers pthread_cancel while other threads use this thread's stack, or wait for something that it holds.
class NoCancellation {
public:
    NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
    NoCancellation(const NoCancellation &) = delete;
    NoCancellation &operator=(const NoCancellation &) = delete;

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

// Closes a descriptor, mostly in destructors: a thread that ended in one would end the process.
inline void close_descriptor(int descriptor) {
    const NoCancellation scope;
    ::close(descriptor);
}

}  // namespace via
