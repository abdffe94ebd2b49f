/* Memory of the driver's: pinned, device, stream-ordered, managed. */
#include <pthread.h>

#include "memory_support.h"

static const struct {
    int32_t kind;
    int32_t device_type;
    fake_kind alive;
} kinds[] = {
    {VIA_MEMORY_PINNED, VIA_DEVICE_CUDA_HOST, FAKE_PINNED_ALLOCATIONS},
    {VIA_MEMORY_DEVICE, VIA_DEVICE_CUDA, FAKE_DEVICE_ALLOCATIONS},
    {VIA_MEMORY_DEVICE_POOL, VIA_DEVICE_CUDA, FAKE_POOL_ALLOCATIONS},
    {VIA_MEMORY_MANAGED, VIA_DEVICE_CUDA_MANAGED, FAKE_MANAGED_ALLOCATIONS},
};

/* A context of the application's own, which is then current. */
static CUcontext make_context(void) {
    CUcontext made = NULL;
    CUresult (*create)(CUcontext *, unsigned int, CUdevice) =
        (CUresult (*)(CUcontext *, unsigned int, CUdevice))driver_symbol("cuCtxCreate_v2");
    cu_ok(create(&made, 0, 0));
    return made;
}

static int64_t bytes_counted(int32_t device_type) {
    const via_stats_info stats = stats_now();
    return device_type == VIA_DEVICE_CUDA        ? stats.device_bytes
           : device_type == VIA_DEVICE_CUDA_HOST ? stats.pinned_bytes
                                                 : stats.managed_bytes;
}

static void each_kind_is_what_the_driver_says_it_is(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        assert_int_equal(via_memory_device_type(memory), kinds[i].device_type);
        assert_int_equal(via_memory_device_id(memory), 0);
        via_array *array = make_bytes(memory, 1000, NULL);
        assert_int_equal(via_array_device_type(array), kinds[i].device_type);
        assert_int_equal(via_array_device_id(array), 0);
        assert_int_equal(via_array_flags(array), 0);
        via_pointer_info info = VIA_POINTER_INFO_INIT;
        ok(via_pointer_query(via_array_data(array), &info));
        assert_int_equal(info.device_type, kinds[i].device_type);
        assert_int_equal((uintptr_t)via_array_data(array) % 64, 0);
        assert_int_equal(bytes_counted(kinds[i].device_type), 1000);
        finish(CU_STREAM_LEGACY); /* which orders the memory of the pool */
        write_pattern((CUdeviceptr)(uintptr_t)via_array_data(array), 1000, 3);
        assert_device_pattern((CUdeviceptr)(uintptr_t)via_array_data(array), 1000, 3);
        via_memory_release(memory);
        via_array_release(array);
        assert_true(eventually(no_bytes_counted, NULL));
    }
}

static void only_the_last_release_of_memory_that_the_driver_frees_waits(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        via_array *array = make_bytes(memory, 16, NULL);
        const int waits = kinds[i].kind != VIA_MEMORY_DEVICE_POOL;
        assert_int_equal(via_array_release_waits(array), waits);
        via_array_retain(array);
        assert_int_equal(via_array_release_waits(array), 0);
        via_array_release(array);
        via_array *view = NULL;
        const int64_t count = 8;
        ok(via_array_slice(array, NULL, &count, NULL, &view));
        assert_int_equal(via_array_release_waits(array), 0);
        via_array_release(array);
        assert_int_equal(via_array_release_waits(view), waits);
        via_array_release(view);
        via_memory_release(memory);
    }
}

static void host_reaches_pinned_and_managed_memory(void **state) {
    (void)state;
    const int32_t reached[] = {VIA_MEMORY_PINNED, VIA_MEMORY_MANAGED};
    for (int32_t i = 0; i < LENGTH(reached); ++i) {
        via_memory *memory = make(reached[i], 0);
        via_array *array = make_bytes(memory, 70000, NULL);
        fill_pattern(via_array_data(array), 70000, 4);
        assert_device_pattern((CUdeviceptr)(uintptr_t)via_array_data(array), 70000, 4);
        via_array_release(array);
        via_memory_release(memory);
    }
}

