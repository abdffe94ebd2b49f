// Tasks: their states, what waits for them, and what is called when they end.
#include "core/task.hpp"

#include <pthread.h>
#include <string.h>

#include <string>

#include "behind_support.hpp"
#include "core/background.hpp"
#include "core/thread_state.hpp"

namespace {

// Work that does what its test wants, step by step.
struct FakeWork : via::TaskWork {
    FakeWork() : TaskWork{run_work, end_work} {}

    static via::Status run_work(TaskWork *work, via_task *task, via::Mark **out_mark) {
        auto *fake = static_cast<FakeWork *>(work);
        fake->runs++;
        fake->ran_on = pthread_self();
        while (fake->held && !(fake->heeds_cancel && via::is_cancelled(task))) {
            usleep(50);
        }
        if (fake->mark != nullptr) {
            fake->mark->retain();
            *out_mark = fake->mark;
        }
        if (fake->heeds_cancel && via::is_cancelled(task)) {
            return via::fail(VIA_ERROR_CANCELLED, "stopped in the middle");
        }
        return fake->status == VIA_OK ? VIA_OK : via::fail_with_code(fake->status, 77, "%s", fake->text.c_str());
    }

    static void end_work(TaskWork *work) {
        auto *fake = static_cast<FakeWork *>(work);
        if (fake->at_end != nullptr) {
            fake->at_end(fake);
        }
        fake->ends++;
    }

    std::atomic<bool> held{false};
    bool heeds_cancel = false;
    FakeMark *mark = nullptr;
    via::Status status = VIA_OK;
    std::string text = "cuMemcpy: CUDA_ERROR_ILLEGAL_ADDRESS";
    void (*at_end)(FakeWork *fake) = nullptr;
    via_task *task = nullptr;
    std::atomic<int32_t> runs{0};
    std::atomic<int32_t> ends{0};
    pthread_t ran_on{};
};

// What a callback was told.
struct Heard {
    std::atomic<int32_t> times{0};
    std::atomic<int32_t> status{-1};
    std::string text;
    pthread_t on{};
    int32_t ends_then = -1;
    FakeWork *work = nullptr;
    static void hear(int32_t status, const char *text, void *context) {
        auto *heard = static_cast<Heard *>(context);
        heard->text = text;
        heard->on = pthread_self();
        heard->ends_then = heard->work != nullptr ? heard->work->ends.load() : -1;
        heard->status = status;
        heard->times++;
    }
    bool within_time() {
        return eventually([this] { return times == 1; });
    }
};

via_task *start(FakeWork *work, via::Mark *gate = nullptr, bool immediate = false, int64_t nbytes = 100) {
    via_task *task = nullptr;
    assert_int_equal(via::start_task(work, nbytes, gate, immediate, &task), VIA_OK);
    work->task = task;
    return task;
}

void expect_progress(via_task *task, int64_t done, int64_t total) {
    int64_t found_done = -1;
    int64_t found_total = -1;
    via::task_progress(task, &found_done, &found_total);
    assert_int_equal(found_done, done);
    assert_int_equal(found_total, total);
}

bool is_here(pthread_t thread) { return pthread_equal(thread, pthread_self()) != 0; }

void expect_forgotten_error() { assert_string_equal(via::last_error_text(), "before"); }
void remember_error() { (void)!via::fail(VIA_ERROR_INDEX, "before"); }

void a_task_runs_behind_the_caller_and_ends_once(void **) {
    FakeWork work;
    work.held = true;
    via_task *task = start(&work);
    assert_false(via::task_ended(task));
    assert_true(eventually([&] { return work.runs == 1; }));
    work.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    assert_true(via::task_ended(task));
    assert_int_equal(work.runs, 1);
    assert_int_equal(work.ends, 1);
    assert_false(is_here(work.ran_on));
    expect_progress(task, 100, 100);
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    via::release_task(task);
}

void a_task_begins_only_after_its_gate(void **) {
    FakeWork work;
    auto *gate = new FakeMark;
    via_task *task = start(&work, gate, true);
    sleep_ms(20);
    assert_int_equal(work.runs, 0);
    gate->reach();
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    assert_int_equal(work.runs, 1);
    via::release_task(task);
    gate->release();
}

void immediate_work_runs_on_the_calling_thread_and_its_failure_is_the_tasks(void **) {
    FakeWork work;
    auto *gate = new FakeMark(true);
    work.status = VIA_ERROR_CUDA;
    remember_error();
    via_task *task = start(&work, gate, true);
    expect_forgotten_error();
    assert_true(is_here(work.ran_on));
    assert_true(via::task_ended(task));
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_CUDA);
    assert_string_equal(via::last_error_text(), work.text.c_str());
    assert_int_equal(via::last_error_code(), 77);
    via::release_task(task);
    gate->release();
}

