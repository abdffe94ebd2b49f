/* Streams: what the four special handles mean, whose a foreign stream is, how a stream ends. */
#include "support.h"

#include <pthread.h>

/* Runs a function on another thread, with the primary context current there, and waits for its end. */
static void *with_context(void *function) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    (*(void (**)(void))function)();
    return NULL;
}

static void elsewhere(void (*function)(void)) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, with_context, &function), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static int is_idle(via_stream *stream) {
    int32_t done = 7;
    ok(via_stream_query(stream, &done));
    assert_int_in_range(done, 0, 1);
    return done;
}

static via_stream *created(int32_t device_id) {
    via_stream *stream = NULL;
    ok(via_stream_create(device_id, &stream));
    assert_non_null(stream);
    return stream;
}

static via_stream *wrapped(void *native, int32_t device_id) {
    via_stream *stream = NULL;
    ok(via_stream_wrap(native, device_id, &stream));
    assert_non_null(stream);
    return stream;
}

static CUstream native_of(via_stream *stream) { return (CUstream)via_stream_handle(stream); }

static void special_native_handles_are_wrapped_as_what_they_mean(void **state) {
    (void)state;
    for (int32_t device = 0; device < device_count(); ++device) {
        const uintptr_t given[] = {0, 1, 2};
        const uintptr_t meant[] = {1, 1, 2};
        for (int32_t i = 0; i < LENGTH(given); ++i) {
            via_stream *stream = wrapped((void *)given[i], device);
            assert_int_equal((uintptr_t)via_stream_handle(stream), meant[i]);
            assert_int_equal(via_stream_device_id(stream), device);
            assert_ptr_not_equal(stream, via_stream_no_sync());
            via_stream_release(stream);
        }
    }
}

static void special_streams_are_borrowed_whichever_way_they_came(void **state) {
    (void)state;
    via_stream *stream = wrapped((void *)(uintptr_t)1, 0);
    for (int i = 0; i < 5; ++i) {
        via_stream_release(stream);
        via_stream_release(via_stream_legacy());
        via_stream_release(via_stream_per_thread());
        via_stream_release(via_stream_no_sync());
    }
    assert_int_equal((uintptr_t)via_stream_handle(stream), 1);
    assert_true(is_idle(stream) && is_idle(via_stream_legacy()) && is_idle(via_stream_per_thread()));
}

static void legacy_is_the_legacy_stream(void **state) {
    (void)state;
    hold(NULL);
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, NULL));
    assert_false(is_idle(via_stream_legacy()));
    release(NULL);
    ok(via_stream_synchronize(via_stream_legacy()));
    assert_true(is_idle(via_stream_legacy()));
}

static via_stream *mine_elsewhere;

static void per_thread_of_another_thread_is_idle(void) {
    assert_true(is_idle(via_stream_per_thread()));
    assert_true(is_idle(mine_elsewhere));
    ok(via_stream_synchronize(mine_elsewhere));
}

static void per_thread_is_the_stream_of_the_thread_that_makes_the_call(void **state) {
    (void)state;
    mine_elsewhere = wrapped((void *)(uintptr_t)2, 0);
    hold(CU_STREAM_PER_THREAD);
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, CU_STREAM_PER_THREAD));
    assert_false(is_idle(via_stream_per_thread()));
    assert_false(is_idle(mine_elsewhere));
    elsewhere(per_thread_of_another_thread_is_idle);
    release(CU_STREAM_PER_THREAD);
    ok(via_stream_synchronize(via_stream_per_thread()));
    assert_true(is_idle(mine_elsewhere));
}

static void no_sync_is_no_stream(void **state) {
    (void)state;
    via_stream *none = via_stream_no_sync();
    int32_t done = 7;
    via_event *marker = NULL;
    ok(via_event_create(0, &marker));
    refused(VIA_ERROR_INVALID_ARGUMENT, "stream|no_sync", via_stream_synchronize(none));
    refused(VIA_ERROR_INVALID_ARGUMENT, "stream|no_sync", via_stream_query(none, &done));
    assert_int_equal(done, 0);
    refused(VIA_ERROR_INVALID_ARGUMENT, "stream|no_sync", via_stream_wait(none, marker));
    refused(VIA_ERROR_INVALID_ARGUMENT, "stream|no_sync", via_event_record(marker, none));
    refused(VIA_ERROR_INVALID_ARGUMENT, "stream|no_sync", via_stream_set_current(0, none));
    via_event_release(marker);
}

