// Threads of the library for what runs in the background.
#include "core/async/task_executor.hpp"
#include "core/base/library_thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "pending_work.hpp"

namespace {

std::atomic<int32_t> ran{0};
std::atomic<int32_t> inside{0};
std::atomic<bool> may_go_on{false};

void count_run(via::Job *job) {
    delete job;
    ran++;
}

void stay_until_open(via::Job *job) {
    delete job;
    inside++;
    while (!may_go_on.load()) {
        usleep(100);
    }
    inside--;
    ran++;
}

void post(void (*run)(via::Job *job)) { assert_int_equal(via::execute(new via::Job{run, nullptr}), VIA_OK); }

int begin(void **) {
    ran = 0;
    inside = 0;
    may_go_on = false;
    return 0;
}

void every_job_runs_once(void **) {
    for (int32_t i = 0; i < 1000; ++i) {
        post(count_run);
    }
    assert_true(eventually([] { return ran == 1000; }));
}

void jobs_posted_by_many_threads_run_once(void **) {
    std::vector<std::thread> posters;
    for (int32_t i = 0; i < 4; ++i) {
        posters.emplace_back([] {
            for (int32_t k = 0; k < 500; ++k) {
                (void)!via::execute(new via::Job{count_run, nullptr});
            }
        });
    }
    for (std::thread &poster : posters) {
        poster.join();
    }
    assert_true(eventually([] { return ran == 2000; }));
    assert_true(via::executor_threads() <= 64);
}

void a_job_does_not_wait_for_those_that_are_held_up(void **) {
    for (int32_t i = 0; i < 10; ++i) {
        post(stay_until_open);
    }
    assert_true(eventually([] { return inside == 10; }));
    post(count_run);
    assert_true(eventually([] { return ran == 1; }));
    may_go_on = true;
    assert_true(eventually([] { return ran == 11; }));
}

void there_are_at_most_64_threads_and_further_jobs_wait_for_one(void **) {
    for (int32_t i = 0; i < 64; ++i) {
        post(stay_until_open);
    }
    assert_true(eventually([] { return inside == 64; }));
    post(count_run);
    sleep_ms(50);
    assert_int_equal(ran, 0);
    assert_int_equal(via::executor_threads(), 64);
    may_go_on = true;
    assert_true(eventually([] { return ran == 65; }));
}

void a_thread_that_is_idle_is_used_again(void **) {
    if (kUnderThreadSanitizer) {
        skip();  // it allows no threads in a child
    }
    assert_int_equal(exit_code_of_child([] {
                         for (int32_t i = 1; i <= 200; ++i) {
                             (void)!via::execute(new via::Job{count_run, nullptr});
                             if (!eventually([&] { return ran == i; })) {
                                 return 1;
                             }
                             usleep(200);
                         }
                         return via::executor_threads() <= 3 ? 0 : 2;
                     }),
                     0);
}

struct Surroundings {
    char name[16];
    sigset_t blocked;
    size_t stack_bytes;
};
Surroundings seen;

void look_around(via::Job *job) {
    delete job;
    pthread_getname_np(pthread_self(), seen.name, sizeof seen.name);
    pthread_sigmask(SIG_SETMASK, nullptr, &seen.blocked);
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &seen.stack_bytes);
    pthread_attr_destroy(&attributes);
    ran++;
}

void the_threads_have_a_name_no_signals_and_a_large_stack(void **) {
    post(look_around);
    assert_true(eventually([] { return ran == 1; }));
    assert_string_equal(seen.name, "viaduct-task");
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGPROF, SIGCHLD}) {
        assert_int_equal(sigismember(&seen.blocked, signal), 1);
    }
    // Their own faults must reach the program's handlers, as a virtual machine or a crash reporter has them.
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
        assert_int_equal(sigismember(&seen.blocked, signal), 0);
    }
    assert_true(seen.stack_bytes >= size_t{4} << 20);
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, nullptr, &own);
    assert_int_equal(sigismember(&own, SIGUSR1), 0);
}

// As an interpreter does that is being shut down.
void leave_thread(via::Job *job) {
    delete job;
    ran++;
    pthread_exit(nullptr);
}

void a_callback_may_end_the_thread(void **) {
    for (int32_t i = 0; i < 100; ++i) {
        post(leave_thread);
    }
    assert_true(eventually([] { return ran == 100; }));
    post(count_run);
    assert_true(eventually([] { return ran == 101; }));
    assert_true(eventually([] { return via::executor_threads() <= 64; }));
}

void where_no_thread_can_be_had_the_job_stays_the_callers(void **) {
    if (kUnderSanitizer || can_limit_memory() == 0) {
        skip();  // they need more address space than can be taken away
    }
    assert_int_equal(exit_code_of_child([] {
                         via::Job *job = new via::Job{count_run, nullptr};
                         const via::Status refused = [=] {
                             const NoThreads scope;
                             return via::execute(job);
                         }();
                         if (refused != VIA_ERROR_OUT_OF_MEMORY || via::executor_threads() != 0) {
                             return 1;
                         }
                         return via::execute(job) == VIA_OK && eventually([] { return ran == 1; }) ? 0 : 2;
                     }),
                     0);
}

