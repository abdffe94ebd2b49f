// Copies, tasks and batches.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

using namespace viaduct;

namespace {

// What a callback was reported, by whichever thread.
class Reported {
public:
    void report(via_status status, const char *text) {
        const std::lock_guard<std::mutex> lock(mutex_);
        status_ = status;
        text_ = text;
        ++count_;
        changed_.notify_all();
    }

    via_status wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return count_ > 0; });
        return status_;
    }

    int count() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return count_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    via_status status_ = VIA_OK;
    std::string text_;
    int count_ = 0;
};

std::vector<float> counted(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i);
    }
    return values;
}

void a_copy_turns_what_it_is_given(void **) {
    std::vector<float> from = counted(6), to(6);
    copy(Array::wrap(to.data(), {3, 2}), Array::wrap(from.data(), {2, 3}).permute());
    assert_true((to == std::vector<float>{0, 3, 1, 4, 2, 5}));
    expect_thrown<ShapeError>("via_copy", [&] { copy(Array::wrap(to.data(), {6}), Array::wrap(to.data(), {3})); });
}

void raw_bytes_are_copied(void **) {
    std::vector<float> from = counted(6), to(6);
    viaduct::memcpy(to.data(), from.data(), 24);
    assert_true(to == from);
    expect_thrown<OverlapError>("via_memcpy", [&] { viaduct::memcpy(to.data(), to.data() + 1, 8); });
}

void elements_are_filled_with_a_value_of_their_type(void **) {
    std::vector<float> values(6);
    const Array array = Array::wrap(values.data(), {6});
    fill(array, 2.5F);
    assert_true((values == std::vector<float>(6, 2.5F)));
    fill_zero(array);
    assert_true((values == std::vector<float>(6)));
    expect_thrown<DTypeError>("fill", [&] { fill(array, 2.5); });
}

void a_copy_explains_itself(void **) {
    std::vector<float> from = counted(6), to(6);
    const std::string text = copy_explain(Array::wrap(to.data(), {6}), Array::wrap(from.data(), {6}));
    assert_non_null(std::strstr(text.c_str(), "24"));
    assert_int_equal(text.find('\0'), std::string::npos);
}

void a_task_is_waited_for_and_reports_its_progress(void **) {
    std::vector<float> from = counted(100000), to(100000);
    const Task task = copy_submit(Array::wrap(to.data(), {100000}), Array::wrap(from.data(), {100000}));
    task.wait();
    assert_true(to == from);
    assert_true(task.is_done());
    const Progress progress = task.progress();
    assert_int_equal(progress.done, 400000);
    assert_int_equal(progress.total, 400000);
    task.cancel();
}

void a_callback_is_called_once_and_then_destroyed(void **) {
    auto reported = std::make_shared<Reported>();
    std::vector<float> from = counted(1000), to(1000);
    const Task task = copy_submit(Array::wrap(to.data(), {1000}), Array::wrap(from.data(), {1000}));
    task.on_complete([reported](via_status status, const char *text) noexcept { reported->report(status, text); });
    assert_int_equal(reported->wait(), VIA_OK);
    task.wait();
    while (reported.use_count() > 1) {
        std::this_thread::yield();
    }
    assert_int_equal(reported->count(), 1);
}

void a_second_callback_is_refused_and_destroyed(void **) {
    auto reported = std::make_shared<Reported>();
    std::vector<float> from = counted(10), to(10);
    const Task task = copy_submit(Array::wrap(to.data(), {10}), Array::wrap(from.data(), {10}));
    task.wait();
    task.on_complete([](via_status, const char *) noexcept {});
    expect_thrown<InvalidArgumentError>("via_task_on_complete", [&] {
        task.on_complete([reported](via_status status, const char *text) noexcept { reported->report(status, text); });
    });
    assert_int_equal(reported.use_count(), 1);
}

