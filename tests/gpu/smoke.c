/* The support of these tests itself, and the first questions: is the driver there, what does it say. */
#include "support.h"

static void a_driver_with_a_device_is_found_by_the_library_as_well(void **state) {
    (void)state;
    int32_t count = 0;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    assert_int_equal(count, device_count());
}

static void every_device_is_described(void **state) {
    (void)state;
    for (int32_t i = 0; i < device_count(); ++i) {
        via_device_properties device = VIA_DEVICE_PROPERTIES_INIT;
        ok(via_device_info(VIA_DEVICE_CUDA, i, &device));
        assert_int_equal(device.device_id, i);
        assert_true(device.total_bytes > 0 && device.compute_capability >= 50 && device.driver_version >= 11040);
        assert_true(device.name[0] != '\0' && device.routes[0] != '\0');
        print_message("cuda:%d is %s, compute capability %d, driver %d, %lld MiB\n%s\n", i, device.name,
                      device.compute_capability, device.driver_version, (long long)(device.total_bytes >> 20),
                      device.routes);
    }
}

static void a_held_stream_runs_nothing_until_it_is_released(void **state) {
    (void)state;
    CUstream stream = new_stream();
    CUstream other = new_stream();
    char *pinned = pinned_memory(64);
    const CUdeviceptr device = device_memory(64);
    memset(pinned, 1, 64);
    write_pattern(device, 64, 5);
    hold(stream);
    cu_ok(cu(cuMemcpyAsync)((CUdeviceptr)(uintptr_t)pinned, device, 64, stream));
    finish(other);
    assert_false(is_done(stream));
    assert_bytes(pinned, 64, 1);
    assert_device_pattern(device, 64, 5);
    release(stream);
    finish(stream);
    assert_pattern(pinned, 64, 5);
}

static void two_held_streams_are_released_in_either_order(void **state) {
    (void)state;
    CUstream first = new_stream();
    CUstream second = new_stream();
    const CUdeviceptr device = device_memory(128);
    hold(first);
    hold(second);
    cu_ok(cu(cuMemsetD8Async)(device, 1, 64, first));
    cu_ok(cu(cuMemsetD8Async)(device + 64, 2, 64, second));
    release(second);
    finish(second);
    assert_false(is_done(first));
    release(first);
    hold(first);
    release(first);
    finish(first);
    assert_device_bytes(device, 64, 1);
    assert_device_bytes(device + 64, 64, 2);
}

static void a_captured_copy_runs_when_its_graph_is_launched(void **state) {
    (void)state;
    CUstream stream = new_stream();
    const CUdeviceptr from = device_memory(64);
    const CUdeviceptr to = device_memory(64);
    write_pattern(from, 64, 9);
    write_pattern(to, 64, 8);
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cu_ok(cu(cuMemcpyAsync)(to, from, 64, stream));
    assert_int_equal(capture_status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CUgraph graph = end_capture(stream);
    assert_int_equal(node_count(graph), 1);
    assert_device_pattern(to, 64, 8);
    launch(instantiate(graph), stream);
    assert_device_pattern(to, 64, 9);
}

static void the_library_alone(void) {
    assert_non_null(getenv("SMOKE_SETTING"));
    int32_t count = 0;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    assert_true(count > 0);
}

static void without_a_driver(void) {
    int32_t count = -1;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    assert_int_equal(count, 0);
    via_device_properties device = VIA_DEVICE_PROPERTIES_INIT;
    refused(VIA_ERROR_UNSUPPORTED, "/nowhere/libcuda.so", via_device_info(VIA_DEVICE_CUDA, 0, &device));
}

static void a_test_may_run_in_a_process_of_its_own(void **state) {
    (void)state;
    run_apart(the_library_alone, (const char *const[]){"SMOKE_SETTING=1", NULL});
    run_apart(without_a_driver, (const char *const[]){"VIADUCT_LIBCUDA=/nowhere/libcuda.so", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_driver_with_a_device_is_found_by_the_library_as_well),
        GPU_TEST(every_device_is_described),
        GPU_TEST(a_held_stream_runs_nothing_until_it_is_released),
        GPU_TEST(two_held_streams_are_released_in_either_order),
        GPU_TEST(a_captured_copy_runs_when_its_graph_is_launched),
        GPU_TEST(a_test_may_run_in_a_process_of_its_own),
    };
    return run_gpu_tests(tests);
}
