/* Contexts: whose streams are meant, and what becomes of streams, events and fences when a context goes. */
#include "support.h"

#include <pthread.h>

static int is_idle(via_stream *stream) {
    int32_t done = 7;
    ok(via_stream_query(stream, &done));
    return done;
}

/* Holds the legacy stream of the current context, with work behind. */
static void hold_legacy(CUdeviceptr memory) {
    hold(NULL);
    cu_ok(cu(cuMemsetD8Async)(memory, 1, 64, NULL));
}

static CUcontext context_of(via_stream *stream) {
    CUcontext context = NULL;
    cu_ok(cu(cuStreamGetCtx)((CUstream)via_stream_handle(stream), &context));
    return context;
}

static void a_stream_is_created_in_the_current_context(void **state) {
    (void)state;
    via_stream *stream = NULL;
    CUcontext mine = new_context();
    ok(via_stream_create(0, &stream));
    assert_ptr_equal(context_of(stream), mine);
    via_stream_release(stream);
    cu_ok(cu(cuCtxDestroy)(mine));
    cu_ok(cu(cuCtxSetCurrent)(NULL));
    ok(via_stream_create(0, &stream));
    assert_ptr_equal(context_of(stream), primary(0));
    via_stream_release(stream);
    CUcontext current = NULL;
    cu_ok(cu(cuCtxGetCurrent)(&current));
    assert_null(current);
}

static void a_call_that_fails_once_is_asked_again_which_context_is_current(void **state) {
    (void)state;
    steer();
    via_stream *stream = NULL;
    CUcontext mine = new_context();
    fake(fake_fail_at)("cuCtxGetDevice", 1, CUDA_ERROR_UNKNOWN);
    (void)!via_stream_create(0, &stream);
    fake(fake_clear_faults)();
    via_stream_release(stream);
    ok(via_stream_create(0, &stream));
    assert_ptr_equal(context_of(stream), mine);
    via_stream_release(stream);
    cu_ok(cu(cuCtxDestroy)(mine));
}

static void a_stream_of_another_device_is_created_in_its_primary_context(void **state) {
    (void)state;
    need_two_devices();
    via_stream *stream = NULL;
    ok(via_stream_create(1, &stream));
    assert_ptr_equal(context_of(stream), primary(1));
    via_stream_release(stream);
}

static void legacy_is_that_of_the_current_context(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(64);
    CUcontext mine = new_context();
    hold_legacy(memory);
    assert_false(is_idle(via_stream_legacy()));
    cu_ok(cu(cuCtxPushCurrent)(primary(0)));
    assert_true(is_idle(via_stream_legacy()));
    cu_ok(cu(cuCtxPopCurrent)(&mine));
    cu_ok(cu(cuCtxPopCurrent)(&mine));
    cu_ok(cu(cuCtxSetCurrent)(NULL));
    assert_true(is_idle(via_stream_legacy()));
    cu_ok(cu(cuCtxSetCurrent)(mine));
    release(NULL);
    ok(via_stream_synchronize(via_stream_legacy()));
    cu_ok(cu(cuCtxDestroy)(mine));
}

static void legacy_of_a_device_is_not_that_of_a_context_of_another(void **state) {
    (void)state;
    need_two_devices();
    via_stream *other = NULL;
    ok(via_stream_wrap(NULL, 1, &other));
    hold_legacy(device_memory(64));
    assert_true(is_idle(other));
    ok(via_stream_synchronize(other));
    assert_false(is_idle(via_stream_legacy()));
    release(NULL);
}

static void fences_are_made_in_the_context_of_the_stream(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *array = wrap_device(device_memory(64), 64, &released);
    CUcontext mine = new_context();
    CUstream theirs = NULL;
    cu_ok(cu(cuStreamCreate)(&theirs, CU_STREAM_NON_BLOCKING));
    via_stream *stream = NULL;
    ok(via_stream_wrap(theirs, 0, &stream));
    hold(theirs);
    hold(NULL);
    ok(via_array_record_stream(array, via_stream_legacy()));
    cu_ok(cu(cuCtxPopCurrent)(&mine));
    ok(via_array_set_ready(array, stream));
    CUstream consumer = new_stream();
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, wrap_native(consumer, 0), &tensor));
    assert_false(is_done(consumer));
    via_dlpack_delete(tensor);
    via_array_release(array);
    release(theirs);
    finish(consumer);
    assert_int_equal(atomic_load(&released), 0);
    release(NULL);
    await_count(&released, 1);
    via_stream_release(stream);
    cu_ok(cu(cuCtxDestroy)(mine));
}

