#include "core/async/reaper.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "core/base/library_thread.hpp"
#include "core/base/lock.hpp"

namespace via {
namespace {

// Statically initialised and never destroyed: the thread uses it until the process is gone.
struct Reaper {
    pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
    DeferredCallback *deferred = nullptr;  // anyone adds in front; only the thread removes
    uint32_t posts = 0;
    std::atomic<bool> running{false};  // written with the lock held
    bool asleep = false;
    std::atomic<bool> relied_on{false};  // since it last had nothing to watch for long
};

constinit Reaper reaper;
constinit std::atomic<bool> orphaned{false};  // there are watches, and fork has left no thread

void forget_thread() {
    reaper.posted = PTHREAD_COND_INITIALIZER;
    reaper.running = false;
    reaper.asleep = false;
    orphaned.store(reaper.deferred != nullptr, std::memory_order_relaxed);
}

ForkSafeMutex mutex(forget_thread);

// How long to rest between two rounds: first a few turns given away, for work that is about to end; then sleeps, each
// longer than the one before. What has been waited for long, as memory that another process has mapped may be, is
// asked less often: the sleeps are a hundredth of the time that has gone by.
class Pause {
public:
    void begin_again() { *this = Pause(); }

    bool is_turn() {
        if (turns_ == 0) {
            return false;
        }
        --turns_;
        return true;
    }

    int64_t next_sleep() {
        const int64_t longest = std::clamp(slept_ / 100, kLong, kLongest);
        const int64_t sleep = std::exchange(nanoseconds_, std::min(nanoseconds_ * 2, longest));
        slept_ += sleep;
        return sleep;
    }

private:
    static constexpr int64_t kLong = 1000000;
    static constexpr int64_t kLongest = 50000000;
    int32_t turns_ = 50;
    int64_t nanoseconds_ = 20000;
    int64_t slept_ = 0;
};

constexpr int64_t kSecond = 1000000000;

timespec in_nanoseconds(int64_t nanoseconds) {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t sum = until.tv_nsec + nanoseconds;
    until.tv_sec += static_cast<time_t>(sum / kSecond);
    until.tv_nsec = static_cast<long>(sum % kSecond);
    return until;
}

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
    for (int32_t i = 0; i < given->count; ++i) {
        given->fences[i]->release();
    }
    given->invoke(given);
}

bool has_passed(DeferredCallback *given) {
    while (given->passed < given->count && given->fences[given->passed]->is_complete()) {
        given->passed++;
    }
    return given->passed == given->count;
}

// Where no thread can be had to invoke it, the watch is kept for the next round.
bool hand_over(DeferredCallback *given) {
    remove_deferred(given);
    given->job.run = invoke_deferred;
    if (execute(&given->job) == VIA_OK) {
        return true;
    }
    const std::lock_guard lock(mutex);
    add_in_front(given);
    return false;
}

// One look at every watch, without the lock: fences ask the driver. True if one of them was done.
bool poll(DeferredCallback *first) {
    bool invoked = false;
    for (DeferredCallback *at = first; at != nullptr;) {
        DeferredCallback *next = at->next;
        invoked |= has_passed(at) && hand_over(at);
        at = next;
    }
    return invoked;
}

// With the lock held; false if there has been nothing to watch for too long, and nobody relies on the thread.
bool wait_for_watch() {
    int failure = 0;
    while (reaper.deferred == nullptr && failure == 0) {
        const timespec until = in_nanoseconds(kIdleSeconds * kSecond);
        failure = pthread_cond_clockwait(&reaper.posted, mutex.native(), CLOCK_MONOTONIC, &until);
        failure = reaper.relied_on.exchange(false, std::memory_order_relaxed) ? 0 : failure;
    }
    return reaper.deferred != nullptr;
}

// Rests as long as `pause` says, or until something is posted; false if the thread is to end, which is not running
// then.
bool rest(Pause *pause, uint32_t posts_seen) {
    const std::lock_guard lock(mutex);
    if (reaper.posts != posts_seen) {
        pause->begin_again();
        return true;
    }
    reaper.asleep = true;
    if (reaper.deferred != nullptr) {
        const timespec until = in_nanoseconds(pause->next_sleep());
        (void)pthread_cond_clockwait(&reaper.posted, mutex.native(), CLOCK_MONOTONIC, &until);
    }
    const bool goes_on = wait_for_watch();
    reaper.running = goes_on;
    reaper.asleep = false;
    if (reaper.posts != posts_seen) {
        pause->begin_again();
    }
    return goes_on;
}

DeferredCallback *first_deferred(uint32_t *out_posts) {
    const std::lock_guard lock(mutex);
    *out_posts = reaper.posts;
    return reaper.deferred;
}

void reap_forever() {
    (void)prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds; else the short sleeps take three times as long
    Pause pause;
    for (bool goes_on = true; goes_on;) {
        uint32_t posts = 0;
        if (poll(first_deferred(&posts))) {
            pause.begin_again();
        } else if (pause.is_turn()) {
            sched_yield();
        } else {
            goes_on = rest(&pause, posts);
        }
    }
}

// With the lock held.
void start_thread() {
    reaper.running = reaper.running || start_library_thread("viaduct-watch", reap_forever);
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
    // Asked for every task, while the thread looks through its watches again and again. It then stays for longer than
    // whoever asked takes to come with a watch.
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