void every_waiter_is_told_how_the_task_failed(void **) {
    FakeWork work;
    work.status = VIA_ERROR_CUDA;
    work.held = true;
    via_task *task = start(&work);
    std::atomic<int32_t> told{0};
    std::vector<std::thread> waiters;
    for (int32_t i = 0; i < 5; ++i) {
        waiters.emplace_back([&] {
            const bool failed = via::wait_for_task(task) == VIA_ERROR_CUDA;
            told += failed && work.text == via::last_error_text() && via::last_error_code() == 77 ? 1 : 0;
        });
    }
    sleep_ms(5);
    work.held = false;
    for (std::thread &waiter : waiters) {
        waiter.join();
    }
    assert_int_equal(told, 5);
    assert_int_equal(work.ends, 1);
    expect_progress(task, 0, 100);
    via::release_task(task);
}

void the_text_of_a_failure_is_utf8_and_fits(void **) {
    FakeWork work;
    work.status = VIA_ERROR_IO;
    work.text = "caf\xE9 " + std::string(995, 'x') + "\xE2\x82\xAC";
    Heard heard;
    via_task *task = start(&work);
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_IO);
    assert_memory_equal(via::last_error_text(), "caf? xxx", 8);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
    assert_int_equal(heard.text.size(), via::ErrorRecord::kCapacity - 1);
    assert_int_equal(heard.text.find('\xE2'), std::string::npos);
    via::release_task(task);
}

void handed_over_work_ends_when_the_device_has_done_it(void **) {
    FakeWork work;
    work.mark = new FakeMark;
    Heard heard;
    heard.work = &work;
    via_task *task = start(&work);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
    assert_true(eventually([&] { return work.runs == 1; }));
    sleep_ms(10);
    assert_false(via::task_ended(task));
    assert_int_equal(work.ends, 0);
    work.mark->reach();
    assert_true(eventually([&] { return via::task_ended(task); }));
    assert_true(heard.within_time());
    assert_int_equal(heard.ends_then, 1);
    expect_progress(task, 100, 100);
    via::release_task(task);
    work.mark->release();
}

void whoever_waits_for_handed_over_work_waits_for_the_device_itself(void **) {
    FakeWork work;
    work.mark = new FakeMark;
    work.mark->failure = VIA_ERROR_CUDA;
    via_task *task = start(&work, nullptr, true);
    std::thread device([&] {
        usleep(5000);
        work.mark->reach();
    });
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_CUDA);
    assert_string_equal(via::last_error_text(), "the device has failed");
    assert_int_equal(via::last_error_code(), 700);
    assert_in_range(work.mark->waits, 1, 2);
    assert_int_equal(work.ends, 1);
    device.join();
    via::release_task(task);
    work.mark->release();
}

void work_that_failed_halfway_is_held_until_the_device_is_done(void **) {
    FakeWork work;
    work.status = VIA_ERROR_POINTER;
    work.mark = new FakeMark;
    via_task *task = start(&work, nullptr, true);
    sleep_ms(10);
    assert_int_equal(work.ends, 0);
    work.mark->reach();
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_POINTER);
    assert_string_equal(via::last_error_text(), work.text.c_str());
    via::release_task(task);
    work.mark->release();
}