static void what_was_of_a_destroyed_context_is_refused_and_release(void **state) {
    (void)state;
    CUcontext mine = new_context();
    CUstream native = NULL;
    cu_ok(cu(cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING));
    via_stream *foreign = NULL;
    via_stream *owned = NULL;
    via_event *marker = NULL;
    ok(via_stream_wrap(native, 0, &foreign));
    ok(via_stream_create(0, &owned));
    ok(via_event_create(0, &marker));
    ok(via_event_record(marker, owned));
    cu_ok(cu(cuCtxDestroy)(mine));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    int32_t done = 7;
    refused(VIA_ERROR_CUDA, "reset or destroyed", via_stream_query(foreign, &done));
    refused(VIA_ERROR_CUDA, "reset or destroyed", via_stream_synchronize(owned));
    refused(VIA_ERROR_CUDA, "reset or destroyed", via_event_query(marker, &done));
    refused(VIA_ERROR_CUDA, "reset or destroyed", via_event_synchronize(marker));
    refused(VIA_ERROR_CUDA, "reset or destroyed", via_event_record(marker, via_stream_legacy()));
    refused(VIA_ERROR_CUDA, "reset or destroyed", via_stream_wait(via_stream_legacy(), marker));
    assert_int_equal(done, 0);
    via_stream_release(foreign);
    via_stream_release(owned);
    via_event_release(marker);
}

static void a_release_does_not_wait_for_a_context_that_is_gone(void **state) {
    (void)state;
    for (int round = 0; round < 5; ++round) {
        atomic_int released = 0;
        via_array *array = wrap_device(device_memory(64), 64, &released);
        CUcontext mine = new_context();
        via_stream *stream = NULL;
        ok(via_stream_create(0, &stream));
        for (int i = 0; i < 10; ++i) {
            ok(via_array_record_stream(array, stream));
        }
        ok(via_array_set_ready(array, stream));
        via_stream_release(stream);
        cu_ok(cu(cuCtxDestroy)(mine));
        cu_ok(cu(cuCtxSetCurrent)(primary(0)));
        via_array_release(array);
        await_count(&released, 1);
    }
}

static void a_dead_current_context_gives_way_to_the_primary_one(void **state) {
    (void)state;
    CUcontext mine = new_context();
    cu_ok(cu(cuCtxPushCurrent)(mine));
    cu_ok(cu(cuCtxDestroy)(mine));
    CUcontext current = NULL;
    cu_ok(cu(cuCtxGetCurrent)(&current));
    assert_ptr_equal(current, mine);
    assert_true(is_idle(via_stream_legacy()));
    via_stream *stream = NULL;
    ok(via_stream_create(0, &stream));
    assert_true(is_idle(stream));
    via_stream_release(stream);
    cu_ok(cu(cuCtxPopCurrent)(&current));
}

static void *on_a_bare_thread(void *context) {
    via_stream *stream = NULL;
    ok(via_stream_create(0, &stream));
    ok(via_stream_synchronize(via_stream_legacy()));
    ok(via_stream_synchronize(via_stream_per_thread()));
    via_array *array = context;
    ok(via_array_record_stream(array, stream));
    ok(via_array_set_ready(array, via_stream_legacy()));
    via_stream_release(stream);
    CUcontext current = NULL;
    cu_ok(cu(cuCtxGetCurrent)(&current));
    assert_null(current);
    return NULL;
}

