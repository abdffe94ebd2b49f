#include "core/base/thread_state.hpp"

#include <unistd.h>

#include <new>

#include "core/base/library_thread.hpp"
#include "core/base/thread_exit.hpp"

namespace via {

__thread ThreadState *current_thread_state __attribute__((tls_model("initial-exec"))) = nullptr;
constinit ThreadState emergency_state;

namespace {

std::atomic<ThreadState *> all_states{nullptr};

void detach_thread(void *state) {
    current_thread_state = nullptr;
    static_cast<ThreadState *>(state)->in_use.store(false, std::memory_order_release);
    if (gettid() == getpid()) {
        note_main_thread_leaves();
    }
}

constinit ThreadExit thread_exit(detach_thread);

ThreadState *reuse_state() {
    for (ThreadState *state = all_states.load(std::memory_order_acquire); state != nullptr; state = state->next) {
        bool idle = false;
        if (state->in_use.compare_exchange_strong(idle, true, std::memory_order_acquire)) {
            state->depth = 0;
            state->nested_deleters = 0;
            state->record().clear();
            state->last_error().clear();
            return state;
        }
    }
    return nullptr;
}

ThreadState *make_state() {
    auto *state = new (std::nothrow) ThreadState;
    if (state == nullptr) {
        return nullptr;
    }
    state->next = all_states.load(std::memory_order_relaxed);
    while (!all_states.compare_exchange_weak(state->next, state, std::memory_order_release)) {
    }
    return state;
}

}  // namespace

ThreadState &attach_thread() {
    ThreadState *state = reuse_state();
    if (state == nullptr) {
        state = make_state();
    }
    if (state == nullptr) {
        return emergency_state;
    }
    current_thread_state = state;
    // Without a thread-specific key the state is never reused; nothing else is lost.
    (void)thread_exit.defer(state);
    return *state;
}

ThreadState &known_thread_state() { return current_thread_state != nullptr ? *current_thread_state : emergency_state; }

void count_shared(Counter counter, int64_t change) {
    ThreadState &state = attach_thread();
    state.counters[static_cast<int32_t>(counter)].fetch_add(change, std::memory_order_relaxed);
}

int64_t total(Counter counter) {
    const auto index = static_cast<int32_t>(counter);
    int64_t sum = emergency_state.counters[index].load(std::memory_order_relaxed);
    for (ThreadState *state = all_states.load(std::memory_order_acquire); state != nullptr; state = state->next) {
        sum += state->counters[index].load(std::memory_order_relaxed);
    }
    return sum;
}

}  // namespace via
