/* The control interface: faults, counts, settings, and processes that fork. */
#include "support.h"

static void the_nth_call_fails_and_does_nothing(void **state) {
    (void)state;
    CUdeviceptr memory = 0;
    fake(fake_fail_at)(NULL, 2, CUDA_ERROR_OUT_OF_MEMORY);
    ok(cu(cuMemAlloc)(&memory, 64));
    refused(CUDA_ERROR_OUT_OF_MEMORY, cu(cuMemFree)(memory));
    assert_int_equal(fake(fake_live)(FAKE_DEVICE_ALLOCATIONS), 1);
    ok(cu(cuMemFree)(memory));
    assert_int_equal(fake(fake_faults_injected)(), 1);
}

static void a_fault_can_be_meant_for_one_function(void **state) {
    (void)state;
    CUdeviceptr memory = 0;
    fake(fake_fail_at)("cuMemAlloc", 2, CUDA_ERROR_UNKNOWN);
    ok(cu(cuMemAlloc)(&memory, 64));
    ok(cu(cuMemFree)(memory));
    refused(CUDA_ERROR_UNKNOWN, cu(cuMemAlloc)(&memory, 64));
    ok(cu(cuMemAlloc)(&memory, 64));
    fake(fake_fail_at)("cuMemAlloc_v2", -1, CUDA_ERROR_UNKNOWN);
    refused(CUDA_ERROR_UNKNOWN, cu(cuMemAlloc)(&memory, 64));
    refused(CUDA_ERROR_UNKNOWN, cu(cuMemAlloc)(&memory, 64));
    fake(fake_clear_faults)();
    ok(cu(cuMemAlloc)(&memory, 64));
}

static void a_fault_can_stay(void **state) {
    (void)state;
    CUdeviceptr memory = 0;
    fake(fake_fail_from)(NULL, 2, CUDA_ERROR_UNKNOWN);
    ok(cu(cuMemAlloc)(&memory, 64));
    refused(CUDA_ERROR_UNKNOWN, cu(cuMemFree)(memory));
    refused(CUDA_ERROR_UNKNOWN, cu(cuCtxSynchronize)());
    assert_int_equal(fake(fake_fault_count)("cuMemFree"), 1);
    assert_int_equal(fake(fake_fault_count)("cuMemAlloc"), 0);
    assert_int_equal(fake(fake_faults_injected)(), 2);
    fake(fake_clear_faults)();
    ok(cu(cuMemFree)(memory));
}

static void a_thread_can_be_spared(void **state) {
    (void)state;
    CUdeviceptr memory = 0;
    fake(fake_fail_at)(NULL, 1, CUDA_ERROR_UNKNOWN);
    fake(fake_spare_thread)(1);
    ok(cu(cuMemAlloc)(&memory, 64));
    fake(fake_spare_thread)(0);
    refused(CUDA_ERROR_UNKNOWN, cu(cuMemFree)(memory));
    ok(cu(cuMemFree)(memory));
}

static void contexts_can_be_poisoned_at_a_call(void **state) {
    (void)state;
    CUdeviceptr memory = 0;
    fake(fake_poison_at)(NULL, 2, CUDA_ERROR_ILLEGAL_ADDRESS);
    ok(cu(cuMemAlloc)(&memory, 64));
    refused(CUDA_ERROR_ILLEGAL_ADDRESS, cu(cuMemFree)(memory));
    refused(CUDA_ERROR_ILLEGAL_ADDRESS, cu(cuCtxSynchronize)());
    assert_int_equal(fake(fake_faults_injected)(), 1);
}

static CUresult scenario(void) {
    CUdeviceptr memory = 0;
    char plain[8] = {0};
    CUresult result = cu(cuMemAlloc)(&memory, 8);
    if (result == CUDA_SUCCESS) {
        result = cu(cuMemcpyHtoD)(memory, plain, 8);
        const CUresult freed = cu(cuMemFree)(memory);
        result = result == CUDA_SUCCESS ? freed : result;
    }
    return result;
}

static void a_loop_over_n_reaches_every_call_of_a_scenario(void **state) {
    (void)state;
    int n = 1;
    for (;; ++n) {
        fake(fake_fail_at)(NULL, n, CUDA_ERROR_UNKNOWN);
        const int64_t before = fake(fake_faults_injected)();
        const CUresult result = scenario();
        if (fake(fake_faults_injected)() == before) {
            ok(result);
            break;
        }
        refused(CUDA_ERROR_UNKNOWN, result);
    }
    assert_int_equal(n, 4);
}

static void calls_are_counted_and_recorded(void **state) {
    (void)state;
    char text[64];
    const int64_t before = fake(fake_call_count)(NULL);
    refused(CUDA_ERROR_INVALID_VALUE, cu(cuMemFree)(4096));
    ok(cu(cuCtxSynchronize)());
    assert_int_equal(fake(fake_call_count)(NULL) - before, 2);
    assert_int_equal(fake(fake_call_count)("cuMemFree"), 1);
    fake(fake_calls)(text, sizeof text);
    assert_non_null(strstr(text, "cuMemFree_v2 = 1\ncuCtxSynchronize = 0\n"));
}

static void what_is_alive_is_reported_by_kind(void **state) {
    (void)state;
    char text[128];
    const CUevent event = new_event();
    new_stream();
    new_stream();
    fake(fake_live_text)(text, sizeof text);
    assert_string_equal(text, "1 contexts, 1 primary retains, 2 streams, 1 events");
    ok(cu(cuEventDestroy)(event));
    assert_int_equal(fake(fake_live_objects)(), 4);
    fake(fake_reset)();
    assert_int_equal(fake(fake_live_objects)(), 0);
}

