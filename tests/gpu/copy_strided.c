/* Strided copies on a device: every layout, in every way there is to copy, against a naive copy. */
#include "copy_behind.h"
#include "strided_support.h"

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

static void copy_and_wait(via_array *dst, via_array *src, CUstream native) {
    (void)native;
    ok(via_copy(dst, src));
}

static void copy_on_stream(via_array *dst, via_array *src, CUstream native) {
    ok(via_copy_async(dst, src, wrap_native(native, 0)));
    finish(native);
}

static void copy_as_task(via_array *dst, via_array *src, CUstream native) {
    via_task *task = NULL;
    ok(via_copy_submit(dst, src, wrap_native(native, 0), &task));
    ok(via_task_wait(task));
    via_task_release(task);
}

static void copy_as_batch(via_array *dst, via_array *src, CUstream native) {
    ok(via_copy_batch(1, &dst, &src, wrap_native(native, 0)));
    finish(native);
}

static void copy_as_graph(via_array *dst, via_array *src, CUstream native) {
    ok(via_cuda_warmup(0));
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_copy_async(dst, src, wrap_native(native, 0)));
    CUgraphExec exec = instantiate(end_capture(native));
    launch(exec, native);
    put_away(exec);
}

static void (*const ways[])(via_array *, via_array *, CUstream) = {copy_and_wait, copy_on_stream, copy_as_task,
                                                                   copy_as_batch, copy_as_graph};

static void check_pair(strided_pair *both, int32_t way, CUstream native) {
    char *expected = expect_copy(&both->of, &both->dst, &both->src);
    ways[way](both->dst.array, both->src.array, native);
    if (!holds_bytes(&both->dst, expected)) {
        fail_msg("%s to %s, %s", place_names[both->src.memory.where], place_names[both->dst.memory.where],
                 explain(both->dst.array, both->src.array));
    }
    free(expected);
}

static void check_random_copy(int64_t item, int64_t most_elements, int32_t way, CUstream native) {
    const place *where = reached[random_between(0, LENGTH(reached) - 1)];
    const shape of = random_shape(item, most_elements);
    const layout dst = random_layout(&of, 0);
    const layout src = random_layout(&of, 1);
    strided_pair both = new_strided_pair(where[0], where[1], &of, &dst, &src);
    check_pair(&both, way, native);
    end_strided_pair(&both);
}

static const int64_t items[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 24, 32, 40, 64, 100};

static void a_copy_between_random_layouts_equals_a_naive_one(void **state) {
    (void)state;
    CUstream native = new_stream();
    for (int32_t i = 0; i < 700; ++i) {
        check_random_copy(items[random_between(0, LENGTH(items) - 1)], 4000, i % LENGTH(ways), native);
    }
    for (int32_t i = 0; i < LENGTH(items); ++i) {
        check_random_copy(items[i], 60000, i % LENGTH(ways), native);
    }
}

static void a_transpose_of_any_element_size_equals_a_naive_one(void **state) {
    (void)state;
    static const int64_t extents[] = {2, 3, 5, 32, 33, 64, 100, 257};
    CUstream native = new_stream();
    for (int32_t i = 0; i < LENGTH(items); ++i) {
        for (int32_t k = 0; k < LENGTH(extents); ++k) {
            strided_pair both =
                new_turned_pair(DEVICE, DEVICE, extents[k], extents[(k + i) % LENGTH(extents)], items[i]);
            check_pair(&both, 1, native);
            end_strided_pair(&both);
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
        uint32_t turned = 0;
        for (uint32_t bit = 0; bit < axes; ++bit) {
            turned |= (i >> bit & 1) << (axes - 1 - bit);
        }
        assert_int_equal(found[i], given[turned]);
    }
    via_array_release(arrays[0]);
    via_array_release(arrays[1]);
    end_block(&dst);
    end_block(&src);
}

static void a_strided_copy_comes_in_the_order_of_its_stream(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    strided_pair both = new_turned_pair(DEVICE, DEVICE, 60, 50, 4);
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
    let_go(native);
    finish(native);
    assert_true(holds_bytes(&both.dst, expected));
    free(expected);
    end_strided_pair(&both);
}

/* What reads dst on another stream waits for the copy, and so does the release of either. */
static void a_strided_copy_marks_its_arrays(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    strided_pair both = new_turned_pair(DEVICE, DEVICE, 60, 50, 4);
    strided later = new_strided(PINNED, &both.of, &both.dst.at, 0);
    CUstream first = new_stream(), second = new_stream();
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    hold(first);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(first, 0)));
    ok(via_copy_async(later.array, both.dst.array, wrap_native(second, 0)));
    assert_int_equal(is_done(second), 0);
    let_go(first);
    finish(second);
    assert_memory_equal(later.first, expected + (both.dst.first - both.dst.memory.memory), 60 * 50 * 4);
    free(expected);
    end_strided(&later);
    end_strided_pair(&both);
}

static void a_graph_turns_what_is_there_when_it_is_launched(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    strided_pair both = new_turned_pair(DEVICE, PINNED, 40, 70, 2);
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
    via_array_release(both.dst.array);
    via_array_release(both.src.array);
    release_block(&both.dst.memory);
    release_block(&both.src.memory);
}

/* ------------------------------------------------------------------------------------------------ refusals */

static void begin_apart(void) { cu_ok(cu(cuCtxSetCurrent)(primary(0))); }

static void capture_with_nothing_loaded(void) {
    begin_apart();
    strided_pair both = new_turned_pair(DEVICE, DEVICE, 60, 50, 4);
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
    strided_pair both = new_turned_pair(DEVICE, DEVICE, 6, 5, 4);
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
    strided_pair both = new_turned_pair(DEVICE, DEVICE, 6, 5, 4);
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
    strided_pair both = new_turned_pair(DEVICE, PINNED, 60, 50, 4);
    assert_explained(both.dst.array, both.src.array, "kernel, pinned memory to device|loops: 50|60|bytes: 12000");
    end_strided_pair(&both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_copy_between_random_layouts_equals_a_naive_one),
        GPU_TEST(a_transpose_of_any_element_size_equals_a_naive_one),
        GPU_TEST(a_copy_of_many_axes_equals_a_naive_one),
        GPU_TEST(a_strided_copy_comes_in_the_order_of_its_stream),
        GPU_TEST(a_strided_copy_marks_its_arrays),
        GPU_TEST(a_graph_turns_what_is_there_when_it_is_launched),
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
