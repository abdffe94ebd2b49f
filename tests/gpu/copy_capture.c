/* Copies and fills on streams that are being captured, and next to them. */
#include "pending_copy.h"

static const place captured_pairs[][2] = {
    {DEVICE, PINNED},     {PINNED, DEVICE}, {DEVICE, DEVICE},  {MANAGED, DEVICE}, {DEVICE, REGISTERED},
    {REGISTERED, DEVICE}, {PINNED, PINNED}, {MANAGED, PINNED}, {PINNED, MANAGED},
};

static void a_captured_copy_is_a_node_of_its_graph(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(captured_pairs); ++i) {
        pair both = new_pair(captured_pairs[i][0], captured_pairs[i][1], 5000);
        CUstream native = new_stream();
        begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
        assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
        CUgraph graph = end_capture(native);
        assert_int_equal(node_count(graph), 1);
        assert_block(&both.dst, 2);
        CUgraphExec exec = instantiate(graph);
        for (unsigned seed = 3; seed < 5; ++seed) {
            write_block(&both.src, seed);
            launch(exec, native);
            assert_block(&both.dst, seed);
        }
        release_block(&both.dst);
        release_block(&both.src);
    }
}

/* The numbers 0 to 4999 in another order, for both sides: every byte goes where it was. */
static via_array *shuffled_rows(int32_t *numbers) {
    via_array *rows = NULL;
    for (int32_t i = 0; i < 5000; ++i) {
        numbers[i] = i * 7 % 5000;
    }
    ok(via_wrap(numbers, VIA_INT32, 1, SHAPE(5000), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &rows));
    return rows;
}

/* A byte becomes one with a sign, and stays what it is. */
static const via_convert_options unsafely = {
    (int32_t)sizeof(via_convert_options), VIA_CASTING_UNSAFE, 0, 0, NULL, NULL, 0, 0, 0};

static via_array *with_sign(const block *of) {
    via_array *array = NULL;
    ok(via_array_reinterpret(of->array, VIA_INT8, &array));
    return array;
}

static void check_captured_rows(const place *places, via_array *rows, int32_t *numbers,
                                const via_convert_options *options) {
    pair both = new_pair(places[0], places[1], 5000);
    CUstream native = new_stream();
    via_array *dst = options != NULL ? with_sign(&both.dst) : both.dst.array;
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_copy_indexed(dst, rows, both.src.array, rows, 0, options, wrap_native(native, 0)));
    CUgraph graph = end_capture(native);
    /* With two scratches, which the graph allocates and frees, two kernels next to the one that converts. */
    assert_int_equal(node_count(graph), options != NULL ? 7 : 1);
    assert_block(&both.dst, 2);
    memset(numbers, 0x7F, 5000 * sizeof *numbers); /* have been read */
    CUgraphExec exec = instantiate(graph);
    for (unsigned seed = 3; seed < 5; ++seed) {
        write_block(&both.src, seed);
        launch(exec, native);
        assert_block(&both.dst, seed);
    }
    if (options != NULL) {
        via_array_release(dst);
    }
    release_block(&both.dst);
    release_block(&both.src);
}

static void a_captured_copy_by_index_is_a_node_that_holds_its_lists(void **state) {
    (void)state;
    need_kernels();
    ok(via_cuda_warmup(0));
    static int32_t numbers[5000];
    for (int32_t i = 0; i < 6; ++i) {
        via_array *rows = shuffled_rows(numbers);
        check_captured_rows(captured_pairs[i], rows, numbers, NULL);
        via_array_release(rows);
    }
}

static void a_captured_conversion_by_index_holds_its_lists(void **state) {
    (void)state;
    need_kernels();
    ok(via_cuda_warmup(0));
    static int32_t numbers[5000];
    for (int32_t i = 0; i < 6; ++i) {
        via_array *rows = shuffled_rows(numbers);
        check_captured_rows(captured_pairs[i], rows, numbers, &unsafely);
        via_array_release(rows);
    }
}