void progress_never_goes_back_and_never_beyond_the_total(void **) {
    FakeWork work;
    work.held = true;
    via_task *task = start(&work);
    via::report_progress(task, 30);
    expect_progress(task, 30, 100);
    via::report_progress(task, 20);
    expect_progress(task, 30, 100);
    via::report_progress(task, 1000);
    expect_progress(task, 100, 100);
    via::report_progress(nullptr, 5);
    work.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    via::release_task(task);
}

void a_task_cancelled_before_it_begins_never_runs_and_ends_at_once(void **) {
    FakeWork work;
    auto *gate = new FakeMark;
    Heard heard;
    heard.work = &work;
    via_task *task = start(&work, gate);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
    remember_error();
    via::cancel_task(task);
    expect_forgotten_error();
    assert_true(via::task_ended(task));
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_CANCELLED);
    assert_non_null(strstr(via::last_error_text(), "cancelled"));
    assert_true(heard.within_time());
    assert_int_equal(heard.status, VIA_ERROR_CANCELLED);
    assert_false(is_here(heard.on));
    assert_int_equal(heard.ends_then, 1);
    gate->reach();
    sleep_ms(10);
    assert_int_equal(work.runs, 0);
    assert_int_equal(work.ends, 1);
    assert_int_equal(heard.times, 1);
    via::release_task(task);
    gate->release();
}

void the_mark_of_a_task_that_never_began_is_its_gate(void **) {
    FakeWork work;
    auto *gate = new FakeMark;
    via_task *task = start(&work, gate);
    via::Mark *mark = via::task_mark(task);
    via::cancel_task(task);
    assert_false(mark->reached());
    // A stream's, of which a fake mark reads nothing.
    const auto *stream = reinterpret_cast<const via::StreamUse *>(&work);
    assert_int_equal(mark->order(*stream), VIA_OK);
    assert_int_equal(gate->orders, 1);
    gate->reach();
    assert_true(mark->reached());
    assert_int_equal(mark->wait(), VIA_OK);
    mark->release();
    via::release_task(task);
    gate->release();
}

void a_task_cancelled_while_it_runs_ends_as_its_work_says(void **) {
    for (const bool heeds_cancel : {true, false}) {
        FakeWork work;
        work.heeds_cancel = heeds_cancel;
        work.held = true;
        via_task *task = start(&work);
        assert_true(eventually([&] { return work.runs == 1; }));
        via::cancel_task(task);
        assert_true(heeds_cancel || !via::task_ended(task));
        work.held = heeds_cancel;
        assert_int_equal(via::wait_for_task(task), heeds_cancel ? VIA_ERROR_CANCELLED : VIA_OK);
        via::release_task(task);
    }
}

void a_task_cancelled_on_the_device_or_after_its_end_stays_what_it_is(void **) {
    FakeWork work;
    work.mark = new FakeMark;
    via_task *task = start(&work, nullptr, true);
    via::cancel_task(task);
    assert_false(via::task_ended(task));
    work.mark->reach();
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    via::cancel_task(task);
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    via::release_task(task);
    work.mark->release();
}

void a_callback_registered_early_is_called_once_on_another_thread(void **) {
    FakeWork work;
    work.held = true;
    work.status = VIA_ERROR_IO;
    Heard heard;
    heard.work = &work;
    via_task *task = start(&work);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
    work.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_IO);
    assert_true(heard.within_time());
    assert_int_equal(heard.status, VIA_ERROR_IO);
    assert_string_equal(heard.text.c_str(), work.text.c_str());
    assert_false(is_here(heard.on));
    assert_int_equal(heard.ends_then, 1);
    via::release_task(task);
}

void a_callback_registered_late_is_called_at_once_on_this_thread(void **) {
    FakeWork work;
    Heard heard;
    via_task *task = start(&work);
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
    assert_int_equal(heard.times, 1);
    assert_int_equal(heard.status, VIA_OK);
    assert_string_equal(heard.text.c_str(), "");
    assert_true(is_here(heard.on));
    via::release_task(task);
}