static void a_forked_child_has_no_driver(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(64);
    const CUstream stream = new_stream();
    ok(cu(cuMemsetD8Async)(memory, 1, 64, stream));
    const pid_t child = fork();
    if (child == 0) {
        int count = 0;
        const int right =
            cu(cuMemFree)(memory) == CUDA_ERROR_NOT_INITIALIZED &&
            cu(cuDeviceGetCount)(&count) == CUDA_ERROR_NOT_INITIALIZED && cu(cuInit)(0) == CUDA_ERROR_NOT_INITIALIZED &&
            cu(cuStreamQuery)(stream) == CUDA_ERROR_NOT_INITIALIZED && cu(cuDriverGetVersion)(&count) == CUDA_SUCCESS &&
            fake(fake_misused)(FAKE_CALL_IN_FORKED_CHILD) == 4;
        _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    ok(cu(cuStreamSynchronize)(stream));
}

static void initialisation_can_fail_as_the_machine_would(void **state) {
    (void)state;
    int count = 0;
    fake(fake_reset)();
    refused(CUDA_ERROR_NOT_INITIALIZED, cu(cuDeviceGetCount)(&count));
    fake(fake_set)(FAKE_DEVICES, 0);
    refused(CUDA_ERROR_NO_DEVICE, cu(cuInit)(0));
    fake(fake_set)(FAKE_INIT_RESULT, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    refused(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, cu(cuInit)(0));
}

static void an_older_driver_lacks_what_came_later(void **state) {
    (void)state;
    void *found = NULL;
    CUdriverProcAddressQueryResult why = CU_GET_PROC_ADDRESS_SUCCESS;
    int version = 0;
    fake(fake_set)(FAKE_DRIVER_VERSION, 12040);
    ok(cu(cuDriverGetVersion)(&version));
    assert_int_equal(version, 12040);
    refused(CUDA_ERROR_INVALID_VALUE, cu(cuGetProcAddress)("cuMemAlloc", &found, 13000, 0, &why));
    ok(cu(cuGetProcAddress)("cuMemcpyBatchAsync", &found, 12040, 0, &why));
    assert_int_equal(why, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_null(found);
}

static void devices_are_what_the_test_says(void **state) {
    (void)state;
    int value = 0;
    char name[32];
    size_t bytes = 0;
    fake(fake_reset)();
    fake(fake_set)(FAKE_DEVICES, 3);
    fake(fake_set)(FAKE_CAPABILITY, 75);
    fake(fake_set)(FAKE_DEVICE_MEMORY, 1 << 30);
    fake(fake_set_peer)(0, 2, 0);
    fake(fake_set_attribute)(1, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 7);
    ok(cu(cuInit)(0));
    ok(cu(cuDeviceGetCount)(&value));
    assert_int_equal(value, 3);
    ok(cu(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2));
    assert_int_equal(value, 7);
    ok(cu(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1));
    assert_int_equal(value, 7);
    ok(cu(cuDeviceCanAccessPeer)(&value, 0, 1));
    assert_int_equal(value, 1);
    ok(cu(cuDeviceCanAccessPeer)(&value, 0, 2));
    assert_int_equal(value, 0);
    ok(cu(cuDeviceTotalMem)(&bytes, 0));
    assert_int_equal(bytes, 1 << 30);
    ok(cu(cuDeviceGetName)(name, sizeof name, 1));
    assert_string_equal(name, "Fake GPU 1");
}

static void poison_sticks_until_the_reset(void **state) {
    (void)state;
    CUdeviceptr memory = 0;
    fake(fake_poison)(CUDA_ERROR_LAUNCH_FAILED);
    refused(CUDA_ERROR_LAUNCH_FAILED, cu(cuMemAlloc)(&memory, 64));
    refused(CUDA_ERROR_LAUNCH_FAILED, cu(cuCtxSynchronize)());
    begin_test(NULL);
    ok(cu(cuMemAlloc)(&memory, 64));
}

static void queued_work_of_a_poisoned_context_is_dropped(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    fake(fake_stream_hold)(stream);
    ok(cu(cuMemsetD8Async)(memory, 1, 64, stream));
    fake(fake_poison)(CUDA_ERROR_LAUNCH_FAILED);
    fake(fake_stream_release)(stream);
    refused(CUDA_ERROR_LAUNCH_FAILED, cu(cuStreamSynchronize)(stream));
    while (fake(fake_stream_pending)(stream) != 0) {
        usleep(1000);
    }
    assert_int_not_equal(byte_at(memory), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_nth_call_fails_and_does_nothing),
        TEST(a_fault_can_be_meant_for_one_function),
        TEST(a_fault_can_stay),
        TEST(a_thread_can_be_spared),
        TEST(contexts_can_be_poisoned_at_a_call),
        TEST(a_loop_over_n_reaches_every_call_of_a_scenario),
        TEST(calls_are_counted_and_recorded),
        TEST(what_is_alive_is_reported_by_kind),
        TEST(a_forked_child_has_no_driver),
        TEST(initialisation_can_fail_as_the_machine_would),
        TEST(an_older_driver_lacks_what_came_later),
        TEST(devices_are_what_the_test_says),
        TEST(poison_sticks_until_the_reset),
        TEST(queued_work_of_a_poisoned_context_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
