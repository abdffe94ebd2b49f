/* Graph capture: what a captured stream accepts, what is refused before it breaks anything, and what a graph holds. */
#include "support.h"

#include <pthread.h>
#include <time.h>

static void a_graph_holds_the_array_recorded_on_its_stream(void **state) {
    (void)state;
    atomic_int released = 0;
    CUstream native = new_stream();
    const CUdeviceptr memory = device_memory(64);
    via_array *array = wrap_device(memory, 64, &released);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cu_ok(cu(cuMemsetD8Async)(memory, 4, 64, native));
    ok(via_array_record_stream(array, wrap_native(native, 0)));
    via_array_release(array);
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CUgraph graph = end_capture(native);
    assert_int_equal(node_count(graph), 1);
    CUgraphExec exec = instantiate(graph);
    put_away(graph);
    launch(exec, native);
    launch(exec, native);
    assert_device_bytes(memory, 64, 4);
    assert_int_equal(atomic_load(&released), 0);
    put_away(exec);
    await_count(&released, 1);
}

static void a_graph_that_was_never_made_ready_releases_as_well(void **state) {
    (void)state;
    atomic_int released = 0;
    CUstream native = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, &released);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    ok(via_array_record_stream(array, wrap_native(native, 0)));
    ok(via_array_set_ready(array, wrap_native(native, 0)));
    via_array_release(array);
    CUgraph graph = end_capture(native);
    assert_int_equal(atomic_load(&released), 0);
    put_away(graph);
    await_count(&released, 1);
}

static void a_broken_capture_releases_as_well(void **state) {
    (void)state;
    atomic_int released = 0;
    CUstream native = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, &released);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_array_record_stream(array, wrap_native(native, 0)));
    via_array_release(array);
    cu_refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu(cuStreamSynchronize)(native));
    CUgraph graph = NULL;
    cu_refused(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu(cuStreamEndCapture)(native, &graph));
    assert_null(graph);
    await_count(&released, 1);
}

/* Stands for an owner that calls the driver, as most do. */
static void free_memory(void *context) {
    CUdeviceptr *memory = context;
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    cu_ok(cu(cuMemFree)(*memory));
    __atomic_store_n(memory, 0, __ATOMIC_RELEASE);
}

static int is_freed(void *memory) { return __atomic_load_n((CUdeviceptr *)memory, __ATOMIC_ACQUIRE) == 0; }

static void the_owner_may_call_the_driver_when_a_graph_releases(void **state) {
    (void)state;
    static CUdeviceptr memory;
    CUstream native = new_stream();
    via_array *array = NULL;
    cu_ok(cu(cuMemAlloc)(&memory, 64));
    ok(via_wrap((void *)(uintptr_t)memory, VIA_UINT8, 1, SHAPE(64), NULL, VIA_DEVICE_CUDA, 0, 0, free_memory, &memory,
                &array));
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_array_record_stream(array, wrap_native(native, 0)));
    via_array_release(array);
    put_away(end_capture(native));
    assert_true(eventually(is_freed, &memory));
}

static void what_a_captured_stream_cannot_answer_is_refused_and_breaks_nothing(void **state) {
    (void)state;
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    int32_t done = 7;
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, "via_stream_query|captured", via_stream_query(stream, &done));
    assert_int_equal(done, 0);
    refused(VIA_ERROR_STREAM_CAPTURE, "via_stream_synchronize|captured", via_stream_synchronize(stream));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(native);
    ok(via_stream_synchronize(stream));
}

static void a_stream_may_be_wrapped_and_made_current_while_it_is_captured(void **state) {
    (void)state;
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    via_stream *stream = wrap_native(native, 0);
    assert_int_equal(via_stream_device_id(stream), 0);
    ok(via_stream_set_current(0, stream));
    via_stream *current = NULL;
    ok(via_stream_current(0, &current));
    via_stream_release(current);
    ok(via_stream_set_current(0, NULL));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(native);
}

