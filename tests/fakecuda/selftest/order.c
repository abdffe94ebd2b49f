/* Order: what runs when, and what waits for what. */
#include "support.h"

static void nothing_on_a_held_stream_runs_until_it_is_released(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    fake(fake_device_write)(memory, "a", 1);
    fake(fake_stream_hold)(stream);
    ok(cu(cuMemsetD8Async)(memory, 'b', 64, stream));
    refused(CUDA_ERROR_NOT_READY, cu(cuStreamQuery)(stream));
    usleep(20000);
    assert_int_equal(byte_at(memory), 'a');
    assert_int_equal(fake(fake_stream_pending)(stream), 1);
    fake(fake_stream_release)(stream);
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory), 'b');
}

static void a_step_lets_one_piece_of_work_run(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    const CUevent after_first = new_event(), after_second = new_event();
    fake(fake_stream_hold)(stream);
    ok(cu(cuMemsetD8Async)(memory, 1, 64, stream));
    ok(cu(cuEventRecord)(after_first, stream));
    ok(cu(cuMemsetD8Async)(memory, 2, 64, stream));
    ok(cu(cuEventRecord)(after_second, stream));
    fake(fake_stream_step)(stream, 2);
    ok(cu(cuEventSynchronize)(after_first));
    usleep(5000);
    assert_int_equal(byte_at(memory), 1);
    refused(CUDA_ERROR_NOT_READY, cu(cuEventQuery)(after_second));
    fake(fake_stream_release)(stream);
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory), 2);
}

static void new_streams_can_be_born_held(void **state) {
    (void)state;
    fake(fake_set)(FAKE_HOLD_NEW, 1);
    const CUstream stream = new_stream();
    void *found[1];
    assert_int_equal(fake(fake_streams)(found, 1), 1);
    assert_ptr_equal(found[0], stream);
    ok(cu(cuEventRecord)(new_event(), stream));
    assert_int_equal(fake(fake_stream_pending)(stream), 1);
    fake(fake_release_all)();
    ok(cu(cuStreamSynchronize)(stream));
}

static void a_pinned_source_is_read_when_the_copy_runs(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    char *pinned = pinned_memory(64);
    pinned[0] = 'a';
    fake(fake_stream_hold)(stream);
    ok(cu(cuMemcpyHtoDAsync)(memory, pinned, 64, stream));
    pinned[0] = 'b';
    fake(fake_stream_release)(stream);
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory), 'b');
}

static void a_pageable_source_is_read_during_the_call(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    char plain[64] = "a";
    fake(fake_stream_hold)(stream);
    ok(cu(cuMemcpyHtoDAsync)(memory, plain, 64, stream));
    plain[0] = 'b';
    assert_int_not_equal(byte_at(memory), 'a');
    fake(fake_stream_release)(stream);
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory), 'a');
}

static void a_device_that_walks_page_tables_reads_a_pageable_source_when_the_copy_runs(void **state) {
    (void)state;
    fake(fake_reset)();
    fake(fake_set)(FAKE_PAGE_TABLES, 1);
    ok(cu(cuInit)(0));
    ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    char plain[64] = "a", back[64] = "?";
    fake(fake_stream_hold)(stream);
    ok(cu(cuMemcpyHtoDAsync)(memory, plain, 64, stream));
    ok(cu(cuMemcpyDtoHAsync)(back, memory, 64, stream));
    plain[0] = 'b';
    assert_int_equal(back[0], '?');
    fake(fake_stream_release)(stream);
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(back[0], 'b');
}

static void *release_later(void *stream) {
    usleep(20000);
    fake(fake_stream_release)(stream);
    return NULL;
}

static void a_large_pageable_source_waits_for_the_stream(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    const char plain[64] = "a";
    pthread_t thread;
    fake(fake_set)(FAKE_STAGED_BYTES, 32);
    fake(fake_stream_hold)(stream);
    ok(cu(cuEventRecord)(new_event(), stream));
    assert_int_equal(pthread_create(&thread, NULL, release_later, stream), 0);
    ok(cu(cuMemcpyHtoDAsync)(memory, plain, 64, stream));
    pthread_join(thread, NULL);
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory), 'a');
}

