// The reaper: polls fences, and has something done once they are reached.
#include "core/async/reaper.hpp"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pending_work.hpp"

namespace {

std::atomic<int32_t> invoked{0};
std::atomic<bool> may_go_on{false};

// A callback with its fences, which the test holds too.
struct Sample {
    via::DeferredCallback deferred{};
    std::vector<via::Fence *> fences;
    std::atomic<int32_t> *count = &invoked;
    pthread_t poster = pthread_self();
    static inline std::atomic<int32_t> on_poster{0};
};

void count_call(via::DeferredCallback *deferred) {
    auto *sample = reinterpret_cast<Sample *>(deferred);
    Sample::on_poster += pthread_equal(sample->poster, pthread_self()) != 0 ? 1 : 0;
    std::atomic<int32_t> *count = sample->count;
    delete sample;
    (*count)++;
}

void hold_up(via::DeferredCallback *deferred) {
    while (!may_go_on.load()) {
        usleep(100);
    }
    count_call(deferred);
}

void defer_until_reached(const std::vector<FakeFence *> &fences,
                         void (*invoke)(via::DeferredCallback *deferred) = count_call) {
    auto *sample = new Sample;
    for (FakeFence *fence : fences) {
        fence->retain();
        sample->fences.push_back(fence);
    }
    sample->deferred = {sample->fences.data(), static_cast<int32_t>(sample->fences.size()), invoke, nullptr};
    via::defer(&sample->deferred);
}

int begin(void **) {
    invoked = 0;
    Sample::on_poster = 0;
    may_go_on = false;
    return 0;
}

bool are_invoked(int32_t count) {
    return eventually([&] { return invoked == count; });
}

void a_callback_is_invoked_once_when_all_fences_are_reached(void **) {
    auto *first = new FakeFence;
    auto *second = new FakeFence;
    defer_until_reached({first, second});
    second->reach();
    sleep_ms(20);
    assert_int_equal(invoked, 0);
    first->reach();
    assert_true(are_invoked(1));
    sleep_ms(20);
    assert_int_equal(invoked, 1);
    first->release();
    second->release();
}

void fences_are_released_before_the_callback(void **) {
    static std::atomic<int32_t> alive_then{-1};
    auto *fence = new FakeFence;
    defer_until_reached({fence}, [](via::DeferredCallback *deferred) {
        alive_then = FakeFence::alive.load();
        count_call(deferred);
    });
    fence->release();
    fence->reach();  // the callback holds it until then
    assert_true(are_invoked(1));
    assert_int_equal(alive_then, 0);
}

void a_callback_without_fences_is_invoked_and_never_on_the_calling_thread(void **) {
    for (int32_t i = 0; i < 50; ++i) {
        defer_until_reached({});
    }
    assert_true(are_invoked(50));
    assert_int_equal(Sample::on_poster, 0);
}

void neither_a_fence_nor_a_callback_holds_up_the_next_callback(void **) {
    auto *late = new FakeFence;
    auto *early = new FakeFence(true);
    defer_until_reached({late});
    defer_until_reached({early}, hold_up);
    defer_until_reached({early});
    assert_true(are_invoked(1));
    defer_until_reached({early});
    assert_true(are_invoked(2));
    may_go_on = true;
    assert_true(are_invoked(3));
    late->reach();
    assert_true(are_invoked(4));
    late->release();
    early->release();
}

int64_t now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * int64_t{1000} + now.tv_nsec / 1000000;
}

// However late this thread or the reaper gets its turn: a loop without sleeps would ask thousands of times in each of
// the milliseconds.
void a_fence_that_takes_long_is_asked_about_once_a_millisecond(void **) {
    constexpr int32_t kBeforeItSleepsLong = 100;
    auto *fence = new FakeFence;
    const int64_t start = now_ms();
    defer_until_reached({fence});
    assert_true(eventually([&] { return fence->asked > kBeforeItSleepsLong; }));
    sleep_ms(200);
    const int32_t asked = fence->asked;
    assert_int_in_range(asked, kBeforeItSleepsLong, kBeforeItSleepsLong + 2 * (now_ms() - start));
    fence->reach();
    assert_true(are_invoked(1));
    fence->release();
}

// Of the thread with that name; -1 if there is none.
long times_woken(const char *name) {
    DIR *tasks = opendir("/proc/self/task");
    long woken = -1;
    for (const dirent *entry = readdir(tasks); entry != nullptr; entry = readdir(tasks)) {
        char path[64];
        char line[256];
        snprintf(path, sizeof path, "/proc/self/task/%.20s/status", entry->d_name);
        FILE *file = fopen(path, "r");
        bool is_meant = false;
        while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
            is_meant = is_meant || (strncmp(line, "Name:", 5) == 0 && strstr(line, name) != nullptr);
            long count = 0;
            if (is_meant && sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1) {
                woken = count;
            }
        }
        if (file != nullptr) {
            fclose(file);
        }
    }
    closedir(tasks);
    return woken;
}

// Hundreds of times if it polled.
bool is_woken_in_300_ms() {
    const long before = times_woken("viaduct-reaper");
    sleep_ms(300);
    return times_woken("viaduct-reaper") != before;
}

void without_callbacks_the_thread_sleeps(void **) {
    defer_until_reached({});
    assert_true(are_invoked(1));
    assert_true(times_woken("viaduct-reaper") >= 0);
    int32_t looks = 1;
    while (is_woken_in_300_ms() && looks < 10) {
        looks++;  // it had not got to sleep yet
    }
    assert_int_in_range(looks, 1, 9);
    defer_until_reached({});
    assert_true(are_invoked(2));
}