static void the_legacy_stream_is_refused_while_a_blocking_stream_is_captured(void **state) {
    (void)state;
    CUstream native = new_blocking_stream();
    via_stream *legacy = via_stream_legacy();
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    via_event *marker = NULL;
    ok(via_event_create(0, &marker));
    int32_t done = 7;
    begin_capture(native, CU_STREAM_CAPTURE_MODE_RELAXED);
    refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_stream_query(legacy, &done));
    refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_stream_synchronize(legacy));
    refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_event_record(marker, legacy));
    refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_stream_wait(legacy, marker));
    refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_array_record_stream(array, legacy));
    refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_array_set_ready(array, legacy));
    assert_int_equal(via_last_error_code(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(native);
    ok(via_stream_query(legacy, &done));
    via_event_release(marker);
    via_array_release(array);
}

static void everything_during_a_capture_goes_on_and_breaks_nothing(void **state) {
    (void)state;
    CUstream captured = new_stream();
    CUstream neighbour = new_stream();
    via_stream *stream = wrap_native(neighbour, 0);
    atomic_int released = 0;
    int32_t done = 0;
    begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
    via_stream *made = NULL;
    via_event *marker = NULL;
    ok(via_stream_create(0, &made));
    ok(via_event_create(0, &marker));
    ok(via_event_record(marker, made));
    ok(via_event_query(marker, &done));
    ok(via_event_synchronize(marker));
    ok(via_stream_wait(stream, marker));
    ok(via_stream_query(stream, &done));
    ok(via_stream_synchronize(stream));
    ok(via_stream_synchronize(via_stream_legacy()));
    via_array *array = wrap_bytes("constant", 8, VIA_DEVICE_CPU, 0, &released);
    ok(via_array_record_stream(array, made));
    ok(via_array_set_ready(array, via_stream_per_thread()));
    via_array_release(array);
    via_event_release(marker);
    via_stream_release(made);
    await_count(&released, 1);
    assert_int_equal(capture_status(captured), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(captured);
}

static void an_event_recorded_in_a_capture_is_no_point_in_time(void **state) {
    (void)state;
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    via_event *marker = NULL;
    int32_t done = 7;
    ok(via_event_create(0, &marker));
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_event_record(marker, stream));
    refused(VIA_ERROR_STREAM_CAPTURE, "marker", via_event_query(marker, &done));
    assert_int_equal(done, 0);
    refused(VIA_ERROR_STREAM_CAPTURE, "marker", via_event_synchronize(marker));
    refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_stream_wait(via_stream_legacy(), marker));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(native);
    refused(VIA_ERROR_STREAM_CAPTURE, "marker", via_event_query(marker, &done));
    ok(via_event_record(marker, stream));
    ok(via_event_synchronize(marker));
    via_event_release(marker);
}

static void a_capture_forks_to_another_stream_and_joins_again(void **state) {
    (void)state;
    CUstream first = new_stream();
    CUstream second = new_stream();
    via_stream *origin = wrap_native(first, 0);
    via_stream *branch = wrap_native(second, 0);
    const CUdeviceptr memory = device_memory(64);
    via_event *fork = NULL;
    via_event *join = NULL;
    ok(via_event_create(0, &fork));
    ok(via_event_wrap(new_event(), 0, &join));
    begin_capture(first, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_event_record(fork, origin));
    ok(via_stream_wait(branch, fork));
    cu_ok(cu(cuMemsetD8Async)(memory, 6, 64, second));
    ok(via_event_record(join, branch));
    ok(via_stream_wait(origin, join));
    ok(via_stream_wait(origin, fork));
    CUgraph graph = end_capture(first);
    assert_int_equal(node_count(graph), 1);
    launch(instantiate(graph), first);
    assert_device_bytes(memory, 64, 6);
    via_event_release(fork);
    via_event_release(join);
}

static void waits_across_the_border_of_a_capture_are_refused(void **state) {
    (void)state;
    CUstream first = new_stream();
    CUstream second = new_stream();
    CUstream outside = new_stream();
    via_event *marker = NULL;
    via_event *unrecorded = NULL;
    ok(via_event_create(0, &marker));
    ok(via_event_create(0, &unrecorded));
    ok(via_event_record(marker, wrap_native(outside, 0)));
    begin_capture(first, CU_STREAM_CAPTURE_MODE_RELAXED);
    begin_capture(second, CU_STREAM_CAPTURE_MODE_RELAXED);
    refused(VIA_ERROR_STREAM_CAPTURE, "stream|marker|capture", via_stream_wait(wrap_native(first, 0), marker));
    ok(via_event_record(marker, wrap_native(second, 0)));
    refused(VIA_ERROR_STREAM_CAPTURE, "stream|marker|capture", via_stream_wait(wrap_native(first, 0), marker));
    ok(via_stream_wait(wrap_native(first, 0), unrecorded));
    assert_int_equal(capture_status(first), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(capture_status(second), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(second);
    end_capture(first);
    via_event_release(marker);
    via_event_release(unrecorded);
}

static atomic_int releasing;

static void *release_soon(void *stream) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    atomic_store(&releasing, 1);
    release(stream);
    return NULL;
}

/* In the strictest mode, in which a plain wait would break the capture. */
static void an_export_to_a_captured_stream_waits_on_the_host(void **state) {
    (void)state;
    CUstream producer = new_stream();
    CUstream consumer = new_stream();
    via_stream *stream = wrap_native(consumer, 0);
    const CUdeviceptr memory = device_memory(64);
    via_array *array = wrap_device(memory, 64, NULL);
    atomic_store(&releasing, 0);
    hold(producer);
    cu_ok(cu(cuMemsetD8Async)(memory, 9, 64, producer));
    ok(via_array_set_ready(array, wrap_native(producer, 0)));
    begin_capture(consumer, CU_STREAM_CAPTURE_MODE_GLOBAL);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, release_soon, producer), 0);
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, stream, &tensor));
    assert_int_equal(atomic_load(&releasing), 1);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(capture_status(consumer), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(node_count(end_capture(consumer)), 0);
    assert_true(is_done(producer));
    via_dlpack_delete(tensor);
    via_array_release(array);
}

