/* Strided copies on a device: every layout, in every way there is to copy, against a naive copy. */
#include "pending_copy.h"
#include "strided_routes.h"

static const char *routes_of_device(void) {
    static via_device_properties found = VIA_DEVICE_PROPERTIES_INIT;
    ok(via_device_info(VIA_DEVICE_CUDA, 0, &found));
    return found.routes;
}

/* What a device reaches by address; one of the two at least is its own. */
static const place reached[][2] = {
    {DEVICE, DEVICE},     {DEVICE, PINNED},  {PINNED, DEVICE},  {DEVICE, REGISTERED},
    {REGISTERED, DEVICE}, {DEVICE, MANAGED}, {MANAGED, DEVICE},
};

static void check_random_copy_within(int64_t item, int64_t most_elements, int32_t way, CUstream native) {
    const place *where = reached[random_between(0, LENGTH(reached) - 1)];
    check_random_copy(where, item, most_elements, way, native);
}

static void a_copy_between_random_layouts_equals_a_naive_one(void **state) {
    (void)state;
    CUstream native = new_stream();
    for (int32_t i = 0; i < REPEATS(700); ++i) {
        check_random_copy_within(random_item(), 4000, i % LENGTH(ways), native);
    }
    for (int32_t i = 0; i < LENGTH(items); ++i) {
        check_random_copy_within(items[i], 60000, i % LENGTH(ways), native);
    }
}

static void check_random_copies_between_devices(void) {
    static const place directions[][2] = {{DEVICE, OTHER_DEVICE}, {OTHER_DEVICE, DEVICE}};
    CUstream native = new_stream();
    for (int32_t i = 0; i < REPEATS(160); ++i) {
        check_random_copy(directions[i % 2], random_item(), i % 8 == 0 ? 60000 : 3000, i / 2 % LENGTH(ways), native);
    }
}

static void between_two_devices_it_does_with_peer_access_off_and_on(void **state) {
    (void)state;
    need_two_devices();
    ok(via_cuda_warmup(1));
    check_random_copies_between_devices();
    switch_peer_access(1);
    check_random_copies_between_devices();
    switch_peer_access(0);
}

static void a_transpose_of_any_element_size_equals_a_naive_one(void **state) {
    (void)state;
    static const int64_t extents[] = {2, 3, 5, 32, 33, 64, 100, 257};
    CUstream native = new_stream();
    for (int32_t i = 0; i < LENGTH(items); ++i) {
        for (int32_t k = 0; k < LENGTH(extents); ++k) {
            strided_pair both =
                new_transposed_pair(DEVICE, DEVICE, extents[k], extents[(k + i) % LENGTH(extents)], items[i]);
            check_pair(&both, 1, native);
            end_strided_pair(&both);
        }
    }
}

/* Images whose channels are adjacent on one side, and whose pixels are on the other; rows of whole sixteens, and not.
 */
static void check_channels(int64_t item, int64_t channels, int64_t pixels, CUstream native) {
    const shape of = {3, item, {2, channels, pixels}};
    const layout apart = dense_layout(&of, NULL), together = dense_layout(&of, AXES(0, 2, 1));
    check_layouts(DEVICE, DEVICE, &of, &together, &apart, 1, native);
    check_layouts(DEVICE, DEVICE, &of, &apart, &together, 1, native);
}

static void channels_put_together_and_taken_apart_equal_naive_copies(void **state) {
    (void)state;
    CUstream native = new_stream();
    for (int64_t item = 1; item <= 8; item *= 2) {
        for (int64_t channels = 2; channels <= 5; ++channels) {
            check_channels(item, channels, 4096, native);
            check_channels(item, channels, 4099, native);
        }
    }
}