static void a_copy_to_pageable_memory_returns_with_the_bytes(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    char plain[64] = "?";
    fake(fake_stream_delay)(stream, 5000);
    ok(cu(cuMemsetD8Async)(memory, 'x', 64, stream));
    ok(cu(cuMemcpyDtoHAsync)(plain, memory, 64, stream));
    assert_int_equal(plain[63], 'x');
}

static void a_device_copy_returns_before_it_has_run(void **state) {
    (void)state;
    const CUdeviceptr a = device_memory(64), b = device_memory(64);
    fake(fake_stream_hold)(CU_STREAM_LEGACY);
    fake(fake_device_write)(b, "b", 1);
    ok(cu(cuMemcpyDtoD)(a, b, 64));
    assert_int_not_equal(byte_at(a), 'b');
    fake(fake_stream_release)(CU_STREAM_LEGACY);
    ok(cu(cuStreamSynchronize)(CU_STREAM_LEGACY));
    assert_int_equal(byte_at(a), 'b');
}

static void a_stream_waits_for_what_an_event_stood_for_when_asked(void **state) {
    (void)state;
    const CUstream first = new_stream(), second = new_stream(), third = new_stream();
    const CUdeviceptr memory = device_memory(64);
    const CUevent event = new_event();
    fake(fake_stream_hold)(first);
    ok(cu(cuMemsetD8Async)(memory, 1, 64, first));
    ok(cu(cuEventRecord)(event, first));
    ok(cu(cuStreamWaitEvent)(second, event, 0));
    ok(cu(cuMemsetD8Async)(memory, 2, 64, second));
    ok(cu(cuEventRecord)(event, third));
    ok(cu(cuEventSynchronize)(event));
    ok(cu(cuEventDestroy)(event));
    refused(CUDA_ERROR_NOT_READY, cu(cuStreamQuery)(second));
    fake(fake_stream_release)(first);
    ok(cu(cuStreamSynchronize)(second));
    assert_int_equal(byte_at(memory), 2);
}

static void the_legacy_stream_and_blocking_streams_wait_for_one_another(void **state) {
    (void)state;
    CUstream blocking = NULL, other = NULL;
    ok(cu(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT));
    ok(cu(cuStreamCreate)(&other, CU_STREAM_DEFAULT));
    const CUdeviceptr memory = device_memory(64);
    fake(fake_stream_hold)(blocking);
    ok(cu(cuMemsetD8Async)(memory, 1, 64, blocking));
    ok(cu(cuMemsetD8Async)(memory, 2, 64, NULL));
    ok(cu(cuMemsetD8Async)(memory, 3, 64, other));
    usleep(5000);
    refused(CUDA_ERROR_NOT_READY, cu(cuStreamQuery)(other));
    fake(fake_stream_release)(blocking);
    ok(cu(cuStreamSynchronize)(other));
    assert_int_equal(byte_at(memory), 3);
}

static void a_non_blocking_stream_passes_the_legacy_stream(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    fake(fake_stream_hold)(NULL);
    ok(cu(cuMemsetD8Async)(memory, 1, 64, NULL));
    ok(cu(cuMemsetD8Async)(memory, 2, 64, stream));
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory), 2);
    fake(fake_stream_release)(NULL);
}

static void *internal_stream(void *id) {
    ok(cu(cuCtxSetCurrent)(primary(0)));
    ok(cu(cuStreamGetId)(CU_STREAM_PER_THREAD, id));
    ok(cu(cuMemsetD8Async)(device_memory(8), 0, 8, CU_STREAM_PER_THREAD));
    ok(cu(cuStreamSynchronize)(CU_STREAM_PER_THREAD));
    return NULL;
}

