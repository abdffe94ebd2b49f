/* Events: what is marked, who waits for it, and which streams they go with. */
#include "support.h"

static via_event *created(void) {
    via_event *marker = NULL;
    ok(via_event_create(0, &marker));
    assert_non_null(marker);
    return marker;
}

static int is_reached(via_event *marker) {
    int32_t done = 7;
    ok(via_event_query(marker, &done));
    assert_int_in_range(done, 0, 1);
    return done;
}

static void an_event_never_recorded_holds_nobody_up(void **state) {
    (void)state;
    via_event *marker = created();
    CUstream native = new_stream();
    assert_non_null(via_event_handle(marker));
    assert_true(is_reached(marker));
    ok(via_event_synchronize(marker));
    ok(via_stream_wait(wrap_native(native, 0), marker));
    finish(native);
    via_event_release(marker);
}

static void an_event_marks_the_streams_work_so_far(void **state) {
    (void)state;
    via_event *marker = created();
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    hold(native);
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, native));
    ok(via_event_record(marker, stream));
    assert_false(is_reached(marker));
    release(native);
    ok(via_event_synchronize(marker));
    assert_true(is_reached(marker));
    hold(native);
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, native));
    assert_true(is_reached(marker));
    ok(via_event_record(marker, stream));
    assert_false(is_reached(marker));
    release(native);
    via_event_release(marker);
}

static void a_stream_waits_on_the_device_and_not_on_the_host(void **state) {
    (void)state;
    via_event *marker = created();
    CUstream first = new_stream();
    CUstream second = new_stream();
    const CUdeviceptr memory = device_memory(64);
    hold(first);
    ok(via_event_record(marker, wrap_native(first, 0)));
    ok(via_stream_wait(wrap_native(second, 0), marker));
    cu_ok(cu(cuMemsetD8Async)(memory, 1, 64, second));
    assert_false(is_done(second));
    release(first);
    finish(second);
    assert_device_bytes(memory, 64, 1);
    via_event_release(marker);
}

static void a_wait_is_for_what_was_marked_when_it_was_asked_for(void **state) {
    (void)state;
    via_event *marker = created();
    CUstream first = new_stream();
    CUstream second = new_stream();
    CUstream third = new_stream();
    hold(first);
    ok(via_event_record(marker, wrap_native(first, 0)));
    ok(via_stream_wait(wrap_native(second, 0), marker));
    ok(via_event_record(marker, wrap_native(third, 0)));
    ok(via_event_synchronize(marker));
    assert_false(is_done(second));
    via_event_release(marker);
    assert_false(is_done(second));
    release(first);
    finish(second);
}

static void a_marked_point_outlives_the_stream(void **state) {
    (void)state;
    skip_where_calls_wait();
    via_event *marker = created();
    via_stream *stream = NULL;
    ok(via_stream_create(0, &stream));
    CUstream held = new_stream();
    CUevent opened = new_event();
    hold(held);
    cu_ok(cu(cuEventRecord)(opened, held));
    cu_ok(cu(cuStreamWaitEvent)((CUstream)via_stream_handle(stream), opened, 0));
    ok(via_event_record(marker, stream));
    via_stream_release(stream);
    assert_false(is_reached(marker));
    release(held);
    ok(via_event_synchronize(marker));
    via_event_release(marker);
}

static void legacy_and_per_thread_streams_are_recorded_and_wait(void **state) {
    (void)state;
    via_event *marker = created();
    via_stream *special[] = {via_stream_legacy(), via_stream_per_thread()};
    CUstream handles[] = {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (int32_t i = 0; i < LENGTH(special); ++i) {
        CUstream waiting = new_stream();
        hold(handles[i]);
        ok(via_event_record(marker, special[i]));
        assert_false(is_reached(marker));
        ok(via_stream_wait(wrap_native(waiting, 0), marker));
        assert_false(is_done(waiting));
        release(handles[i]);
        ok(via_event_synchronize(marker));
        hold(waiting);
        ok(via_event_record(marker, wrap_native(waiting, 0)));
        ok(via_stream_wait(special[i], marker));
        assert_false(is_done(handles[i]));
        release(waiting);
        finish(handles[i]);
    }
    via_event_release(marker);
}

static void a_foreign_event_stays_its_owners(void **state) {
    (void)state;
    CUevent native = new_event();
    CUstream stream = new_stream();
    via_event *marker = NULL;
    ok(via_event_wrap(native, 0, &marker));
    assert_ptr_equal(via_event_handle(marker), native);
    hold(stream);
    cu_ok(cu(cuEventRecord)(native, stream));
    assert_false(is_reached(marker));
    via_event_retain(marker);
    via_event_release(marker);
    assert_false(is_reached(marker));
    release(stream);
    ok(via_event_synchronize(marker));
    ok(via_event_record(marker, wrap_native(stream, 0)));
    via_event_release(marker);
    cu_ok(cu(cuEventSynchronize)(native));
}

static void no_event_and_no_device_are_refused(void **state) {
    (void)state;
    via_event *marker = (via_event *)state;
    refused(VIA_ERROR_INVALID_ARGUMENT, "native_event|NULL", via_event_wrap(NULL, 0, &marker));
    assert_null(marker);
    const int32_t wrong[] = {-1, device_count(), INT32_MAX};
    for (int32_t i = 0; i < LENGTH(wrong); ++i) {
        refused(VIA_ERROR_DEVICE, "device_id", via_event_create(wrong[i], &marker));
        refused(VIA_ERROR_DEVICE, "device_id", via_event_wrap(new_event(), wrong[i], &marker));
        assert_null(marker);
    }
}

static void an_event_is_recorded_only_on_streams_of_its_context(void **state) {
    (void)state;
    via_event *marker = created();
    CUcontext other = new_context();
    CUstream theirs = NULL;
    cu_ok(cu(cuStreamCreate)(&theirs, CU_STREAM_NON_BLOCKING));
    via_stream *stream = NULL;
    ok(via_stream_wrap(theirs, 0, &stream));
    refused(VIA_ERROR_INVALID_ARGUMENT, "marker|stream|context", via_event_record(marker, stream));
    refused(VIA_ERROR_INVALID_ARGUMENT, "marker|stream|context", via_event_record(marker, via_stream_legacy()));
    assert_true(is_reached(marker));
    CUstream mine = NULL;
    cu_ok(cu(cuCtxPushCurrent)(primary(0)));
    mine = new_stream();
    hold(mine);
    ok(via_event_record(marker, wrap_native(mine, 0)));
    CUcontext popped = NULL;
    cu_ok(cu(cuCtxPopCurrent)(&popped));
    ok(via_stream_wait(stream, marker));
    assert_false(is_done(theirs));
    release(mine);
    finish(theirs);
    via_event_release(marker);
    via_stream_release(stream);
    cu_ok(cu(cuCtxDestroy)(other));
}

static void an_event_and_a_stream_of_two_devices_wait_but_are_not_recorded(void **state) {
    (void)state;
    need_two_devices();
    via_event *marker = created();
    CUstream here = new_stream();
    CUstream there = new_stream_on(1);
    refused(VIA_ERROR_DEVICE, "stream is of device 1|marker of device 0",
            via_event_record(marker, wrap_native(there, 1)));
    hold(here);
    ok(via_event_record(marker, wrap_native(here, 0)));
    ok(via_stream_wait(wrap_native(there, 1), marker));
    assert_false(is_done(there));
    release(here);
    finish(there);
    via_event_release(marker);
}

static void CUDA_CB release_event(void *marker) { via_event_release(marker); }

static void the_last_release_may_come_from_a_host_function(void **state) {
    (void)state;
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int i = 0; i < 20; ++i) {
        via_event *marker = created();
        ok(via_event_record(marker, stream));
        cu_ok(cu(cuLaunchHostFunc)(native, release_event, marker));
    }
    finish(native);
}