/* Most axes that there can be, none of which continues another. */
static void a_copy_of_many_axes_equals_a_naive_one(void **state) {
    (void)state;
    enum { axes = 14 };
    int64_t extents[axes], to[axes], from[axes];
    for (int32_t i = 0; i < axes; ++i) {
        extents[i] = 2;
        to[i] = (int64_t)4 << i;
        from[i] = (int64_t)4 << (axes - 1 - i);
    }
    const int64_t bytes = (int64_t)4 << axes;
    block dst = new_block(DEVICE, bytes, NULL);
    block src = new_block(DEVICE, bytes, NULL);
    write_block(&dst, 2);
    write_block(&src, 1);
    via_array *arrays[2];
    ok(via_wrap(dst.data, VIA_FLOAT32, axes, extents, to, VIA_DEVICE_CUDA, 0, VIA_WRAP_BYTE_STRIDES, NULL, NULL,
                &arrays[0]));
    ok(via_wrap(src.data, VIA_FLOAT32, axes, extents, from, VIA_DEVICE_CUDA, 0, VIA_WRAP_BYTE_STRIDES, NULL, NULL,
                &arrays[1]));
    ok(via_copy(arrays[0], arrays[1]));
    uint32_t given[1 << axes], found[1 << axes];
    read_device(given, number_of(src.data), sizeof given);
    read_device(found, number_of(dst.data), sizeof found);
    for (uint32_t i = 0; i < 1 << axes; ++i) {
        uint32_t transposed = 0;
        for (uint32_t bit = 0; bit < axes; ++bit) {
            transposed |= (i >> bit & 1) << (axes - 1 - bit);
        }
        assert_int_equal(found[i], given[transposed]);
    }
    via_array_release(arrays[0]);
    via_array_release(arrays[1]);
    end_block(&dst);
    end_block(&src);
}

static void a_strided_copy_comes_in_the_order_of_its_stream(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    strided_pair both = new_transposed_pair(DEVICE, DEVICE, 60, 50, 4);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    write_block(&both.src.memory, 7);
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    write_block(&both.src.memory, 8);
    hold(native);
    write_behind(&both.src.memory, 7, native);
    ok(via_copy_async(both.dst.array, both.src.array, stream));
    assert_int_equal(is_done(native), 0);
    assert_false(holds_bytes(&both.dst, expected));
    release(native);
    finish(native);
    assert_true(holds_bytes(&both.dst, expected));
    free(expected);
    end_strided_pair(&both);
}

/* What reads dst on another stream waits for the copy, and so does the release of either. */
static void a_strided_copy_marks_its_arrays(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    strided_pair both = new_transposed_pair(DEVICE, DEVICE, 60, 50, 4);
    strided later = new_strided(PINNED, &both.of, &both.dst.at, 0);
    CUstream first = new_stream(), second = new_stream();
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    hold(first);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(first, 0)));
    ok(via_copy_async(later.array, both.dst.array, wrap_native(second, 0)));
    assert_int_equal(is_done(second), 0);
    release(first);
    finish(second);
    assert_memory_equal(later.first, expected + (both.dst.first - both.dst.memory.memory), 60 * 50 * 4);
    free(expected);
    end_strided(&later);
    end_strided_pair(&both);
}

static void a_graph_turns_what_is_there_when_it_is_launched(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    strided_pair both = new_transposed_pair(DEVICE, PINNED, 40, 70, 2);
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    CUgraph graph = end_capture(native);
    assert_int_equal(node_count(graph), 1);
    CUgraphExec exec = instantiate(graph);
    for (unsigned seed = 5; seed < 7; ++seed) {
        write_block(&both.src.memory, seed);
        char *expected = expect_copy(&both.of, &both.dst, &both.src);
        launch(exec, native);
        assert_true(holds_bytes(&both.dst, expected));
        free(expected);
    }
    release_strided_pair(&both);
}

/* ------------------------------------------------------------------------------------------------ contexts */

