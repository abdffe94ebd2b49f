/* Copies between two devices, which comes after what on either. */
#include "pending_copy.h"

static void on_device(int device, void (*call)(CUstream), CUstream stream) {
    CUcontext popped = NULL;
    cu_ok(cu(cuCtxPushCurrent)(primary(device)));
    call(stream);
    cu_ok(cu(cuCtxPopCurrent)(&popped));
}

static const place directions[][2] = {{DEVICE, OTHER_DEVICE}, {OTHER_DEVICE, DEVICE}};

/* Nobody has switched peer access on: what is worth it goes through memory that the library opens to both. */
static void the_route_names_both_devices_and_says_what_crosses_the_host(void **state) {
    (void)state;
    need_two_devices();
    static const char through_host[] = "by the driver through host memory";
    pair both = new_pair(OTHER_DEVICE, DEVICE, 5000);
    assert_explained(both.dst.array, both.src.array, "peer copy|device 0 to device 1");
    assert_explained(both.dst.array, both.src.array, through_host);
    end_pair(&both);
    both = new_pair(OTHER_DEVICE, DEVICE, 5 << 20);
    assert_explained(both.dst.array, both.src.array, can_reach(0, 1) ? "direct, in pieces of up to" : through_host);
    end_pair(&both);
}

static void what_the_application_has_switched_on_is_used(void **state) {
    (void)state;
    need_two_devices();
    switch_peer_access(1);
    for (int64_t size = 5000; size <= 5 << 20; size *= 1000) {
        pair both = new_pair(OTHER_DEVICE, DEVICE, size);
        const char *text = explain(both.dst.array, both.src.array);
        assert_true(holds_words(text, "direct") && !holds_words(text, "pieces"));
        ok(via_copy(both.dst.array, both.src.array));
        assert_block(&both.dst, 1);
        end_pair(&both);
    }
    switch_peer_access(0);
}

/* Several buffers full, on a stream of either device; pages of either one's may be anywhere in its memory. */
static void a_large_copy_goes_in_pieces(void **state) {
    (void)state;
    need_two_devices();
    for (int32_t i = 0; i < 2 * LENGTH(directions); ++i) {
        pair both = new_pair(directions[i / 2][0], directions[i / 2][1], 11000000);
        CUstream native = new_stream_on(i % 2);
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, i % 2)));
        finish(native);
        assert_block(&both.dst, 1);
        end_pair(&both);
    }
}

static void a_large_copy_comes_in_the_order_of_its_stream(void **state) {
    (void)state;
    need_two_devices();
    for (int32_t i = 0; i < 2 * LENGTH(directions); ++i) {
        pair both = new_pair(directions[i / 2][0], directions[i / 2][1], 1500000);
        CUstream native = new_stream_on(i % 2);
        hold(native);
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, i % 2)));
        assert_block(&both.dst, 2);
        assert_false(is_done(native));
        release(native);
        finish(native);
        assert_block(&both.dst, 1);
        end_pair(&both);
    }
}

/* The side streams are part of the capture, and afterwards free for others. */
static void a_large_copy_between_devices_is_captured_and_launched_again(void **state) {
    (void)state;
    need_two_devices();
    for (int32_t i = 0; i < 2 * LENGTH(directions); ++i) {
        pair both = new_pair(directions[i / 2][0], directions[i / 2][1], 11000000);
        CUstream native = new_stream_on(i % 2);
        CUcontext popped = NULL;
        cu_ok(cu(cuCtxPushCurrent)(primary(i % 2)));
        pair other = new_pair(directions[i / 2][0], directions[i / 2][1], 1500000);
        begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, i % 2)));
        ok(via_copy(other.dst.array, other.src.array));
        CUgraphExec exec = instantiate(end_capture(native));
        assert_block(&other.dst, 1);
        for (int launches = 0; launches < 3; ++launches) {
            refill_pair(&both);
            launch(exec, native);
            assert_block(&both.dst, 1);
        }
        cu_ok(cu(cuCtxPopCurrent)(&popped));
        end_pair(&other);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

