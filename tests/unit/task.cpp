// Tasks: their states, and what waits for them.
#include "core/async/task.hpp"
#include "core/async/reaper.hpp"
#include "task_support.hpp"

namespace {

void a_task_runs_on_another_thread_and_ends_once(void **) {
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

void a_task_begins_only_after_its_dependency(void **) {
    FakeWork work;
    auto *dependency = new FakeFence;
    via_task *task = start(&work, dependency, true);
    sleep_ms(20);
    assert_int_equal(work.runs, 0);
    dependency->reach();
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    assert_int_equal(work.runs, 1);
    via::release_task(task);
    dependency->release();
}

void immediate_work_runs_on_the_calling_thread_and_its_failure_is_the_tasks(void **) {
    FakeWork work;
    auto *dependency = new FakeFence(true);
    work.status = VIA_ERROR_CUDA;
    via_task *task = start(&work, dependency, true);
    assert_true(is_here(work.ran_on));
    assert_true(via::task_ended(task));
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_CUDA);
    assert_string_equal(via::last_error_text(), work.text.c_str());
    assert_int_equal(via::last_error_code(), 77);
    via::release_task(task);
    dependency->release();
}

void every_waiter_learns_how_the_task_failed(void **) {
    FakeWork work;
    work.status = VIA_ERROR_CUDA;
    work.held = true;
    via_task *task = start(&work);
    std::atomic<int32_t> reported{0};
    std::vector<std::thread> waiters;
    for (int32_t i = 0; i < 5; ++i) {
        waiters.emplace_back([&] {
            const bool failed = via::wait_for_task(task) == VIA_ERROR_CUDA;
            reported += failed && work.text == via::last_error_text() && via::last_error_code() == 77 ? 1 : 0;
        });
    }
    sleep_ms(5);
    work.held = false;
    for (std::thread &waiter : waiters) {
        waiter.join();
    }
    assert_int_equal(reported, 5);
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

void submitted_work_ends_when_the_device_has_done_it(void **) {
    FakeWork work;
    work.fence = new FakeFence;
    Heard heard;
    heard.work = &work;
    via_task *task = start(&work);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
    assert_true(eventually([&] { return work.runs == 1; }));
    sleep_ms(10);
    assert_false(via::task_ended(task));
    assert_int_equal(work.ends, 0);
    work.fence->reach();
    assert_true(eventually([&] { return via::task_ended(task); }));
    assert_true(heard.within_time());
    assert_int_equal(heard.ends_then, 1);
    expect_progress(task, 100, 100);
    via::release_task(task);
    work.fence->release();
}

void whoever_waits_for_submitted_work_waits_for_the_device_itself(void **) {
    FakeWork work;
    work.fence = new FakeFence;
    work.fence->failure = VIA_ERROR_CUDA;
    via_task *task = start(&work, nullptr, true);
    std::thread device([&] {
        usleep(5000);
        work.fence->reach();
    });
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_CUDA);
    assert_string_equal(via::last_error_text(), "the device has failed");
    assert_int_equal(via::last_error_code(), 700);
    assert_int_in_range(work.fence->waits, 1, 2);
    assert_int_equal(work.ends, 1);
    device.join();
    via::release_task(task);
    work.fence->release();
}

void work_that_failed_halfway_is_held_until_the_device_is_done(void **) {
    FakeWork work;
    work.status = VIA_ERROR_POINTER;
    work.fence = new FakeFence;
    via_task *task = start(&work, nullptr, true);
    sleep_ms(10);
    assert_int_equal(work.ends, 0);
    work.fence->reach();
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_POINTER);
    assert_string_equal(via::last_error_text(), work.text.c_str());
    via::release_task(task);
    work.fence->release();
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
    auto *dependency = new FakeFence;
    Heard heard;
    heard.work = &work;
    via_task *task = start(&work, dependency);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
    via::cancel_task(task);
    assert_true(via::task_ended(task));
    assert_int_equal(via::wait_for_task(task), VIA_ERROR_CANCELLED);
    assert_non_null(strstr(via::last_error_text(), "cancelled"));
    assert_true(heard.within_time());
    assert_int_equal(heard.status, VIA_ERROR_CANCELLED);
    assert_false(is_here(heard.on));
    assert_int_equal(heard.ends_then, 1);
    dependency->reach();
    sleep_ms(10);
    assert_int_equal(work.runs, 0);
    assert_int_equal(work.ends, 1);
    assert_int_equal(heard.times, 1);
    via::release_task(task);
    dependency->release();
}

