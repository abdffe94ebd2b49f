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

// The parts that the indices of a job are cut into, each with a thread that begins there.
constexpr int32_t kMostParts = 16;

// Adjacent indices. The thread that begins here takes them from the front, the others from the back: what is next to
// those of another thread may share cache lines with them. On a line of its own: one thread takes most of them.
struct alignas(64) Part {
    std::atomic<int64_t> left{0};  // that nobody has taken
    std::atomic<int64_t> front{0};
    std::atomic<int64_t> back{0};

    bool has_work() const { return left.load(std::memory_order_relaxed) > 0; }

    // Returns whether there was one.
    bool take(bool from_front, int64_t *out_index) {
        if (left.fetch_sub(1, std::memory_order_relaxed) <= 0) {
            return false;
        }
        *out_index = from_front ? front.fetch_add(1, std::memory_order_relaxed)
                                : back.fetch_sub(1, std::memory_order_relaxed) - 1;
        return true;
    }
};

// Represents a call of parallel_for, on its caller's stack. Helpers use it only between join and leave, and the caller
// waits for those that have joined. A thread begins with its own part, the same in each job of as many parts: what it
// touched before is in its caches, or in its node's memory. Then it goes on with the parts of the others.
struct Job {
    Job(int64_t all, int32_t threads, void (*call)(void *, int64_t), void *argument)
        : work(call),
          context(argument),
          count(all),
          places(static_cast<int32_t>(std::min<int64_t>(threads, all)) - 1),
          num_parts(std::clamp(places + 1, 1, kMostParts)) {
        for (int32_t i = 0; i < num_parts; ++i) {
            const int64_t first = count * i / num_parts;
            const int64_t end = count * (i + 1) / num_parts;
            parts[i].left.store(end - first, std::memory_order_relaxed);
            parts[i].front.store(first, std::memory_order_relaxed);
            parts[i].back.store(end, std::memory_order_relaxed);
        }
    }

    // What a thread did of a job.
    struct Done {
        int64_t calls = 0;
        bool to_the_end = false;  // until all were taken
    };

    // Calls the work for what is left, beginning with the thread's own part, until is_over() after a call. Callers are
    // number 0.
    template <class IsOver>
    Done run(int32_t number, const IsOver &is_over) {
        const int32_t own = number == 0 ? 0 : 1 + (number - 1) % (num_parts - 1);
        Done done;
        int64_t index = 0;
        for (int32_t i = 0; i < num_parts; ++i) {
            Part &part = parts[(own + i) % num_parts];
            while (part.has_work() && part.take(i == 0, &index)) {
                work(context, index);
                done.calls++;
                if (is_over()) {
                    return done;
                }
            }
        }
        done.to_the_end = true;
        return done;
    }

    bool has_work() const {
        return places > 0 && std::any_of(parts, parts + num_parts, [](const Part &part) { return part.has_work(); });
    }

    void (*work)(void *context, int64_t index);
    void *context;
    const int64_t count;  // of the calls
    const pthread_t caller = pthread_self();
    const int32_t cpu = sched_getcpu();  // of the caller
    int32_t places;                      // for helpers that may still join
    int32_t num_parts;
    std::atomic<int32_t> helpers{0};
    std::atomic<bool> was_helped{false};
    Job *following = nullptr;
    Part parts[kMostParts];
};

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

// Represents a helper, on its own stack.
struct Helper {
    const pthread_t thread = pthread_self();
    int32_t number = 0;
    bool is_asleep = false;
    Helper *following = nullptr;
};

template <class Node>
void take_out(Node **list, const Node *node) {
    while (*list != node) {
        list = &(*list)->following;
    }
    *list = node->following;
}

// Statically initialised and never destroyed: helpers use it until the process ends.
struct Pool {
    pthread_cond_t left = PTHREAD_COND_INITIALIZER;
    Job *jobs = nullptr;
    Helper *running = nullptr;  // those that have begun
    int32_t helpers = 0;        // those that have not begun yet are counted
    int32_t to_start = 0;       // of these
    int32_t asleep = 0;
    uint64_t numbers = 0;  // a bit for each that a helper has; those beyond share the last
    Clock::rep next_move = 0;
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
    pool.running = nullptr;
    pool.helpers = 0;
    pool.to_start = 0;
    pool.asleep = 0;
    pool.numbers = 0;
}

ForkSafeMutex mutex(forget_helpers);

// Holds the mutex where all helpers of a job come for it at once.
class SoonLocked {
public:
    SoonLocked() { lock_soon(&mutex); }
    ~SoonLocked() { mutex.unlock(); }
    SoonLocked(const SoonLocked &) = delete;
    SoonLocked &operator=(const SoonLocked &) = delete;
};

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

