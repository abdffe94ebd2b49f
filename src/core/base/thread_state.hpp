// What the library keeps per thread: error records and counters. States outlive their threads and are handed to the
// next one, so counting needs no lock and no atomic read-modify-write, and a sum over all of them is exact.
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
    NormalForms,    // of copies; this and the next for the tests
    PlannedRoutes,  // one for each copy
    kCount
};

struct ErrorRecord {
    static constexpr int32_t kCapacity = 1000;
    int32_t code = 0;
    int32_t length = 0;
    char text[kCapacity] = {0};
};

struct WaitingDisposal;  // core/array/array.cpp

struct ThreadState {
    // One record for the thread itself and one per nested callback; deeper nesting shares the last.
    static constexpr int32_t kRecords = 3;
    std::atomic<int64_t> counters[static_cast<int32_t>(Counter::kCount)] = {};
    int32_t depth = 0;
    int32_t disposals = 0;               // one inside the other
    WaitingDisposal *waiting = nullptr;  // of these, those too deep inside
    std::atomic<bool> in_use{true};
    ThreadState *next = nullptr;
    ErrorRecord records[kRecords];

    ErrorRecord &record() { return records[depth < kRecords ? depth : kRecords - 1]; }
};

// Initial-exec: this one pointer fits the spare static TLS that the loader keeps for libraries opened at run time,
// and reaching it never allocates (a dynamic TLS block would, and glibc aborts where that fails).
extern __thread ThreadState *current_thread_state __attribute__((tls_model("initial-exec")));

// Never fails: a thread that no memory can be had for shares one static state.
ThreadState &attach_thread();

inline ThreadState &thread_state() {
    ThreadState *state = current_thread_state;
    return state != nullptr ? *state : attach_thread();
}

// The same, but a thread seen for the first time is left unattached, so that a getter never allocates.
ThreadState &known_thread_state();

// The one of all threads that no memory can be had for.
extern ThreadState emergency_state;

inline bool is_shared(const ThreadState &state) { return &state == &emergency_state; }

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
