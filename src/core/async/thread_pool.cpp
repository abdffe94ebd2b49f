#include "core/async/thread_pool.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>

#include "core/base/library_thread.hpp"
#include "core/base/lock.hpp"
#include "core/base/no_cancellation.hpp"
#include "core/base/spin.hpp"
#include "core/system/thread_count.hpp"

namespace via {
namespace {

using Clock = std::chrono::steady_clock;

// How long a helper runs before it lets another thread have its processor, holding no work: there are such threads, as
// other libraries' poll for milliseconds after each of their calls. A scheduler that interrupts a helper at work lets
// its caller wait as long.
class Turn {
public:
    Turn() { begin(); }

    void begin() { end_ = Clock::now() + std::chrono::milliseconds(1); }
    bool is_over() const { return Clock::now() >= end_; }

    void yield_if_over() {
        if (is_over()) {
            sched_yield();
            begin();
        }
    }

private:
    Clock::time_point end_;
};

// The parts that the indices of a job are cut into, each with a thread that begins there.
constexpr int32_t kMostParts = 16;

// Adjacent indices, from which threads take one after another. On a line of its own: one thread takes most of them.
struct alignas(64) Part {
    std::atomic<int64_t> next{0};
    int64_t end = 0;

    bool has_work() const { return next.load(std::memory_order_relaxed) < end; }
};

// Represents a call of parallel_for, on its caller's stack. Helpers use it only between join and leave, and the caller
// waits for those that have joined. A thread begins with its own part, the same in each job of as many parts: what it
// touched before is in its caches, or in its node's memory. Then it goes on with the parts of the others.
struct Job {
    Job(int64_t count, int32_t threads, void (*call)(void *, int64_t), void *argument)
        : work(call),
          context(argument),
          places(static_cast<int32_t>(std::min<int64_t>(threads, count)) - 1),
          num_parts(std::clamp(places + 1, 1, kMostParts)) {
        for (int32_t i = 0; i < num_parts; ++i) {
            parts[i].next.store(count * i / num_parts, std::memory_order_relaxed);
            parts[i].end = count * (i + 1) / num_parts;
        }
    }

    // Calls the work for what is left, beginning with the thread's own part, until a helper's turn is over. Returns
    // whether there was any. Callers are number 0, and have no turn.
    bool run(int32_t number, const Turn *turn) {
        const int32_t own = number == 0 ? 0 : 1 + (number - 1) % (num_parts - 1);
        bool any = false;
        for (int32_t i = 0; i < num_parts; ++i) {
            Part &part = parts[(own + i) % num_parts];
            while (part.has_work()) {
                if (any && turn != nullptr && turn->is_over()) {
                    return true;
                }
                const int64_t index = part.next.fetch_add(1, std::memory_order_relaxed);
                if (index < part.end) {
                    work(context, index);
                    any = true;
                }
            }
        }
        return any;
    }

    bool has_work() const {
        return places > 0 && std::any_of(parts, parts + num_parts, [](const Part &part) { return part.has_work(); });
    }

