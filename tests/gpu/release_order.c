/* Releases that wait for the device: when the owner's callback comes, how often, and from where. */
#include "support.h"

#include <pthread.h>

static void a_release_waits_for_the_work_recorded(void **state) {
    (void)state;
    atomic_int released = 0;
    CUstream native = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, &released);
    hold(native);
    ok(via_array_record_stream(array, wrap_native(native, 0)));
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 0);
    assert_int_equal(stats_now().pending_releases, 1);
    finish(new_stream());
    assert_int_equal(atomic_load(&released), 0);
    release(native);
    await_count(&released, 1);
}

static void a_release_with_nothing_recorded_comes_at_once(void **state) {
    (void)state;
    atomic_int released = 0;
    CUstream native = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, &released);
    hold(native);
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 1);
    release(native);
}

static void a_release_whose_work_is_done_comes_at_once(void **state) {
    (void)state;
    atomic_int released = 0;
    CUstream native = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, &released);
    hold(native);
    ok(via_array_record_stream(array, wrap_native(native, 0)));
    release(native);
    finish(native);
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 1);
}

static void every_recorded_stream_is_waited_for(void **state) {
    (void)state;
    enum { count = 5 };
    atomic_int released = 0;
    CUstream native[count];
    via_array *array = wrap_device(device_memory(64), 64, &released);
    for (int i = 0; i < count; ++i) {
        native[i] = new_stream();
        hold(native[i]);
        ok(via_array_record_stream(array, wrap_native(native[i], 0)));
    }
    via_array_release(array);
    for (int i = count - 1; i >= 0; --i) {
        assert_int_equal(atomic_load(&released), 0);
        release(native[i]);
        finish(native[i]);
    }
    await_count(&released, 1);
}

static void one_release_held_up_holds_up_no_other(void **state) {
    (void)state;
    atomic_int first_released = 0;
    atomic_int second_released = 0;
    CUstream first = new_stream();
    CUstream second = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, &first_released);
    hold(first);
    ok(via_array_record_stream(array, wrap_native(first, 0)));
    via_array_release(array);
    array = wrap_device(device_memory(64), 64, &second_released);
    hold(second);
    ok(via_array_record_stream(array, wrap_native(second, 0)));
    via_array_release(array);
    release(second);
    await_count(&second_released, 1);
    assert_int_equal(atomic_load(&first_released), 0);
    release(first);
    await_count(&first_released, 1);
}

static void views_and_exports_come_before_the_release(void **state) {
    (void)state;
    atomic_int released = 0;
    CUstream native = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, &released);
    via_array *view = NULL;
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_array_slice(array, SHAPE(0), SHAPE(8), NULL, &view));
    ok(via_to_dlpack(array, NULL, via_stream_no_sync(), &tensor));
    hold(native);
    ok(via_array_record_stream(view, wrap_native(native, 0)));
    via_array_release(array);
    via_array_release(view);
    release(native);
    finish(native);
    assert_int_equal(atomic_load(&released), 0);
    via_dlpack_delete(tensor);
    await_count(&released, 1);
}

static void writing_is_use(void **state) {
    (void)state;
    atomic_int released = 0;
    CUstream native = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, &released);
    hold(native);
    ok(via_array_set_ready(array, wrap_native(native, 0)));
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 0);
    release(native);
    await_count(&released, 1);
}

static void a_replaced_last_write_is_still_an_access(void **state) {
    (void)state;
    atomic_int released = 0;
    CUstream first = new_stream();
    CUstream second = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, &released);
    hold(first);
    ok(via_array_set_ready(array, wrap_native(first, 0)));
    ok(via_array_set_ready(array, wrap_native(second, 0)));
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 0);
    release(first);
    await_count(&released, 1);
}

static void the_stream_may_be_destroyed_meanwhile(void **state) {
    (void)state;
    skip_where_calls_wait();
    atomic_int released = 0;
    CUstream held = new_stream();
    CUevent opened = new_event();
    via_array *array = wrap_device(device_memory(64), 64, &released);
    via_stream *stream = NULL;
    ok(via_stream_create(0, &stream));
    hold(held);
    cu_ok(cu(cuEventRecord)(opened, held));
    cu_ok(cu(cuStreamWaitEvent)((CUstream)via_stream_handle(stream), opened, 0));
    ok(via_array_record_stream(array, stream));
    via_stream_release(stream);
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 0);
    release(held);
    await_count(&released, 1);
}

