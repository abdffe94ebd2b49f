/* What is reported of devices, and making one ready. */
#include <sys/wait.h>
#include <unistd.h>

#include "../capi/child.h"
#include "support.h"

static via_device_properties describe(int32_t device_type, int32_t device_id) {
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    ok(via_device_info(device_type, device_id, &properties));
    assert_non_null(memchr(properties.name, 0, sizeof properties.name));
    assert_non_null(memchr(properties.routes, 0, sizeof properties.routes));
    return properties;
}

static void a_device_is_described_as_the_driver_does(void **state) {
    (void)state;
    for (int32_t id = 0; id < device_count(); ++id) {
        const via_device_properties properties = describe(VIA_DEVICE_CUDA, id);
        char name[128];
        size_t total = 0;
        int major = 0;
        int minor = 0;
        int version = 0;
        cu_ok(cu(cuDeviceGetName)(name, sizeof name, id));
        cu_ok(cu(cuDeviceTotalMem)(&total, id));
        cu_ok(cu(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, id));
        cu_ok(cu(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, id));
        cu_ok(cu(cuDriverGetVersion)(&version));
        assert_int_equal(properties.device_type, VIA_DEVICE_CUDA);
        assert_int_equal(properties.device_id, id);
        assert_string_equal(properties.name, name);
        assert_int_equal(properties.total_bytes, total);
        assert_int_equal(properties.compute_capability, major * 10 + minor);
        assert_int_equal(properties.driver_version, version);
        assert_int_equal(properties.num_threads, via_num_threads());
        assert_true(properties.staging_bytes >= 0);
        assert_true(holds_words(properties.routes, "driver copies: on|staging|peer to peer|stream-ordered|kernels"));
    }
}

static void the_cpu_says_that_devices_are_reached(void **state) {
    (void)state;
    const via_device_properties properties = describe(VIA_DEVICE_CPU, 0);
    assert_true(holds_words(properties.routes, "host to host: on|host to CUDA device: on"));
}

static void a_device_that_there_is_not_is_refused_by_name(void **state) {
    (void)state;
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    refused(VIA_ERROR_DEVICE, "via_device_info|device_id is -1", via_device_info(VIA_DEVICE_CUDA, -1, &properties));
    refused(VIA_ERROR_DEVICE, "via_device_info|device_id",
            via_device_info(VIA_DEVICE_CUDA, device_count(), &properties));
    refused(VIA_ERROR_DEVICE, "via_device_info|device_type is VIA_DEVICE_CUDA_HOST",
            via_device_info(VIA_DEVICE_CUDA_HOST, 0, &properties));
    refused(VIA_ERROR_DEVICE, "via_cuda_warmup|device_id is -1", via_cuda_warmup(-1));
    refused(VIA_ERROR_DEVICE, "via_cuda_warmup|device_id", via_cuda_warmup(device_count()));
}

static void describing_makes_no_context(void) {
    for (int32_t id = 0; id < device_count(); ++id) {
        unsigned int flags = 0;
        int active = 1;
        describe(VIA_DEVICE_CUDA, id);
        cu_ok(cu(cuDevicePrimaryCtxGetState)(id, &flags, &active));
        assert_false(active);
    }
}

static void describing_a_device_makes_no_context(void **state) {
    (void)state;
    APART(describing_makes_no_context);
}

static void warm_up_once_and_again(void) {
    ok(via_cuda_warmup(0));
    CUcontext current = (CUcontext)&current;
    cu_ok(cu(cuCtxGetCurrent)(&current));
    assert_null(current);
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const via_stats_info warm = stats_now();
    CUstream stream = new_stream();
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_cuda_warmup(0));
    assert_int_equal(capture_status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(stream);
    const via_stats_info again = stats_now();
    assert_true(same_stats(&warm, &again));
}

static void warming_up_leaves_the_thread_as_it_was_and_disturbs_no_capture(void **state) {
    (void)state;
    APART(warm_up_once_and_again);
}