void rows_are_copied_by_index(void **) {
    std::vector<float> from = counted(12), to(6);
    std::vector<std::int32_t> rows = {3, 1};
    const Array src = Array::wrap(from.data(), {4, 3}), dst = Array::wrap(to.data(), {2, 3});
    const Array index = Array::wrap(rows.data(), {2});
    copy_indexed(dst, {src, index});
    assert_true(std::equal(to.begin(), to.begin() + 3, from.begin() + 9));
    assert_true(std::equal(to.begin() + 3, to.end(), from.begin() + 3));
    rows = {1, 0};
    copy_indexed_submit({dst, index}, Array::wrap(from.data(), {2, 3})).wait();
    assert_true(std::equal(to.begin(), to.begin() + 3, from.begin() + 3));
    const Batch batch = Batch::create();
    rows = {3, 1};
    batch.add_indexed(dst, {src, index});
    batch.submit().wait();
    assert_true(std::equal(to.begin(), to.begin() + 3, from.begin() + 9));
    rows = {0, 4};
    expect_thrown<IndexError>("src_index[1] is 4", [&] { copy_indexed(dst, {src, index}); });
}

void a_batch_is_submitted_again_and_again(void **) {
    std::vector<float> from = counted(6), to(6);
    const Batch batch = Batch::create();
    batch.add(Array::wrap(to.data(), {3}), Array::wrap(from.data(), {3}));
    batch.add(Array::wrap(to.data() + 3, {3}), Array::wrap(from.data() + 3, {3}));
    assert_int_equal(batch.size(), 2);
    batch.submit().wait();
    assert_true(to == from);
    from.assign(6, 9);
    batch.submit().wait();
    assert_true(to == from);
}

void a_batch_converts_next_to_its_copies(void **) {
    const std::vector<std::int16_t> from = {-3, 0, 7};
    std::vector<float> to(3), halves(3);
    std::vector<std::int16_t> copied(3);
    const Array src = Array::wrap(from.data(), {3}), same = Array::wrap(copied.data(), {3});
    const Batch batch = Batch::create();
    float half = 0.5F;
    via_convert_options options = convert_options();
    options.scale = &half;
    batch.add_convert(Array::wrap(to.data(), {3}), src);
    batch.add_convert(Array::wrap(halves.data(), {3}), src, options);
    batch.add(same, src);
    batch.submit().wait();
    assert_true(to == std::vector<float>({-3, 0, 7}) && halves == std::vector<float>({-1.5F, 0, 3.5F}));
    assert_true(copied == from);
    expect_thrown<DTypeError>("int16", [&] { batch.add_convert(same, Array::wrap(to.data(), {3})); });
    assert_int_equal(batch.size(), 3);
}

void elements_are_converted_and_scaled(void **) {
    const std::vector<std::int16_t> from = {-3, 0, 7, 1000, 1, 2};
    std::vector<float> to(6);
    const Array src = Array::wrap(from.data(), {2, 3}), dst = Array::wrap(to.data(), {2, 3});
    convert(dst, src);
    assert_true(to == std::vector<float>({-3, 0, 7, 1000, 1, 2}));
    float scales[] = {2, 1, -1};
    via_convert_options options = convert_options();
    options.scale = scales;
    options.scale_count = 3;
    options.scale_axis = 1;
    convert_submit(dst, src, options).wait();
    assert_true(to == std::vector<float>({-6, 0, -7, 2000, 1, -2}));
    assert_true(convert_explain(dst, src, options).find("element: int16") != std::string::npos);
}

void lists_of_other_lengths_are_no_pairs(void **) {
    std::vector<float> values(6);
    const Array array = Array::wrap(values.data(), {6});
    expect_thrown<InvalidArgumentError>("copy_batch", [&] { copy_batch({array.get()}, {}); });
    const std::vector<via_array *> none;
    copy_batch(none, none);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(a_copy_turns_what_it_is_given),
        leaving_nothing(raw_bytes_are_copied),
        leaving_nothing(elements_are_filled_with_a_value_of_their_type),
        leaving_nothing(a_copy_explains_itself),
        leaving_nothing(rows_are_copied_by_index),
        leaving_nothing(a_task_is_waited_for_and_reports_its_progress),
        leaving_nothing(a_callback_is_called_once_and_then_destroyed),
        leaving_nothing(a_second_callback_is_refused_and_destroyed),
        leaving_nothing(a_batch_is_submitted_again_and_again),
        leaving_nothing(a_batch_converts_next_to_its_copies),
        leaving_nothing(elements_are_converted_and_scaled),
        leaving_nothing(lists_of_other_lengths_are_no_pairs),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