static void legacy_and_per_thread_streams_are_resolved_when_they_are_recorded(void **state) {
    (void)state;
    via_stream *special[] = {via_stream_legacy(), via_stream_per_thread()};
    CUstream handles[] = {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (int32_t i = 0; i < LENGTH(special); ++i) {
        atomic_int released = 0;
        via_array *array = wrap_device(device_memory(64), 64, &released);
        hold(handles[i]);
        ok(via_array_record_stream(array, special[i]));
        via_array_release(array);
        assert_int_equal(atomic_load(&released), 0);
        release(handles[i]);
        await_count(&released, 1);
    }
}

static void an_array_used_for_ever_does_not_grow(void **state) {
    (void)state;
    steer();
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    for (int i = 0; i < 3000; ++i) {
        ok(via_array_record_stream(array, stream));
        if (i % 16 == 0) {
            finish(native);
        }
    }
    assert_int_in_range(fake(fake_live)(FAKE_EVENTS), 0, 300);
    via_array_release(array);
}

static void a_burst_of_fences_is_not_kept_for_ever(void **state) {
    (void)state;
    steer();
    enum { burst = 600 };
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    static via_array *arrays[burst];
    atomic_int released = 0;
    hold(native);
    for (int i = 0; i < burst; ++i) {
        arrays[i] = wrap_device(device_memory(16), 16, &released);
        ok(via_array_record_stream(arrays[i], stream));
        via_array_release(arrays[i]);
    }
    assert_true(fake(fake_live)(FAKE_EVENTS) >= burst);
    release(native);
    await_count(&released, burst);
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    for (int i = 0; i < burst; ++i) {
        ok(via_array_record_stream(array, stream));
        finish(native);
    }
    assert_int_in_range(fake(fake_live)(FAKE_EVENTS), 0, 300);
    via_array_release(array);
}

static void CUDA_CB release_array(void *array) { via_array_release(array); }

static void the_last_release_may_come_from_a_host_function(void **state) {
    (void)state;
    enum { count = 10 };
    atomic_int released = 0;
    CUstream native = new_stream();
    CUstream used = new_stream();
    hold(used);
    for (int i = 0; i < count; ++i) {
        via_array *array = wrap_device(device_memory(64), 64, &released);
        ok(via_array_record_stream(array, wrap_native(used, 0)));
        cu_ok(cu(cuLaunchHostFunc)(native, release_array, array));
    }
    finish(native);
    assert_int_equal(atomic_load(&released), 0);
    release(used);
    await_count(&released, count);
}

/* Each thread uses streams of its own and lets arrays go that another one has made. */
typedef struct hand_over {
    via_array *_Atomic array;
    atomic_int released;
} hand_over;

enum { rounds = 300, pairs = 2 };

static void *make_and_record(void *context) {
    hand_over *between = context;
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    via_stream *stream = NULL;
    ok(via_stream_create(0, &stream));
    static char values[64];
    for (int i = 0; i < rounds; ++i) {
        via_array *array = wrap_bytes(values, 64, VIA_DEVICE_CPU, 0, &between->released);
        ok(via_array_record_stream(array, stream));
        ok(via_array_set_ready(array, stream));
        via_array_retain(array);
        while (atomic_load(&between->array) != NULL) {
        }
        atomic_store(&between->array, array);
        ok(via_array_record_stream(array, via_stream_per_thread()));
        via_array_release(array);
    }
    via_stream_release(stream);
    return NULL;
}

static void *use_and_release(void *context) {
    hand_over *between = context;
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    for (int i = 0; i < rounds; ++i) {
        via_array *array = NULL;
        while ((array = atomic_exchange(&between->array, NULL)) == NULL) {
        }
        ok(via_array_record_stream(array, via_stream_per_thread()));
        via_array_release(array);
    }
    return NULL;
}

static void fences_of_many_threads_are_each_released_once(void **state) {
    (void)state;
    static hand_over between[pairs];
    pthread_t threads[2 * pairs];
    for (int32_t i = 0; i < pairs; ++i) {
        atomic_store(&between[i].released, 0);
        assert_int_equal(pthread_create(&threads[2 * i], NULL, make_and_record, &between[i]), 0);
        assert_int_equal(pthread_create(&threads[2 * i + 1], NULL, use_and_release, &between[i]), 0);
    }
    for (int32_t i = 0; i < 2 * pairs; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (int32_t i = 0; i < pairs; ++i) {
        await_count(&between[i].released, rounds);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_release_waits_for_the_work_recorded),
        GPU_TEST(a_release_with_nothing_recorded_comes_at_once),
        GPU_TEST(a_release_whose_work_is_done_comes_at_once),
        GPU_TEST(every_recorded_stream_is_waited_for),
        GPU_TEST(one_release_held_up_holds_up_no_other),
        GPU_TEST(views_and_exports_come_before_the_release),
        GPU_TEST(writing_is_use),
        GPU_TEST(a_replaced_last_write_is_still_an_access),
        GPU_TEST(the_stream_may_be_destroyed_meanwhile),
        GPU_TEST(legacy_and_per_thread_streams_are_resolved_when_they_are_recorded),
        GPU_TEST(an_array_used_for_ever_does_not_grow),
        GPU_TEST(a_burst_of_fences_is_not_kept_for_ever),
        GPU_TEST(the_last_release_may_come_from_a_host_function),
        GPU_TEST(fences_of_many_threads_are_each_released_once),
    };
    return run_gpu_tests(tests);
}