static void an_import_on_a_captured_stream_is_ready(void **state) {
    (void)state;
    CUstream native = new_stream();
    CUstream consumer = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, via_stream_no_sync(), &tensor));
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    via_array *imported = NULL;
    ok(via_from_dlpack(tensor, NULL, wrap_native(native, 0), &imported));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(native);
    ok(via_to_dlpack(imported, NULL, wrap_native(consumer, 0), &tensor));
    finish(consumer);
    via_dlpack_delete(tensor);
    via_array_release(imported);
    via_array_release(array);
}

static void a_capture_already_broken_is_reported(void **state) {
    (void)state;
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    via_stream *again = stream;
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cu_refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu(cuStreamSynchronize)(native));
    refused(VIA_ERROR_STREAM_CAPTURE, "invalidated", via_array_record_stream(array, stream));
    refused(VIA_ERROR_STREAM_CAPTURE, "INVALIDATED", via_stream_wrap(native, 0, &again));
    assert_null(again);
    CUgraph graph = NULL;
    cu_refused(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu(cuStreamEndCapture)(native, &graph));
    via_array_release(array);
}

static void failures_on_the_way_into_a_graph_lose_no_array(void **state) {
    (void)state;
    steer();
    static const char *const calls[] = {"cuStreamGetCaptureInfo", "cuUserObjectCreate", "cuGraphRetainUserObject"};
    CUstream native = new_stream();
    for (int32_t i = 0; i < LENGTH(calls); ++i) {
        atomic_int released = 0;
        via_array *array = wrap_device(device_memory(64), 64, &released);
        begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
        fake(fake_fail_at)(calls[i], 1, CUDA_ERROR_OUT_OF_MEMORY);
        refused(VIA_ERROR_OUT_OF_MEMORY, calls[i], via_array_record_stream(array, wrap_native(native, 0)));
        end_capture(native);
        via_array_release(array);
        await_count(&released, 1);
    }
}

/* While this thread captures, an event may not be asked for. The mode of the capture is changed for that. */
static void a_change_of_the_capture_mode_that_fails_once_loses_no_order(void **state) {
    (void)state;
    steer();
    CUstream writer = new_stream();
    CUstream reader = new_stream();
    CUstream captured = new_stream();
    const CUdeviceptr from = device_memory(64);
    const CUdeviceptr to = device_memory(64);
    via_array *src = wrap_device(from, 64, NULL);
    via_array *dst = wrap_device(to, 64, NULL);
    for (int64_t n = 1; n <= 6; ++n) {
        note("exchange %d", (int)n);
        hold(writer);
        cu_ok(cu(cuMemsetD8Async)(from, (unsigned char)n, 64, writer));
        ok(via_array_set_ready(src, wrap_native(writer, 0)));
        begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
        fake(fake_fail_at)("cuThreadExchangeStreamCaptureMode", n, CUDA_ERROR_UNKNOWN);
        ok(via_copy_async(dst, src, wrap_native(reader, 0)));
        fake(fake_clear_faults)();
        end_capture(captured);
        release(writer);
        cu_ok(cu(cuStreamSynchronize)(reader));
        assert_device_bytes(to, 64, (unsigned char)n);
    }
    via_array_release(dst);
    via_array_release(src);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_graph_holds_the_array_recorded_on_its_stream),
        GPU_TEST(a_graph_that_was_never_made_ready_releases_as_well),
        GPU_TEST(a_broken_capture_releases_as_well),
        GPU_TEST(the_owner_may_call_the_driver_when_a_graph_releases),
        GPU_TEST(what_a_captured_stream_cannot_answer_is_refused_and_breaks_nothing),
        GPU_TEST(a_stream_may_be_wrapped_and_made_current_while_it_is_captured),
        GPU_TEST(the_legacy_stream_is_refused_while_a_blocking_stream_is_captured),
        GPU_TEST(everything_during_a_capture_goes_on_and_breaks_nothing),
        GPU_TEST(an_event_recorded_in_a_capture_is_no_point_in_time),
        GPU_TEST(a_capture_forks_to_another_stream_and_joins_again),
        GPU_TEST(waits_across_the_border_of_a_capture_are_refused),
        GPU_TEST(an_export_to_a_captured_stream_waits_on_the_host),
        GPU_TEST(an_import_on_a_captured_stream_is_ready),
        GPU_TEST(a_capture_already_broken_is_reported),
        GPU_TEST(failures_on_the_way_into_a_graph_lose_no_array),
        GPU_TEST(a_change_of_the_capture_mode_that_fails_once_loses_no_order),
    };
    return run_gpu_tests(tests);
}