/* The legacy stream of either device. */
static void a_copy_comes_after_the_legacy_streams_of_both_devices(void **state) {
    (void)state;
    need_two_devices();
    for (int32_t i = 0; i < 2 * LENGTH(directions); ++i) {
        pair both = new_pair(directions[i / 2][0], directions[i / 2][1], 5000);
        const int device = i % 2;
        on_device(device, hold, NULL);
        on_device(device, keep_busy, CU_STREAM_LEGACY);
        behind copy = {.dst = both.dst.array, .src = both.src.array, .call = call_copy};
        start_behind(&copy);
        assert_waits(&copy);
        assert_block(&both.dst, 2);
        on_device(device, release, NULL);
        end_behind(&copy);
        assert_block(&both.dst, 1);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static void an_asynchronous_copy_runs_on_a_stream_of_either_device(void **state) {
    (void)state;
    need_two_devices();
    for (int32_t i = 0; i < 2 * LENGTH(directions); ++i) {
        atomic_int released = 0;
        pair both = new_blank_pair(directions[i / 2][0], directions[i / 2][1], 300000, &released);
        refill_pair(&both);
        CUstream native = new_stream_on(i % 2);
        hold(native);
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, i % 2)));
        release_block(&both.dst);
        release_block(&both.src);
        assert_block(&both.dst, 2);
        assert_int_equal(atomic_load(&released), 0);
        release(native);
        await_count(&released, 2);
        assert_block(&both.dst, 1);
    }
}

