// A scope without thread cancellation.
#pragma once

#include <pthread.h>

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

}  // namespace via
