/* Stream-ordered memory: when it is there, and how it goes back. */
#include "memory_support.h"

static void pool_memory_is_refused_on_a_stream_of_another_device(void **state) {
    (void)state;
    need_two_devices();
    via_memory *pool = make(VIA_MEMORY_DEVICE_POOL, 0);
    via_array *array = NULL;
    refused(VIA_ERROR_DEVICE, "via_empty|device 1|device 0",
            via_empty(pool, VIA_UINT8, 1, SHAPE(8), wrap_native(new_stream_on(1), 1), &array));
    via_memory_release(pool);
}

/* Allocating waits for nothing; what follows on the stream may use the memory, and so may everyone once it is there. */
static void pool_memory_is_allocated_and_freed_in_stream_order(void **state) {
    (void)state;
    CUstream stream = new_stream();
    via_stream *handle = wrap_native(stream, 0);
    via_memory *pool = make(VIA_MEMORY_DEVICE_POOL, 0);
    hold(stream);
    via_array *array = make_bytes(pool, 4096, handle);
    const CUdeviceptr memory = (CUdeviceptr)(uintptr_t)via_array_data(array);
    cu_ok(cu(cuMemsetD8Async)(memory, 7, 4096, stream));
    ok(via_array_record_stream(array, handle));
    via_array_release(array);
    assert_int_equal(pool_blocks(), 1);
    release(stream);
    finish(stream);
    assert_true(eventually(has_pool_blocks, &(int64_t){0}));
    via_memory_release(pool);
}

/* The device itself comes after the uses; neither the caller nor a thread of the library waits for them. */
static void pool_memory_goes_back_behind_its_uses_with_nobody_waiting(void **state) {
    (void)state;
    via_memory *pool = make(VIA_MEMORY_DEVICE_POOL, 0);
    CUstream streams[3];
    via_array *array = make_bytes(pool, 4096, via_stream_legacy());
    finish(CU_STREAM_LEGACY);
    for (int32_t i = 0; i < LENGTH(streams); ++i) {
        streams[i] = new_stream();
        hold(streams[i]);
        cu_ok(cu(cuMemsetD8Async)((CUdeviceptr)(uintptr_t)via_array_data(array), 7, 4096, streams[i]));
        ok(via_array_record_stream(array, wrap_native(streams[i], 0)));
    }
    via_array_release(array);
    assert_int_equal(stats_now().pending_releases, 0);
    assert_int_equal(stats_now().device_bytes, 0);
    for (int32_t i = 0; i < LENGTH(streams); ++i) {
        assert_int_equal(pool_blocks(), 1);
        release(streams[i]);
        finish(streams[i]);
    }
    assert_true(eventually(has_pool_blocks, &(int64_t){0}));
    via_memory_release(pool);
}

static void pool_memory_that_nobody_uses_goes_back_before_what_is_in_use(void **state) {
    (void)state;
    via_memory *pool = make(VIA_MEMORY_DEVICE_POOL, 0);
    CUstream stream = new_stream();
    via_array *used = make_bytes(pool, 4096, via_stream_legacy());
    via_array *other = make_bytes(pool, 4096, via_stream_legacy());
    finish(CU_STREAM_LEGACY);
    hold(stream);
    cu_ok(cu(cuMemsetD8Async)((CUdeviceptr)(uintptr_t)via_array_data(used), 7, 4096, stream));
    ok(via_array_record_stream(used, wrap_native(stream, 0)));
    via_array_release(used);
    via_array_release(other);
    assert_true(eventually(has_pool_blocks, &(int64_t){1}));
    release(stream);
    assert_true(eventually(has_pool_blocks, &(int64_t){0}));
    via_memory_release(pool);
}