static void memory_of_another_device_is_there(void **state) {
    (void)state;
    need_two_devices();
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 1);
        assert_int_equal(via_memory_device_id(memory), kinds[i].device_type == VIA_DEVICE_CUDA ? 1 : 0);
        via_array *array = make_bytes(memory, 64, NULL);
        int ordinal = -1;
        cu_ok(cu(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                        (CUdeviceptr)(uintptr_t)via_array_data(array)));
        assert_int_equal(ordinal, 1);
        CUcontext current = NULL;
        cu_ok(cu(cuCtxGetCurrent)(&current));
        assert_ptr_equal(current, primary(0));
        via_array_release(array);
        via_memory_release(memory);
    }
}

static void nothing_is_allocated_for_no_elements(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        via_array *array = make_bytes(memory, 0, NULL);
        assert_null(via_array_data(array));
        assert_int_equal(via_array_device_type(array), kinds[i].device_type);
        if (on_fake_driver()) {
            assert_int_equal(fake(fake_live)(kinds[i].alive), 0);
        }
        via_array_release(array);
        via_memory_release(memory);
    }
}

static void refuses_for_want_of_memory(int32_t kind, int64_t nbytes, const char *words) {
    via_memory *memory = make(kind, 0);
    via_array *array = NULL;
    refused(VIA_ERROR_OUT_OF_MEMORY, words, via_empty(memory, VIA_UINT8, 1, &nbytes, NULL, &array));
    assert_int_equal(via_last_error_code(), CUDA_ERROR_OUT_OF_MEMORY);
    assert_null(array);
    via_memory_release(memory);
    assert_true(no_bytes_counted(NULL));
}

static void more_than_there_is_is_refused_with_the_sizes(void **state) {
    (void)state;
    const int64_t too_much = INT64_C(1) << 46;
    const char *words = "via_empty|70368744177664 bytes|CUDA_ERROR_OUT_OF_MEMORY|free";
    refuses_for_want_of_memory(VIA_MEMORY_DEVICE, too_much, words);
    refuses_for_want_of_memory(VIA_MEMORY_DEVICE_POOL, too_much, words);
}

/* A real driver promises more pinned and managed memory than a test should ask for. */
static void every_kind_may_run_out(void **state) {
    (void)state;
    steer();
    const char *calls[] = {"cuMemHostAlloc", "cuMemAlloc", "cuMemAllocAsync", "cuMemAllocManaged"};
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        char words[128];
        snprintf(words, sizeof words, "via_empty|77 bytes|%s|CUDA_ERROR_OUT_OF_MEMORY", calls[i]);
        fake(fake_fail_at)(calls[i], 1, CUDA_ERROR_OUT_OF_MEMORY);
        refuses_for_want_of_memory(kinds[i].kind, 77, words);
        fake(fake_clear_faults)();
    }
}

static void a_kind_or_device_that_there_is_not_is_refused(void **state) {
    (void)state;
    via_memory *memory = NULL;
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        refused(VIA_ERROR_DEVICE, "via_memory_create|device_id is -1", via_memory_create(kinds[i].kind, -1, &memory));
        refused(VIA_ERROR_DEVICE, "via_memory_create|device_id",
                via_memory_create(kinds[i].kind, device_count(), &memory));
        assert_null(memory);
    }
    refused(VIA_ERROR_INVALID_ARGUMENT, "kind is 7", via_memory_create(7, 0, &memory));
}

static void only_stream_ordered_memory_takes_a_stream(void **state) {
    (void)state;
    via_array *array = NULL;
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        if (kinds[i].kind != VIA_MEMORY_DEVICE_POOL) {
            refused(VIA_ERROR_INVALID_ARGUMENT, "via_empty|stream",
                    via_empty(memory, VIA_UINT8, 1, SHAPE(8), via_stream_legacy(), &array));
        }
        via_memory_release(memory);
    }
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_empty|stream|host memory",
            via_empty(NULL, VIA_UINT8, 1, SHAPE(8), via_stream_legacy(), &array));
    via_memory *pool = make(VIA_MEMORY_DEVICE_POOL, 0);
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_empty|stream",
            via_empty(pool, VIA_UINT8, 1, SHAPE(8), via_stream_no_sync(), &array));
    via_array_release(make_bytes(pool, 8, via_stream_legacy()));
    via_array_release(make_bytes(pool, 8, via_stream_per_thread()));
    via_array_release(make_bytes(pool, 8, NULL));
    via_memory_release(pool);
}