static void warm_up_with_every_call_failing(void) {
    for (int64_t n = 1;; ++n) {
        const int64_t injected = fake(fake_faults_injected)();
        fake(fake_fail_at)(NULL, n, CUDA_ERROR_UNKNOWN);
        const via_status status = via_cuda_warmup(0);
        fake(fake_clear_faults)();
        assert_true(status == VIA_OK || status == VIA_ERROR_CUDA || status == VIA_ERROR_UNSUPPORTED);
        if (status == VIA_ERROR_UNSUPPORTED) {
            return; /* cuInit itself: there is no driver for this process then */
        }
        if (fake(fake_faults_injected)() == injected) {
            break;
        }
    }
    ok(via_cuda_warmup(0));
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

static void load_then_warm_up_with_every_call_failing(void) {
    int32_t count = 0;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    warm_up_with_every_call_failing();
}

static void warming_up_survives_every_failing_call(void **state) {
    (void)state;
    steer();
    APART(load_then_warm_up_with_every_call_failing);
    APART(warm_up_with_every_call_failing);
}

static void with_no_device(void) {
    int32_t count = 7;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    assert_int_equal(count, 0);
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    refused(VIA_ERROR_UNSUPPORTED, "via_device_info|device_type is VIA_DEVICE_CUDA|CUDA_ERROR",
            via_device_info(VIA_DEVICE_CUDA, 0, &properties));
    refused(VIA_ERROR_UNSUPPORTED, "via_cuda_warmup|CUDA_ERROR", via_cuda_warmup(0));
    assert_true(holds_words(describe(VIA_DEVICE_CPU, 0).routes, "host to CUDA device: off|CUDA_ERROR"));
}

static void a_driver_that_will_not_start_counts_no_device_and_says_why(void **state) {
    (void)state;
    steer();
    run_apart(with_no_device, (const char *const[]){"VIADUCT_FAKECUDA_DEVICES=0", NULL});
    run_apart(with_no_device, (const char *const[]){"VIADUCT_FAKECUDA_INIT=999", NULL});
}

static void with_one_device(void) {
    assert_true(holds_words(describe(VIA_DEVICE_CUDA, 0).routes, "peer to peer: off|one device"));
}

static void without_peers(void) {
    assert_true(holds_words(describe(VIA_DEVICE_CUDA, 0).routes, "peer to peer: off|through the host"));
}

static void without_pools(void) {
    fake(fake_set_attribute)(0, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0);
    assert_true(holds_words(describe(VIA_DEVICE_CUDA, 0).routes, "stream-ordered memory: off|no memory pools"));
    via_memory *memory = NULL;
    refused(VIA_ERROR_UNSUPPORTED, "via_memory_create|kind is VIA_MEMORY_DEVICE_POOL|device 0",
            via_memory_create(VIA_MEMORY_DEVICE_POOL, 0, &memory));
}

static void routes_that_are_off_say_why(void **state) {
    (void)state;
    steer();
    run_apart(with_one_device, (const char *const[]){"VIADUCT_FAKECUDA_DEVICES=1", NULL});
    run_apart(without_peers, (const char *const[]){"VIADUCT_FAKECUDA_PEERS=0", NULL});
    APART(without_pools);
}

/* What a forked child finds; its exit status. */
static int look_in_child(via_memory *memory) {
    int32_t count = 7;
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    via_memory *made = NULL;
    via_array *array = NULL;
    const via_status counted = via_device_count(VIA_DEVICE_CUDA, &count);
    int wrong = counted != VIA_OK || count != 0;
    wrong |= via_device_info(VIA_DEVICE_CUDA, 0, &properties) != VIA_ERROR_FORKED;
    wrong |= via_cuda_warmup(0) != VIA_ERROR_FORKED;
    wrong |= via_memory_create(VIA_MEMORY_DEVICE, 0, &made) != VIA_ERROR_FORKED;
    wrong |= via_empty(memory, VIA_UINT8, 1, SHAPE(8), NULL, &array) != VIA_ERROR_FORKED;
    wrong |= via_wrap((void *)64, VIA_UINT8, 1, SHAPE(8), NULL, VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &array) !=
             VIA_ERROR_FORKED;
    wrong |= via_device_info(VIA_DEVICE_CPU, 0, &properties) != VIA_OK || strstr(properties.routes, "fork") == NULL;
    return wrong;
}

static void fork_after_use(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    via_memory *memory = NULL;
    ok(via_memory_create(VIA_MEMORY_DEVICE, 0, &memory));
    via_array *array = NULL;
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(64), NULL, &array));
    atomic_int released = 0;
    via_array *borrowed = wrap_device(device_memory(64), 64, &released);
    const pid_t child = fork_child();
    assert_true(child >= 0);
    if (child == 0) {
        int wrong = look_in_child(memory);
        via_array_release(array);
        via_array_release(borrowed);
        via_memory_release(memory);
        wrong |= released != 1;
        wrong |= on_fake_driver() && fake(fake_misused)(FAKE_CALL_IN_FORKED_CHILD) != 0;
        _exit(wrong);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(released, 0);
    via_array_release(borrowed);
    via_array_release(array);
    via_memory_release(memory);
}

static void a_forked_child_is_reported_and_releases_without_the_driver(void **state) {
    (void)state;
    APART(fork_after_use);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_device_is_described_as_the_driver_does),
        GPU_TEST(the_cpu_says_that_devices_are_reached),
        GPU_TEST(a_device_that_there_is_not_is_refused_by_name),
        GPU_TEST(describing_a_device_makes_no_context),
        GPU_TEST(warming_up_leaves_the_thread_as_it_was_and_disturbs_no_capture),
        GPU_TEST(warming_up_survives_every_failing_call),
        GPU_TEST(a_driver_that_will_not_start_counts_no_device_and_says_why),
        GPU_TEST(routes_that_are_off_say_why),
        GPU_TEST(a_forked_child_is_reported_and_releases_without_the_driver),
    };
    return run_gpu_tests(tests);
}