// Stores where a thread may run, one CPU aside. Returns whether there is such a CPU.
bool find_other_cpus(pthread_t thread, int32_t cpu, cpu_set_t *out_cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE || pthread_getaffinity_np(thread, sizeof *out_cpus, out_cpus) != 0) {
        return false;
    }
    CPU_CLR(static_cast<unsigned>(cpu), out_cpus);
    return CPU_COUNT(out_cpus) > 0;
}

// Leaves the CPU of a job's caller, which waits for it otherwise.
void leave_caller(const Job &job) {
    cpu_set_t others;
    if (sched_getcpu() == job.cpu && find_other_cpus(job.caller, job.cpu, &others)) {
        (void)pthread_setaffinity_np(pthread_self(), sizeof others, &others);
    }
}

// Lets a helper run on the others only, if it may run on the CPU. Call with the mutex held.
void keep_off(const Helper &helper, int32_t cpu, const cpu_set_t &others) {
    cpu_set_t cpus;
    if (pthread_getaffinity_np(helper.thread, sizeof cpus, &cpus) == 0 &&
        CPU_ISSET(static_cast<unsigned>(cpu), &cpus)) {
        (void)pthread_setaffinity_np(helper.thread, sizeof others, &others);
    }
}

// Joins a job that has work, if there is one, and stores the number of posts seen.
Job *try_join(Helper *helper, uint32_t *out_posts) {
    const SoonLocked lock;
    *out_posts = pool.posts.load(std::memory_order_relaxed);
    Job *job = find_job();
    if (job == nullptr) {
        pool.asleep++;
        helper->is_asleep = true;
        return nullptr;
    }
    job->places--;
    job->helpers.fetch_add(1, std::memory_order_relaxed);
    return job;
}

// Returns false if the thread is to end. It does not count any more then.
bool wake_up(Helper *helper, bool posted) {
    const std::lock_guard lock(mutex);
    pool.asleep--;
    helper->is_asleep = false;
    if (posted || find_job() != nullptr) {
        return true;
    }
    pool.helpers--;
    return false;
}

// Sleeps until there is work, and joins it; nullptr if the thread is to end.
Job *join_job(Helper *helper, uint32_t *out_posts, Turn *turn) {
    Job *job = try_join(helper, out_posts);
    while (job == nullptr) {
        if (!wake_up(helper, sleep_until_posted(*out_posts))) {
            return nullptr;
        }
        turn->begin();
        job = try_join(helper, out_posts);
    }
    return job;
}

// Another helper may take this one's place, or the same later. The caller ends the job as soon as none is left.
void leave_job(Job *job) {
    const SoonLocked lock;
    job->places++;
    if (job->helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        pthread_cond_broadcast(&pool.left);
    }
}

// Gives the helper the lowest number that no other has, from 1 on.
void enlist(Helper *helper) {
    const std::lock_guard lock(mutex);
    helper->number = 1 + std::min(std::countr_one(pool.numbers), 63);
    pool.numbers |= pool.numbers + 1;
    helper->following = pool.running;
    pool.running = helper;
}

void delist(Helper *helper) {
    const std::lock_guard lock(mutex);
    pool.numbers &= ~(uint64_t{1} << (helper->number - 1));
    take_out(&pool.running, helper);
}

void start_helpers();

void help() {
    Helper self;
    enlist(&self);
    start_helpers();
    uint32_t seen = 0;
    Turn turn;
    while (Job *job = join_job(&self, &seen, &turn)) {
        leave_caller(*job);
        const Job::Done done = job->run(self.number, [&] { return turn.is_over(); });
        if (done.calls > 0) {
            job->was_helped.store(true, std::memory_order_relaxed);
        }
        leave_job(job);
        turn.yield_if_over();
        if (done.to_the_end) {
            (void)spin_until([&] { return pool.posts.load(std::memory_order_relaxed) != seen; }, kSpins);
        }
    }
    delist(&self);
}

// Returns whether there is one more to start.
bool take_start() {
    const std::lock_guard lock(mutex);
    const bool has_more = pool.to_start > 0;
    pool.to_start -= has_more ? 1 : 0;
    return has_more;
}

void give_up_starting() {
    const std::lock_guard lock(mutex);
    pool.helpers -= 1 + pool.to_start;
    pool.to_start = 0;
}