static void a_captured_copy_by_index_of_pageable_memory_is_refused(void **state) {
    (void)state;
    need_kernels();
    static int32_t numbers[5000];
    via_array *rows = shuffled_rows(numbers);
    pair both = new_pair(DEVICE, PAGEABLE, 5000);
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, "src is pageable|captured",
            via_copy_indexed(both.dst.array, rows, both.src.array, rows, 0, NULL, wrap_native(native, 0)));
    assert_int_equal(node_count(end_capture(native)), 0);
    assert_block(&both.dst, 2);
    via_array_release(rows);
    release_block(&both.dst);
    release_block(&both.src);
}

static void a_captured_conversion_is_a_node_of_its_graph(void **state) {
    (void)state;
    need_kernels();
    ok(via_cuda_warmup(0));
    for (int32_t i = 0; i < 6; ++i) {
        pair both = new_pair(captured_pairs[i][0], captured_pairs[i][1], 5000);
        via_array *dst = with_sign(&both.dst);
        CUstream native = new_stream();
        begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
        ok(via_convert(dst, both.src.array, &unsafely, wrap_native(native, 0)));
        CUgraph graph = end_capture(native);
        assert_int_equal(node_count(graph), 1);
        assert_block(&both.dst, 2);
        CUgraphExec exec = instantiate(graph);
        for (unsigned seed = 3; seed < 5; ++seed) {
            write_block(&both.src, seed);
            launch(exec, native);
            assert_block(&both.dst, seed);
        }
        via_array_release(dst);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static void a_captured_conversion_of_pageable_memory_is_refused(void **state) {
    (void)state;
    need_kernels();
    pair both = new_pair(DEVICE, PAGEABLE, 5000);
    via_array *dst = with_sign(&both.dst);
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, "src is pageable|captured",
            via_convert(dst, both.src.array, &unsafely, wrap_native(native, 0)));
    assert_int_equal(node_count(end_capture(native)), 0);
    assert_block(&both.dst, 2);
    via_array_release(dst);
    release_block(&both.dst);
    release_block(&both.src);
}

static void a_graph_holds_the_arrays_of_its_copies(void **state) {
    (void)state;
    atomic_int released = 0;
    block dst = new_block(DEVICE, 5000, &released);
    block src = new_block(PINNED, 5000, &released);
    write_block(&src, 1);
    write_block(&dst, 2);
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_copy_async(dst.array, src.array, wrap_native(native, 0)));
    CUgraph graph = end_capture(native);
    release_block(&dst);
    release_block(&src);
    CUgraphExec exec = instantiate(graph);
    put_away(graph);
    launch(exec, native);
    assert_block(&dst, 1);
    assert_int_equal(atomic_load(&released), 0);
    put_away(exec);
    await_count(&released, 2);
}

static void a_captured_copy_leaves_no_fence(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    ok(via_copy(both.dst.array, both.src.array));
    (void)end_capture(native);
    assert_block(&both.dst, 1);
    release_block(&both.dst);
    release_block(&both.src);
}

static void refuse_pageable(place dst, place src, int64_t count) {
    pair both = new_pair(dst, src, count);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    via_array *dsts[] = {both.dst.array};
    via_array *srcs[] = {both.src.array};
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, "pageable|captured|expected", via_copy_async(dsts[0], srcs[0], stream));
    refused(VIA_ERROR_STREAM_CAPTURE, "pageable|captured", via_copy_batch(1, dsts, srcs, stream));
    refused(VIA_ERROR_STREAM_CAPTURE, "pageable|captured",
            via_memcpy(both.dst.data, both.src.data, both.dst.count, stream));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(node_count(end_capture(native)), 0);
    assert_block(&both.dst, 2);
    release_block(&both.dst);
    release_block(&both.src);
}

static void pageable_memory_is_refused_and_the_capture_goes_on(void **state) {
    (void)state;
    for (place other = PAGEABLE; other <= DEVICE; ++other) {
        refuse_pageable(PAGEABLE, other, 5000);
        refuse_pageable(other, PAGEABLE, 5000);
    }
    refuse_pageable(DEVICE, PAGEABLE, 24 << 20);
    refuse_pageable(PAGEABLE, DEVICE, 24 << 20);
}

