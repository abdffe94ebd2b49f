// Failures that are kept while work goes on: the first one of several threads, or of several calls.
#pragma once

#include <mutex>

#include "core/base/status.hpp"
#include "core/base/thread_state.hpp"

namespace via {

class FirstFailure {
public:
    // Records a failure, with the text of this thread's last error.
    void keep(Status status) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (status_ == VIA_OK) {
            status_ = status;
            record_ = known_thread_state().record();
        }
    }

    // Returns VIA_OK if nothing failed. Call it after all threads have finished.
    Status status() const { return status_; }
    const ErrorRecord &record() const { return record_; }

private:
    std::mutex mutex_;
    Status status_ = VIA_OK;
    ErrorRecord record_;
};

// Makes a call that must be made whatever came before. Returns the first failure, whose text is kept.
template <class Call>
VIA_NODISCARD Status first_failure(Status before, const Call &call) {
    if (before == VIA_OK) {
        return call();
    }
    const ErrorRecord kept = thread_state().record();
    (void)call();
    thread_state().record() = kept;
    return before;
}

}  // namespace via