void a_second_callback_is_refused_before_and_after_the_end(void **) {
    FakeWork work;
    work.held = true;
    Heard first;
    Heard second;
    via_task *task = start(&work);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &first), VIA_OK);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &second), VIA_ERROR_INVALID_ARGUMENT);
    work.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    assert_true(first.within_time());
    assert_int_equal(via::on_task_complete(task, Heard::hear, &second), VIA_ERROR_INVALID_ARGUMENT);
    sleep_ms(10);
    assert_int_equal(first.times, 1);
    assert_int_equal(second.times, 0);
    via::release_task(task);
}

void registering_while_tasks_end_calls_each_callback_once(void **) {
    for (int32_t i = 0; i < 500; ++i) {
        FakeWork work;
        work.mark = i % 3 == 0 ? new FakeMark(true) : nullptr;
        Heard heard;
        via_task *task = start(&work, nullptr, i % 2 == 0);
        std::thread other([&] { (void)!via::wait_for_task(task); });
        assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
        other.join();
        assert_true(heard.within_time());
        via::release_task(task);
        // The callback still stands on this frame until it has returned.
        assert_true(eventually([&] { return work.ends == 1; }));
        if (work.mark != nullptr) {
            work.mark->release();
        }
        usleep(100);
        assert_int_equal(heard.times, 1);
    }
}

// While a thread of the caller lets go of what the task held, the machinery finds that it has nothing left to do: the
// callback must not get lost between the two.
void a_callback_is_called_though_the_caller_ends_the_task_slowly(void **) {
    const auto slow = [](FakeWork *) { sleep_ms(30); };
    for (const bool cancels : {false, true}) {
        FakeWork work;
        auto *gate = new FakeMark;
        work.at_end = slow;
        work.mark = new FakeMark;
        Heard heard;
        via_task *task = cancels ? start(&work, gate) : start(&work, nullptr, true);
        assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
        std::thread other([&] { cancels ? via::cancel_task(task) : (void)!via::wait_for_task(task); });
        assert_true(eventually([&] { return cancels || work.mark->waits > 0; }));
        sleep_ms(cancels ? 10 : 0);
        gate->reach();
        work.mark->reach();
        other.join();
        assert_true(heard.within_time());
        via::release_task(task);
        gate->release();
        work.mark->release();
    }
}

// In a callback: waiting for another task that runs is refused, for one that has ended it is not.
struct Waits {
    via_task *running;
    via_task *ended;
    std::atomic<int32_t> of_running{-1};
    std::atomic<int32_t> of_ended{-1};
    std::atomic<int32_t> of_mark{-1};
    std::atomic<bool> called{false};
};

void wait_inside(int32_t, const char *, void *context) {
    auto *waits = static_cast<Waits *>(context);
    waits->of_running = via::wait_for_task(waits->running);
    waits->of_ended = via::wait_for_task(waits->ended);
    via::Mark *mark = via::task_mark(waits->running);
    waits->of_mark = mark->wait();
    mark->release();
    waits->called = true;
}

void waiting_inside_a_callback_is_refused_unless_the_task_has_ended(void **) {
    FakeWork running;
    running.held = true;
    FakeWork work;
    Waits waits{start(&running), start(&work)};
    assert_int_equal(via::wait_for_task(waits.ended), VIA_OK);
    assert_int_equal(via::on_task_complete(waits.ended, wait_inside, &waits), VIA_OK);
    assert_true(waits.called);
    assert_int_equal(waits.of_running, VIA_ERROR_WOULD_DEADLOCK);
    assert_int_equal(waits.of_mark, VIA_ERROR_WOULD_DEADLOCK);
    assert_int_equal(waits.of_ended, VIA_OK);
    running.held = false;
    assert_int_equal(via::wait_for_task(waits.running), VIA_OK);
    via::release_task(waits.running);
    via::release_task(waits.ended);
}

void *wait_for_ever(void *task) {
    (void)!via::wait_for_task(static_cast<via_task *>(task));
    return nullptr;
}

