// The first failure of work that several threads do together.
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

}  // namespace via