static void null_is_the_legacy_stream_of_the_device_at_hand(void **state) {
    (void)state;
    need_two_devices();
    for (int device = 0; device < 2; ++device) {
        pair both = new_pair(OTHER_DEVICE, DEVICE, 5000);
        CUcontext popped = NULL;
        cu_ok(cu(cuCtxPushCurrent)(primary(device)));
        hold(NULL);
        ok(via_copy_async(both.dst.array, both.src.array, NULL));
        assert_block(&both.dst, 2);
        release(NULL);
        finish(CU_STREAM_LEGACY);
        cu_ok(cu(cuCtxPopCurrent)(&popped));
        assert_block(&both.dst, 1);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static void without_a_current_device_null_is_the_legacy_stream_of_the_destinations(void **state) {
    (void)state;
    need_two_devices();
    for (int32_t i = 0; i < LENGTH(directions); ++i) {
        pair both = new_pair(directions[i][0], directions[i][1], 300000);
        const int device = directions[i][0] == OTHER_DEVICE;
        on_device(device, hold, NULL);
        cu_ok(cu(cuCtxSetCurrent)(NULL));
        ok(via_copy_async(both.dst.array, both.src.array, NULL));
        cu_ok(cu(cuCtxSetCurrent)(primary(0)));
        assert_block(&both.dst, 2);
        on_device(device, release, NULL);
        on_device(device, finish, CU_STREAM_LEGACY);
        assert_block(&both.dst, 1);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static void fences_of_one_device_are_waited_for_on_the_other(void **state) {
    (void)state;
    need_two_devices();
    for (int32_t i = 0; i < 2 * LENGTH(directions); ++i) {
        pair both = new_pair(directions[i / 2][0], directions[i / 2][1], 5000);
        const int device = i % 2;
        CUstream writer = new_stream_on(device);
        CUstream native = new_stream_on(1 - device);
        on_device(device, hold, writer);
        on_device(device, keep_busy, writer);
        ok(via_array_set_ready(both.src.array, wrap_native(writer, device)));
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 1 - device)));
        assert_false(is_done(native));
        on_device(device, release, writer);
        finish(native);
        assert_block(&both.dst, 1);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

/* Whichever device is current. */
static void a_copy_between_devices_is_a_node_of_a_graph(void **state) {
    (void)state;
    need_two_devices();
    for (int32_t current = 0; current < 2; ++current) {
        pair both = new_pair(OTHER_DEVICE, DEVICE, 5000);
        CUstream native = new_stream();
        begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
        cu_ok(cu(cuCtxSetCurrent)(primary(current)));
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
        cu_ok(cu(cuCtxSetCurrent)(primary(0)));
        CUgraph graph = end_capture(native);
        assert_int_equal(node_count(graph), 1);
        launch(instantiate(graph), native);
        assert_block(&both.dst, 1);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static int opened_to(CUdevice device, CUdevice peer) {
    CUmemoryPool pool = NULL;
    CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = peer};
    cu_ok(cu(cuDeviceGetMemPool)(&pool, device));
    cu_ok(cu(cuMemPoolGetAccess)(&access, pool, &location));
    return access != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/* Peer access can still be switched on by whoever wants it, the devices' own pools are as they were, and the thread has
   the context that it had. */
static void what_is_the_applications_is_not_changed(void **state) {
    (void)state;
    need_two_devices();
    CUcontext before = NULL;
    CUcontext after = NULL;
    cu_ok(cu(cuCtxGetCurrent)(&before));
    for (int64_t size = 5000; size <= 5 << 20; size *= 1000) {
        pair both = new_pair(OTHER_DEVICE, DEVICE, size);
        ok(via_copy(both.dst.array, both.src.array));
        ok(via_copy(both.src.array, both.dst.array));
        end_pair(&both);
    }
    for (int device = 0; device < 2; ++device) {
        CUcontext popped = NULL;
        cu_ok(cu(cuCtxPushCurrent)(primary(device)));
        cu_refused(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cu(cuCtxDisablePeerAccess)(primary(1 - device)));
        cu_ok(cu(cuCtxPopCurrent)(&popped));
        assert_false(opened_to(device, 1 - device));
    }
    cu_ok(cu(cuCtxGetCurrent)(&after));
    assert_ptr_equal(after, before);
}

/* The fake driver counts what a copy takes through the host, and ends a context whose kernel reaches further. */
static void what_is_opened_keeps_a_large_copy_off_the_host(void **state) {
    (void)state;
    steer();
    need_two_devices();
    const int64_t before = fake(fake_bytes_through_host)();
    pair both = new_pair(OTHER_DEVICE, DEVICE, 5 << 20);
    ok(via_copy(both.dst.array, both.src.array));
    assert_int_equal(fake(fake_bytes_through_host)(), before);
    end_pair(&both);
    both = new_pair(OTHER_DEVICE, DEVICE, 5000);
    ok(via_copy(both.dst.array, both.src.array));
    assert_int_equal(fake(fake_bytes_through_host)(), before + 5000);
    end_pair(&both);
}

/* Rows by index and conversions cross in pieces that kernels pack and unpack. */
enum { item_rows = 2304, item_bytes = 4096 };

static via_array *rows_of(const block *of, int32_t dtype) {
    via_array *typed = NULL;
    via_array *rows = NULL;
    ok(via_array_reinterpret(of->array, dtype, &typed));
    ok(via_array_reshape(typed, 2, (const int64_t[]){item_rows, item_bytes}, &rows));
    via_array_release(typed);
    return rows;
}

static void copy_items(const pair *both, int converted) {
    static const via_convert_options unsafely = {
        (int32_t)sizeof(via_convert_options), VIA_CASTING_UNSAFE, 0, 0, NULL, NULL, 0, 0, 0};
    static int32_t numbers[item_rows];
    via_array *index = NULL;
    via_array *dst = rows_of(&both->dst, converted ? VIA_INT8 : VIA_UINT8);
    via_array *src = rows_of(&both->src, VIA_UINT8);
    for (int32_t i = 0; i < item_rows; ++i) {
        numbers[i] = i * 7 % item_rows;
    }
    ok(via_wrap(numbers, VIA_INT32, 1, (const int64_t[]){item_rows}, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &index));
    ok(converted ? via_convert(dst, src, &unsafely, NULL) : via_copy_indexed(dst, index, src, index, 0, NULL, NULL));
    via_array_release(index);
    via_array_release(dst);
    via_array_release(src);
}

/* Before anything else has opened memory to the other device. */
static void copy_items_first(void) {
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    for (int32_t i = 0; i < 2 * LENGTH(directions); ++i) {
        const int64_t before = fake(fake_bytes_through_host)();
        pair both = new_pair(directions[i / 2][0], directions[i / 2][1], item_rows * item_bytes);
        write_block(&both.src, 3);
        copy_items(&both, i % 2);
        assert_block(&both.dst, 3);
        assert_int_equal(fake(fake_bytes_through_host)(), before);
        end_pair(&both);
    }
}

static void rows_and_conversions_keep_off_the_host_as_well(void **state) {
    (void)state;
    need_kernels();
    steer();
    need_two_devices();
    APART(copy_items_first);
}

/* As on virtual GPUs, where the driver refuses what comes and goes in the order of a stream. */
static void copy_items_without_pools(void) {
    static const char *const refused_calls[] = {"cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync",
                                                "cuMemPoolCreate"};
    static const place sides[][2] = {
        {OTHER_DEVICE, DEVICE}, {DEVICE, OTHER_DEVICE}, {DEVICE, PAGEABLE}, {PAGEABLE, DEVICE}};
    for (int32_t device = 0; device < 2; ++device) {
        fake(fake_set_attribute)(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0);
    }
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    for (int32_t i = 0; i < LENGTH(refused_calls); ++i) {
        fake(fake_fail_from)(refused_calls[i], 1, CUDA_ERROR_NOT_SUPPORTED);
    }
    int64_t used = 0;
    for (int32_t i = 0; i < 4 * LENGTH(sides); ++i) {
        pair both = new_pair(sides[i / 2 % 4][0], sides[i / 2 % 4][1], item_rows * item_bytes);
        write_block(&both.src, 3);
        copy_items(&both, i % 2);
        assert_block(&both.dst, 3);
        end_pair(&both);
        used = i < 2 * LENGTH(sides) ? fake(fake_live)(FAKE_DEVICE_ALLOCATIONS) : used;
    }
    assert_int_equal(fake(fake_live)(FAKE_DEVICE_ALLOCATIONS), used);
}

static void devices_without_pools_copy_rows_and_convert_as_well(void **state) {
    (void)state;
    need_kernels();
    steer();
    need_two_devices();
    APART(copy_items_without_pools);
}

static void copy_without_peer_access(void) {
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    assert_false(can_reach(0, 1));
    const CUdeviceptr from = device_memory(100000);
    const CUdeviceptr to = device_memory_on(1, 100000);
    via_array *src = wrap_device(from, 100000, NULL);
    via_array *dst = wrap_bytes((void *)(uintptr_t)to, 100000, VIA_DEVICE_CUDA, 1, NULL);
    write_pattern(from, 100000, 1);
    char text[300];
    int64_t length = 0;
    ok(via_copy_explain(dst, src, sizeof text, text, &length));
    assert_true(holds_words(text, "peer copy|through host memory"));
    ok(via_copy(dst, src));
    assert_device_pattern(to, 100000, 1);
    via_array_release(dst);
    via_array_release(src);
}

static void devices_that_cannot_reach_one_another_copy_as_well(void **state) {
    (void)state;
    steer();
    run_apart(copy_without_peer_access, (const char *const[]){"VIADUCT_FAKECUDA_PEERS=0", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(the_route_names_both_devices_and_says_what_crosses_the_host),
        GPU_TEST(what_the_application_has_switched_on_is_used),
        GPU_TEST(a_large_copy_goes_in_pieces),
        GPU_TEST(a_large_copy_comes_in_the_order_of_its_stream),
        GPU_TEST(a_large_copy_between_devices_is_captured_and_launched_again),
        GPU_TEST(a_copy_comes_after_the_legacy_streams_of_both_devices),
        GPU_TEST(an_asynchronous_copy_runs_on_a_stream_of_either_device),
        GPU_TEST(null_is_the_legacy_stream_of_the_device_at_hand),
        GPU_TEST(without_a_current_device_null_is_the_legacy_stream_of_the_destinations),
        GPU_TEST(fences_of_one_device_are_waited_for_on_the_other),
        GPU_TEST(a_copy_between_devices_is_a_node_of_a_graph),
        GPU_TEST(what_is_the_applications_is_not_changed),
        GPU_TEST(what_is_opened_keeps_a_large_copy_off_the_host),
        GPU_TEST(rows_and_conversions_keep_off_the_host_as_well),
        GPU_TEST(devices_without_pools_copy_rows_and_convert_as_well),
        GPU_TEST(devices_that_cannot_reach_one_another_copy_as_well),
    };
    return run_gpu_tests(tests);
}