static via_array *wrap_packed(const block *at, int32_t ndim, const int64_t *shape, const int64_t *strides) {
    via_array *made = NULL;
    ok(via_wrap(at->data + 3, VIA_UINT4, ndim, shape, strides, place_type(at->where), 0, 0, NULL, NULL, &made));
    return made;
}

static void refuse_packed(place where, int32_t ndim, const int64_t *shape, const int64_t *dst_strides,
                          const int64_t *src_strides) {
    pair both = new_pair(where, where, 64);
    via_array *dst = wrap_packed(&both.dst, ndim, shape, dst_strides);
    via_array *src = wrap_packed(&both.src, ndim, shape, src_strides);
    refused(VIA_ERROR_INVALID_ARGUMENT, "no_sync", via_copy_async(dst, src, via_stream_no_sync()));
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, "captured", via_copy_async(dst, src, stream));
    refused(VIA_ERROR_STREAM_CAPTURE, "captured", via_copy_batch(1, &dst, &src, stream));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(node_count(end_capture(native)), 0);
    assert_block(&both.dst, 2);
    via_array_release(dst);
    via_array_release(src);
    release_block(&both.dst);
    release_block(&both.src);
}

/* They need the host, which no graph could have it do; elements backwards are one run, but inside bytes. */
static void packed_elements_in_parts_of_bytes_are_refused_and_the_capture_goes_on(void **state) {
    (void)state;
    for (place where = PINNED; where <= DEVICE; ++where) {
        refuse_packed(where, 2, SHAPE(5, 7), SHAPE(1, 5), NULL);
        refuse_packed(where, 1, SHAPE(4), SHAPE(-1), SHAPE(-1));
    }
}

static void a_batch_that_cannot_be_captured_whole_is_not_captured(void **state) {
    (void)state;
    pair good = new_pair(DEVICE, PINNED, 100);
    pair bad = new_pair(DEVICE, PAGEABLE, 100);
    via_array *dsts[] = {good.dst.array, bad.dst.array};
    via_array *srcs[] = {good.src.array, bad.src.array};
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, "pageable", via_copy_batch(2, dsts, srcs, wrap_native(native, 0)));
    ok(via_copy_batch(1, dsts, srcs, wrap_native(native, 0)));
    assert_int_equal(node_count(end_capture(native)), 1);
    release_block(&good.dst);
    release_block(&good.src);
    end_pair(&bad);
}

static void copy_next_to(place dst, place src) {
    if (dst == OTHER_DEVICE || src == OTHER_DEVICE) {
        return;
    }
    static const int64_t sizes[] = {5000, 24 << 20};
    /* Large ones take long between any two places: ./dev test has those of the device. */
    const int32_t count = QUICK_OR(dst != DEVICE && src != DEVICE ? 1 : 2, LENGTH(sizes));
    for (int32_t i = 0; i < count; ++i) {
        pair both = new_pair(dst, src, sizes[i]);
        CUstream captured = new_stream();
        CUstream other = new_stream();
        via_stream *stream = wrap_native(other, 0);
        via_task *task = NULL;
        begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
        ok(via_copy(both.dst.array, both.src.array));
        ok(via_copy_async(both.dst.array, both.src.array, stream));
        ok(via_copy_submit(both.dst.array, both.src.array, stream, &task));
        ok(via_task_wait(task));
        assert_int_equal(capture_status(captured), CU_STREAM_CAPTURE_STATUS_ACTIVE);
        (void)end_capture(captured);
        via_task_release(task);
        finish(other);
        assert_block(&both.dst, 1);
        end_pair(&both);
    }
}

static void copies_during_a_capture_do_not_break_it(void **state) {
    (void)state;
    for_each_pair(copy_next_to);
}