void a_thread_cancelled_while_it_waits_leaves_the_task_as_it_is(void **) {
    FakeWork work;
    work.held = true;
    via_task *task = start(&work);
    pthread_t waiter{};
    void *result = nullptr;
    assert_int_equal(pthread_create(&waiter, nullptr, wait_for_ever, task), 0);
    sleep_ms(10);
    assert_int_equal(pthread_cancel(waiter), 0);
    assert_int_equal(pthread_join(waiter, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_false(via::task_ended(task));
    work.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    via::release_task(task);
}

// While the work lets go, its mark is already reached and its task has not yet ended.
void the_end_of_the_work_comes_between_its_mark_and_the_end_of_the_task(void **) {
    static std::atomic<int32_t> seen{0};
    seen = 0;
    FakeWork work;
    work.held = true;
    work.at_end = [](FakeWork *fake) {
        via::Mark *mark = via::task_mark(fake->task);
        seen = (mark->reached() ? 1 : 0) + (via::task_ended(fake->task) ? 0 : 2) + (mark->wait() == VIA_OK ? 4 : 0);
        mark->release();
    };
    via_task *task = start(&work);
    work.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    assert_int_equal(seen, 7);
    via::release_task(task);
}

void the_mark_orders_a_stream_behind_the_device_and_waits_for_the_host(void **) {
    FakeWork work;
    work.mark = new FakeMark;
    work.held = true;
    via_task *task = start(&work);
    via::Mark *mark = via::task_mark(task);
    assert_false(mark->reached());
    std::thread host([&] {
        usleep(5000);
        work.held = false;
    });
    const auto *stream = reinterpret_cast<const via::StreamUse *>(&work);
    assert_int_equal(mark->order(*stream), VIA_OK);
    assert_false(work.held);
    assert_int_equal(work.mark->orders, 1);
    assert_int_equal(work.mark->waits, 0);
    host.join();
    work.mark->reach();
    assert_true(mark->reached());
    assert_int_equal(mark->wait(), VIA_OK);
    assert_int_equal(mark->order(*stream), VIA_OK);
    mark->release();
    via::release_task(task);
    work.mark->release();
}

void a_released_task_runs_on_and_calls_back(void **) {
    FakeWork work;
    work.held = true;
    Heard heard;
    heard.work = &work;
    via_task *task = start(&work);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
    via::release_task(task);
    sleep_ms(5);
    work.held = false;
    assert_true(heard.within_time());
    assert_int_equal(heard.ends_then, 1);
}

void tasks_of_many_threads_end_once_each(void **) {
    std::atomic<int32_t> wrong{0};
    std::vector<std::thread> users;
    for (int32_t i = 0; i < 4; ++i) {
        users.emplace_back([&, i] {
            for (int32_t k = 0; k < 150; ++k) {
                FakeWork work;
                auto *gate = new FakeMark;
                work.mark = new FakeMark;
                via_task *task = start(&work, gate, k % 2 == 0);
                std::thread rival([&] { (k % 5 == 0 ? via::cancel_task(task) : (void)!via::wait_for_task(task)); });
                gate->reach();
                work.mark->reach();
                const via::Status status = via::wait_for_task(task);
                rival.join();
                wrong += (status == VIA_OK || (k % 5 == 0 && status == VIA_ERROR_CANCELLED)) && work.ends == 1 ? 0 : 1;
                wrong += status == VIA_OK && work.runs != 1 ? 1 : 0;
                via::release_task(task);
                work.mark->release();
                gate->release();
                (void)i;
            }
        });
    }
    for (std::thread &user : users) {
        user.join();
    }
    assert_int_equal(wrong, 0);
}

void in_a_forked_child_a_running_task_of_the_parent_has_failed(void **) {
    FakeWork running;
    running.held = true;
    FakeWork waiting;
    auto *gate = new FakeMark;
    FakeWork done;
    Heard heard;
    Heard late;
    via_task *tasks[] = {start(&running), start(&waiting, gate), start(&done)};
    assert_int_equal(via::wait_for_task(tasks[2]), VIA_OK);
    assert_int_equal(via::on_task_complete(tasks[0], Heard::hear, &heard), VIA_OK);
    assert_int_equal(
        exit_code_of_child([&] {
            for (via_task *task : {tasks[0], tasks[1]}) {
                via::Mark *mark = via::task_mark(task);
                if (!via::task_ended(task) || via::wait_for_task(task) != VIA_ERROR_FORKED || !mark->reached()) {
                    return 1;
                }
                mark->release();
            }
            via::cancel_task(tasks[0]);
            (void)!via::on_task_complete(tasks[1], Heard::hear, &late);
            const bool told = heard.times == 0 && late.times == 1 && late.status == VIA_ERROR_FORKED;
            return told && via::wait_for_task(tasks[2]) == VIA_OK && running.ends == 0 ? 0 : 2;
        }),
        0);
    running.held = false;
    gate->reach();
    for (via_task *task : tasks) {
        assert_int_equal(via::wait_for_task(task), VIA_OK);
        via::release_task(task);
    }
    assert_true(heard.within_time());
    gate->release();
}

void a_forked_child_starts_tasks_of_its_own(void **) {
    if (kUnderThreadSanitizer) {
        skip();  // it allows no threads there
    }
    FakeWork running;
    running.held = true;
    via_task *task = start(&running);
    assert_true(eventually([&] { return running.runs == 1; }));
    for (int32_t i = 0; i < 5; ++i) {
        assert_int_equal(exit_code_of_child([] {
                             FakeWork work;
                             auto *gate = new FakeMark;
                             via_task *own = start(&work, gate);
                             gate->reach();
                             return via::wait_for_task(own) == VIA_OK && work.ends == 1 ? 0 : 1;
                         }),
                         0);
    }
    running.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    via::release_task(task);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        MARK_TEST(a_task_runs_behind_the_caller_and_ends_once),
        MARK_TEST(a_task_begins_only_after_its_gate),
        MARK_TEST(immediate_work_runs_on_the_calling_thread_and_its_failure_is_the_tasks),
        MARK_TEST(every_waiter_is_told_how_the_task_failed),
        MARK_TEST(the_text_of_a_failure_is_utf8_and_fits),
        MARK_TEST(handed_over_work_ends_when_the_device_has_done_it),
        MARK_TEST(whoever_waits_for_handed_over_work_waits_for_the_device_itself),
        MARK_TEST(work_that_failed_halfway_is_held_until_the_device_is_done),
        MARK_TEST(progress_never_goes_back_and_never_beyond_the_total),
        MARK_TEST(a_task_cancelled_before_it_begins_never_runs_and_ends_at_once),
        MARK_TEST(the_mark_of_a_task_that_never_began_is_its_gate),
        MARK_TEST(a_task_cancelled_while_it_runs_ends_as_its_work_says),
        MARK_TEST(a_task_cancelled_on_the_device_or_after_its_end_stays_what_it_is),
        MARK_TEST(a_callback_registered_early_is_called_once_on_another_thread),
        MARK_TEST(a_callback_registered_late_is_called_at_once_on_this_thread),
        MARK_TEST(a_second_callback_is_refused_before_and_after_the_end),
        MARK_TEST(registering_while_tasks_end_calls_each_callback_once),
        MARK_TEST(a_callback_is_called_though_the_caller_ends_the_task_slowly),
        MARK_TEST(waiting_inside_a_callback_is_refused_unless_the_task_has_ended),
        MARK_TEST(a_thread_cancelled_while_it_waits_leaves_the_task_as_it_is),
        MARK_TEST(the_end_of_the_work_comes_between_its_mark_and_the_end_of_the_task),
        MARK_TEST(the_mark_orders_a_stream_behind_the_device_and_waits_for_the_host),
        MARK_TEST(a_released_task_runs_on_and_calls_back),
        MARK_TEST(tasks_of_many_threads_end_once_each),
        MARK_TEST(in_a_forked_child_a_running_task_of_the_parent_has_failed),
        MARK_TEST(a_forked_child_starts_tasks_of_its_own),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