void the_fence_of_a_task_that_never_began_is_its_dependency(void **) {
    FakeWork work;
    auto *dependency = new FakeFence;
    via_task *task = start(&work, dependency);
    via::Fence *fence = via::task_fence(task);
    via::cancel_task(task);
    assert_false(fence->is_complete());
    // A stream's, of which a fake fence reads nothing.
    const auto *stream = reinterpret_cast<const via::ResolvedStream *>(&work);
    assert_int_equal(fence->make_stream_wait(*stream), VIA_OK);
    assert_int_equal(dependency->orders, 1);
    dependency->reach();
    assert_true(fence->is_complete());
    assert_int_equal(fence->wait(), VIA_OK);
    fence->release();
    via::release_task(task);
    dependency->release();
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
    work.fence = new FakeFence;
    via_task *task = start(&work, nullptr, true);
    via::cancel_task(task);
    assert_false(via::task_ended(task));
    work.fence->reach();
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    via::cancel_task(task);
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    via::release_task(task);
    work.fence->release();
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

// While the work releases its arrays, its fence is already reached and its task has not yet ended.
void the_end_of_the_work_comes_between_its_fence_and_the_end_of_the_task(void **) {
    static std::atomic<int32_t> seen{0};
    seen = 0;
    FakeWork work;
    work.held = true;
    work.at_end = [](FakeWork *fake) {
        via::Fence *fence = via::task_fence(fake->task);
        seen =
            (fence->is_complete() ? 1 : 0) + (via::task_ended(fake->task) ? 0 : 2) + (fence->wait() == VIA_OK ? 4 : 0);
        fence->release();
    };
    via_task *task = start(&work);
    work.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    assert_int_equal(seen, 7);
    via::release_task(task);
}

void the_fence_makes_a_stream_wait_for_the_device_and_waits_for_the_host(void **) {
    FakeWork work;
    work.fence = new FakeFence;
    work.held = true;
    via_task *task = start(&work);
    via::Fence *fence = via::task_fence(task);
    assert_false(fence->is_complete());
    std::thread host([&] {
        usleep(5000);
        work.held = false;
    });
    const auto *stream = reinterpret_cast<const via::ResolvedStream *>(&work);
    assert_int_equal(fence->make_stream_wait(*stream), VIA_OK);
    assert_false(work.held);
    assert_int_equal(work.fence->orders, 1);
    assert_int_equal(work.fence->waits, 0);
    host.join();
    work.fence->reach();
    assert_true(fence->is_complete());
    assert_int_equal(fence->wait(), VIA_OK);
    assert_int_equal(fence->make_stream_wait(*stream), VIA_OK);
    fence->release();
    via::release_task(task);
    work.fence->release();
}

void tasks_of_many_threads_end_once_each(void **) {
    std::atomic<int32_t> wrong{0};
    std::vector<std::thread> users;
    for (int32_t i = 0; i < 4; ++i) {
        users.emplace_back([&, i] {
            for (int32_t k = 0; k < 150; ++k) {
                FakeWork work;
                auto *dependency = new FakeFence;
                work.fence = new FakeFence;
                via_task *task = start(&work, dependency, k % 2 == 0);
                std::thread rival([&] { (k % 5 == 0 ? via::cancel_task(task) : (void)!via::wait_for_task(task)); });
                dependency->reach();
                work.fence->reach();
                const via::Status status = via::wait_for_task(task);
                rival.join();
                wrong += (status == VIA_OK || (k % 5 == 0 && status == VIA_ERROR_CANCELLED)) && work.ends == 1 ? 0 : 1;
                wrong += status == VIA_OK && work.runs != 1 ? 1 : 0;
                via::release_task(task);
                work.fence->release();
                dependency->release();
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
    auto *dependency = new FakeFence;
    FakeWork done;
    Heard heard;
    Heard late;
    via_task *tasks[] = {start(&running), start(&waiting, dependency), start(&done)};
    assert_int_equal(via::wait_for_task(tasks[2]), VIA_OK);
    assert_int_equal(via::on_task_complete(tasks[0], Heard::hear, &heard), VIA_OK);
    assert_int_equal(
        exit_code_of_child([&] {
            for (via_task *task : {tasks[0], tasks[1]}) {
                via::Fence *fence = via::task_fence(task);
                if (!via::task_ended(task) || via::wait_for_task(task) != VIA_ERROR_FORKED || !fence->is_complete()) {
                    return 1;
                }
                fence->release();
            }
            via::cancel_task(tasks[0]);
            (void)!via::on_task_complete(tasks[1], Heard::hear, &late);
            const bool reported = heard.times == 0 && late.times == 1 && late.status == VIA_ERROR_FORKED;
            return reported && via::wait_for_task(tasks[2]) == VIA_OK && running.ends == 0 ? 0 : 2;
        }),
        0);
    running.held = false;
    dependency->reach();
    for (via_task *task : tasks) {
        assert_int_equal(via::wait_for_task(task), VIA_OK);
        via::release_task(task);
    }
    assert_true(heard.within_time());
    dependency->release();
}

void a_task_that_is_ending_is_counted_out_once_where_a_child_is_forked_meanwhile(void **) {
    static int code;
    FakeWork work;
    work.held = true;
    work.at_end = [](FakeWork *fake) {
        code = exit_code_of_child([=] {
            const bool has_ended = via::task_ended(fake->task);
            return has_ended && via::total(via::Counter::PendingTasks) == 0 ? 0 : 1;
        });
    };
    via_task *task = start(&work);
    work.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    assert_int_equal(code, 0);
    via::release_task(task);
}

// The fence is reached there too: what it waited for was the parent's.
void in_a_forked_child_the_end_of_the_device_ends_no_task_of_the_parent(void **) {
    if (kUnderThreadSanitizer) {
        skip();  // it allows no threads there
    }
    FakeWork submitted;
    submitted.fence = new FakeFence;
    Heard heard;
    via_task *task = start(&submitted);
    assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
    assert_true(eventually([&] { return submitted.fence->asked > 0; }));
    assert_int_equal(exit_code_of_child([&] {
                         submitted.fence->reach();
                         submitted.fence->release();
                         via::release_task(task);
                         (void)!via::has_reaper();  // it looks again
                         const bool is_gone = eventually([] { return FakeFence::alive == 0; });
                         return is_gone && submitted.ends == 0 && heard.times == 0 ? 0 : 1;
                     }),
                     0);
    submitted.fence->reach();
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    assert_true(heard.within_time());
    assert_int_equal(heard.status, VIA_OK);
    via::release_task(task);
    submitted.fence->release();
}

std::atomic<int32_t> ending{0};
std::atomic<bool> may_end{false};

// As many as there are threads: were each to wait for one of the parent that ends it, none would be left.
void in_a_forked_child_nothing_waits_for_the_threads_that_were_ending_tasks(void **) {
    if (kUnderThreadSanitizer) {
        skip();
    }
    constexpr int32_t kTasks = 64;
    FakeWork works[kTasks];
    std::vector<std::thread> waiting;
    for (FakeWork &work : works) {
        work.fence = new FakeFence(true);
        work.fence->is_hidden = true;
        work.at_end = [](FakeWork *) {
            ending++;
            (void)eventually([] { return may_end.load(); });
        };
        waiting.emplace_back([task = start(&work)] { (void)!via::wait_for_task(task); });
    }
    assert_true(eventually([] { return ending == kTasks; }));
    assert_int_equal(exit_code_of_child([&] {
                         for (FakeWork &work : works) {
                             work.fence->is_hidden = false;
                         }
                         FakeWork own;
                         auto *dependency = new FakeFence;
                         via_task *task = start(&own, dependency);
                         (void)eventually([=] { return dependency->asked >= 3; });  // all others have been by then
                         dependency->reach();
                         return via::wait_for_task(task) == VIA_OK && own.ends == 1 ? 0 : 1;
                     }),
                     0);
    may_end = true;
    for (int32_t i = 0; i < kTasks; ++i) {
        waiting[static_cast<size_t>(i)].join();
        works[i].fence->is_hidden = false;
        via::release_task(works[i].task);
        works[i].fence->release();
    }
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
                             auto *dependency = new FakeFence;
                             via_task *own = start(&work, dependency);
                             dependency->reach();
                             return via::wait_for_task(own) == VIA_OK && work.ends == 1 ? 0 : 1;
                         }),
                         0);
    }
    running.held = false;
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    via::release_task(task);
}

void a_task_with_a_dependency_has_its_thread_beforehand(void **) {
    if (kUnderSanitizer || can_limit_memory() == 0) {
        skip();  // they need more address space than can be taken away
    }
    assert_int_equal(exit_code_of_child([] {
                         FakeWork work;
                         auto *dependency = new FakeFence;
                         via_task *task = start(&work, dependency);
                         const NoThreads scope;
                         dependency->reach();
                         return via::wait_for_task(task) == VIA_OK && work.ends == 1 ? 0 : 1;
                     }),
                     0);
}

void a_task_with_a_dependency_is_refused_where_no_thread_can_be_had_for_it(void **) {
    if (kUnderSanitizer || can_limit_memory() == 0) {
        skip();
    }
    assert_int_equal(exit_code_of_child([] {
                         FakeWork work;
                         auto *dependency = new FakeFence;
                         via_task *task = nullptr;
                         const bool is_watched = via::has_reaper();
                         const NoThreads scope;
                         const via::Status status = via::start_task(&work, 100, dependency, false, &task);
                         const bool says_so = strstr(via::last_error_text(), "no thread for tasks") != nullptr;
                         const bool has_ended = task == nullptr && work.runs == 0 && work.ends == 1;
                         return is_watched && status == VIA_ERROR_OUT_OF_MEMORY && says_so && has_ended ? 0 : 1;
                     }),
                     0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        // First, while no stack lies about that a thread could be started on.
        FENCE_TEST(a_task_with_a_dependency_has_its_thread_beforehand),
        FENCE_TEST(a_task_with_a_dependency_is_refused_where_no_thread_can_be_had_for_it),
        FENCE_TEST(a_task_runs_on_another_thread_and_ends_once),
        FENCE_TEST(a_task_begins_only_after_its_dependency),
        FENCE_TEST(immediate_work_runs_on_the_calling_thread_and_its_failure_is_the_tasks),
        FENCE_TEST(every_waiter_learns_how_the_task_failed),
        FENCE_TEST(the_text_of_a_failure_is_utf8_and_fits),
        FENCE_TEST(submitted_work_ends_when_the_device_has_done_it),
        FENCE_TEST(whoever_waits_for_submitted_work_waits_for_the_device_itself),
        FENCE_TEST(work_that_failed_halfway_is_held_until_the_device_is_done),
        FENCE_TEST(progress_never_goes_back_and_never_beyond_the_total),
        FENCE_TEST(a_task_cancelled_before_it_begins_never_runs_and_ends_at_once),
        FENCE_TEST(the_fence_of_a_task_that_never_began_is_its_dependency),
        FENCE_TEST(a_task_cancelled_while_it_runs_ends_as_its_work_says),
        FENCE_TEST(a_task_cancelled_on_the_device_or_after_its_end_stays_what_it_is),
        FENCE_TEST(a_thread_cancelled_while_it_waits_leaves_the_task_as_it_is),
        FENCE_TEST(the_end_of_the_work_comes_between_its_fence_and_the_end_of_the_task),
        FENCE_TEST(the_fence_makes_a_stream_wait_for_the_device_and_waits_for_the_host),
        FENCE_TEST(tasks_of_many_threads_end_once_each),
        FENCE_TEST(in_a_forked_child_a_running_task_of_the_parent_has_failed),
        FENCE_TEST(a_task_that_is_ending_is_counted_out_once_where_a_child_is_forked_meanwhile),
        FENCE_TEST(in_a_forked_child_the_end_of_the_device_ends_no_task_of_the_parent),
        FENCE_TEST(in_a_forked_child_nothing_waits_for_the_threads_that_were_ending_tasks),
        FENCE_TEST(a_forked_child_starts_tasks_of_its_own),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