static void a_copy_that_needs_the_legacy_stream_is_refused_during_a_blocking_capture(void **state) {
    (void)state;
    static const place pairs[][2] = {{DEVICE, PINNED}, {PAGEABLE, DEVICE}, {DEVICE, DEVICE}, {PINNED, PAGEABLE}};
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        pair both = new_pair(pairs[i][0], pairs[i][1], 5000);
        CUstream native = new_blocking_stream();
        begin_capture(native, CU_STREAM_CAPTURE_MODE_RELAXED);
        refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_copy(both.dst.array, both.src.array));
        refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_copy_async(both.dst.array, both.src.array, NULL));
        if (both.dst.where != PAGEABLE) {
            refused(VIA_ERROR_STREAM_CAPTURE, "legacy", via_fill(both.dst.array, NULL, NULL));
        }
        assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
        (void)end_capture(native);
        assert_block(&both.dst, 2);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static void capture_fill(place where, int32_t item) {
    block dst = new_block(where, item * INT64_C(100), NULL);
    char element[64];
    fill_pattern(element, sizeof element, 7);
    via_array *array = NULL;
    ok(via_wrap(dst.data, via_dtype_record(item), 1, SHAPE(100), NULL, place_type(where), 0, 0, NULL, NULL, &array));
    write_block(&dst, 2);
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_fill(array, element, wrap_native(native, 0)));
    CUgraph graph = end_capture(native);
    memset(element, 0, sizeof element);
    launch(instantiate(graph), native);
    char found[6400];
    fill_pattern(element, sizeof element, 7);
    read_device(found, number_of(dst.data), (size_t)dst.count);
    for (int32_t i = 0; i < 100; ++i) {
        assert_memory_equal(found + i * item, element, (size_t)item);
    }
    via_array_release(array);
    release_block(&dst);
}

static void fills_are_captured(void **state) {
    (void)state;
    static const int32_t items[] = {1, 2, 4, 8, 12, 16, 64};
    for (int32_t i = 0; i < LENGTH(items); ++i) {
        capture_fill(DEVICE, items[i]);
        capture_fill(PINNED, items[i]);
        capture_fill(MANAGED, items[i]);
    }
}

static void a_fill_that_cannot_be_captured_is_refused(void **state) {
    (void)state;
    char element[1000];
    fill_pattern(element, sizeof element, 7);
    block dst = new_block(DEVICE, 10000, NULL);
    block host = new_block(PAGEABLE, 64, NULL);
    via_array *array = NULL;
    ok(via_wrap(dst.data, via_dtype_record(1000), 1, SHAPE(10), NULL, VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &array));
    write_block(&dst, 2);
    write_block(&host, 2);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, "1000 bytes", via_fill(array, element, stream));
    refused(VIA_ERROR_STREAM_CAPTURE, "captured", via_fill(host.array, NULL, stream));
    assert_int_equal(node_count(end_capture(native)), 0);
    assert_block(&dst, 2);
    assert_block(&host, 2);
    via_array_release(array);
    release_block(&dst);
    release_block(&host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_captured_copy_is_a_node_of_its_graph),
        GPU_TEST(a_captured_copy_by_index_is_a_node_that_holds_its_lists),
        GPU_TEST(a_captured_conversion_by_index_holds_its_lists),
        GPU_TEST(a_captured_copy_by_index_of_pageable_memory_is_refused),
        GPU_TEST(a_captured_conversion_is_a_node_of_its_graph),
        GPU_TEST(a_captured_conversion_of_pageable_memory_is_refused),
        GPU_TEST(a_graph_holds_the_arrays_of_its_copies),
        GPU_TEST(a_captured_copy_leaves_no_fence),
        GPU_TEST(pageable_memory_is_refused_and_the_capture_goes_on),
        GPU_TEST(packed_elements_in_parts_of_bytes_are_refused_and_the_capture_goes_on),
        GPU_TEST(a_batch_that_cannot_be_captured_whole_is_not_captured),
        GPU_TEST(copies_during_a_capture_do_not_break_it),
        GPU_TEST(a_copy_that_needs_the_legacy_stream_is_refused_during_a_blocking_capture),
        GPU_TEST(fills_are_captured),
        GPU_TEST(a_fill_that_cannot_be_captured_is_refused),
    };
    return run_gpu_tests(tests);
}