void where_no_thread_can_be_had_none_is_held(void **) {
    if (kUnderSanitizer || can_limit_memory() == 0) {
        skip();
    }
    assert_int_equal(exit_code_of_child([] {
                         const NoThreads scope;
                         return via::reserve_thread() == VIA_ERROR_OUT_OF_MEMORY ? 0 : 1;
                     }),
                     0);
}

void a_thread_that_is_held_is_there_where_no_other_can_be_had(void **) {
    if (kUnderSanitizer || can_limit_memory() == 0) {
        skip();
    }
    assert_int_equal(exit_code_of_child([] {
                         via::Job *job = new via::Job{count_run, nullptr};
                         if (via::reserve_thread() != VIA_OK || via::executor_threads() != 1) {
                             return 1;
                         }
                         const NoThreads scope;
                         return via::execute(job) == VIA_OK && eventually([] { return ran == 1; }) ? 0 : 2;
                     }),
                     0);
}

void a_forked_child_has_threads_of_its_own(void **) {
    if (kUnderThreadSanitizer) {
        skip();  // it allows no threads there
    }
    post(stay_until_open);
    assert_true(eventually([] { return inside == 1; }));
    for (int32_t i = 0; i < 10; ++i) {
        assert_int_equal(exit_code_of_child([] {
                             if (via::executor_threads() != 0) {
                                 return 1;
                             }
                             (void)!via::execute(new via::Job{count_run, nullptr});
                             return eventually([] { return ran == 1; }) ? 0 : 2;
                         }),
                         0);
    }
    may_go_on = true;
    assert_true(eventually([] { return ran == 1; }));
}

// A callback of the parent may wait for a thread of the parent.
void inherited_jobs_that_are_held_up_do_not_hold_up_those_of_the_child(void **) {
    if (kUnderThreadSanitizer) {
        skip();
    }
    constexpr int32_t kThreads = 64;
    constexpr int32_t kQueued = 3;
    for (int32_t i = 0; i < kThreads + kQueued; ++i) {
        post(stay_until_open);
    }
    assert_true(eventually([] { return inside == kThreads; }));
    assert_int_equal(exit_code_of_child([] {
                         (void)!via::execute(new via::Job{count_run, nullptr});
                         return eventually([] { return ran == 1 && inside == kThreads + kQueued; }) ? 0 : 1;
                     }),
                     0);
    may_go_on = true;
    assert_true(eventually([] { return ran == kThreads + kQueued; }));
}

void a_process_may_exit_while_jobs_run(void **) {
    if (kUnderThreadSanitizer) {
        skip();
    }
    const pid_t pid = fork_with_allocator();
    if (pid == 0) {
        alarm(20);
        for (int32_t i = 0; i < 5; ++i) {
            (void)!via::execute(new via::Job{stay_until_open, nullptr});
        }
        (void)eventually([] { return inside == 5; });
        exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

// Does as the test below in a child of its own, with one thread held.
int keep_one_of_many() {
    post(stay_until_open);
    post(stay_until_open);
    const bool has_two = eventually([] { return inside == 2; });
    const via::Status held = via::reserve_thread();
    may_go_on = true;
    sleep_ms(via::kIdleSeconds * 1000 + 500);
    const bool has_one = eventually([] { return via::executor_threads() == 1; });
    return has_two && held == VIA_OK && has_one ? 0 : 1;
}

void threads_that_are_idle_for_long_end_but_for_one_that_is_held(void **) {
    int of_child = 0;
    std::thread child([&] { of_child = kUnderThreadSanitizer ? 0 : exit_code_of_child(keep_one_of_many); });
    post(count_run);
    assert_true(eventually([] { return ran == 1; }));
    assert_true(via::executor_threads() > 0);
    sleep_ms(via::kIdleSeconds * 1000 + 500);
    assert_true(eventually([] { return via::executor_threads() == 0; }));
    post(count_run);
    assert_true(eventually([] { return ran == 2; }));
    child.join();
    assert_int_equal(of_child, 0);
}

}  // namespace

#define JOB_TEST(function) cmocka_unit_test_setup(function, begin)

int main() {
    const CMUnitTest tests[] = {
        // First, while no stack lies about that a thread could be started on.
        JOB_TEST(where_no_thread_can_be_had_the_job_stays_the_callers),
        JOB_TEST(where_no_thread_can_be_had_none_is_held),
        JOB_TEST(a_thread_that_is_held_is_there_where_no_other_can_be_had),
        // While no idle thread ends: a fork at that moment leaves AddressSanitizer's own locks held in the child.
        JOB_TEST(a_forked_child_has_threads_of_its_own),
        JOB_TEST(inherited_jobs_that_are_held_up_do_not_hold_up_those_of_the_child),
        JOB_TEST(a_process_may_exit_while_jobs_run),
        JOB_TEST(every_job_runs_once),
        JOB_TEST(jobs_posted_by_many_threads_run_once),
        JOB_TEST(a_job_does_not_wait_for_those_that_are_held_up),
        JOB_TEST(there_are_at_most_64_threads_and_further_jobs_wait_for_one),
        JOB_TEST(the_threads_have_a_name_no_signals_and_a_large_stack),
        JOB_TEST(a_callback_may_end_the_thread),
        JOB_TEST(threads_that_are_idle_for_long_end_but_for_one_that_is_held),
        JOB_TEST(a_thread_that_is_idle_is_used_again),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
