// Copies by many threads at once, after fork, and where no thread can be had. Run under ThreadSanitizer too.
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../limits.h"
#include "children.hpp"
#include "copy_support.hpp"
#include "core/async/thread_pool.hpp"

namespace {

struct Counts {
    std::vector<std::atomic<int32_t>> each;
    explicit Counts(size_t size) : each(size) {}
};

void count_one(void *context, int64_t index) {
    static_cast<Counts *>(context)->each[static_cast<size_t>(index)].fetch_add(1, std::memory_order_relaxed);
}

// The first test: later ones leave stacks behind that a thread could be started on.
void where_no_thread_can_be_had_the_caller_copies_alone(void **) {
    if (kUnderThreadSanitizer || kUnderAddressSanitizer || can_limit_memory() == 0) {
        skip();  // they need more address space than can be taken away
    }
    assert_int_equal(exit_code_of_child([] {
                         // So little address space that no stack fits; what the copy needs is allocated before.
                         std::vector<char> dst(size_t{8} << 20);
                         std::vector<char> src(dst.size(), 'x');
                         rlimit limit{};
                         getrlimit(RLIMIT_AS, &limit);
                         limit.rlim_cur = size_t{1} << 20;
                         setrlimit(RLIMIT_AS, &limit);
                         (void)!via::set_num_threads(3);
                         const bool copied =
                             via::copy_bytes(dst.data(), src.data(), int64_t{8} << 20, nullptr) == VIA_OK;
                         return copied && via::helper_count() == 0 && dst == src ? 7 : 1;
                     }),
                     7);
}

void every_piece_of_work_is_done_once(void **) {
    for (const int64_t count : {0, 1, 2, 3, 100, 5000}) {
        for (const int32_t threads : {1, 2, 5}) {
            Counts counts(static_cast<size_t>(count));
            via::parallel_for(count, threads, count_one, &counts);
            via::parallel_for(count, threads, count_one, &counts, via::Length::Brief);
            for (const auto &times : counts.each) {
                assert_int_equal(times.load(), 2);
            }
        }
    }
    assert_int_equal(via::helper_count(), 4);
}

// Who began with which index: each waits in its first until both have begun.
struct Beginnings {
    const pthread_t caller = pthread_self();
    std::atomic<int64_t> of_caller{-1};
    std::atomic<int64_t> of_helper{-1};
};

void note_beginning(void *context, int64_t index) {
    auto *begun = static_cast<Beginnings *>(context);
    int64_t none = -1;
    auto &mine = pthread_equal(begun->caller, pthread_self()) != 0 ? begun->of_caller : begun->of_helper;
    mine.compare_exchange_strong(none, index);
    for (int i = 0; i < 10000 && (begun->of_caller < 0 || begun->of_helper < 0); ++i) {
        usleep(1000);
    }
}

void each_thread_begins_with_its_own_part(void **) {
    for (int32_t round = 0; round < 20; ++round) {
        Beginnings begun;
        via::parallel_for(100, 2, note_beginning, &begun);
        assert_int_equal(begun.of_caller.load(), 0);
        assert_int_equal(begun.of_helper.load(), 50);
    }
}

struct Halves {
    const pthread_t caller = pthread_self();
    std::atomic<int32_t> of_caller{0};
    std::atomic<int32_t> of_helper{0};
};

// Takes a while without sleeping.
void spin_for(std::chrono::microseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

// A helper lets others have its processor after a millisecond, between two indices, and then goes on.
void a_helper_comes_back_to_a_long_job(void **) {
    Halves halves;
    via::parallel_for(
        100, 2,
        [](void *context, int64_t) {
            auto *all = static_cast<Halves *>(context);
            spin_for(std::chrono::milliseconds(2));
            (pthread_equal(all->caller, pthread_self()) != 0 ? all->of_caller : all->of_helper)++;
        },
        &halves);
    assert_int_equal(halves.of_caller + halves.of_helper, 100);
    assert_true(halves.of_helper >= 20 && halves.of_helper <= 80);
}

void spin_a_while(void *, int64_t) { spin_for(std::chrono::microseconds(100)); }

std::vector<pid_t> helper_threads() {
    std::vector<pid_t> found;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(entry.path() / "comm"), name);
        if (name == "viaduct-copy") {
            found.push_back(std::stoi(entry.path().filename()));
        }
    }
    return found;
}

// Whether helpers that may only run where the caller does may run elsewhere after a job. Those that were idle for long
// may have ended.
bool leave_the_callers_cpu(const std::vector<pid_t> &helpers) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    for (const pid_t helper : helpers) {
        (void)sched_setaffinity(helper, sizeof one, &one);
    }
    via::parallel_for(40, 2, spin_a_while, nullptr);
    bool left = false;
    for (const pid_t helper : helpers) {
        cpu_set_t now;
        left = left || (sched_getaffinity(helper, sizeof now, &now) == 0 && CPU_EQUAL(&now, &one) == 0);
    }
    return left;
}