static void a_foreign_stream_keeps_its_handle_and_its_owner(void **state) {
    (void)state;
    CUstream native = new_stream();
    via_stream *stream = wrapped(native, 0);
    assert_ptr_equal(via_stream_handle(stream), native);
    assert_int_equal(via_stream_device_id(stream), 0);
    hold(native);
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, native));
    assert_false(is_idle(stream));
    via_stream_retain(stream);
    via_stream_release(stream);
    assert_false(is_idle(stream));
    release(native);
    ok(via_stream_synchronize(stream));
    assert_true(is_idle(stream));
    via_stream_release(stream);
    assert_true(is_done(native));
}

static void a_foreign_stream_is_wrapped_on_a_thread_without_a_context(void **state) {
    (void)state;
    CUstream native = new_stream();
    cu_ok(cu(cuCtxSetCurrent)(NULL));
    via_stream *stream = wrapped(native, 0);
    assert_true(is_idle(stream));
    ok(via_stream_synchronize(stream));
    via_stream_release(stream);
    CUcontext current = NULL;
    cu_ok(cu(cuCtxGetCurrent)(&current));
    assert_null(current);
}

static void devices_that_are_not_there_are_refused(void **state) {
    (void)state;
    const int32_t wrong[] = {-1, device_count(), INT32_MAX, INT32_MIN};
    CUstream native = new_stream();
    for (int32_t i = 0; i < LENGTH(wrong); ++i) {
        via_stream *stream = via_stream_legacy();
        refused(VIA_ERROR_DEVICE, "device_id", via_stream_create(wrong[i], &stream));
        assert_null(stream);
        refused(VIA_ERROR_DEVICE, "device_id", via_stream_current(wrong[i], &stream));
        assert_null(stream);
        refused(VIA_ERROR_DEVICE, "device_id", via_stream_set_current(wrong[i], NULL));
        refused(VIA_ERROR_DEVICE, "device_id", via_stream_set_current(wrong[i], via_stream_legacy()));
        if (wrong[i] != -1) {
            refused(VIA_ERROR_DEVICE, "device_id", via_stream_wrap(native, wrong[i], &stream));
            assert_null(stream);
            refused(VIA_ERROR_DEVICE, "device_id", via_stream_wrap(NULL, wrong[i], &stream));
            assert_null(stream);
        }
    }
}

static void a_stream_is_wrapped_without_naming_its_device(void **state) {
    (void)state;
    const int32_t last = device_count() - 1;
    via_stream *stream = wrapped(new_stream_on(last), -1);
    assert_int_equal(via_stream_device_id(stream), last);
    assert_true(is_idle(stream));
    via_stream_release(stream);
    assert_ptr_equal(wrapped(NULL, -1), via_stream_legacy());
    assert_ptr_equal(wrapped((void *)(uintptr_t)1, -1), via_stream_legacy());
    assert_ptr_equal(wrapped((void *)(uintptr_t)2, -1), via_stream_per_thread());
}

static void a_stream_of_another_device_is_refused(void **state) {
    (void)state;
    need_two_devices();
    via_stream *stream = via_stream_legacy();
    refused(VIA_ERROR_DEVICE, "device_id is 0|device 1", via_stream_wrap(new_stream_on(1), 0, &stream));
    assert_null(stream);
    stream = created(1);
    assert_int_equal(via_stream_device_id(stream), 1);
    refused(VIA_ERROR_DEVICE, "device_id is 0|device 1", via_stream_set_current(0, stream));
    refused(VIA_ERROR_DEVICE, "device_id is 0|device 1", via_stream_set_current(0, wrapped((void *)(uintptr_t)2, 1)));
    via_stream_release(stream);
}

static void a_created_stream_does_not_wait_for_the_legacy_one(void **state) {
    (void)state;
    via_stream *stream = created(0);
    assert_true((uintptr_t)via_stream_handle(stream) > 2);
    hold(NULL);
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, NULL));
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, native_of(stream)));
    ok(via_stream_synchronize(stream));
    assert_false(is_idle(via_stream_legacy()));
    release(NULL);
    via_stream_release(stream);
}

