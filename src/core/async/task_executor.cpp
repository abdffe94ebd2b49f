#include "core/async/task_executor.hpp"

#include <chrono>
#include <utility>

#include "core/base/library_thread.hpp"
#include "core/base/lock.hpp"

namespace via {
namespace {

constexpr int32_t kMostThreads = 64;

// Statically initialised and never destroyed: threads use it until the process ends.
struct Pool {
    pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
    Job *first = nullptr;
    Job **end = &first;
    int32_t queued = 0;
    int32_t threads = 0;
    int32_t idle = 0;
    int32_t reserved = 0;
    int32_t inherited = 0;  // jobs of the parent of a fork: each may block for good, for what the child lacks
};

constinit Pool pool;

// Keeps the queue: the child must call the callbacks that were about to run.
void forget_threads() {
    pool.posted = PTHREAD_COND_INITIALIZER;
    pool.threads = 0;
    pool.idle = 0;
    pool.inherited = pool.queued;
}

ForkSafeMutex mutex(forget_threads);

// Call with the mutex held, as the functions below.
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

// Returns false after a long wait without a job.
bool wait_for_job() {
    const timespec until = deadline_in(std::chrono::seconds(kIdleSeconds));
    int failure = 0;
    pool.idle++;
    while (pool.first == nullptr && failure == 0) {
        failure = pthread_cond_clockwait(&pool.posted, mutex.native(), CLOCK_MONOTONIC, &until);
    }
    pool.idle--;
    return pool.first != nullptr;
}

bool may_end() { return pool.threads > 1 || pool.reserved == 0; }

// Returns nullptr if the thread is to end. It does not count any more then.
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

// Each queued job needs an idle thread: busy ones may block for long.
bool lacks_thread() { return pool.queued > pool.idle || (pool.reserved > 0 && pool.threads == 0); }

bool has_thread_for_jobs() {
    for (int32_t wanted = 1 + std::exchange(pool.inherited, 0); wanted > 0; --wanted) {
        if (lacks_thread() && pool.threads < kMostThreads && start_library_thread("viaduct-task", work)) {
            pool.threads++;
        }
    }
    return pool.threads > 0;
}

// Replaces a thread that ends inside a job: interpreters end threads from inside a callback.
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

bool reserve() {
    const std::lock_guard lock(mutex);
    pool.reserved++;
    if (!has_thread_for_jobs()) {
        pool.reserved--;
        return false;
    }
    return true;
}

Status fail_without_thread() {
    return fail(VIA_ERROR_OUT_OF_MEMORY, "no thread for tasks could be started; expected 1");
}

}  // namespace

Status execute(Job *job) { return post(job) ? VIA_OK : fail_without_thread(); }

Status reserve_thread() { return reserve() ? VIA_OK : fail_without_thread(); }

void unreserve_thread() {
    const std::lock_guard lock(mutex);
    pool.reserved--;
}

int32_t executor_threads() {
    const std::lock_guard lock(mutex);
    return pool.threads;
}

}  // namespace via