// The caller may be moved before a job begins: the helpers are elsewhere then, and stay.
void helpers_leave_the_cpu_of_their_caller(void **) {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) < 2) {
        skip();
    }
    bool left = false;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!left && std::chrono::steady_clock::now() < end) {
        left = leave_the_callers_cpu(helper_threads());
    }
    assert_true(left);
}

void more_threads_than_parts_do_all_once(void **) {
    Counts counts(1000);
    via::parallel_for(1000, 40, count_one, &counts);
    for (const auto &times : counts.each) {
        assert_int_equal(times.load(), 1);
    }
}

bool is_in_succession() { return via::BriefWork().is_in_succession(); }

// A machine at work elsewhere may interrupt some.
void brief_work_without_pauses_is_in_succession(void **) {
    usleep(1000);
    assert_false(is_in_succession());
    bool any = false;
    for (int32_t i = 0; i < 100000 && !any; ++i) {
        any = is_in_succession();
    }
    assert_true(any);
    for (int32_t i = 0; i < 10; ++i) {
        usleep(1000);
        assert_false(is_in_succession());
    }
}

struct Meeting {
    std::atomic<int32_t> arrived{0};
    int32_t expected;
};

// Returns once all are there, or after ten seconds.
void meet(void *context, int64_t) {
    auto *meeting = static_cast<Meeting *>(context);
    meeting->arrived++;
    for (int i = 0; i < 10000 && meeting->arrived < meeting->expected; ++i) {
        usleep(1000);
    }
}

// Each of the pieces waits for all others, of both jobs.
void two_jobs_at_once_have_helpers_each(void **) {
    assert_int_equal(via::set_num_threads(8), VIA_OK);
    Meeting meeting{.expected = 8};
    std::thread other([&] { via::parallel_for(4, 4, meet, &meeting); });
    via::parallel_for(4, 4, meet, &meeting);
    other.join();
    assert_int_equal(meeting.arrived.load(), 8);
    assert_int_equal(via::helper_count(), 6);
}

void short_jobs_from_many_callers_are_done_once(void **) {
    std::atomic<int64_t> wrong{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 6; ++caller) {
        callers.emplace_back([&wrong, caller] {
            for (int round = 0; round < 300; ++round) {
                Counts counts(static_cast<size_t>(1 + (caller + round) % 9));
                via::parallel_for(static_cast<int64_t>(counts.each.size()), 1 + round % 4, count_one, &counts);
                for (const auto &times : counts.each) {
                    wrong += times.load() != 1;
                }
            }
        });
    }
    for (std::thread &caller : callers) {
        caller.join();
    }
    assert_int_equal(wrong.load(), 0);
}

constexpr int64_t kRows = 1111;
constexpr int64_t kColumns = 1017;

// Copies a matrix, by way of its transpose; true if it came back as it was.
bool copy_there_and_back(uint64_t seed) {
    std::vector<char> bytes(static_cast<size_t>(kRows * kColumns * 4));
    std::vector<char> transposed(bytes.size());
    std::vector<char> back(bytes.size());
    Random(seed).fill(&bytes);
    const Wrapped first(bytes.data(), VIA_FLOAT32, {kRows, kColumns});
    const Wrapped middle(transposed.data(), VIA_FLOAT32, {kRows, kColumns}, {4, 4 * kRows});
    const Wrapped last(back.data(), VIA_FLOAT32, {kRows, kColumns});
    return via::copy_array(middle.get(), first.get()) == VIA_OK &&
           via::copy_array(last.get(), middle.get()) == VIA_OK && bytes == back;
}

// A thread of a virtual machine or of a fiber library may have little stack. ThreadSanitizer takes much of it itself.
void a_thread_with_a_small_stack_copies(void **) {
    assert_int_equal(via::set_num_threads(3), VIA_OK);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kUnderThreadSanitizer || kUnderAddressSanitizer ? 1 << 20 : 96 << 10);
    pthread_t thread;
    const auto copy = [](void *) -> void * {
        return reinterpret_cast<void *>(static_cast<intptr_t>(copy_there_and_back(50)));
    };
    assert_int_equal(pthread_create(&thread, &attributes, copy, nullptr), 0);
    pthread_attr_destroy(&attributes);
    void *good = nullptr;
    assert_int_equal(pthread_join(thread, &good), 0);
    assert_non_null(good);
}

void helpers_that_are_idle_for_long_end_and_the_next_copy_has_others(void **) {
    assert_int_equal(via::set_num_threads(3), VIA_OK);
    assert_true(copy_there_and_back(40));
    assert_true(via::helper_count() > 0);
    for (int32_t i = 0; i < 100 && via::helper_count() > 0; ++i) {
        usleep(100000);
    }
    assert_int_equal(via::helper_count(), 0);
    assert_true(copy_there_and_back(41));
    assert_int_equal(via::helper_count(), 2);
}