static int64_t live_streams(void) { return on_fake_driver() ? fake(fake_live)(FAKE_STREAMS) : 0; }

static int no_more_streams_than(void *count) { return live_streams() <= *(int64_t *)count; }

static int first_byte_is_7(void *address) {
    char byte = 0;
    read_device(&byte, *(CUdeviceptr *)address, 1);
    return byte == 7;
}

static void the_last_release_neither_waits_for_pending_work_nor_loses_it(void **state) {
    (void)state;
    skip_where_calls_wait();
    CUdeviceptr memory = device_memory(64);
    CUstream held = new_stream();
    CUevent opened = new_event();
    via_stream *stream = created(0);
    hold(held);
    cu_ok(cu(cuEventRecord)(opened, held));
    cu_ok(cu(cuStreamWaitEvent)(native_of(stream), opened, 0));
    cu_ok(cu(cuMemsetD8Async)(memory, 7, 64, native_of(stream)));
    via_stream_release(stream);
    assert_false(is_done(held));
    assert_false(first_byte_is_7(&memory));
    release(held);
    assert_true(eventually(first_byte_is_7, &memory));
}

static void CUDA_CB release_stream(void *stream) { via_stream_release(stream); }

static void the_last_release_may_come_from_a_host_function(void **state) {
    (void)state;
    CUstream native = new_stream();
    int64_t before = live_streams();
    for (int i = 0; i < 20; ++i) {
        cu_ok(cu(cuLaunchHostFunc)(native, release_stream, created(0)));
    }
    finish(native);
    assert_true(eventually(no_more_streams_than, &before));
}

static void the_legacy_stream_is_current_until_another_is_set(void **state) {
    (void)state;
    for (int32_t device = 0; device < device_count(); ++device) {
        via_stream *stream = NULL;
        ok(via_stream_current(device, &stream));
        assert_int_equal((uintptr_t)via_stream_handle(stream), 1);
        assert_int_equal(via_stream_device_id(stream), device);
        via_stream_release(stream);
    }
}

static via_stream *current_of(int32_t device_id) {
    via_stream *stream = NULL;
    ok(via_stream_current(device_id, &stream));
    via_stream_release(stream);
    return stream;
}

static void the_current_stream_is_held_until_it_is_replaced(void **state) {
    (void)state;
    via_stream *first = created(0);
    via_stream *second = created(0);
    ok(via_stream_set_current(0, first));
    via_stream_release(first);
    assert_ptr_equal(current_of(0), first);
    assert_true(is_idle(first));
    ok(via_stream_set_current(0, first));
    assert_ptr_equal(current_of(0), first);
    ok(via_stream_set_current(0, second));
    assert_ptr_equal(current_of(0), second);
    via_stream *kept = NULL;
    ok(via_stream_current(0, &kept));
    via_stream_release(second);
    ok(via_stream_set_current(0, NULL));
    assert_int_equal((uintptr_t)via_stream_handle(current_of(0)), 1);
    assert_true(is_idle(kept));
    via_stream_release(kept);
    ok(via_stream_set_current(0, NULL));
}

static void each_device_has_a_current_stream_of_its_own(void **state) {
    (void)state;
    need_two_devices();
    via_stream *stream = created(1);
    ok(via_stream_set_current(1, stream));
    assert_ptr_equal(current_of(1), stream);
    assert_int_equal((uintptr_t)via_stream_handle(current_of(0)), 1);
    ok(via_stream_set_current(1, NULL));
    via_stream_release(stream);
}

static void set_here_only(void) {
    assert_int_equal((uintptr_t)via_stream_handle(current_of(0)), 1);
    via_stream *stream = created(0);
    ok(via_stream_set_current(0, stream));
    via_stream_release(stream);
    assert_ptr_equal(current_of(0), stream);
}

static void a_threads_current_stream_is_its_own_and_ends_with_it(void **state) {
    (void)state;
    via_stream *stream = created(0);
    ok(via_stream_set_current(0, stream));
    int64_t before = live_streams();
    for (int i = 0; i < 30; ++i) {
        elsewhere(set_here_only);
    }
    assert_ptr_equal(current_of(0), stream);
    assert_true(eventually(no_more_streams_than, &before));
    ok(via_stream_set_current(0, NULL));
    via_stream_release(stream);
}

