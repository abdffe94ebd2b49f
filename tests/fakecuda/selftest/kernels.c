/* Kernels: host functions that run as a device would. */
#include "support.h"

/* Parameters: where, how many, what. */
static void fill_kernel(void **args, const fake_launch *launch, void *user) {
    unsigned char *view = fake(fake_device_address)(*(CUdeviceptr *)args[0], *(size_t *)args[1]);
    if (view != NULL) {
        memset(view, *(unsigned char *)args[2], *(size_t *)args[1]);
    }
    if (user != NULL) {
        *(fake_launch *)user = *launch;
    }
}

static const size_t fill_sizes[] = {sizeof(CUdeviceptr), sizeof(size_t), 1};

static CUfunction fill_function(fake_launch *seen) {
    fake(fake_register_kernel)("fill", fill_kernel, seen, 3, fill_sizes);
    return kernel("fill");
}

static CUresult launch_fill(CUfunction function, CUdeviceptr where, size_t count, unsigned char what, CUstream stream) {
    void *parameters[] = {&where, &count, &what};
    return cu(cuLaunchKernel)(function, 2, 3, 4, 32, 2, 1, 16, stream, parameters, NULL);
}

static void a_kernel_runs_in_stream_order_with_the_values_of_its_launch(void **state) {
    (void)state;
    fake_launch seen;
    const CUfunction function = fill_function(&seen);
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    fake(fake_stream_hold)(stream);
    ok(launch_fill(function, memory, 64, 3, stream));
    assert_int_not_equal(byte_at(memory), 3);
    fake(fake_stream_release)(stream);
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory + 63), 3);
    assert_int_equal(seen.grid[2], 4);
    assert_int_equal(seen.block[0], 32);
    assert_int_equal(seen.shared_bytes, 16);
}