static void where_the_device_cannot_be_reported_pool_memory_waits_on_the_host(void **state) {
    (void)state;
    steer();
    via_memory *pool = make(VIA_MEMORY_DEVICE_POOL, 0);
    CUstream stream = new_stream();
    via_stream *handle = wrap_native(stream, 0);
    hold(stream);
    via_array *array = make_bytes(pool, 4096, handle);
    cu_ok(cu(cuMemsetD8Async)((CUdeviceptr)(uintptr_t)via_array_data(array), 7, 4096, stream));
    ok(via_array_record_stream(array, handle));
    fake(fake_fail_at)("cuStreamWaitEvent", 1, CUDA_ERROR_UNKNOWN);
    via_array_release(array);
    fake(fake_clear_faults)();
    assert_int_equal(stats_now().pending_releases, 1);
    assert_int_equal(stats_now().device_bytes, 4096);
    release(stream);
    assert_true(eventually(no_bytes_counted, NULL));
    via_memory_release(pool);
}

/* cuMemFree would not wait for them. */
static void pool_memory_is_not_freed_under_its_uses_where_the_device_cannot_be_found(void **state) {
    (void)state;
    steer();
    via_memory *pool = make(VIA_MEMORY_DEVICE_POOL, 0);
    CUstream stream = new_stream();
    via_stream *handle = wrap_native(stream, 0);
    for (int64_t n = 1; n <= 4; ++n) {
        hold(stream);
        via_array *array = make_bytes(pool, 4096, handle);
        cu_ok(cu(cuMemsetD8Async)((CUdeviceptr)(uintptr_t)via_array_data(array), 7, 4096, stream));
        ok(via_array_record_stream(array, handle));
        fake(fake_fail_at)("cuDeviceGet", n, CUDA_ERROR_UNKNOWN);
        via_array_release(array);
        fake(fake_clear_faults)();
        assert_int_equal(pool_blocks(), 1);
        release(stream);
        assert_true(eventually(has_pool_blocks, &(int64_t){0}));
    }
    via_memory_release(pool);
}

static void pool_memory_that_no_stream_frees_is_freed_once_its_uses_have_ended(void **state) {
    (void)state;
    steer();
    via_memory *pool = make(VIA_MEMORY_DEVICE_POOL, 0);
    CUstream stream = new_stream();
    via_stream *handle = wrap_native(stream, 0);
    via_array *array = make_bytes(pool, 4096, handle);
    fake(fake_stream_delay)(stream, 20000);
    cu_ok(cu(cuMemsetD8Async)((CUdeviceptr)(uintptr_t)via_array_data(array), 7, 4096, stream));
    ok(via_array_record_stream(array, handle));
    fake(fake_fail_at)("cuMemFreeAsync", 1, CUDA_ERROR_UNKNOWN);
    via_array_release(array);
    fake(fake_clear_faults)();
    assert_int_equal(pool_blocks(), 0);
    assert_int_equal(cu(cuStreamQuery)(stream), CUDA_SUCCESS);
    via_memory_release(pool);
}

static void a_stream_that_is_captured_gives_no_pool_memory(void **state) {
    (void)state;
    CUstream stream = new_stream();
    via_stream *handle = wrap_native(stream, 0);
    via_memory *pool = make(VIA_MEMORY_DEVICE_POOL, 0);
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    via_array *array = NULL;
    refused(VIA_ERROR_STREAM_CAPTURE, "via_empty|captured", via_empty(pool, VIA_UINT8, 1, SHAPE(64), handle, &array));
    assert_null(array);
    assert_int_equal(capture_status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(node_count(end_capture(stream)), 0);
    via_memory_release(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(pool_memory_is_refused_on_a_stream_of_another_device),
        MEMORY_TEST(pool_memory_is_allocated_and_freed_in_stream_order),
        MEMORY_TEST(pool_memory_goes_back_behind_its_uses_with_nobody_waiting),
        MEMORY_TEST(pool_memory_that_nobody_uses_goes_back_before_what_is_in_use),
        MEMORY_TEST(where_the_device_cannot_be_reported_pool_memory_waits_on_the_host),
        MEMORY_TEST(pool_memory_is_not_freed_under_its_uses_where_the_device_cannot_be_found),
        MEMORY_TEST(pool_memory_that_no_stream_frees_is_freed_once_its_uses_have_ended),
        MEMORY_TEST(a_stream_that_is_captured_gives_no_pool_memory),
    };
    return run_gpu_tests(tests);
}
