#include "core/async/task_executor.hpp"

#include <time.h>

#include "core/base/library_thread.hpp"
#include "core/base/lock.hpp"

namespace via {
namespace {

constexpr int32_t kMostThreads = 64;

// Statically initialised and never destroyed: threads use it until the process is gone.
struct Pool {
    pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
    Job *first = nullptr;
    Job **end = &first;
    int32_t queued = 0;
    int32_t threads = 0;
    int32_t idle = 0;
    int32_t held = 0;
};

constinit Pool pool;

// The queue is kept: owners' callbacks that were about to run are owed to the child as well.
void forget_threads() {
    pool.posted = PTHREAD_COND_INITIALIZER;
    pool.threads = 0;
    pool.idle = 0;
}

ForkSafeMutex mutex(forget_threads);

// With the lock held, as all below.
void append(Job *job) {
    job->next = nullptr;
    *pool.end = job;
    pool.end = &job->next;
    pool.queued++;
}

Job *take_first() {
    Job *job = pool.first;
    pool.first = job->next;
    pool.end = pool.first == nullptr ? &pool.first : pool.end;
    pool.queued--;
    return job;
}

void withdraw(Job *job) {
    Job **link = &pool.first;
    while (*link != job) {
        link = &(*link)->next;
    }
    *link = job->next;
    pool.end = job->next == nullptr ? link : pool.end;
    pool.queued--;
}

// False if nothing came for too long.
bool wait_for_job() {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += kIdleSeconds;
    int failure = 0;
    pool.idle++;
    while (pool.first == nullptr && failure == 0) {
        failure = pthread_cond_clockwait(&pool.posted, mutex.native(), CLOCK_MONOTONIC, &until);
    }
    pool.idle--;
    return pool.first != nullptr;
}

bool may_end() { return pool.threads > 1 || pool.held == 0; }

// nullptr if the thread is to end; it no longer counts then, so that nobody relies on it.
Job *next_job() {
    const std::lock_guard lock(mutex);
    while (pool.first == nullptr && !wait_for_job()) {
        if (may_end()) {
            pool.threads--;
            return nullptr;
        }
    }
    return take_first();
}

void work();

// Jobs queued beyond the threads that wait for one need a thread each: those at work may be held up for long.
bool lacks_thread() { return pool.queued > pool.idle || (pool.held > 0 && pool.threads == 0); }

bool has_thread_for_jobs() {
    if (lacks_thread() && pool.threads < kMostThreads && start_library_thread("viaduct-task", work)) {
        pool.threads++;
    }
    return pool.threads > 0;
}

// Counts a thread out that ends inside a job, and sees to those that it would have done next: interpreters are known
// to end threads from inside a callback.
struct UnwindGuard {
    bool armed = true;
    ~UnwindGuard() {
        if (armed) {
            const std::lock_guard lock(mutex);
            pool.threads--;
            (void)has_thread_for_jobs();
        }
    }
};

void work() {
    for (Job *job = next_job(); job != nullptr; job = next_job()) {
        UnwindGuard guard;
        job->run(job);
        guard.armed = false;
    }
}

bool post(Job *job) {
    const std::lock_guard lock(mutex);
    append(job);
    if (!has_thread_for_jobs()) {
        withdraw(job);
        return false;
    }
    pthread_cond_signal(&pool.posted);
    return true;
}

bool hold() {
    const std::lock_guard lock(mutex);
    pool.held++;
    if (!has_thread_for_jobs()) {
        pool.held--;
        return false;
    }
    return true;
}

Status fail_without_thread() {
    return fail(VIA_ERROR_OUT_OF_MEMORY, "no thread for work behind the caller could be started; expected 1");
}

}  // namespace

Status execute(Job *job) { return post(job) ? VIA_OK : fail_without_thread(); }

Status reserve_thread() { return hold() ? VIA_OK : fail_without_thread(); }

void unreserve_thread() {
    const std::lock_guard lock(mutex);
    pool.held--;
}

int32_t executor_threads() {
    const std::lock_guard lock(mutex);
    return pool.threads;
}

}  // namespace via