static void a_thread_needs_no_context_of_its_own(void **state) {
    (void)state;
    pthread_t thread;
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    assert_int_equal(pthread_create(&thread, NULL, on_a_bare_thread, array), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    via_array_release(array);
}

/* ------------------------------------------------------------------------------------- processes of their own */

static void reset_primary(void) {
    cu_ok(cu(cuDevicePrimaryCtxReset)(0));
    CUcontext again = NULL;
    cu_ok(cu(cuDevicePrimaryCtxRetain)(&again, 0));
    cu_ok(cu(cuCtxSetCurrent)(again));
}

/* What the caller does next would otherwise go to a context of the library's choosing. */
static void a_context_that_cannot_be_popped_is_not_left_current(void **state) {
    (void)state;
    steer();
    need_two_devices();
    CUcontext callers[] = {NULL, primary(0)};
    for (int32_t i = 0; i < LENGTH(callers); ++i) {
        via_stream *stream = NULL;
        CUcontext after = primary(1);
        cu_ok(cu(cuCtxSetCurrent)(callers[i]));
        const int64_t before = fake(fake_faults_injected)();
        fake(fake_fail_at)("cuCtxPopCurrent", 1, CUDA_ERROR_UNKNOWN);
        ok(via_stream_create(1, &stream));
        fake(fake_clear_faults)();
        assert_int_equal(fake(fake_faults_injected)() - before, 1);
        cu_ok(cu(cuCtxGetCurrent)(&after));
        assert_ptr_equal(after, callers[i]);
        via_stream_release(stream);
    }
}

/* The kernel runs in the context of the source, which is entered from within another one. Each call fails in turn. */
static void a_question_or_a_pop_that_fails_once_changes_no_context(void **state) {
    (void)state;
    steer();
    need_two_devices();
    need_kernels();
    static const char *const calls[] = {"cuCtxPopCurrent", "cuPointerGetAttribute", "cuCtxGetDevice"};
    CUcontext mine = new_context();
    const CUdeviceptr memory = device_memory(60 * 50);
    write_pattern(memory, 60 * 50, 1);
    via_array *src = wrap_device(memory, 60 * 50, NULL);
    via_array *dst = wrap_bytes((void *)(uintptr_t)managed_memory(60 * 50), 60 * 50, VIA_DEVICE_CUDA_MANAGED, 0, NULL);
    via_array *rows = NULL;
    via_array *columns = NULL;
    via_array *transposed = NULL;
    ok(via_array_reshape(src, 2, SHAPE(60, 50), &rows));
    ok(via_array_permute(rows, NULL, &transposed));
    ok(via_array_reshape(dst, 2, SHAPE(50, 60), &columns));
    cu_ok(cu(cuCtxSetCurrent)(primary(1)));
    for (int32_t i = 0; i < LENGTH(calls); ++i) {
        for (int64_t n = 1; n <= 8; ++n) {
            CUcontext after = mine;
            note("%s, %d", calls[i], (int)n);
            fake(fake_fail_at)(calls[i], n, CUDA_ERROR_UNKNOWN);
            ok(via_copy_async(columns, transposed, NULL));
            fake(fake_clear_faults)();
            cu_ok(cu(cuCtxGetCurrent)(&after));
            assert_ptr_equal(after, primary(1));
            ok(via_array_synchronize(columns));
        }
    }
    cu_ok(cu(cuCtxSetCurrent)(mine));
    via_array *const made[] = {src, dst, rows, columns, transposed};
    for (int32_t i = 0; i < LENGTH(made); ++i) {
        via_array_release(made[i]);
    }
    end_context(mine);
}

/* The context of the legacy stream is not the current one, and is entered for each step. */
static void nothing_runs_any_more_when_a_context_could_not_be_entered(void **state) {
    (void)state;
    steer();
    need_two_devices();
    CUcontext popped = NULL;
    via_array *array = wrap_device(device_memory(5000), 5000, NULL);
    fake(fake_stream_delay)(CU_STREAM_LEGACY, 20000);
    for (int64_t n = 1; n <= 6; ++n) {
        note("call %d", (int)n);
        cu_ok(cu(cuCtxPushCurrent)(primary(1)));
        fake(fake_fail_at)("cuCtxPushCurrent", n, CUDA_ERROR_UNKNOWN);
        (void)!via_fill(array, NULL, NULL);
        fake(fake_clear_faults)();
        cu_ok(cu(cuCtxPopCurrent)(&popped));
        assert_true(is_done(CU_STREAM_LEGACY));
    }
    fake(fake_stream_delay)(CU_STREAM_LEGACY, 0);
    via_array_release(array);
}

/* The primary context keeps its handle over a reset, so that only its number reports. */
static void a_reset(void) {
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    static char values[64];
    atomic_int released = 0;
    via_stream *stream = NULL;
    via_event *marker = NULL;
    ok(via_stream_create(0, &stream));
    ok(via_event_create(0, &marker));
    via_array *array = wrap_bytes(values, 64, VIA_DEVICE_CPU, 0, &released);
    ok(via_array_record_stream(array, stream));
    ok(via_array_set_ready(array, stream));
    ok(via_stream_set_current(0, stream));
    reset_primary();
    int32_t done = 7;
    refused(VIA_ERROR_CUDA, "reset or destroyed", via_stream_query(stream, &done));
    refused(VIA_ERROR_CUDA, "reset or destroyed", via_event_query(marker, &done));
    refused(VIA_ERROR_CUDA, "reset or destroyed", via_array_record_stream(array, stream));
    ok(via_array_record_stream(array, via_stream_legacy()));
    via_array_release(array);
    await_count(&released, 1);
    via_event_release(marker);
    ok(via_stream_set_current(0, NULL));
    via_stream_release(stream);
    ok(via_stream_create(0, &stream));
    array = wrap_bytes(values, 64, VIA_DEVICE_CPU, 0, &released);
    ok(via_array_record_stream(array, stream));
    ok(via_stream_synchronize(stream));
    via_array_release(array);
    await_count(&released, 2);
    via_stream_release(stream);
    if (on_fake_driver()) {
        assert_int_equal(fake(fake_misuse_total)(), 0);
    }
}

/* Nobody retains the primary context for the library any more, though the thread still has it as its current one. */
static void a_reset_that_nobody_follows(void) {
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    via_stream *stream = NULL;
    ok(via_stream_create(0, &stream));
    cu_ok(cu(cuDevicePrimaryCtxReset)(0));
    via_stream_release(stream);
    ok(via_stream_synchronize(via_stream_legacy()));
    ok(via_stream_create(0, &stream));
    ok(via_stream_synchronize(stream));
    via_stream_release(stream);
    if (on_fake_driver()) {
        assert_int_equal(fake(fake_misuse_total)(), 0);
    }
}

static int is_1(void *counter) { return atomic_load((atomic_int *)counter) == 1; }

/* A fault takes every context of the process with it: what waited for the device is released, and waits report. */
static void a_fault(void) {
    assert_true(driver_is_there());
    if (!on_fake_driver()) {
        return;
    }
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    static char values[64];
    atomic_int released = 0;
    via_stream *stream = NULL;
    via_event *marker = NULL;
    ok(via_stream_create(0, &stream));
    ok(via_event_create(0, &marker));
    via_array *array = wrap_bytes(values, 64, VIA_DEVICE_CPU, 0, &released);
    fake(fake_stream_hold)(via_stream_handle(stream));
    ok(via_array_record_stream(array, stream));
    ok(via_event_record(marker, stream));
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 0);
    fake(fake_poison)(CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_true(eventually(is_1, &released));
    refused(VIA_ERROR_CUDA, "CUDA_ERROR_ILLEGAL_ADDRESS", via_event_synchronize(marker));
    refused(VIA_ERROR_CUDA, "CUDA_ERROR_ILLEGAL_ADDRESS", via_stream_synchronize(stream));
    refused(VIA_ERROR_CUDA, "CUDA_ERROR_ILLEGAL_ADDRESS", via_stream_create(0, &(via_stream *){NULL}));
    via_event_release(marker);
    via_stream_release(stream);
}

static void streams_and_fences_survive_a_reset_of_the_primary_context(void **state) {
    (void)state;
    APART(a_reset);
    APART(a_reset_that_nobody_follows);
}

static void a_fault_of_the_device_is_reported_and_releases(void **state) {
    (void)state;
    APART(a_fault);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_stream_is_created_in_the_current_context),
        GPU_TEST(a_call_that_fails_once_is_asked_again_which_context_is_current),
        GPU_TEST(a_stream_of_another_device_is_created_in_its_primary_context),
        GPU_TEST(legacy_is_that_of_the_current_context),
        GPU_TEST(legacy_of_a_device_is_not_that_of_a_context_of_another),
        GPU_TEST(fences_are_made_in_the_context_of_the_stream),
        GPU_TEST(what_was_of_a_destroyed_context_is_refused_and_release),
        GPU_TEST(a_release_does_not_wait_for_a_context_that_is_gone),
        GPU_TEST(a_dead_current_context_gives_way_to_the_primary_one),
        GPU_TEST(a_thread_needs_no_context_of_its_own),
        GPU_TEST(a_context_that_cannot_be_popped_is_not_left_current),
        GPU_TEST(a_question_or_a_pop_that_fails_once_changes_no_context),
        GPU_TEST(nothing_runs_any_more_when_a_context_could_not_be_entered),
        GPU_TEST(streams_and_fences_survive_a_reset_of_the_primary_context),
        GPU_TEST(a_fault_of_the_device_is_reported_and_releases),
    };
    return run_gpu_tests(tests);
}