// Starts two, and each that begins starts two more: to start a thread takes up to 0.06 ms, longer than a caller's share
// of many jobs.
void start_helpers() {
    for (int32_t i = 0; i < 2 && take_start(); ++i) {
        if (!start_small_thread("viaduct-copy", help)) {
            give_up_starting();
        }
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

struct Needed {
    int32_t to_wake;
    int32_t to_start;
};

Needed enqueue(Job *job) {
    const SoonLocked lock;
    const int32_t more = std::max(count_wanted(*job) - pool.helpers, 0);
    pool.helpers += more;
    pool.to_start += more;
    job->following = pool.jobs;
    pool.jobs = job;
    pool.posts.fetch_add(1, std::memory_order_relaxed);
    return {std::min(job->places, pool.asleep), more};
}

void post(Job *job) {
    const Needed needed = enqueue(job);
    if (needed.to_wake > 0) {
        wake_helpers(needed.to_wake);
    }
    if (needed.to_start > 0) {
        start_helpers();
    }
}

void withdraw(Job *job) {
    const SoonLocked lock;
    take_out(&pool.jobs, job);
}

// Moves helpers that do not come. A kernel may put them on the CPU of their caller, where they wait until its work has
// ended: some kernels pack threads on few CPUs, and do so where others' threads poll on the rest.
class LateHelpers {
public:
    explicit LateHelpers(const Job *job) : job_(job), look_at_(Clock::now() + kLate) {}

    void look() {
        if (look_at_ == kNever || Clock::now() < look_at_) {
            return;
        }
        look_at_ = kNever;
        if (job_->helpers.load(std::memory_order_relaxed) == 0 && !job_->was_helped.load(std::memory_order_relaxed)) {
            move_sleepers();
        }
    }

private:
    static constexpr std::chrono::microseconds kLate{15};
    static constexpr std::chrono::milliseconds kBetweenMoves{1};  // callers on several CPUs contend for them
    static constexpr Clock::time_point kNever = Clock::time_point::max();

    void move_sleepers() const {
        const std::lock_guard lock(mutex);
        const Clock::time_point now = Clock::now();
        if (now.time_since_epoch().count() < pool.next_move) {
            return;
        }
        pool.next_move = (now + kBetweenMoves).time_since_epoch().count();
        const int32_t cpu = sched_getcpu();
        cpu_set_t others;
        if (!find_other_cpus(job_->caller, cpu, &others)) {
            return;
        }
        for (Helper *helper = pool.running; helper != nullptr; helper = helper->following) {
            if (helper->is_asleep) {
                keep_off(*helper, cpu, others);
            }
        }
    }

    const Job *job_;
    Clock::time_point look_at_;
};

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
// then, though each alone is done sooner than a helper wakes.
struct Succession {
    static constexpr Clock::rep kPause = 10'000;  // nanoseconds
    static constexpr int64_t kFew = 4;

    Clock::rep last_end = 0;
    int64_t length = 0;

    static Clock::rep now() { return Clock::now().time_since_epoch().count(); }

    void begin() { length = now() - last_end < kPause ? length + 1 : 0; }
    bool is_on() const { return length >= kFew; }
};

// Initial-exec for the same reason as current_thread_state.
constinit thread_local Succession succession __attribute__((tls_model("initial-exec")));

// Returns the time lost: that of waking helpers who did nothing, or of waiting for one for long, unless the caller
// alone would have taken longer yet. In a succession, a helper that comes late for one is there for the next.
Clock::duration run_with_helpers(Job *job) {
    constexpr std::chrono::microseconds kWaking{6};
    constexpr std::chrono::microseconds kUsualWait{20};
    const Clock::time_point start = Clock::now();
    post(job);
    LateHelpers late(job);
    const Clock::time_point posted = Clock::now();
    const Job::Done done = job->run(0, [&] {
        late.look();
        return false;
    });
    const Clock::time_point end = Clock::now();
    withdraw(job);
    wait_for_helpers(job);
    const Clock::time_point helped = Clock::now();
    const Clock::duration waited = helped - end;
    if (job->was_helped.load(std::memory_order_relaxed)) {
        const Clock::duration alone = (end - posted) / std::max<int64_t>(done.calls, 1) * job->count;
        return std::min<Clock::duration>(waited - kUsualWait, helped - start - alone);
    }
    return succession.is_on() ? waited : waited + kWaking;
}

}  // namespace

void parallel_for(int64_t count, int32_t threads, void (*work)(void *context, int64_t index), void *context,
                  Length length) {
    Job job(count, threads, work, context);
    if (job.places <= 0 || (length == Length::Brief && backoff.holds())) {
        job.run(0, [] { return false; });
        return;
    }
    const Clock::duration lost = run_with_helpers(&job);
    if (length == Length::Brief) {
        backoff.record(lost);
    }
}

BriefWork::BriefWork() { succession.begin(); }
BriefWork::~BriefWork() { succession.last_end = Succession::now(); }
bool BriefWork::is_in_succession() const { return succession.is_on(); }

bool helpers_are_awake() {
    const std::lock_guard lock(mutex);
    return pool.helpers > pool.asleep;
}

int32_t helper_count() {
    const std::lock_guard lock(mutex);
    return pool.helpers;
}

}  // namespace via