    void (*work)(void *context, int64_t index);
    void *context;
    int32_t places;  // for helpers that may still join
    int32_t num_parts;
    std::atomic<int32_t> helpers{0};
    std::atomic<bool> was_helped{false};
    Job *following = nullptr;
    Part parts[kMostParts];
};

// Statically initialised and never destroyed: helpers use it until the process ends.
struct Pool {
    pthread_cond_t left = PTHREAD_COND_INITIALIZER;
    Job *jobs = nullptr;
    int32_t helpers = 0;
    int32_t asleep = 0;
    uint64_t numbers = 0;  // a bit for each that a helper has; those beyond share the last
    // Counts posts: a helper that has just finished polls for the next job without the mutex. Helpers sleep on this
    // futex rather than on a condition: one call wakes as many as are needed, and none of them queues for the mutex.
    // std::atomic::wait has no timeout, and idle helpers must end.
    std::atomic<uint32_t> posts{0};
};

constinit Pool pool;

// A forked child has the calling thread only, and needs nothing of the pool.
void forget_helpers() {
    pool.left = PTHREAD_COND_INITIALIZER;
    pool.jobs = nullptr;
    pool.helpers = 0;
    pool.asleep = 0;
    pool.numbers = 0;
}

ForkSafeMutex mutex(forget_helpers);

// Spins for about the time that waking a thread takes.
constexpr int32_t kSpins = 1000;

Job *find_job() {
    Job *job = pool.jobs;
    while (job != nullptr && !job->has_work()) {
        job = job->following;
    }
    return job;
}

// Sleeps unless there was a post since `seen`; false after a long wait.
bool sleep_until_posted(uint32_t seen) {
    constexpr timespec kLongest{kIdleSeconds, 0};
    return syscall(SYS_futex, &pool.posts, FUTEX_WAIT_PRIVATE, seen, &kLongest, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

void wake_helpers(int32_t count) {
    (void)syscall(SYS_futex, &pool.posts, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Joins a job that has work, if there is one, and stores the number of posts seen.
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

// Returns false if the thread is to end. It does not count any more then.
bool wake_up(bool posted) {
    const std::lock_guard lock(mutex);
    pool.asleep--;
    if (posted || find_job() != nullptr) {
        return true;
    }
    pool.helpers--;
    return false;
}

// Sleeps until there is work, and joins it; nullptr if the thread is to end.
Job *join_job(uint32_t *out_posts, Turn *turn) {
    Job *job = try_join(out_posts);
    while (job == nullptr) {
        if (!wake_up(sleep_until_posted(*out_posts))) {
            return nullptr;
        }
        turn->begin();
        job = try_join(out_posts);
    }
    return job;
}

// Another helper may take this one's place, or the same later. The caller ends the job as soon as none is left. Returns
// whether there is still work.
bool leave_job(Job *job) {
    const std::lock_guard lock(mutex);
    job->places++;
    const bool has_work = job->has_work();
    if (job->helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        pthread_cond_broadcast(&pool.left);
    }
    return has_work;
}

// Returns the lowest number that no other helper has, from 1 on.
int32_t take_number() {
    const std::lock_guard lock(mutex);
    const int32_t number = std::min(std::countr_one(pool.numbers), 63);
    pool.numbers |= pool.numbers + 1;
    return number + 1;
}

void give_back_number(int32_t number) {
    const std::lock_guard lock(mutex);
    pool.numbers &= ~(uint64_t{1} << (number - 1));
}

void help() {
    const int32_t number = take_number();
    uint32_t seen = 0;
    Turn turn;
    while (Job *job = join_job(&seen, &turn)) {
        if (job->run(number, &turn)) {
            job->was_helped.store(true, std::memory_order_relaxed);
        }
        const bool has_work = leave_job(job);
        turn.yield_if_over();
        if (!has_work) {
            (void)spin_until([&] { return pool.posts.load(std::memory_order_relaxed) != seen; }, kSpins);
        }
    }
    give_back_number(number);
}

// Call with the mutex held.
void start_helpers(int32_t wanted) {
    while (pool.helpers < wanted && start_small_thread("viaduct-copy", help)) {
        pool.helpers++;
    }
}

// Counts the helpers for all running jobs, so that no job waits for another's while there are processors for both. Call
// with the mutex held.
int32_t count_wanted(const Job &newest) {
    int32_t wanted = newest.places;
    int32_t callers = 1;
    for (const Job *job = pool.jobs; job != nullptr; job = job->following) {
        wanted += job->places + job->helpers.load(std::memory_order_relaxed);
        callers++;
    }
    return std::clamp(num_threads() - callers, newest.places, wanted);
}

// Returns the number of helpers to wake.
int32_t enqueue(Job *job) {
    const std::lock_guard lock(mutex);
    start_helpers(count_wanted(*job));
    job->following = pool.jobs;
    pool.jobs = job;
    pool.posts.fetch_add(1, std::memory_order_relaxed);
    return std::min(job->places, pool.asleep);
}

void post(Job *job) {
    const int32_t wanted = enqueue(job);
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
    const auto is_alone = [&] { return job->helpers.load(std::memory_order_acquire) == 0; };
    if (spin_until(is_alone, kSpins)) {
        return;
    }
    const NoCancellation scope;  // helpers use the job on this thread's stack
    const std::lock_guard lock(mutex);
    while (!is_alone()) {
        pthread_cond_wait(&pool.left, mutex.native());
    }
}

// Lets callers work alone for some time after helpers were of no use: where other threads keep the processors busy, a
// helper comes late, or holds its share up. That time is a multiple of what was lost, which bounds the loss.
struct Backoff {
    static constexpr int64_t kTimes = 8;
    std::atomic<Clock::rep> until{0};

    bool holds() const { return Clock::now().time_since_epoch().count() < until.load(std::memory_order_relaxed); }

    void record(Clock::duration lost) {
        if (lost.count() > 0) {
            until.store((Clock::now() + kTimes * lost).time_since_epoch().count(), std::memory_order_relaxed);
        }
    }
};

constinit Backoff backoff;

// Counts a thread's brief work that follows other such work within the time that helpers poll for it. To wake one pays
// then, though each alone is done sooner than a helper wakes. Not where the processors are short: a helper takes the
// caller's, and the time that the caller then has not run is no time that it has waited.
struct Succession {
    static constexpr Clock::rep kPause = 10'000;  // nanoseconds, as all times here
    static constexpr Clock::rep kInterrupted = 200'000;
    static constexpr Clock::rep kRest = 250'000'000;
    static constexpr int64_t kFew = 4;
    static constexpr int64_t kBetweenSamples = 16;

    Clock::rep last_end = 0;
    Clock::rep rests_until = 0;
    Clock::rep not_run_before = 0;
    int64_t length = 0;
    bool is_on = false;

    static Clock::rep now() { return Clock::now().time_since_epoch().count(); }

    void begin() {
        const Clock::rep start = now();
        length = start - last_end < kPause ? length + 1 : 0;
        if (length % kBetweenSamples == kFew) {
            sample(start);
        }
        is_on = length >= kFew && start >= rests_until;
    }

    void sample(Clock::rep time) {
        timespec run{};
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &run);
        const Clock::rep not_run = time - run.tv_sec * 1'000'000'000 - run.tv_nsec;
        if (length > kFew && not_run - not_run_before > kInterrupted) {
            rests_until = time + kRest;
        }
        not_run_before = not_run;
    }
};

// Initial-exec for the same reason as current_thread_state.
constinit thread_local Succession succession __attribute__((tls_model("initial-exec")));

// Returns the time lost: that of waking helpers who did nothing, or of waiting for one for long. In a succession, a
// helper that comes late for one is there for the next.
Clock::duration run_with_helpers(Job *job) {
    constexpr std::chrono::microseconds kWaking{6};
    constexpr std::chrono::microseconds kUsualWait{20};
    post(job);
    job->run(0, nullptr);
    const Clock::time_point end = Clock::now();
    withdraw(job);
    wait_for_helpers(job);
    const Clock::duration waited = Clock::now() - end;
    if (job->was_helped.load(std::memory_order_relaxed)) {
        return waited - kUsualWait;
    }
    return succession.is_on ? waited : waited + kWaking;
}

}  // namespace

void parallel_for(int64_t count, int32_t threads, void (*work)(void *context, int64_t index), void *context,
                  Length length) {
    Job job(count, threads, work, context);
    if (job.places <= 0 || (length == Length::Brief && backoff.holds())) {
        job.run(0, nullptr);
        return;
    }
    const Clock::duration lost = run_with_helpers(&job);
    if (length == Length::Brief) {
        backoff.record(lost);
    }
}

BriefWork::BriefWork() { succession.begin(); }
BriefWork::~BriefWork() { succession.last_end = Succession::now(); }
bool BriefWork::is_in_succession() const { return succession.is_on; }

bool helpers_are_awake() {
    const std::lock_guard lock(mutex);
    return pool.helpers > pool.asleep;
}

int32_t helper_count() {
    const std::lock_guard lock(mutex);
    return pool.helpers;
}

}  // namespace via
