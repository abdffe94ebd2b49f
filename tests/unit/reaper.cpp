// The reaper: polls fences, and has something done once they are reached.
#include "core/async/reaper.hpp"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pending_work.hpp"

namespace {

std::atomic<int32_t> invoked{0};
std::atomic<bool> gate_is_open{false};

// A watch of its own fences, which the test holds too.
struct Sample {
    via::DeferredCallback deferred{};
    std::vector<via::Fence *> fences;
    std::atomic<int32_t> *count = &invoked;
    pthread_t poster = pthread_self();
    static inline std::atomic<int32_t> on_poster{0};
};

void count_fire(via::DeferredCallback *deferred) {
    auto *sample = reinterpret_cast<Sample *>(deferred);
    Sample::on_poster += pthread_equal(sample->poster, pthread_self()) != 0 ? 1 : 0;
    std::atomic<int32_t> *count = sample->count;
    delete sample;
    (*count)++;
}

void hold_up(via::DeferredCallback *deferred) {
    while (!gate_is_open.load()) {
        usleep(100);
    }
    count_fire(deferred);
}

void watch_marks(const std::vector<FakeMark *> &fences, void (*invoke)(via::DeferredCallback *deferred) = count_fire) {
    auto *sample = new Sample;
    for (FakeMark *fence : fences) {
        fence->retain();
        sample->fences.push_back(fence);
    }
    sample->deferred = {sample->fences.data(), static_cast<int32_t>(sample->fences.size()), invoke, nullptr};
    via::defer(&sample->deferred);
}

int begin(void **) {
    invoked = 0;
    Sample::on_poster = 0;
    gate_is_open = false;
    return 0;
}

bool fires(int32_t count) {
    return eventually([&] { return invoked == count; });
}

void a_watch_fires_once_when_all_marks_are_reached(void **) {
    auto *first = new FakeMark;
    auto *second = new FakeMark;
    watch_marks({first, second});
    second->reach();
    sleep_ms(20);
    assert_int_equal(invoked, 0);
    first->reach();
    assert_true(fires(1));
    sleep_ms(20);
    assert_int_equal(invoked, 1);
    first->release();
    second->release();
}

void marks_are_released_before_it_fires(void **) {
    static std::atomic<int32_t> alive_then{-1};
    auto *fence = new FakeMark;
    watch_marks({fence}, [](via::DeferredCallback *deferred) {
        alive_then = FakeMark::alive.load();
        count_fire(deferred);
    });
    fence->release();
    fence->reach();  // the watch's own until then
    assert_true(fires(1));
    assert_int_equal(alive_then, 0);
}

void a_watch_of_nothing_fires_and_never_on_the_calling_thread(void **) {
    for (int32_t i = 0; i < 50; ++i) {
        watch_marks({});
    }
    assert_true(fires(50));
    assert_int_equal(Sample::on_poster, 0);
}

void neither_a_mark_nor_a_callback_holds_up_the_next_watch(void **) {
    auto *late = new FakeMark;
    auto *early = new FakeMark(true);
    watch_marks({late});
    watch_marks({early}, hold_up);
    watch_marks({early});
    assert_true(fires(1));
    watch_marks({early});
    assert_true(fires(2));
    gate_is_open = true;
    assert_true(fires(3));
    late->reach();
    assert_true(fires(4));
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
void a_mark_that_takes_long_is_asked_about_once_a_millisecond(void **) {
    constexpr int32_t kBeforeItSleepsLong = 100;
    auto *fence = new FakeMark;
    const int64_t start = now_ms();
    watch_marks({fence});
    assert_true(eventually([&] { return fence->asked > kBeforeItSleepsLong; }));
    sleep_ms(200);
    const int32_t asked = fence->asked;
    assert_int_in_range(asked, kBeforeItSleepsLong, kBeforeItSleepsLong + 2 * (now_ms() - start));
    fence->reach();
    assert_true(fires(1));
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

void with_nothing_to_watch_the_thread_sleeps(void **) {
    watch_marks({});
    assert_true(fires(1));
    assert_true(times_woken("viaduct-reaper") >= 0);
    int32_t looks = 1;
    while (is_woken_in_300_ms() && looks < 10) {
        looks++;  // it had not got to sleep yet
    }
    assert_int_in_range(looks, 1, 9);
    watch_marks({});
    assert_true(fires(2));
}

void the_thread_ends_when_there_is_nothing_to_watch_for_long_and_the_next_watch_has_another(void **) {
    watch_marks({});
    assert_true(fires(1));
    assert_true(times_woken("viaduct-reaper") >= 0);
    assert_true(eventually([] { return times_woken("viaduct-reaper") < 0; }));
    watch_marks({});
    assert_true(fires(2));
    assert_true(via::has_reaper());
}

void watches_of_many_threads_fire_once_each(void **) {
    constexpr int32_t kThreads = 4;
    constexpr int32_t kEach = 300;
    std::vector<std::thread> posters;
    for (int32_t i = 0; i < kThreads; ++i) {
        posters.emplace_back([i] {
            for (int32_t k = 0; k < kEach; ++k) {
                auto *now = new FakeMark(true);
                auto *soon = new FakeMark;
                watch_marks({now, soon});
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
    assert_true(fires(kThreads * kEach));
}

void a_watch_given_where_no_thread_can_be_had_fires_later(void **) {
    if (kUnderSanitizer || can_limit_memory() == 0) {
        skip();  // they need more address space than can be taken away
    }
    assert_int_equal(exit_code_of_child([] {
                         auto *sample = new Sample;
                         sample->deferred = {nullptr, 0, count_fire, nullptr};
                         {
                             const NoThreads scope;
                             via::defer(&sample->deferred);
                             usleep(20000);
                         }
                         if (invoked != 0) {
                             return 1;
                         }
                         watch_marks({});
                         return fires(2) ? 0 : 2;
                     }),
                     0);
}

void a_forked_child_goes_on_with_the_watches_of_its_parent(void **) {
    if (kUnderThreadSanitizer) {
        skip();  // it allows no threads there
    }
    auto *fence = new FakeMark;
    watch_marks({fence});
    sleep_ms(5);
    assert_int_equal(exit_code_of_child([&] {
                         fence->reach();
                         usleep(20000);
                         if (invoked != 0) {
                             return 1;  // nobody looks yet
                         }
                         via::resume_deferred();
                         return fires(1) ? 0 : 2;
                     }),
                     0);
    assert_int_equal(exit_code_of_child([&] {
                         watch_marks({});
                         if (!fires(1)) {
                             return 1;
                         }
                         fence->reach();
                         return fires(2) ? 0 : 2;
                     }),
                     0);
    assert_int_equal(invoked, 0);
    fence->reach();
    assert_true(fires(1));
    fence->release();
}

void forks_amid_watches_leave_children_that_watch(void **) {
    if (kUnderThreadSanitizer) {
        skip();
    }
    constexpr int32_t kMostAhead = 1000;
    std::atomic<bool> stop{false};
    int32_t posted = 0;
    std::thread poster([&] {
        while (!stop) {
            if (posted - invoked < kMostAhead) {
                watch_marks({});
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
                             sample->deferred = {nullptr, 0, count_fire, nullptr};
                             via::defer(&sample->deferred);
                             return eventually([&] { return own == 1; }) ? 0 : 1;
                         }),
                         0);
    }
    stop = true;
    poster.join();
    assert_true(fires(posted));
}

void a_process_may_exit_while_marks_are_watched(void **) {
    if (kUnderThreadSanitizer) {
        skip();
    }
    const pid_t pid = fork_with_allocator();
    if (pid == 0) {
        alarm(20);
        static FakeMark *never = new FakeMark;
        for (int32_t i = 0; i < 20; ++i) {
            watch_marks({never});
        }
        usleep(5000);
        exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

}  // namespace

#define WATCH_TEST(function) cmocka_unit_test_setup_teardown(function, begin, no_mark_is_left)

int main() {
    const CMUnitTest tests[] = {
        // First, while no stack lies about that a thread could be started on.
        WATCH_TEST(a_watch_given_where_no_thread_can_be_had_fires_later),
        WATCH_TEST(a_watch_fires_once_when_all_marks_are_reached),
        WATCH_TEST(marks_are_released_before_it_fires),
        WATCH_TEST(a_watch_of_nothing_fires_and_never_on_the_calling_thread),
        WATCH_TEST(neither_a_mark_nor_a_callback_holds_up_the_next_watch),
        WATCH_TEST(a_mark_that_takes_long_is_asked_about_once_a_millisecond),
        WATCH_TEST(with_nothing_to_watch_the_thread_sleeps),
        WATCH_TEST(the_thread_ends_when_there_is_nothing_to_watch_for_long_and_the_next_watch_has_another),
        WATCH_TEST(watches_of_many_threads_fire_once_each),
        WATCH_TEST(a_forked_child_goes_on_with_the_watches_of_its_parent),
        WATCH_TEST(forks_amid_watches_leave_children_that_watch),
        WATCH_TEST(a_process_may_exit_while_marks_are_watched),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