/* Kept until the copy that reads it has run, though nobody owns it any more. */
static void pinned_memory_outlives_the_copies_from_it(void **state) {
    (void)state;
    CUstream stream = new_stream();
    via_stream *handle = wrap_native(stream, 0);
    via_memory *pinned = make(VIA_MEMORY_PINNED, 0);
    via_array *array = make_bytes(pinned, 4096, NULL);
    fill_pattern(via_array_data(array), 4096, 6);
    const CUdeviceptr target = device_memory(4096);
    hold(stream);
    cu_ok(cu(cuMemcpyHtoDAsync)(target, via_array_data(array), 4096, stream));
    ok(via_array_record_stream(array, handle));
    via_array_release(array);
    assert_int_equal(stats_now().pinned_bytes, 4096);
    release(stream);
    finish(stream);
    assert_device_pattern(target, 4096, 6);
    assert_true(eventually(no_bytes_counted, NULL));
    via_memory_release(pinned);
}

/* cuMemFree would end the capture. */
static void captures_survive_an_allocation_that_fails(void **state) {
    (void)state;
    steer();
    CUstream stream = new_stream();
    via_memory *memory = make(VIA_MEMORY_DEVICE, 0);
    via_array *array = NULL;
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    fake(fake_fail_at)("cuPointerGetAttributes", 1, CUDA_ERROR_UNKNOWN);
    refused(VIA_ERROR_CUDA, "via_empty|cuPointerGetAttributes",
            via_empty(memory, VIA_UINT8, 1, SHAPE(64), NULL, &array));
    fake(fake_clear_faults)();
    assert_int_equal(capture_status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(node_count(end_capture(stream)), 0);
    assert_int_equal(fake(fake_live)(FAKE_DEVICE_ALLOCATIONS), 0);
    via_memory_release(memory);
}

static void the_mode_of_the_threads_captures_stays_whatever_fails(void **state) {
    (void)state;
    steer();
    via_memory *memory = make(VIA_MEMORY_DEVICE, 0);
    for (int64_t n = 1; n <= 6; ++n) {
        fake(fake_fail_at)("cuThreadExchangeStreamCaptureMode", n, CUDA_ERROR_UNKNOWN);
        via_array_release(make_bytes(memory, 64, NULL));
        fake(fake_clear_faults)();
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
        cu_ok(cu(cuThreadExchangeStreamCaptureMode)(&mode));
        assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    }
    via_memory_release(memory);
}

static void captures_survive_allocation_and_release(void **state) {
    (void)state;
    CUstream stream = new_stream();
    via_memory *memories[LENGTH(kinds)];
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        memories[i] = make(kinds[i].kind, 0);
    }
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_array_release(make_bytes(memories[i], 64, NULL));
        assert_int_equal(capture_status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    }
    end_capture(stream);
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory_release(memories[i]);
    }
}

static void a_thread_without_context_allocates_and_frees(void **state) {
    (void)state;
    cu_ok(cu(cuCtxSetCurrent)(NULL));
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        via_array_release(make_bytes(memory, 64, NULL));
        via_memory_release(memory);
        CUcontext current = (CUcontext)&current;
        cu_ok(cu(cuCtxGetCurrent)(&current));
        assert_null(current);
    }
}

static void memory_is_allocated_in_the_context_at_hand(void **state) {
    (void)state;
    CUcontext own = make_context();
    via_memory *memory = make(VIA_MEMORY_DEVICE, 0);
    via_array *array = make_bytes(memory, 64, NULL);
    CUcontext of_memory = NULL;
    cu_ok(cu(cuPointerGetAttribute)(&of_memory, CU_POINTER_ATTRIBUTE_CONTEXT,
                                    (CUdeviceptr)(uintptr_t)via_array_data(array)));
    assert_ptr_equal(of_memory, own);
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    via_array_release(array);
    via_memory_release(memory);
    cu_ok(cu(cuCtxDestroy)(own));
}

