// The C++ layer with streams and device memory.
#include "../cpp/support.hpp"

#include <vector>

using namespace viaduct;

namespace {

Array on_device(const Stream &stream, std::int64_t count) {
    return Array::empty(Memory::create(VIA_MEMORY_DEVICE_POOL), VIA_FLOAT32, {count}, stream);
}

std::vector<float> read(const Array &array) {
    std::vector<float> values(static_cast<std::size_t>(array.size()));
    copy(Array::wrap(values.data(), array.shape()), array);
    return values;
}

void a_stream_has_a_device_a_handle_and_ends_its_work(void **) {
    const Stream stream = Stream::create();
    assert_int_equal(stream.device_id(), 0);
    assert_non_null(stream.native_handle());
    stream.synchronize();
    assert_true(stream.is_done());
    const Stream same = Stream::wrap(stream.native_handle());
    assert_ptr_equal(same.native_handle(), stream.native_handle());
}

void shared_streams_may_be_released_as_often_as_they_are_had(void **) {
    for (int i = 0; i < 3; ++i) {
        assert_ptr_equal(Stream::legacy().get(), via_stream_legacy());
        assert_ptr_equal(Stream::per_thread().get(), via_stream_per_thread());
        assert_ptr_equal(Stream::no_sync().get(), via_stream_no_sync());
    }
}

void the_current_stream_is_the_one_that_was_set(void **) {
    const Stream stream = Stream::create();
    stream.make_current(0);
    assert_ptr_equal(Stream::current(0).native_handle(), stream.native_handle());
    assert_int_equal(via_stream_set_current(0, nullptr), VIA_OK);
}

void a_stream_waits_for_what_an_event_marks(void **) {
    const Stream first = Stream::create(), second = Stream::create();
    const Event marker = Event::create();
    const Array array = on_device(first, 4);
    fill(array, 3.0F, first);
    marker.record(first);
    second.wait(marker);
    second.synchronize();
    assert_true(marker.is_done());
    marker.synchronize();
    assert_ptr_equal(Event::wrap(marker.native_handle(), 0).native_handle(), marker.native_handle());
    assert_true((read(array) == std::vector<float>(4, 3)));
}

void copies_run_in_stream_order(void **) {
    const Stream stream = Stream::create();
    const Array from = on_device(stream, 8), to = on_device(stream, 8);
    fill(from, 2.0F, stream);
    copy_async(to, from, stream);
    to.record_stream(stream);
    to.set_ready(stream);
    to.synchronize();
    assert_true(to.is_ready());
    assert_true((read(to) == std::vector<float>(8, 2)));
}

void raw_memory_is_copied_in_stream_order(void **) {
    const Stream stream = Stream::create();
    const std::vector<float> from = {1, 2, 3};
    const Array to = on_device(stream, 3);
    viaduct::memcpy(to.data(), from.data(), 12, stream);
    stream.synchronize();
    assert_true(read(to) == from);
}

void batches_and_pairs_run_on_a_stream(void **) {
    const Stream stream = Stream::create();
    const Array from = on_device(stream, 8), to = on_device(stream, 8), other = on_device(stream, 8);
    fill(from, 5.0F, stream);
    const Batch batch = Batch::create();
    batch.add(to, from);
    batch.run(stream);
    copy_batch({other.get()}, {to.get()}, stream);
    assert_true((read(other) == std::vector<float>(8, 5)));
}

void later_work_of_a_stream_joins_a_task(void **) {
    const Stream stream = Stream::create();
    const Array from = on_device(stream, 8), to = on_device(stream, 8), other = on_device(stream, 8);
    fill(from, 7.0F, stream);
    const Task task = copy_submit(to, from, stream);
    task.join(stream);
    copy_async(other, to, stream);
    task.wait();
    assert_true((read(other) == std::vector<float>(8, 7)));
}

void device_memory_is_exported_by_its_interface_and_no_span_is_made_of_it(void **) {
    const Stream stream = Stream::create();
    const Array array = on_device(stream, 4);
    assert_true(array.device() == cuda(0));
    const via_array_interface description = to_cuda_array_interface(array, stream);
    const Array again = from_cuda_array_interface(description);
    assert_ptr_equal(again.data(), array.data());
    expect_thrown<DeviceError>("device", [&] { return elements<float>(array); });
    const Array tensor = from_dlpack(to_dlpack(array, stream), stream);
    assert_true(tensor.device() == cuda(0));
}

void the_device_is_made_ready_beforehand(void **) { cuda_warmup(0); }

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_has_a_device_a_handle_and_ends_its_work),
        cmocka_unit_test(shared_streams_may_be_released_as_often_as_they_are_had),
        cmocka_unit_test(the_current_stream_is_the_one_that_was_set),
        cmocka_unit_test(a_stream_waits_for_what_an_event_marks),
        cmocka_unit_test(copies_run_in_stream_order),
        cmocka_unit_test(raw_memory_is_copied_in_stream_order),
        cmocka_unit_test(batches_and_pairs_run_on_a_stream),
        cmocka_unit_test(later_work_of_a_stream_joins_a_task),
        cmocka_unit_test(device_memory_is_exported_by_its_interface_and_no_span_is_made_of_it),
        cmocka_unit_test(the_device_is_made_ready_beforehand),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
