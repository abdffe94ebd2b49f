// State of each thread: error records and counters. A state outlives its thread and is reused by another one. Counting
// therefore needs no lock and no atomic read-modify-write, and the sum over all states is exact.
#pragma once

#include <atomic>
#include <cstdint>

namespace via {

enum class Counter : int32_t {
    Arrays,
    Storages,
    Exports,
    PendingReleases,
    HostBytes,
    PinnedBytes,
    DeviceBytes,
    ManagedBytes,
    StagedBytes,
    PendingTasks,
    NormalForms,    // normalised copies; for tests, as the next one
    PlannedRoutes,  // one for each copy
    kCount
};

struct ErrorRecord {
    static constexpr int32_t kCapacity = 1000;
    int32_t code = 0;
    int32_t length = 0;
    char text[kCapacity] = {0};

    void clear() {
        code = 0;
        length = 0;
        text[0] = '\0';
    }
};

struct PostponedDeleter;  // core/array/array.cpp

struct ThreadState {
    // One record of each for the thread and one per nested callback; deeper nesting shares the last.
    static constexpr int32_t kRecords = 8;
    std::atomic<int64_t> counters[static_cast<int32_t>(Counter::kCount)] = {};
    int32_t depth = 0;
    int32_t nested_deleters = 0;
    std::atomic<uint64_t> writes_seen{0};   // see core/array/access_tracker.hpp
    PostponedDeleter *postponed = nullptr;  // deleters nested too deeply
    std::atomic<bool> in_use{true};
    ThreadState *next = nullptr;
    ErrorRecord records[kRecords];
    ErrorRecord last_errors[kRecords];

    int32_t level() const { return depth < kRecords ? depth : kRecords - 1; }

    // Failure inside the library, which its caller may still handle.
    ErrorRecord &record() { return records[level()]; }

    // Failure of the last public call that failed.
    ErrorRecord &last_error() { return last_errors[level()]; }
};

// Initial-exec: this one pointer fits the spare static TLS that the loader keeps for libraries opened at run time,
// and reaching it never allocates (a dynamic TLS block would, and glibc aborts where that fails).
extern __thread ThreadState *current_thread_state __attribute__((tls_model("initial-exec")));

// Never fails: without memory the thread shares a static state.
ThreadState &attach_thread();

inline ThreadState &thread_state() {
    ThreadState *state = current_thread_state;
    return state != nullptr ? *state : attach_thread();
}

// Returns the same for a known thread. Leaves a new thread unattached, so that getters never allocate.
ThreadState &known_thread_state();

// State shared by all threads that lack memory for their own.
extern ThreadState emergency_state;

inline bool is_shared(const ThreadState &state) { return &state == &emergency_state; }

// What the thread's public call has seen of writes (core/array/access_tracker.hpp); 0 for a thread without its own
// state.
inline uint64_t writes_seen() {
    const ThreadState *state = current_thread_state;
    return state != nullptr && !is_shared(*state) ? state->writes_seen.load(std::memory_order_relaxed) : 0;
}

void count_shared(Counter counter, int64_t change);

inline void count(Counter counter, int64_t change) {
    ThreadState *state = current_thread_state;
    if (state == nullptr) [[unlikely]] {
        return count_shared(counter, change);
    }
    auto &value = state->counters[static_cast<int32_t>(counter)];
    value.store(value.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

int64_t total(Counter counter);

}  // namespace via