/* The memory goes with its context: nothing is freed twice, and nothing else is freed in its place. */
static void memory_of_a_destroyed_context_is_released(void **state) {
    (void)state;
    skip_where_all_must_be_freed();
    CUcontext own = make_context();
    via_memory *memory = make(VIA_MEMORY_DEVICE, 0);
    via_array *array = make_bytes(memory, 64, NULL);
    cu_ok(cu(cuCtxDestroy)(own));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUdeviceptr other = device_memory(64);
    via_array_release(array);
    via_memory_release(memory);
    assert_int_equal(stats_now().device_bytes, 0);
    write_pattern(other, 64, 1);
}

typedef struct release_call {
    via_array *array;
    atomic_int done;
} release_call;

static void release_inside(void *context) {
    release_call *call = context;
    via_array_release(call->array);
    atomic_store(&call->done, 1);
}

static int all_memory_gone(void *context) {
    (void)context;
    return fake(fake_live)(FAKE_DEVICE_ALLOCATIONS) == 0 && fake(fake_live)(FAKE_PINNED_ALLOCATIONS) == 0 &&
           fake(fake_live)(FAKE_POOL_ALLOCATIONS) == 0 && fake(fake_live)(FAKE_MANAGED_ALLOCATIONS) == 0 &&
           no_bytes_counted(NULL);
}

static void release_in_host_function(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    CUstream stream = new_stream();
    CUstream user = new_stream();
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        release_call call = {.array = make_bytes(memory, 64, NULL)};
        via_memory_release(memory);
        cu_ok(cu(cuLaunchHostFunc)(stream, release_inside, &call));
        finish(stream);
        assert_int_equal(call.done, 1);
        assert_true(eventually(no_bytes_counted, NULL));
    }
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        release_call call = {.array = make_bytes(memory, 64, NULL)};
        via_memory_release(memory);
        ok(via_array_synchronize(call.array)); /* that of a pool is there once its stream got so far */
        hold(user);
        cu_ok(cu(cuMemsetD8Async)((CUdeviceptr)(uintptr_t)via_array_data(call.array), 7, 64, user));
        ok(via_array_record_stream(call.array, wrap_native(user, 0)));
        cu_ok(cu(cuLaunchHostFunc)(stream, release_inside, &call));
        finish(stream);
        assert_int_equal(stats_now().pending_releases, 1);
        release(user);
        assert_true(eventually(no_bytes_counted, NULL));
    }
    if (on_fake_driver()) {
        assert_true(eventually(all_memory_gone, NULL));
    }
}

static void memory_released_inside_a_callback_of_the_driver_is_freed_elsewhere(void **state) {
    (void)state;
    skip_where_calls_wait();
    APART(release_in_host_function);
}

static void reset_under_memory(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    via_array *arrays[LENGTH(kinds)];
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        arrays[i] = make_bytes(memory, 64, NULL);
        via_memory_release(memory);
    }
    cu_ok(cu(cuDevicePrimaryCtxReset)(0));
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_array_release(arrays[i]);
    }
    assert_true(eventually(no_bytes_counted, NULL));
    via_memory *memory = make(VIA_MEMORY_DEVICE, 0);
    via_array_release(make_bytes(memory, 64, NULL));
    via_memory_release(memory);
    assert_int_equal(on_fake_driver() ? fake(fake_misuse_total)() : 0, 0);
}

static void memory_of_a_context_that_was_reset_is_released_and_new_memory_is_had(void **state) {
    (void)state;
    skip_where_all_must_be_freed();
    APART(reset_under_memory);
}

static void poisoned_under_memory(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    via_array *arrays[LENGTH(kinds)];
    via_array *array = NULL;
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        arrays[i] = make_bytes(memory, 64, NULL);
        via_memory_release(memory);
    }
    fake(fake_poison)(CUDA_ERROR_ILLEGAL_ADDRESS);
    via_memory *memory = make(VIA_MEMORY_DEVICE, 0);
    refused(VIA_ERROR_CUDA, "via_empty|CUDA_ERROR_ILLEGAL_ADDRESS",
            via_empty(memory, VIA_UINT8, 1, SHAPE(64), NULL, &array));
    const char *text = via_last_error();
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_array_release(arrays[i]);
    }
    assert_true(holds_words(text, "via_empty|CUDA_ERROR_ILLEGAL_ADDRESS"));
    via_memory_release(memory);
    assert_true(eventually(no_bytes_counted, NULL));
}

