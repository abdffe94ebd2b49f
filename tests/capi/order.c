/* Streams and events where no CUDA device can be used: a clear no, nothing else. */
#include "support.h"

/* Stands for handles that cannot be made here. */
static int64_t nothing[8];
#define EVENT ((via_event *)nothing)

static int skip_with_cuda(void) {
    int32_t count = 0;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    return count > 0;
}

static void no(const char *function, via_status status) {
    if (status != VIA_ERROR_UNSUPPORTED || strstr(via_last_error(), function) != via_last_error()) {
        print_error("%s answered %s: %s\n", function, via_status_name(status), via_last_error());
        fail();
    }
    assert_true(strlen(via_last_error()) > strlen(function) + 10);
}

static void shared_streams_are_three_and_not_one(void **state) {
    (void)state;
    via_stream *legacy = via_stream_legacy();
    via_stream *per_thread = via_stream_per_thread();
    via_stream *no_sync = via_stream_no_sync();
    assert_non_null(legacy);
    assert_non_null(per_thread);
    assert_non_null(no_sync);
    assert_ptr_not_equal(legacy, per_thread);
    assert_ptr_not_equal(legacy, no_sync);
    assert_ptr_not_equal(per_thread, no_sync);
    assert_ptr_equal(legacy, via_stream_legacy());
    assert_int_equal((intptr_t)via_stream_handle(legacy), 1);
    assert_int_equal((intptr_t)via_stream_handle(per_thread), 2);
    assert_int_equal(via_stream_device_id(legacy), 0);
}

static void shared_streams_outlive_any_release(void **state) {
    (void)state;
    via_stream *streams[] = {via_stream_legacy(), via_stream_per_thread(), via_stream_no_sync()};
    for (int32_t i = 0; i < LENGTH(streams); ++i) {
        void *handle = via_stream_handle(streams[i]);
        via_stream_retain(streams[i]);
        via_stream_release(streams[i]);
        via_stream_release(streams[i]);
        via_stream_release(streams[i]);
        assert_ptr_equal(via_stream_handle(streams[i]), handle);
    }
}

static void getters_retain_and_release_accept_null(void **state) {
    (void)state;
    assert_null(via_stream_handle(NULL));
    assert_int_equal(via_stream_device_id(NULL), 0);
    assert_null(via_event_handle(NULL));
    assert_int_equal(via_batch_size(NULL), 0);
    via_stream_retain(NULL);
    via_stream_release(NULL);
    via_event_retain(NULL);
    via_event_release(NULL);
    via_task_retain(NULL);
    via_task_release(NULL);
    via_batch_retain(NULL);
    via_batch_release(NULL);
    via_file_retain(NULL);
    via_file_release(NULL);
}

static void streams_need_cuda(void **state) {
    (void)state;
    if (skip_with_cuda()) {
        skip();
    }
    via_stream *legacy = via_stream_legacy();
    via_stream *stream = legacy;
    no("via_stream_create", via_stream_create(0, &stream));
    assert_null(stream);
    stream = legacy;
    no("via_stream_wrap", via_stream_wrap(nothing, 0, &stream));
    assert_null(stream);
    stream = legacy;
    no("via_stream_current", via_stream_current(0, &stream));
    assert_null(stream);
    int32_t done = 7;
    no("via_stream_query", via_stream_query(legacy, &done));
    assert_int_equal(done, 0);
    no("via_stream_synchronize", via_stream_synchronize(legacy));
    no("via_stream_set_current", via_stream_set_current(0, legacy));
    no("via_stream_set_current", via_stream_set_current(0, NULL));
    no("via_stream_wait", via_stream_wait(legacy, EVENT));
}

static void events_need_cuda(void **state) {
    (void)state;
    if (skip_with_cuda()) {
        skip();
    }
    via_event *event = EVENT;
    no("via_event_create", via_event_create(0, &event));
    assert_null(event);
    event = EVENT;
    no("via_event_wrap", via_event_wrap(nothing, 0, &event));
    assert_null(event);
    int32_t done = 7;
    no("via_event_query", via_event_query(EVENT, &done));
    assert_int_equal(done, 0);
    no("via_event_record", via_event_record(EVENT, via_stream_legacy()));
    no("via_event_synchronize", via_event_synchronize(EVENT));
}

static void ordering_an_array_needs_cuda(void **state) {
    (void)state;
    if (skip_with_cuda()) {
        skip();
    }
    float values[4];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(4), NULL);
    no("via_array_record_stream", via_array_record_stream(array, via_stream_legacy()));
    no("via_array_set_ready", via_array_set_ready(array, via_stream_legacy()));
    via_array_release(array);
}

static void copies_on_a_stream_need_cuda_and_touch_nothing(void **state) {
    (void)state;
    if (skip_with_cuda()) {
        skip();
    }
    char from[4] = "abc";
    char to[4] = "xyz";
    via_array *dst = wrap_plain(to, VIA_INT8, 1, SHAPE(4), NULL);
    via_array *src = wrap_plain(from, VIA_INT8, 1, SHAPE(4), NULL);
    no("via_copy_async", via_copy_async(dst, src, via_stream_legacy()));
    no("via_copy_batch", via_copy_batch(1, &dst, &src, via_stream_legacy()));
    no("via_memcpy", via_memcpy(to, from, 4, via_stream_legacy()));
    no("via_fill", via_fill(dst, NULL, via_stream_legacy()));
    assert_string_equal(to, "xyz");
    via_array_release(dst);
    via_array_release(src);
}

static void a_stream_cannot_wait_for_a_task_without_cuda(void **state) {
    (void)state;
    if (skip_with_cuda()) {
        skip();
    }
    char from[4] = "abc";
    char to[4] = "xyz";
    via_array *dst = wrap_plain(to, VIA_INT8, 1, SHAPE(4), NULL);
    via_array *src = wrap_plain(from, VIA_INT8, 1, SHAPE(4), NULL);
    via_task *task = NULL;
    ok(via_copy_submit(dst, src, NULL, &task));
    no("via_task_join", via_task_join(task, via_stream_legacy()));
    ok(via_task_wait(task));
    assert_string_equal(to, "abc");
    via_task_release(task);
    via_array_release(dst);
    via_array_release(src);
}

static void batches_on_a_stream_need_cuda_and_touch_nothing(void **state) {
    (void)state;
    if (skip_with_cuda()) {
        skip();
    }
    float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    via_array *dst = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(4), NULL);
    via_array *src = wrap_plain(values + 4, VIA_FLOAT32, 1, SHAPE(4), NULL);
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    ok(via_batch_add(batch, dst, src));
    no("via_batch_run", via_batch_run(batch, via_stream_legacy()));
    assert_true(values[0] == 1 && values[3] == 4);
    via_batch_release(batch);
    via_array_release(dst);
    via_array_release(src);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(shared_streams_are_three_and_not_one),
        TEST(shared_streams_outlive_any_release),
        TEST(getters_retain_and_release_accept_null),
        TEST(streams_need_cuda),
        TEST(events_need_cuda),
        TEST(ordering_an_array_needs_cuda),
        TEST(copies_on_a_stream_need_cuda_and_touch_nothing),
        TEST(a_stream_cannot_wait_for_a_task_without_cuda),
        TEST(batches_on_a_stream_need_cuda_and_touch_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
