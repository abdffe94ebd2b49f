#include "core/async/reaper.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

#include "core/base/library_thread.hpp"
#include "core/base/lock.hpp"
#include "core/system/punctual_sleep.hpp"

namespace via {
namespace {

// Statically initialised and never destroyed: the thread uses it until the process ends.
struct Reaper {
    pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
    DeferredCallback *deferred = nullptr;  // any thread adds in front; only the reaper removes
    uint32_t posts = 0;
    std::atomic<bool> running{false};  // written with the mutex held
    bool asleep = false;
    std::atomic<bool> relied_on{false};  // has_reaper() was called since the last idle timeout
};

constinit Reaper reaper;
constinit std::atomic<bool> orphaned{false};  // there are entries, and fork has left no thread

void forget_thread() {
    reaper.posted = PTHREAD_COND_INITIALIZER;
    reaper.running = false;
    reaper.asleep = false;
    orphaned.store(reaper.deferred != nullptr, std::memory_order_relaxed);
}

ForkSafeMutex mutex(forget_thread);

// Chooses how to rest between two rounds: see "How it works".
class Pause {
public:
    void reset() { *this = Pause(); }

    bool yields() {
        if (yields_left_ == 0) {
            return false;
        }
        --yields_left_;
        return true;
    }

    std::chrono::nanoseconds next_sleep() {
        const auto longest = std::clamp(slept_ / 100, kLong, kLongest);
        const auto sleep = std::exchange(next_, std::min(next_ * 2, longest));
        slept_ += sleep;
        return sleep;
    }

private:
    static constexpr std::chrono::nanoseconds kLong = std::chrono::milliseconds(1);
    static constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(50);
    int32_t yields_left_ = 50;
    std::chrono::nanoseconds next_ = std::chrono::microseconds(20);
    std::chrono::nanoseconds slept_{0};
};

void add_in_front(DeferredCallback *given) {
    given->next = reaper.deferred;
    reaper.deferred = given;
}

void remove_deferred(DeferredCallback *gone) {
    const std::lock_guard lock(mutex);
    DeferredCallback **link = &reaper.deferred;
    while (*link != gone) {
        link = &(*link)->next;
    }
    *link = gone->next;
}

void invoke_deferred(Job *job) {
    auto *given = reinterpret_cast<DeferredCallback *>(reinterpret_cast<char *>(job) - offsetof(DeferredCallback, job));
    release_fences(given->fences, given->count);
    given->invoke(given);
}

bool has_passed(DeferredCallback *given) {
    while (given->passed < given->count && given->fences[given->passed]->is_complete()) {
        given->passed++;
    }
    return given->passed == given->count;
}

// Returns false, and keeps the entry for the next round, if no thread can be started to invoke it.
bool pass_to_executor(DeferredCallback *given) {
    remove_deferred(given);
    given->job.run = invoke_deferred;
    if (execute(&given->job) == VIA_OK) {
        return true;
    }
    const std::lock_guard lock(mutex);
    add_in_front(given);
    return false;
}

// Polls every entry, without the mutex. Returns true if one was invoked.
bool poll(DeferredCallback *first) {
    bool invoked = false;
    for (DeferredCallback *at = first; at != nullptr;) {
        DeferredCallback *next = at->next;
        invoked |= has_passed(at) && pass_to_executor(at);
        at = next;
    }
    return invoked;
}

// Returns false after a long wait without entries, if no caller relies on the thread. Call with the mutex held.
bool wait_for_entry() {
    int failure = 0;
    while (reaper.deferred == nullptr && failure == 0) {
        const timespec until = deadline_in(std::chrono::seconds(kIdleSeconds));
        failure = pthread_cond_clockwait(&reaper.posted, mutex.native(), CLOCK_MONOTONIC, &until);
        failure = reaper.relied_on.exchange(false, std::memory_order_relaxed) ? 0 : failure;
    }
    return reaper.deferred != nullptr;
}

// Rests as long as `pause` states, or until an entry is posted. Returns false if the thread is to end; it does not
// count as running any more then.
bool rest(Pause *pause, uint32_t posts_seen) {
    const std::lock_guard lock(mutex);
    if (reaper.posts != posts_seen) {
        pause->reset();
        return true;
    }
    reaper.asleep = true;
    if (reaper.deferred != nullptr) {
        const timespec until = deadline_in(pause->next_sleep());
        (void)pthread_cond_clockwait(&reaper.posted, mutex.native(), CLOCK_MONOTONIC, &until);
    }
    const bool goes_on = wait_for_entry();
    reaper.running = goes_on;
    reaper.asleep = false;
    if (reaper.posts != posts_seen) {
        pause->reset();
    }
    return goes_on;
}

DeferredCallback *first_deferred(uint32_t *out_posts) {
    const std::lock_guard lock(mutex);
    *out_posts = reaper.posts;
    return reaper.deferred;
}

void reap_forever() {
    const PunctualSleep punctual;  // the short sleeps take three times as long otherwise
    Pause pause;
    for (bool goes_on = true; goes_on;) {
        uint32_t posts = 0;
        if (poll(first_deferred(&posts))) {
            pause.reset();
        } else if (pause.yields()) {
            std::this_thread::yield();
        } else {
            goes_on = rest(&pause, posts);
        }
    }
}

// Call with the mutex held.
void start_thread() {
    reaper.running = reaper.running || start_library_thread("viaduct-reaper", reap_forever);
    orphaned.store(!reaper.running && reaper.deferred != nullptr, std::memory_order_relaxed);
}

}  // namespace

void defer(DeferredCallback *given) {
    const std::lock_guard lock(mutex);
    add_in_front(given);
    reaper.posts++;
    start_thread();
    if (reaper.asleep) {
        pthread_cond_signal(&reaper.posted);
    }
}

bool has_reaper() {
    // Called for every task. Keeps an idle thread for longer than the caller takes to defer its entry.
    reaper.relied_on.store(true, std::memory_order_relaxed);
    if (!reaper.running.load(std::memory_order_relaxed)) [[unlikely]] {
        const std::lock_guard lock(mutex);
        start_thread();
    }
    return reaper.running.load(std::memory_order_relaxed);
}

void resume_deferred() {
    if (orphaned.load(std::memory_order_relaxed)) [[unlikely]] {
        const std::lock_guard lock(mutex);
        start_thread();
    }
}

}  // namespace via
