// The thread's last error, kept where further calls may fail.
#pragma once

#include "core/base/status.hpp"
#include "core/base/thread_state.hpp"

namespace via {

// Restores the thread's last error: work may fail inside a call that succeeds.
class LastErrorKeeper {
public:
    LastErrorKeeper() : kept_(thread_state().record()) {}
    ~LastErrorKeeper() { thread_state().record() = kept_; }
    LastErrorKeeper(const LastErrorKeeper &) = delete;
    LastErrorKeeper &operator=(const LastErrorKeeper &) = delete;

private:
    const ErrorRecord kept_;
};

// Makes a call that must be made whatever came before. Returns the first failure, whose text is kept.
template <class Call>
VIA_NODISCARD Status first_failure(Status before, const Call &call) {
    if (before == VIA_OK) {
        return call();
    }
    const LastErrorKeeper scope;
    (void)call();
    return before;
}

}  // namespace via