static void each_thread_has_a_default_stream_of_its_own(void **state) {
    (void)state;
    unsigned long long mine = 0, theirs = 0;
    pthread_t thread;
    fake(fake_stream_hold)(CU_STREAM_PER_THREAD);
    ok(cu(cuMemsetD8Async)(device_memory(8), 0, 8, CU_STREAM_PER_THREAD));
    ok(cu(cuStreamGetId)(CU_STREAM_PER_THREAD, &mine));
    assert_int_equal(pthread_create(&thread, NULL, internal_stream, &theirs), 0);
    pthread_join(thread, NULL);
    assert_true(mine != theirs);
    refused(CUDA_ERROR_NOT_READY, cu(cuStreamQuery)(CU_STREAM_PER_THREAD));
    fake(fake_stream_release)(CU_STREAM_PER_THREAD);
}

static void the_work_of_a_destroyed_stream_goes_on(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    const CUevent event = new_event();
    fake(fake_stream_delay)(stream, 5000);
    ok(cu(cuMemsetD8Async)(memory, 5, 64, stream));
    ok(cu(cuEventRecord)(event, stream));
    ok(cu(cuStreamDestroy)(stream));
    ok(cu(cuEventSynchronize)(event));
    assert_int_equal(byte_at(memory), 5);
}

static void using_a_destroyed_stream_is_refused_and_counted(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    ok(cu(cuStreamDestroy)(stream));
    refused(CUDA_ERROR_INVALID_HANDLE, cu(cuStreamQuery)(stream));
    refused(CUDA_ERROR_INVALID_HANDLE, cu(cuEventRecord)(new_event(), stream));
    assert_int_equal(fake(fake_misused)(FAKE_STREAM_AFTER_DESTROY), 2);
}

static void CUDA_CB ask_driver(void *result) {
    CUdeviceptr memory = 0;
    *(CUresult *)result = cu(cuMemAlloc)(&memory, 8);
}

static void host_functions_run_in_order_and_may_not_call_the_driver(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    CUresult result = CUDA_SUCCESS;
    fake(fake_stream_hold)(stream);
    ok(cu(cuLaunchHostFunc)(stream, ask_driver, &result));
    assert_int_equal(result, CUDA_SUCCESS);
    fake(fake_stream_release)(stream);
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(result, CUDA_ERROR_NOT_PERMITTED);
    assert_int_equal(fake(fake_misused)(FAKE_CALL_IN_HOST_FUNCTION), 1);
}

static void a_stream_waits_for_a_word_of_memory(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    char *word = pinned_memory(4);
    const CUdeviceptr memory = device_memory(64);
    memset(word, 0, 4);
    ok(cu(cuStreamWaitValue32)(stream, (CUdeviceptr)word, 3, CU_STREAM_WAIT_VALUE_GEQ));
    ok(cu(cuMemsetD8Async)(memory, 1, 64, stream));
    usleep(5000);
    assert_int_not_equal(byte_at(memory), 1);
    ok(cu(cuStreamWriteValue32)(new_stream(), (CUdeviceptr)word, 3, 0));
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory), 1);
}

static void an_event_belongs_to_one_context(void **state) {
    (void)state;
    const CUevent event = new_event();
    const CUstream stream = new_stream();
    ok(cu(cuCtxSetCurrent)(primary(1)));
    const CUstream far_stream = new_stream();
    refused(CUDA_ERROR_INVALID_HANDLE, cu(cuEventRecord)(event, far_stream));
    refused(CUDA_ERROR_INVALID_HANDLE, cu(cuEventRecord)(event, NULL));
    ok(cu(cuEventRecord)(event, stream));
    ok(cu(cuStreamWaitEvent)(far_stream, event, 0));
}