static void events_in_use_may_be_released(void **state) {
    (void)state;
    CUstream first = new_stream();
    CUstream second = new_stream();
    hold(first);
    for (int i = 0; i < 20; ++i) {
        via_event *marker = created();
        ok(via_event_record(marker, wrap_native(first, 0)));
        ok(via_stream_wait(wrap_native(second, 0), marker));
        via_event_release(marker);
    }
    assert_false(is_done(second));
    release(first);
    finish(second);
}

static void a_failure_of_the_driver_is_reported_by_its_name(void **state) {
    (void)state;
    steer();
    via_event *marker = NULL;
    via_stream *stream = wrap_native(new_stream(), 0);
    fake(fake_fail_at)("cuEventCreate", 1, CUDA_ERROR_OUT_OF_MEMORY);
    refused(VIA_ERROR_OUT_OF_MEMORY, "via_event_create|cuEventCreate", via_event_create(0, &marker));
    assert_null(marker);
    marker = created();
    fake(fake_fail_at)("cuEventRecord", 1, CUDA_ERROR_LAUNCH_FAILED);
    refused(VIA_ERROR_CUDA, "cuEventRecord|CUDA_ERROR_LAUNCH_FAILED", via_event_record(marker, stream));
    fake(fake_fail_at)("cuStreamWaitEvent", 1, CUDA_ERROR_LAUNCH_FAILED);
    refused(VIA_ERROR_CUDA, "cuStreamWaitEvent|CUDA_ERROR_LAUNCH_FAILED", via_stream_wait(stream, marker));
    fake(fake_fail_at)("cuEventSynchronize", 1, CUDA_ERROR_LAUNCH_FAILED);
    refused(VIA_ERROR_CUDA, "cuEventSynchronize|CUDA_ERROR_LAUNCH_FAILED", via_event_synchronize(marker));
    fake(fake_fail_at)("cuEventQuery", 1, CUDA_ERROR_LAUNCH_FAILED);
    int32_t done = 7;
    refused(VIA_ERROR_CUDA, "cuEventQuery|CUDA_ERROR_LAUNCH_FAILED", via_event_query(marker, &done));
    assert_int_equal(done, 0);
    assert_int_equal(via_last_error_code(), CUDA_ERROR_LAUNCH_FAILED);
    via_event_release(marker);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(an_event_never_recorded_holds_nobody_up),
        GPU_TEST(an_event_marks_the_streams_work_so_far),
        GPU_TEST(a_stream_waits_on_the_device_and_not_on_the_host),
        GPU_TEST(a_wait_is_for_what_was_marked_when_it_was_asked_for),
        GPU_TEST(a_marked_point_outlives_the_stream),
        GPU_TEST(legacy_and_per_thread_streams_are_recorded_and_wait),
        GPU_TEST(a_foreign_event_stays_its_owners),
        GPU_TEST(no_event_and_no_device_are_refused),
        GPU_TEST(an_event_is_recorded_only_on_streams_of_its_context),
        GPU_TEST(an_event_and_a_stream_of_two_devices_wait_but_are_not_recorded),
        GPU_TEST(the_last_release_may_come_from_a_host_function),
        GPU_TEST(events_in_use_may_be_released),
        GPU_TEST(a_failure_of_the_driver_is_reported_by_its_name),
    };
    return run_gpu_tests(tests);
}
