// Tasks: what is called when they end.
#include "core/async/task.hpp"
#include "task_support.hpp"

namespace {

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
        work.fence = i % 3 == 0 ? new FakeFence(true) : nullptr;
        Heard heard;
        via_task *task = start(&work, nullptr, i % 2 == 0);
        std::thread other([&] { (void)!via::wait_for_task(task); });
        assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
        other.join();
        assert_true(heard.within_time());
        via::release_task(task);
        // The callback still stands on this frame until it has returned.
        assert_true(eventually([&] { return work.ends == 1; }));
        if (work.fence != nullptr) {
            work.fence->release();
        }
        usleep(100);
        assert_int_equal(heard.times, 1);
    }
}

// While a thread of the caller releases what the task held, the machinery finds that it has nothing left to do: the
// callback must not get lost between the two.
void a_callback_is_called_though_the_caller_ends_the_task_slowly(void **) {
    const auto slow = [](FakeWork *) { sleep_ms(30); };
    for (const bool cancels : {false, true}) {
        FakeWork work;
        auto *dependency = new FakeFence;
        work.at_end = slow;
        work.fence = new FakeFence;
        Heard heard;
        via_task *task = cancels ? start(&work, dependency) : start(&work, nullptr, true);
        assert_int_equal(via::on_task_complete(task, Heard::hear, &heard), VIA_OK);
        std::thread other([&] { cancels ? via::cancel_task(task) : (void)!via::wait_for_task(task); });
        assert_true(eventually([&] { return cancels || work.fence->waits > 0; }));
        sleep_ms(cancels ? 10 : 0);
        dependency->reach();
        work.fence->reach();
        other.join();
        assert_true(heard.within_time());
        via::release_task(task);
        dependency->release();
        work.fence->release();
    }
}

// In a callback: waiting for another task that runs is refused, for one that has ended it is not.
struct Waits {
    via_task *running;
    via_task *ended;
    std::atomic<int32_t> of_running{-1};
    std::atomic<int32_t> of_ended{-1};
    std::atomic<int32_t> of_fence{-1};
    std::atomic<bool> called{false};
};

void wait_inside(int32_t, const char *, void *context) {
    auto *waits = static_cast<Waits *>(context);
    waits->of_running = via::wait_for_task(waits->running);
    waits->of_ended = via::wait_for_task(waits->ended);
    via::Fence *fence = via::task_fence(waits->running);
    waits->of_fence = fence->wait();
    fence->release();
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
    assert_int_equal(waits.of_fence, VIA_ERROR_WOULD_DEADLOCK);
    assert_int_equal(waits.of_ended, VIA_OK);
    running.held = false;
    assert_int_equal(via::wait_for_task(waits.running), VIA_OK);
    via::release_task(waits.running);
    via::release_task(waits.ended);
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

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        FENCE_TEST(a_callback_registered_early_is_called_once_on_another_thread),
        FENCE_TEST(a_callback_registered_late_is_called_at_once_on_this_thread),
        FENCE_TEST(a_second_callback_is_refused_before_and_after_the_end),
        FENCE_TEST(registering_while_tasks_end_calls_each_callback_once),
        FENCE_TEST(a_callback_is_called_though_the_caller_ends_the_task_slowly),
        FENCE_TEST(waiting_inside_a_callback_is_refused_unless_the_task_has_ended),
        FENCE_TEST(a_released_task_runs_on_and_calls_back),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
