// A scope in which pthread_cancel leaves the thread alone.
#pragma once

#include <pthread.h>

namespace via {

// For waits while other threads hold on to this one's stack, or this one to what others wait for.
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
