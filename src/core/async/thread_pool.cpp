#include "core/async/thread_pool.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "core/base/cpu_relax.hpp"
#include "core/base/library_thread.hpp"
#include "core/base/lock.hpp"
#include "core/base/no_cancellation.hpp"

namespace via {
namespace {

// One call of parallel_for. It lives on its caller's stack: helpers hold on to it only between join and leave, and the
// caller waits for those who have joined.
struct Job {
    void (*work)(void *context, int64_t index);
    void *context;
    int64_t count;
    int32_t places;  // for helpers that may yet join
    std::atomic<int64_t> next{0};
    std::atomic<int32_t> helpers{0};
    Job *following = nullptr;

    void run() {
        for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
             i = next.fetch_add(1, std::memory_order_relaxed)) {
            work(context, i);
        }
    }

    bool has_work() const { return places > 0 && next.load(std::memory_order_relaxed) < count; }
};

// Statically initialised and never destroyed: helpers use it until the process is gone.
struct Pool {
    pthread_cond_t left = PTHREAD_COND_INITIALIZER;
    Job *jobs = nullptr;
    int32_t helpers = 0;
    int32_t asleep = 0;
    // Counts posts, so that a helper that has just finished can look for the next job without the lock. Helpers sleep
    // on it rather than on a condition: one call wakes as many as are wanted, none of whom then queues for the mutex.
    std::atomic<uint32_t> posts{0};
};

constinit Pool pool;

// A child of fork has the caller's thread only. Nothing in the pool is worth keeping.
void forget_helpers() {
    pool.left = PTHREAD_COND_INITIALIZER;
    pool.jobs = nullptr;
    pool.helpers = 0;
    pool.asleep = 0;
}

ForkSafeMutex mutex(forget_helpers);

// About the time that waking a thread takes.
constexpr int32_t kSpins = 1000;

template <typename Condition>
bool spin_until(const Condition &condition) {
    for (int32_t i = 0; i < kSpins; ++i) {
        if (condition()) {
            return true;
        }
        cpu_relax();
    }
    return false;
}

Job *find_job() {
    Job *job = pool.jobs;
    while (job != nullptr && !job->has_work()) {
        job = job->following;
    }
    return job;
}

// Sleeps unless there has been a post since `seen`; false if there is none for too long.
bool sleep_until_posted(uint32_t seen) {
    constexpr timespec kLongest{kIdleSeconds, 0};
    return syscall(SYS_futex, &pool.posts, FUTEX_WAIT_PRIVATE, seen, &kLongest, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

void wake_helpers(int32_t count) {
    (void)syscall(SYS_futex, &pool.posts, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Takes part in a job that has work, if there is one; `out_posts` is the number of posts that have been looked at.
Job *try_join(uint32_t *out_posts) {
    const std::lock_guard lock(mutex);
    *out_posts = pool.posts.load(std::memory_order_relaxed);
    Job *job = find_job();
    if (job == nullptr) {
        pool.asleep++;
        return nullptr;
    }
    job->places--;
    job->helpers.fetch_add(1, std::memory_order_relaxed);
    return job;
}

// False if the thread is to end; it no longer counts then, so that nobody relies on it.
bool wake_up(bool posted) {
    const std::lock_guard lock(mutex);
    pool.asleep--;
    if (posted || find_job() != nullptr) {
        return true;
    }
    pool.helpers--;
    return false;
}

// Sleeps until there is work, and takes part in it; nullptr if the thread is to end.
Job *join_job(uint32_t *out_posts) {
    Job *job = try_join(out_posts);
    while (job == nullptr) {
        if (!wake_up(sleep_until_posted(*out_posts))) {
            return nullptr;
        }
        job = try_join(out_posts);
    }
    return job;
}

// Once the caller sees that nobody is left, the job is gone.
void leave_job(Job *job) {
    const std::lock_guard lock(mutex);
    if (job->helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        pthread_cond_broadcast(&pool.left);
    }
}

void help() {
    uint32_t seen = 0;
    while (Job *job = join_job(&seen)) {
        job->run();
        leave_job(job);
        (void)spin_until([&] { return pool.posts.load(std::memory_order_relaxed) != seen; });
    }
}

// With the lock held.
void start_helpers(int32_t wanted) {
    while (pool.helpers < wanted && start_small_thread("viaduct-copy", help)) {
        pool.helpers++;
    }
}

// Returns how many helpers are to be woken.
int32_t put_up(Job *job) {
    const std::lock_guard lock(mutex);
    start_helpers(job->places);
    job->following = pool.jobs;
    pool.jobs = job;
    pool.posts.fetch_add(1, std::memory_order_relaxed);
    return std::min(job->places, pool.asleep);
}

void post(Job *job) {
    const int32_t wanted = put_up(job);
    if (wanted > 0) {
        wake_helpers(wanted);
    }
}

void withdraw(Job *job) {
    const std::lock_guard lock(mutex);
    Job **link = &pool.jobs;
    while (*link != job) {
        link = &(*link)->following;
    }
    *link = job->following;
}

void wait_for_helpers(Job *job) {
    const auto alone = [&] { return job->helpers.load(std::memory_order_acquire) == 0; };
    if (spin_until(alone)) {
        return;
    }
    const NoCancellation scope;  // the job lies on this thread's stack, and others hold on to it
    const std::lock_guard lock(mutex);
    while (!alone()) {
        pthread_cond_wait(&pool.left, mutex.native());
    }
}

}  // namespace

void parallel_for(int64_t count, int32_t threads, void (*work)(void *context, int64_t index), void *context) {
    Job job{.work = work,
            .context = context,
            .count = count,
            .places = static_cast<int32_t>(std::min<int64_t>(threads, count)) - 1};
    if (job.places <= 0) {
        job.run();
        return;
    }
    post(&job);
    job.run();
    withdraw(&job);
    wait_for_helpers(&job);
}

int32_t helper_count() {
    const std::lock_guard lock(mutex);
    return pool.helpers;
}

}  // namespace via