/* The memory is of the primary context; streams and the legacy stream are of the application's own. */
static void memory_of_another_context_than_the_streams_is_copied(void **state) {
    (void)state;
    strided_pair both = new_transposed_pair(DEVICE, DEVICE, 60, 50, 4);
    CUcontext mine = new_context();
    CUstream native = new_stream();
    for (int32_t way = 0; way < LENGTH(ways) - 1; ++way) {
        write_block(&both.src.memory, (unsigned)way + 20);
        check_pair(&both, way, native);
    }
    begin_capture(native, CU_STREAM_CAPTURE_MODE_RELAXED);
    refused(VIA_ERROR_STREAM_CAPTURE, "captured|another context",
            via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    assert_int_equal(node_count(end_capture(native)), 0);
    end_context(mine);
    end_strided_pair(&both);
}

/* Kernels of that context turn what the library's streams bring: on the device, and not across the link. */
static void staged_copies_of_memory_of_the_applications_own_context_are_transposed_on_the_device(void **state) {
    (void)state;
    static const place sides[][2] = {{DEVICE, PAGEABLE}, {PAGEABLE, DEVICE}};
    CUcontext mine = new_context();
    for (int32_t i = 0; i < LENGTH(sides); ++i) {
        const char *crossing = i == 0 ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync";
        strided_pair both = new_transposed_pair(sides[i][0], sides[i][1], 1500, 1400, 4);
        for (unsigned round = 0; round < 3; ++round) {
            write_block(&both.src.memory, round + 20);
            char *expected = expect_copy(&both.of, &both.dst, &both.src);
            const int64_t crossed = on_fake_driver() ? fake(fake_call_count)(crossing) : -1;
            ok(via_copy(both.dst.array, both.src.array));
            assert_true(!on_fake_driver() || fake(fake_call_count)(crossing) > crossed);
            assert_true(holds_bytes(&both.dst, expected));
            free(expected);
        }
        end_strided_pair(&both);
    }
    end_context(mine);
}

static void memory_of_two_contexts_is_refused(void **state) {
    (void)state;
    CUdeviceptr memory = 0;
    const shape of = {2, 4, {60, 50}};
    const layout rows = dense_layout(&of, NULL), columns = dense_layout(&of, AXES(1, 0));
    strided dst = new_strided(DEVICE, &of, &rows, 0);
    CUcontext mine = new_context();
    cu_ok(cu(cuMemAlloc)(&memory, (size_t)columns.high));
    via_array *src = wrap_layout((void *)(uintptr_t)memory, &of, &columns, DEVICE);
    refused(VIA_ERROR_UNSUPPORTED, "two contexts|expected", via_copy(dst.array, src));
    refused(VIA_ERROR_UNSUPPORTED, "two contexts", via_copy_batch(1, &dst.array, &src, NULL));
    via_array_release(src);
    cu_ok(cu(cuMemFree)(memory));
    end_context(mine);
    end_strided(&dst);
}

/* It has no context: the other side's says where the kernel runs. */
static void pool_memory_and_that_of_another_context_are_copied(void **state) {
    (void)state;
    CUdeviceptr memory = 0;
    const shape of = {2, 4, {60, 50}};
    const layout rows = dense_layout(&of, NULL), columns = dense_layout(&of, AXES(1, 0));
    strided src = new_strided(DEVICE, &of, &rows, 0);
    strided dst = new_strided(DEVICE, &of, &rows, 0);
    write_block(&src.memory, 1);
    write_block(&dst.memory, 2);
    char *expected = expect_copy(&of, &dst, &src);
    cu_ok(cu(cuMemAllocAsync)(&memory, (size_t)columns.high, CU_STREAM_LEGACY));
    via_array *pooled = wrap_layout((void *)(uintptr_t)memory, &of, &columns, DEVICE);
    CUcontext mine = new_context();
    ok(via_copy(pooled, src.array));
    ok(via_copy(dst.array, pooled));
    assert_true(holds_bytes(&dst, expected));
    end_context(mine);
    via_array_release(pooled);
    cu_ok(cu(cuMemFreeAsync)(memory, CU_STREAM_LEGACY));
    free(expected);
    end_strided(&dst);
    end_strided(&src);
}

/* ------------------------------------------------------------------------------------------------ threads */

/* Each of them may be the first to need the kernels. */
static void *copy_by_itself(void *context) {
    strided_pair *both = context;
    ok(via_copy(both->dst.array, both->src.array));
    return NULL;
}

static void copy_at_once(void) {
    enum { threads = 4 };
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    pthread_t running[threads];
    strided_pair pairs[threads];
    char *expected[threads];
    for (int32_t i = 0; i < threads; ++i) {
        pairs[i] = new_transposed_pair(DEVICE, DEVICE, 60 + i, 50, 4);
        expected[i] = expect_copy(&pairs[i].of, &pairs[i].dst, &pairs[i].src);
    }
    for (int32_t i = 0; i < threads; ++i) {
        assert_int_equal(pthread_create(&running[i], NULL, copy_by_itself, &pairs[i]), 0);
    }
    for (int32_t i = 0; i < threads; ++i) {
        pthread_join(running[i], NULL);
        assert_true(holds_bytes(&pairs[i].dst, expected[i]));
        free(expected[i]);
        end_strided_pair(&pairs[i]);
    }
}

static void threads_that_need_the_kernels_at_once_all_get_them(void **state) {
    (void)state;
    if (is_kernel_tool("racecheck")) {
        skip(); /* it had not come to an end there after 200 seconds, on an H200 */
    }
    APART(copy_at_once);
}

/* ------------------------------------------------------------------------------------------------ large arrays */

/* Byte i of a large block is that of the pattern at i modulo its odd size. */
enum { pattern_bytes = (16 << 20) + 13, samples = 2000 };

static char *new_pattern(void) {
    char *pattern = malloc(pattern_bytes);
    assert_non_null(pattern);
    fill_pattern(pattern, pattern_bytes, 9);
    return pattern;
}

static void write_large(CUdeviceptr memory, size_t bytes, const char *pattern) {
    for (size_t at = 0; at < bytes; at += pattern_bytes) {
        const size_t rest = bytes - at;
        cu_ok(cu(cuMemcpyHtoD)(memory + at, pattern, rest < pattern_bytes ? rest : pattern_bytes));
    }
}

static int has_room_for(size_t bytes) {
    size_t free_bytes = 0, total = 0;
    cu_ok(cu(cuMemGetInfo)(&free_bytes, &total));
    return free_bytes > bytes;
}

static void check_sample(const shape *of, const layout *dst, const layout *src, CUdeviceptr found,
                         const char *pattern) {
    int64_t to = 0, from = 0;
    char bytes[16];
    for (int32_t i = 0; i < of->ndim; ++i) {
        const int64_t at = one_in(8) ? of->extents[i] - 1 : random_between(0, of->extents[i] - 1);
        to += at * dst->strides[i];
        from += at * src->strides[i];
    }
    read_device(bytes, found + (CUdeviceptr)to, (size_t)of->item);
    for (int32_t k = 0; k < of->item; ++k) {
        assert_int_equal(bytes[k], pattern[(from + k) % pattern_bytes]);
    }
}

static void copy_large(const shape *of, const layout *dst, const layout *src, const char *pattern) {
    const size_t room = (size_t)(dst->high + src->high);
    if (!has_room_for(room)) {
        print_message("no room for %zu bytes\n", room);
        return;
    }
    const CUdeviceptr memory[] = {device_memory((size_t)dst->high), device_memory((size_t)src->high)};
    const layout *layouts[] = {dst, src};
    via_array *arrays[2];
    for (int32_t i = 0; i < 2; ++i) {
        arrays[i] = wrap_layout((void *)(uintptr_t)memory[i], of, layouts[i], DEVICE);
    }
    write_large(memory[1], (size_t)src->high, pattern);
    ok(via_copy(arrays[0], arrays[1]));
    for (int32_t i = 0; i < samples; ++i) {
        check_sample(of, dst, src, memory[0], pattern);
    }
    via_array_release(arrays[0]);
    via_array_release(arrays[1]);
    put_away_memory(memory[0]);
    put_away_memory(memory[1]);
}

/* Every array has more than 2^32 bytes on a real device; elsewhere the same shapes are a hundred times shorter. */
static void copies_past_four_gigabytes_reach_every_byte(void **state) {
    (void)state;
    const int64_t part = on_fake_driver() || under_kernel_tool() ? 100 : 1;
    char *pattern = new_pattern();
    const shape sides[] = {{2, 1, {65600 / part, 66000 / part}}, {2, 1, {65601 / part, 66001 / part}}};
    for (int32_t i = 0; i < LENGTH(sides); ++i) {
        const layout dst = dense_layout(&sides[i], NULL), src = dense_layout(&sides[i], AXES(1, 0));
        copy_large(&sides[i], &dst, &src, pattern);
    }
    const shape line = {1, 4, {INT64_C(1100000000) / part / part}};
    const layout close = {{4}, 0, line.extents[0] * 4}, spread = {{8}, 0, line.extents[0] * 8 - 4};
    copy_large(&line, &close, &spread, pattern);
    const shape rows = {2, 1, {INT64_C(4400000) / part / part, 1000}};
    const layout packed = {{1000, 1}, 0, rows.extents[0] * 1000}, padded = {{1111, 1}, 0, rows.extents[0] * 1111 - 111};
    copy_large(&rows, &packed, &padded, pattern);
    free(pattern);
}

/* ------------------------------------------------------------------------------------------------ refusals */

static void begin_apart(void) { cu_ok(cu(cuCtxSetCurrent)(primary(0))); }

static void capture_with_nothing_loaded(void) {
    begin_apart();
    strided_pair both = new_transposed_pair(DEVICE, DEVICE, 60, 50, 4);
    char *before = bytes_of(&both.dst);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_RELAXED);
    refused(VIA_ERROR_STREAM_CAPTURE, "captured|kernels|via_cuda_warmup",
            via_copy_async(both.dst.array, both.src.array, stream));
    refused(VIA_ERROR_STREAM_CAPTURE, "copy 0 of 1|kernels",
            via_copy_batch(1, &both.dst.array, &both.src.array, stream));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(via_cuda_warmup(0));
    ok(via_copy_async(both.dst.array, both.src.array, stream));
    assert_int_equal(node_count(end_capture(native)), 1);
    assert_true(holds_bytes(&both.dst, before));
    free(before);
    end_strided_pair(&both);
}