static void a_reset_context_is_dead_until_it_is_retained_anew(void **state) {
    (void)state;
    CUcontext context = NULL;
    unsigned long long before = 0, after = 0;
    const CUstream stream = new_stream();
    ok(cu(cuCtxGetCurrent)(&context));
    ok(cu(cuCtxGetId)(context, &before));
    ok(cu(cuDevicePrimaryCtxReset)(0));
    refused(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu(cuCtxSynchronize)());
    refused(CUDA_ERROR_INVALID_HANDLE, cu(cuStreamQuery)(stream));
    assert_ptr_equal(primary(0), context);
    ok(cu(cuCtxGetId)(context, &after));
    assert_true(before != after);
    ok(cu(cuCtxSynchronize)());
}

static void a_peer_copy_comes_after_the_work_of_both_contexts(void **state) {
    (void)state;
    const CUcontext near = primary(0), far = primary(1);
    const CUdeviceptr to = device_memory(64);
    ok(cu(cuCtxSetCurrent)(far));
    const CUdeviceptr from = device_memory(64);
    const CUstream far_stream = new_stream();
    fake(fake_stream_hold)(far_stream);
    ok(cu(cuMemsetD8Async)(from, 4, 64, far_stream));
    ok(cu(cuCtxSetCurrent)(near));
    ok(cu(cuMemcpyPeer)(to, near, from, far, 64));
    usleep(5000);
    assert_int_not_equal(byte_at(to), 4);
    fake(fake_stream_release)(far_stream);
    ok(cu(cuCtxSynchronize)());
    assert_int_equal(byte_at(to), 4);
}

static void what_follows_a_peer_copy_waits_for_it_in_both_contexts(void **state) {
    (void)state;
    const CUcontext near = primary(0), far = primary(1);
    const CUdeviceptr to = device_memory(64);
    ok(cu(cuCtxSetCurrent)(far));
    const CUdeviceptr from = device_memory(64);
    const CUstream far_stream = new_stream();
    ok(cu(cuMemsetD8)(from, 4, 64));
    ok(cu(cuCtxSynchronize)());
    ok(cu(cuCtxSetCurrent)(near));
    fake(fake_stream_hold)(NULL);
    ok(cu(cuMemcpyPeer)(to, near, from, far, 64));
    ok(cu(cuMemsetD8Async)(from, 5, 64, far_stream));
    usleep(5000);
    assert_int_equal(byte_at(from), 4);
    fake(fake_stream_release)(NULL);
    ok(cu(cuStreamSynchronize)(far_stream));
    assert_int_equal(byte_at(to), 4);
    assert_int_equal(byte_at(from), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nothing_on_a_held_stream_runs_until_it_is_released),
        TEST(a_step_lets_one_piece_of_work_run),
        TEST(new_streams_can_be_born_held),
        TEST(a_pinned_source_is_read_when_the_copy_runs),
        TEST(a_pageable_source_is_read_during_the_call),
        TEST(a_device_that_walks_page_tables_reads_a_pageable_source_when_the_copy_runs),
        TEST(a_large_pageable_source_waits_for_the_stream),
        TEST(a_copy_to_pageable_memory_returns_with_the_bytes),
        TEST(a_device_copy_returns_before_it_has_run),
        TEST(a_stream_waits_for_what_an_event_stood_for_when_asked),
        TEST(the_legacy_stream_and_blocking_streams_wait_for_one_another),
        TEST(a_non_blocking_stream_passes_the_legacy_stream),
        TEST(each_thread_has_a_default_stream_of_its_own),
        TEST(the_work_of_a_destroyed_stream_goes_on),
        TEST(using_a_destroyed_stream_is_refused_and_counted),
        TEST(host_functions_run_in_order_and_may_not_call_the_driver),
        TEST(a_stream_waits_for_a_word_of_memory),
        TEST(an_event_belongs_to_one_context),
        TEST(a_reset_context_is_dead_until_it_is_retained_anew),
        TEST(a_peer_copy_comes_after_the_work_of_both_contexts),
        TEST(what_follows_a_peer_copy_waits_for_it_in_both_contexts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