void the_thread_ends_after_long_without_callbacks_and_the_next_one_has_another(void **) {
    defer_until_reached({});
    assert_true(are_invoked(1));
    assert_true(times_woken("viaduct-reaper") >= 0);
    assert_true(eventually([] { return times_woken("viaduct-reaper") < 0; }));
    defer_until_reached({});
    assert_true(are_invoked(2));
    assert_true(via::has_reaper());
}

void callbacks_of_many_threads_are_invoked_once_each(void **) {
    constexpr int32_t kThreads = 4;
    constexpr int32_t kEach = 300;
    std::vector<std::thread> posters;
    for (int32_t i = 0; i < kThreads; ++i) {
        posters.emplace_back([i] {
            for (int32_t k = 0; k < kEach; ++k) {
                auto *now = new FakeFence(true);
                auto *soon = new FakeFence;
                defer_until_reached({now, soon});
                if ((k + i) % 7 == 0) {
                    usleep(50);
                }
                soon->reach();
                soon->release();
                now->release();
            }
        });
    }
    for (std::thread &poster : posters) {
        poster.join();
    }
    assert_true(are_invoked(kThreads * kEach));
}

void a_callback_deferred_where_no_thread_can_be_had_is_invoked_later(void **) {
    if (kUnderSanitizer || can_limit_memory() == 0) {
        skip();  // they need more address space than can be taken away
    }
    assert_int_equal(exit_code_of_child([] {
                         auto *sample = new Sample;
                         sample->deferred = {nullptr, 0, count_call, nullptr};
                         {
                             const NoThreads scope;
                             via::defer(&sample->deferred);
                             usleep(20000);
                         }
                         if (invoked != 0) {
                             return 1;
                         }
                         defer_until_reached({});
                         return are_invoked(2) ? 0 : 2;
                     }),
                     0);
}

void a_forked_child_goes_on_with_the_callbacks_of_its_parent(void **) {
    if (kUnderThreadSanitizer) {
        skip();  // it allows no threads there
    }
    auto *fence = new FakeFence;
    defer_until_reached({fence});
    sleep_ms(5);
    assert_int_equal(exit_code_of_child([&] {
                         fence->reach();
                         usleep(20000);
                         if (invoked != 0) {
                             return 1;  // nobody looks yet
                         }
                         via::resume_deferred();
                         return are_invoked(1) ? 0 : 2;
                     }),
                     0);
    assert_int_equal(exit_code_of_child([&] {
                         defer_until_reached({});
                         if (!are_invoked(1)) {
                             return 1;
                         }
                         fence->reach();
                         return are_invoked(2) ? 0 : 2;
                     }),
                     0);
    assert_int_equal(invoked, 0);
    fence->reach();
    assert_true(are_invoked(1));
    fence->release();
}

void forks_amid_callbacks_leave_children_that_poll(void **) {
    if (kUnderThreadSanitizer) {
        skip();
    }
    constexpr int32_t kMostAhead = 1000;
    std::atomic<bool> stop{false};
    int32_t posted = 0;
    std::thread poster([&] {
        while (!stop) {
            if (posted - invoked < kMostAhead) {
                defer_until_reached({});
                posted++;
            }
            usleep(20);
        }
    });
    for (int32_t i = 0; i < 50; ++i) {
        assert_int_equal(exit_code_of_child([] {
                             std::atomic<int32_t> own{0};
                             auto *sample = new Sample;
                             sample->count = &own;
                             sample->deferred = {nullptr, 0, count_call, nullptr};
                             via::defer(&sample->deferred);
                             return eventually([&] { return own == 1; }) ? 0 : 1;
                         }),
                         0);
    }
    stop = true;
    poster.join();
    assert_true(are_invoked(posted));
}

void a_process_may_exit_while_fences_are_polled(void **) {
    if (kUnderThreadSanitizer) {
        skip();
    }
    const pid_t pid = fork_with_allocator();
    if (pid == 0) {
        alarm(20);
        static FakeFence *never = new FakeFence;
        for (int32_t i = 0; i < 20; ++i) {
            defer_until_reached({never});
        }
        usleep(5000);
        exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

}  // namespace

#define REAPER_TEST(function) cmocka_unit_test_setup_teardown(function, begin, no_fence_is_left)

int main() {
    const CMUnitTest tests[] = {
        // First, while no stack lies about that a thread could be started on.
        REAPER_TEST(a_callback_deferred_where_no_thread_can_be_had_is_invoked_later),
        REAPER_TEST(a_callback_is_invoked_once_when_all_fences_are_reached),
        REAPER_TEST(fences_are_released_before_the_callback),
        REAPER_TEST(a_callback_without_fences_is_invoked_and_never_on_the_calling_thread),
        REAPER_TEST(neither_a_fence_nor_a_callback_holds_up_the_next_callback),
        REAPER_TEST(a_fence_that_takes_long_is_asked_about_once_a_millisecond),
        REAPER_TEST(without_callbacks_the_thread_sleeps),
        REAPER_TEST(the_thread_ends_after_long_without_callbacks_and_the_next_one_has_another),
        REAPER_TEST(callbacks_of_many_threads_are_invoked_once_each),
        REAPER_TEST(a_forked_child_goes_on_with_the_callbacks_of_its_parent),
        REAPER_TEST(forks_amid_callbacks_leave_children_that_poll),
        REAPER_TEST(a_process_may_exit_while_fences_are_polled),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
