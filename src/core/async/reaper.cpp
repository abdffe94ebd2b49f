#include "core/async/reaper.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "core/base/lock.hpp"
#include "core/async/library_thread.hpp"

namespace via {
namespace {

// Statically initialised and never destroyed: the thread uses it until the process is gone.
struct Watcher {
    pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
    Watch *watches = nullptr;  // anyone adds in front; only the thread removes
    uint32_t posts = 0;
    std::atomic<bool> running{false};  // written with the lock held
    bool asleep = false;
    std::atomic<bool> relied_on{false};  // since it last had nothing to watch for long
};

constinit Watcher watcher;
constinit std::atomic<bool> orphaned{false};  // there are watches, and fork has left no thread

void forget_thread() {
    watcher.posted = PTHREAD_COND_INITIALIZER;
    watcher.running = false;
    watcher.asleep = false;
    orphaned.store(watcher.watches != nullptr, std::memory_order_relaxed);
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

void add_in_front(Watch *given) {
    given->next = watcher.watches;
    watcher.watches = given;
}

void remove_watch(Watch *gone) {
    const std::lock_guard lock(mutex);
    Watch **link = &watcher.watches;
    while (*link != gone) {
        link = &(*link)->next;
    }
    *link = gone->next;
}

void fire_watch(Job *job) {
    auto *given = reinterpret_cast<Watch *>(reinterpret_cast<char *>(job) - offsetof(Watch, job));
    for (int32_t i = 0; i < given->count; ++i) {
        given->marks[i]->release();
    }
    given->fire(given);
}

bool has_passed(Watch *given) {
    while (given->passed < given->count && given->marks[given->passed]->reached()) {
        given->passed++;
    }
    return given->passed == given->count;
}

// Where no thread can be had to fire it, the watch is kept for the next round.
bool hand_over(Watch *given) {
    remove_watch(given);
    given->job.run = fire_watch;
    if (run_in_background(&given->job) == VIA_OK) {
        return true;
    }
    const std::lock_guard lock(mutex);
    add_in_front(given);
    return false;
}

// One look at every watch, without the lock: marks ask the driver. True if one of them was done.
bool poll(Watch *first) {
    bool fired = false;
    for (Watch *at = first; at != nullptr;) {
        Watch *next = at->next;
        fired |= has_passed(at) && hand_over(at);
        at = next;
    }
    return fired;
}

// With the lock held; false if there has been nothing to watch for too long, and nobody relies on the thread.
bool wait_for_watch() {
    int failure = 0;
    while (watcher.watches == nullptr && failure == 0) {
        const timespec until = in_nanoseconds(kIdleSeconds * kSecond);
        failure = pthread_cond_clockwait(&watcher.posted, mutex.native(), CLOCK_MONOTONIC, &until);
        failure = watcher.relied_on.exchange(false, std::memory_order_relaxed) ? 0 : failure;
    }
    return watcher.watches != nullptr;
}

// Rests as long as `pause` says, or until something is posted; false if the thread is to end, which is not running
// then.
bool rest(Pause *pause, uint32_t posts_seen) {
    const std::lock_guard lock(mutex);
    if (watcher.posts != posts_seen) {
        pause->begin_again();
        return true;
    }
    watcher.asleep = true;
    if (watcher.watches != nullptr) {
        const timespec until = in_nanoseconds(pause->next_sleep());
        (void)pthread_cond_clockwait(&watcher.posted, mutex.native(), CLOCK_MONOTONIC, &until);
    }
    const bool goes_on = wait_for_watch();
    watcher.running = goes_on;
    watcher.asleep = false;
    if (watcher.posts != posts_seen) {
        pause->begin_again();
    }
    return goes_on;
}

Watch *first_watch(uint32_t *out_posts) {
    const std::lock_guard lock(mutex);
    *out_posts = watcher.posts;
    return watcher.watches;
}

void keep_watch() {
    (void)prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds; else the short sleeps take three times as long
    Pause pause;
    for (bool goes_on = true; goes_on;) {
        uint32_t posts = 0;
        if (poll(first_watch(&posts))) {
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
    watcher.running = watcher.running || start_own_thread("viaduct-watch", keep_watch);
    orphaned.store(!watcher.running && watcher.watches != nullptr, std::memory_order_relaxed);
}

}  // namespace

void watch(Watch *given) {
    const std::lock_guard lock(mutex);
    add_in_front(given);
    watcher.posts++;
    start_thread();
    if (watcher.asleep) {
        pthread_cond_signal(&watcher.posted);
    }
}

bool has_watcher() {
    // Asked for every task, while the thread looks through its watches again and again. It then stays for longer than
    // whoever asked takes to come with a watch.
    watcher.relied_on.store(true, std::memory_order_relaxed);
    if (!watcher.running.load(std::memory_order_relaxed)) [[unlikely]] {
        const std::lock_guard lock(mutex);
        start_thread();
    }
    return watcher.running.load(std::memory_order_relaxed);
}

void resume_watches() {
    if (orphaned.load(std::memory_order_relaxed)) [[unlikely]] {
        const std::lock_guard lock(mutex);
        start_thread();
    }
}

}  // namespace via