static via_stream *shared;

static void use_shared(void) {
    for (int i = 0; i < 200; ++i) {
        via_stream_retain(shared);
        ok(via_stream_set_current(0, shared));
        assert_ptr_equal(current_of(0), shared);
        assert_true(is_idle(shared));
        if (i % 3 == 0) {
            ok(via_stream_set_current(0, NULL));
        }
        via_stream_release(shared);
    }
}

static void *use_shared_on_a_thread(void *context) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    use_shared();
    return context;
}

static void one_handle_serves_many_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    shared = created(0);
    for (int32_t i = 0; i < LENGTH(threads); ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_shared_on_a_thread, NULL), 0);
    }
    for (int32_t i = 0; i < LENGTH(threads); ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    via_stream_release(shared);
}

static void a_failure_of_the_driver_is_reported_by_its_name(void **state) {
    (void)state;
    steer();
    via_stream *stream = via_stream_legacy();
    fake(fake_fail_at)("cuStreamCreate", 1, CUDA_ERROR_OUT_OF_MEMORY);
    refused(VIA_ERROR_OUT_OF_MEMORY, "via_stream_create|cuStreamCreate|CUDA_ERROR_OUT_OF_MEMORY",
            via_stream_create(0, &stream));
    assert_null(stream);
    assert_int_equal(via_last_error_code(), CUDA_ERROR_OUT_OF_MEMORY);
    fake(fake_fail_at)("cuStreamGetCtx", 1, CUDA_ERROR_INVALID_HANDLE);
    refused(VIA_ERROR_CUDA, "via_stream_wrap|cuStreamGetCtx|CUDA_ERROR_INVALID_HANDLE",
            via_stream_wrap(new_stream(), 0, &stream));
    assert_null(stream);
    stream = created(0);
    fake(fake_fail_at)("cuStreamQuery", 1, CUDA_ERROR_LAUNCH_FAILED);
    int32_t done = 7;
    refused(VIA_ERROR_CUDA, "cuStreamQuery|CUDA_ERROR_LAUNCH_FAILED", via_stream_query(stream, &done));
    assert_int_equal(done, 0);
    fake(fake_fail_at)("cuStreamSynchronize", 1, CUDA_ERROR_LAUNCH_FAILED);
    refused(VIA_ERROR_CUDA, "cuStreamSynchronize|CUDA_ERROR_LAUNCH_FAILED", via_stream_synchronize(stream));
    via_stream_release(stream);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(special_native_handles_are_wrapped_as_what_they_mean),
        GPU_TEST(special_streams_are_borrowed_whichever_way_they_came),
        GPU_TEST(legacy_is_the_legacy_stream),
        GPU_TEST(per_thread_is_the_stream_of_the_thread_that_makes_the_call),
        GPU_TEST(no_sync_is_no_stream),
        GPU_TEST(a_foreign_stream_keeps_its_handle_and_its_owner),
        GPU_TEST(a_foreign_stream_is_wrapped_on_a_thread_without_a_context),
        GPU_TEST(devices_that_are_not_there_are_refused),
        GPU_TEST(a_stream_is_wrapped_without_naming_its_device),
        GPU_TEST(a_stream_of_another_device_is_refused),
        GPU_TEST(a_created_stream_does_not_wait_for_the_legacy_one),
        GPU_TEST(the_last_release_neither_waits_for_pending_work_nor_loses_it),
        GPU_TEST(the_last_release_may_come_from_a_host_function),
        GPU_TEST(the_legacy_stream_is_current_until_another_is_set),
        GPU_TEST(the_current_stream_is_held_until_it_is_replaced),
        GPU_TEST(each_device_has_a_current_stream_of_its_own),
        GPU_TEST(a_threads_current_stream_is_its_own_and_ends_with_it),
        GPU_TEST(one_handle_serves_many_threads),
        GPU_TEST(a_failure_of_the_driver_is_reported_by_its_name),
    };
    return run_gpu_tests(tests);
}