static void packed_parameters_are_unpacked_as_the_abi_lays_them_out(void **state) {
    (void)state;
    const CUfunction function = fill_function(NULL);
    const struct {
        CUdeviceptr where;
        size_t count;
        unsigned char what;
    } packed = {device_memory(64), 64, 5};
    size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)&packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    ok(cu(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    ok(cu(cuStreamSynchronize)(NULL));
    assert_int_equal(byte_at(packed.where), 5);
}

static void a_configured_launch_is_a_launch(void **state) {
    (void)state;
    fake_launch seen;
    const CUfunction function = fill_function(&seen);
    CUdeviceptr where = device_memory(64);
    size_t count = 64;
    unsigned char what = 8;
    void *parameters[] = {&where, &count, &what};
    CUlaunchConfig config;
    memset(&config, 0, sizeof config);
    config.gridDimX = 7;
    config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    ok(cu(cuLaunchKernelEx)(&config, function, parameters, NULL));
    ok(cu(cuStreamSynchronize)(NULL));
    assert_int_equal(byte_at(where), 8);
    assert_int_equal(seen.grid[0], 7);
}

static void a_kernel_reaches_pinned_and_managed_memory(void **state) {
    (void)state;
    const CUfunction function = fill_function(NULL);
    char *pinned = pinned_memory(64);
    CUdeviceptr managed = 0;
    ok(cu(cuMemAllocManaged)(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    ok(launch_fill(function, (CUdeviceptr)pinned, 64, 1, NULL));
    ok(launch_fill(function, managed, 64, 2, NULL));
    ok(cu(cuStreamSynchronize)(NULL));
    assert_int_equal(pinned[63], 1);
    assert_int_equal(*(char *)managed, 2);
}

static void a_kernel_that_leaves_its_memory_poisons_the_process(void **state) {
    (void)state;
    const CUfunction function = fill_function(NULL);
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    ok(launch_fill(function, memory, 65, 1, stream));
    refused(CUDA_ERROR_ILLEGAL_ADDRESS, cu(cuStreamSynchronize)(stream));
    refused(CUDA_ERROR_ILLEGAL_ADDRESS, launch_fill(function, memory, 64, 1, stream));
    assert_int_equal(fake(fake_misused)(FAKE_ILLEGAL_ADDRESS), 1);
}

static void a_kernel_reaches_a_peer_only_with_access(void **state) {
    (void)state;
    const CUfunction function = fill_function(NULL);
    const CUcontext near = primary(0), far = primary(1);
    ok(cu(cuCtxSetCurrent)(far));
    const CUdeviceptr memory = device_memory(64);
    ok(cu(cuCtxSetCurrent)(near));
    ok(cu(cuCtxEnablePeerAccess)(far, 0));
    ok(launch_fill(function, memory, 64, 1, NULL));
    ok(cu(cuStreamSynchronize)(NULL));
    ok(cu(cuCtxDisablePeerAccess)(far));
    ok(launch_fill(function, memory, 64, 2, NULL));
    refused(CUDA_ERROR_ILLEGAL_ADDRESS, cu(cuStreamSynchronize)(NULL));
    assert_int_equal(byte_at(memory), 1);
}

static void a_captured_kernel_runs_at_every_launch(void **state) {
    (void)state;
    const CUfunction function = fill_function(NULL);
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    ok(cu(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(launch_fill(function, memory, 64, 4, stream));
    ok(cu(cuStreamEndCapture)(stream, &graph));
    ok(cu(cuGraphInstantiate)(&exec, graph, 0));
    for (int i = 0; i < 2; ++i) {
        fake(fake_device_write)(memory, "x", 1);
        ok(cu(cuGraphLaunch)(exec, stream));
        ok(cu(cuStreamSynchronize)(stream));
        assert_int_equal(byte_at(memory), 4);
    }
}

static void libraries_have_the_same_kernels(void **state) {
    (void)state;
    CUlibrary library = NULL;
    CUkernel found = NULL;
    CUfunction function = NULL;
    fill_function(NULL);
    ok(cu(cuLibraryLoadData)(&library, ".version 8.0", NULL, NULL, 0, NULL, NULL, 0));
    ok(cu(cuLibraryGetKernel)(&found, library, "fill"));
    refused(CUDA_ERROR_NOT_FOUND, cu(cuLibraryGetKernel)(&found, library, "nothing"));
    ok(cu(cuLibraryGetKernel)(&found, library, "fill"));
    ok(cu(cuKernelGetFunction)(&function, found));
    const CUdeviceptr memory = device_memory(8);
    ok(launch_fill(function, memory, 8, 2, NULL));
    ok(launch_fill((CUfunction)found, memory, 8, 3, NULL));
    ok(cu(cuStreamSynchronize)(NULL));
    assert_int_equal(byte_at(memory), 3);
    ok(cu(cuLibraryUnload)(library));
    refused(CUDA_ERROR_INVALID_HANDLE, launch_fill(function, memory, 8, 2, NULL));
    assert_int_equal(fake(fake_misused)(FAKE_OTHER_AFTER_DESTROY), 1);
}

static void kernel_attributes_are_what_the_test_says(void **state) {
    (void)state;
    const CUfunction function = fill_function(NULL);
    int value = 0;
    fake(fake_set_kernel_attribute)("fill", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 32);
    ok(cu(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    assert_int_equal(value, 32);
    refused(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, launch_fill(function, device_memory(8), 8, 1, NULL));
    ok(cu(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&value, function, 256, 0));
    assert_int_equal(value, 8);
}

static void an_image_for_another_gpu_is_refused(void **state) {
    (void)state;
    CUmodule module = NULL;
    fake(fake_set)(FAKE_MODULE_RESULT, CUDA_ERROR_NO_BINARY_FOR_GPU);
    refused(CUDA_ERROR_NO_BINARY_FOR_GPU, cu(cuModuleLoadData)(&module, ".version 8.0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_kernel_runs_in_stream_order_with_the_values_of_its_launch),
        TEST(packed_parameters_are_unpacked_as_the_abi_lays_them_out),
        TEST(a_configured_launch_is_a_launch),
        TEST(a_kernel_reaches_pinned_and_managed_memory),
        TEST(a_kernel_that_leaves_its_memory_poisons_the_process),
        TEST(a_kernel_reaches_a_peer_only_with_access),
        TEST(a_captured_kernel_runs_at_every_launch),
        TEST(libraries_have_the_same_kernels),
        TEST(kernel_attributes_are_what_the_test_says),
        TEST(an_image_for_another_gpu_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