static void kernels_are_not_loaded_while_the_stream_is_captured(void **state) {
    (void)state;
    APART(capture_with_nothing_loaded);
}

static void a_stream_of_another_device_is_refused(void **state) {
    (void)state;
    need_two_devices();
    strided_pair both = new_transposed_pair(DEVICE, DEVICE, 6, 5, 4);
    via_stream *stream = wrap_native(new_stream_on(1), 1);
    refused(VIA_ERROR_DEVICE, "stream is of device 1|device 0", via_copy_async(both.dst.array, both.src.array, stream));
    refused(VIA_ERROR_DEVICE, "copy 0 of 1|stream is of device 1",
            via_copy_batch(1, &both.dst.array, &both.src.array, stream));
    end_strided_pair(&both);
}

/* The driver's routes serve, and strided copies say what is missing. */
static void expect_no_kernels(const char *why) {
    begin_apart();
    ok(via_cuda_warmup(0));
    assert_string_equal(via_last_error(), "");
    strided_pair both = new_transposed_pair(DEVICE, DEVICE, 6, 5, 4);
    pair dense = new_pair(DEVICE, DEVICE, 100);
    refused(VIA_ERROR_UNSUPPORTED, why, via_copy(both.dst.array, both.src.array));
    refused(VIA_ERROR_UNSUPPORTED, why, via_copy_async(both.dst.array, both.src.array, NULL));
    ok(via_copy(dense.dst.array, dense.src.array));
    assert_block(&dense.dst, 1);
    assert_true(holds_words(routes_of_device(), "kernels: off"));
    assert_true(holds_words(routes_of_device(), why));
    end_pair(&dense);
    end_strided_pair(&both);
}

