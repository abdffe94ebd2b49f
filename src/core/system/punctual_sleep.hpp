// Short sleeps that end on time.
#pragma once

#include <sys/prctl.h>

#include <cerrno>

namespace via {

// Makes the calling thread's sleeps end within a microsecond of their time, for a scope. Linux ends them up to 50 us
// late otherwise, to wake several threads at once.
class PunctualSleep {
public:
    PunctualSleep() : before_(slack()) { set(kNanoseconds); }
    ~PunctualSleep() { set(before_); }
    PunctualSleep(const PunctualSleep &) = delete;
    PunctualSleep &operator=(const PunctualSleep &) = delete;

private:
    static constexpr unsigned long kNanoseconds = 1000;

    // Returns 0, which sets the thread's default, where a sandbox forbids the call.
    static unsigned long slack() {
        const int saved = errno;
        const int nanoseconds = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
        errno = saved;
        return nanoseconds > 0 ? static_cast<unsigned long>(nanoseconds) : 0;
    }

    static void set(unsigned long nanoseconds) {
        const int saved = errno;
        (void)prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
        errno = saved;
    }

    const unsigned long before_;
};

}  // namespace via
