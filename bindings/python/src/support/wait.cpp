#include "support/wait.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace viapy {
namespace {

constexpr double kSliceSeconds = 0.05;  // between two looks for signals
constexpr double kBusySeconds = 200e-6;
constexpr double kAskSeconds = 10e-6;  // what waking up to ask takes from whoever works
constexpr double kLongestNap = 5e-3;

thread_local int32_t t_callbacks = 0;

using Seconds = std::chrono::duration<double>;

double now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Polls short waits continuously. Chooses longer naps so that polling and oversleeping cost the same small fraction of
// the wait.
void nap(double waited) {
    if (waited < kBusySeconds) {
        std::this_thread::yield();
        return;
    }
    const double seconds = std::min(waited / 32, std::sqrt(2 * kAskSeconds * waited));
    std::this_thread::sleep_for(Seconds(std::min(seconds, kLongestNap)));
}

via_status ask_until(PollFunction ask, void *handle, double start, double end, int32_t *out_done) {
    via_status status = ask(handle, out_done);
    for (double time = now(); status == VIA_OK && *out_done == 0 && time < end; time = now()) {
        nap(time - start);
        status = ask(handle, out_done);
    }
    return status;
}

via_status ask_array(void *array, int32_t *out_done) {
    *out_done = via_array_is_ready(static_cast<via_array *>(array));
    return VIA_OK;
}

}  // namespace

InsideCallback::InsideCallback() { ++t_callbacks; }
InsideCallback::~InsideCallback() { --t_callbacks; }

bool is_inside_callback() { return t_callbacks > 0; }

bool waits_for_signals() { return !is_inside_callback() && gettid() == getpid(); }

bool poll_until_done(PollFunction ask, void *handle, double seconds, int32_t *out_done) {
    const double start = now();
    const double end = start + seconds;
    double time = start;
    do {
        double slice = std::min(end, time + kSliceSeconds);
        via_status status = without_gil(true, [&] { return ask_until(ask, handle, start, slice, out_done); });
        if (status != VIA_OK) {
            raise_status(status);
            return false;
        }
        if (PyErr_CheckSignals() != 0) {
            return false;
        }
        time = now();
    } while (*out_done == 0 && time < end);
    return true;
}

bool wait_until_ready(via_array *array) {
    if (via_array_is_ready(array) != 0) {
        // Does not wait, but reports a write that has failed.
        return ok_or_raise(via_array_synchronize(array));
    }
    return wait_for(ask_array, array, [=] { return via_array_synchronize(array); });
}

}  // namespace viapy