static void memory_of_a_failed_context_is_released(void **state) {
    (void)state;
    steer();
    APART(poisoned_under_memory);
}

static void with_every_call_failing(int32_t kind) {
    via_memory *memory = make(kind, 0);
    via_array_release(make_bytes(memory, 64, NULL));
    int failures = 0;
    for (int64_t n = 1;; ++n) {
        const int64_t injected = fake(fake_faults_injected)();
        via_array *array = NULL;
        fake(fake_fail_at)(NULL, n, CUDA_ERROR_UNKNOWN);
        const via_status status = via_empty(memory, VIA_UINT8, 1, SHAPE(64), NULL, &array);
        const int met = fake(fake_faults_injected)() > injected;
        fake(fake_clear_faults)();
        assert_true((status == VIA_OK) == (array != NULL));
        failures += status != VIA_OK;
        via_array_release(array);
        assert_true(eventually(all_memory_gone, NULL));
        if (!met) {
            break;
        }
    }
    assert_true(failures >= 2);
    via_memory_release(memory);
}

static void allocate_with_every_call_failing(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        with_every_call_failing(kinds[i].kind);
    }
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

static void allocation_leaks_nothing_whichever_call_fails(void **state) {
    (void)state;
    steer();
    APART(allocate_with_every_call_failing);
}

static void *churn(void *context) {
    via_memory *memory = context;
    for (int turn = 0; turn < 100; ++turn) {
        via_array *array = NULL;
        if (via_empty(memory, VIA_UINT8, 1, SHAPE(256 + turn), NULL, &array) != VIA_OK) {
            return (void *)via_last_error();
        }
        via_array_release(array);
    }
    return NULL;
}

static void many_threads_allocate_and_free_at_once(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_memory *memory = make(kinds[i].kind, 0);
        pthread_t threads[4];
        for (int32_t t = 0; t < LENGTH(threads); ++t) {
            assert_int_equal(pthread_create(&threads[t], NULL, churn, memory), 0);
        }
        for (int32_t t = 0; t < LENGTH(threads); ++t) {
            void *text = NULL;
            assert_int_equal(pthread_join(threads[t], &text), 0);
            assert_null(text);
        }
        via_memory_release(memory);
    }
    assert_true(eventually(on_fake_driver() ? all_memory_gone : no_bytes_counted, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(each_kind_is_what_the_driver_says_it_is),
        MEMORY_TEST(only_the_last_release_of_memory_that_the_driver_frees_waits),
        MEMORY_TEST(host_reaches_pinned_and_managed_memory),
        MEMORY_TEST(memory_of_another_device_is_there),
        MEMORY_TEST(nothing_is_allocated_for_no_elements),
        MEMORY_TEST(more_than_there_is_is_refused_with_the_sizes),
        MEMORY_TEST(every_kind_may_run_out),
        MEMORY_TEST(a_kind_or_device_that_there_is_not_is_refused),
        MEMORY_TEST(only_stream_ordered_memory_takes_a_stream),
        MEMORY_TEST(pinned_memory_outlives_the_copies_from_it),
        MEMORY_TEST(captures_survive_allocation_and_release),
        MEMORY_TEST(captures_survive_an_allocation_that_fails),
        MEMORY_TEST(the_mode_of_the_threads_captures_stays_whatever_fails),
        MEMORY_TEST(a_thread_without_context_allocates_and_frees),
        MEMORY_TEST(memory_is_allocated_in_the_context_at_hand),
        MEMORY_TEST(memory_of_a_destroyed_context_is_released),
        MEMORY_TEST(memory_released_inside_a_callback_of_the_driver_is_freed_elsewhere),
        MEMORY_TEST(memory_of_a_context_that_was_reset_is_released_and_new_memory_is_had),
        MEMORY_TEST(memory_of_a_failed_context_is_released),
        MEMORY_TEST(allocation_leaks_nothing_whichever_call_fails),
        MEMORY_TEST(many_threads_allocate_and_free_at_once),
    };
    return run_gpu_tests(tests);
}