void many_threads_copy_at_once(void **) {
    assert_int_equal(via::set_num_threads(3), VIA_OK);
    std::atomic<int> good{0};
    std::vector<std::thread> callers;
    for (uint64_t seed = 0; seed < 4; ++seed) {
        callers.emplace_back([&good, seed] { good += copy_there_and_back(seed) && copy_there_and_back(seed + 9); });
    }
    for (std::thread &caller : callers) {
        caller.join();
    }
    assert_int_equal(good.load(), 4);
}

void the_number_of_threads_may_change_while_copies_run(void **) {
    std::atomic<bool> stop{false};
    std::thread changer([&stop] {
        for (int32_t count = 1; !stop.load(); count = count % 4 + 1) {
            (void)!via::set_num_threads(count);
        }
    });
    const bool good = copy_there_and_back(20) && copy_there_and_back(21);
    stop = true;
    changer.join();
    assert_true(good);
    assert_int_equal(via::set_num_threads(3), VIA_OK);
}

void a_forked_child_copies_with_threads_of_its_own(void **) {
    if (kUnderThreadSanitizer) {
        skip();  // it does not follow threads into a child of fork
    }
    assert_true(copy_there_and_back(30));
    assert_true(via::helper_count() > 0);
    assert_int_equal(exit_code_of_child([] {
                         const bool forgot = via::helper_count() == 0;
                         const bool good = copy_there_and_back(31);
                         return forgot && good && via::helper_count() == 2 ? 7 : 1;
                     }),
                     7);
    assert_true(copy_there_and_back(32));
}

constexpr int32_t kMany = 14;

// Helpers start one another.
bool all_helpers_meet() {
    Meeting meeting{.expected = kMany};
    via::parallel_for(kMany, kMany, meet, &meeting);
    return meeting.arrived == kMany && via::helper_count() >= kMany - 1;
}

// A forked child has no helpers yet. ThreadSanitizer lets none have threads.
void all_helpers_of_a_job_start(void **) {
    assert_true(all_helpers_meet());
    if (!kUnderThreadSanitizer) {
        assert_int_equal(
            exit_code_of_child([] { return all_helpers_meet() && via::helper_count() == kMany - 1 ? 7 : 1; }), 7);
    }
}

void a_fork_amid_copies_of_other_threads_leaves_a_child_that_copies(void **) {
    if (kUnderThreadSanitizer) {
        skip();
    }
    std::atomic<bool> stop{false};
    std::thread copier([&stop] {
        while (!stop.load()) {
            (void)copy_there_and_back(40);
        }
    });
    for (int i = 0; i < 10; ++i) {
        Counts counts(50);
        assert_int_equal(exit_code_of_child([&counts] {
                             via::parallel_for(50, 3, count_one, &counts);
                             return 7;
                         }),
                         7);
    }
    stop = true;
    copier.join();
}

void a_process_may_exit_amid_a_copy(void **) {
    if (kUnderThreadSanitizer) {
        skip();
    }
    const pid_t pid = fork_with_allocator();
    if (pid == 0) {
        std::thread([] {
            while (true) {
                (void)copy_there_and_back(50);
            }
        }).detach();
        usleep(20000);
        // What exit would do, but for the handlers that cmocka's parent has registered.
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(where_no_thread_can_be_had_the_caller_copies_alone),
        cmocka_unit_test(every_piece_of_work_is_done_once),
        cmocka_unit_test(each_thread_begins_with_its_own_part),
        cmocka_unit_test(a_helper_comes_back_to_a_long_job),
        cmocka_unit_test(helpers_leave_the_cpu_of_their_caller),
        cmocka_unit_test(short_jobs_from_many_callers_are_done_once),
        cmocka_unit_test(two_jobs_at_once_have_helpers_each),
        cmocka_unit_test(a_thread_with_a_small_stack_copies),
        cmocka_unit_test(helpers_that_are_idle_for_long_end_and_the_next_copy_has_others),
        cmocka_unit_test(many_threads_copy_at_once),
        cmocka_unit_test(the_number_of_threads_may_change_while_copies_run),
        cmocka_unit_test(a_forked_child_copies_with_threads_of_its_own),
        cmocka_unit_test(a_fork_amid_copies_of_other_threads_leaves_a_child_that_copies),
        cmocka_unit_test(more_threads_than_parts_do_all_once),
        cmocka_unit_test(brief_work_without_pauses_is_in_succession),
        cmocka_unit_test(all_helpers_of_a_job_start),
        cmocka_unit_test(a_process_may_exit_amid_a_copy),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