static void with_an_older_driver(void) { expect_no_kernels("older than the CUDA Toolkit"); }

static void an_older_driver_copies_without_kernels(void **state) {
    (void)state;
    steer();
    run_apart(with_an_older_driver, (const char *const[]){"VIADUCT_FAKECUDA_VERSION=11040", NULL});
}

static void with_another_gpu(void) {
    fake(fake_set)(FAKE_MODULE_RESULT, CUDA_ERROR_NO_BINARY_FOR_GPU);
    expect_no_kernels("not built for this GPU");
}

static void a_gpu_that_the_kernels_were_not_built_for_copies_without(void **state) {
    (void)state;
    steer();
    APART(with_another_gpu);
}

static void without_nvcc(void) { expect_no_kernels("built without nvcc"); }

static void a_library_built_without_nvcc_copies_without_kernels(void **state) {
    (void)state;
    APART(without_nvcc);
}

static void the_device_says_that_it_has_kernels(void **state) {
    (void)state;
    assert_true(holds_words(routes_of_device(), "kernels: on, built with CUDA"));
}

static void the_plan_names_kernel_and_loops(void **state) {
    (void)state;
    strided_pair both = new_transposed_pair(DEVICE, DEVICE, 60, 50, 4);
    assert_explained(both.dst.array, both.src.array, "kernel, device to device|loops: 50|60|bytes: 12000");
    end_strided_pair(&both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_copy_between_random_layouts_equals_a_naive_one),
        GPU_TEST(between_two_devices_it_does_with_peer_access_off_and_on),
        GPU_TEST(a_transpose_of_any_element_size_equals_a_naive_one),
        GPU_TEST(channels_put_together_and_taken_apart_equal_naive_copies),
        GPU_TEST(a_copy_of_many_axes_equals_a_naive_one),
        GPU_TEST(a_strided_copy_comes_in_the_order_of_its_stream),
        GPU_TEST(a_strided_copy_marks_its_arrays),
        GPU_TEST(a_graph_turns_what_is_there_when_it_is_launched),
        GPU_TEST(memory_of_another_context_than_the_streams_is_copied),
        GPU_TEST(staged_copies_of_memory_of_the_applications_own_context_are_transposed_on_the_device),
        GPU_TEST(memory_of_two_contexts_is_refused),
        GPU_TEST(pool_memory_and_that_of_another_context_are_copied),
        GPU_TEST(threads_that_need_the_kernels_at_once_all_get_them),
        GPU_TEST(copies_past_four_gigabytes_reach_every_byte),
        GPU_TEST(kernels_are_not_loaded_while_the_stream_is_captured),
        GPU_TEST(a_stream_of_another_device_is_refused),
        GPU_TEST(an_older_driver_copies_without_kernels),
        GPU_TEST(a_gpu_that_the_kernels_were_not_built_for_copies_without),
        GPU_TEST(the_device_says_that_it_has_kernels),
        GPU_TEST(the_plan_names_kernel_and_loops),
    };
    const struct CMUnitTest tests_without[] = {
        GPU_TEST(a_library_built_without_nvcc_copies_without_kernels),
    };
    if (driver_is_there() && holds_words(routes_of_device(), "built without nvcc")) {
        return run_gpu_tests(tests_without);
    }
    return run_gpu_tests(tests);
}
