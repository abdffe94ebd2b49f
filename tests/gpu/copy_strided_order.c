/* Strided copies between a device and the host, and between two devices: after what they come, when they have read and
   written, what they hold, and what graphs there are of them. */
#include "pending_copy.h"
#include "strided_routes.h"

/* Of one route each: what it takes to be sure of it is in the shape. */
typedef struct example {
    place dst;
    place src;
    int64_t rows;
    int64_t columns;
    int64_t step; /* of columns on the host; rows follow one another with a gap of one */
    int transposed;
    const char *words;
    size_t nodes;
} example;

/* What is said is of callers who wait; a stream launches a kernel where the host would gather a little. */
static const example on_stream[] = {
    {DEVICE, PINNED, 60, 50, 4, 1, "gathered by the host and copied by the driver, pinned memory to device", 1},
    {PINNED, DEVICE, 60, 50, 4, 1, "copied by the driver and scattered by the host, device to pinned memory", 1},
    {DEVICE, PINNED, 500, 400, 4, 0, "500 rows of 1600 bytes by a copy engine, in 1 call", 1},
    {PINNED, DEVICE, 500, 400, 4, 0, "500 rows of 1600 bytes by a copy engine, in 1 call", 1},
    {DEVICE, PINNED, 500, 400, 4, 1, "bytes packed by a copy engine|and a kernel", 4},
    {DEVICE, REGISTERED, 500, 400, 4, 1, "bytes packed by a copy engine|and a kernel", 4},
};

static const example by_host[] = {
    {DEVICE, PAGEABLE, 60, 50, 4, 1, "gathered by the host and copied by the driver", 0},
    {PAGEABLE, DEVICE, 60, 50, 4, 1, "copied by the driver and scattered by the host", 0},
    {DEVICE, PAGEABLE, 800, 500, 4, 1, "staged, pageable memory to device|unpacked by a kernel", 0},
    {PAGEABLE, DEVICE, 800, 500, 4, 1, "staged, device to pageable memory|packed by a kernel", 0},
    {DEVICE, PAGEABLE, 500, 400, 8, 0, "staged, pageable memory to device|gathered", 0},
    {PAGEABLE, DEVICE, 500, 400, 8, 0, "staged, device to pageable memory|scattered", 0},
    {PINNED, DEVICE, 500, 400, 8, 0, "staged, device to pinned memory|scattered", 0},
};

static const example between_devices[] = {
    {OTHER_DEVICE, DEVICE, 60, 50, 4, 1, "peer copy, device 0 to device 1", 0},
    {DEVICE, OTHER_DEVICE, 60, 50, 4, 1, "peer copy, device 1 to device 0", 0},
};

/* The side that is not the first device's is the one with gaps, or transposed. */
static strided_pair new_example(const example *of) {
    const shape elements = {2, 4, {of->rows, of->columns}};
    layout apart = {{of->columns * of->step + 4, of->step}, 0, 0};
    if (of->transposed) {
        apart = (layout){{4, of->rows * 4}, 0, 0};
    }
    measure(&elements, &apart);
    const layout dense = dense_layout(&elements, NULL);
    return new_strided_pair(of->dst, of->src, &elements, of->dst == DEVICE ? &dense : &apart,
                            of->dst == DEVICE ? &apart : &dense);
}

#define FOR_EACH_EXAMPLE(at, list) for (const example *at = (list); at < (list) + LENGTH(list); ++at)

static void each_example_takes_its_route(void **state) {
    (void)state;
    FOR_EACH_EXAMPLE(at, on_stream) {
        strided_pair both = new_example(at);
        assert_explained(both.dst.array, both.src.array, at->words);
        end_strided_pair(&both);
    }
    FOR_EACH_EXAMPLE(at, by_host) {
        strided_pair both = new_example(at);
        assert_explained(both.dst.array, both.src.array, at->words);
        end_strided_pair(&both);
    }
    for (int32_t i = 0; i < LENGTH(between_devices) && device_count() > 1; ++i) {
        strided_pair both = new_example(&between_devices[i]);
        assert_explained(both.dst.array, both.src.array, between_devices[i].words);
        end_strided_pair(&both);
    }
}

/* Once there are small pinned buffers, a kernel stores to one of them what the driver copied before. */
static void explain_small_downloads(void) {
    static const example small = {PAGEABLE, DEVICE, 250, 120, 4, 1, "", 0};
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    strided_pair both = new_example(&small);
    assert_explained(both.dst.array, both.src.array, "packed by a kernel and copied by the driver, device to pageable");
    for (int i = 0; i < 100; ++i) {
        ok(via_copy(both.dst.array, both.src.array));
    }
    assert_explained(both.dst.array, both.src.array, "packed by a kernel and copied by the host, device to pageable");
    end_strided_pair(&both);
}

static void a_small_download_says_who_copies_it(void **state) {
    (void)state;
    run_apart(explain_small_downloads, (const char *const[]){"VIADUCT_NUM_THREADS=1", NULL});
}

/* ------------------------------------------------------------------------------------------------ order */

static void check_order(const example *of, CUstream native, int device) {
    strided_pair both = new_example(of);
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    char *before = bytes_of(&both.dst);
    hold(native);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, device)));
    assert_false(is_done(native));
    assert_true(holds_bytes(&both.dst, before));
    release(native);
    finish(native);
    assert_true(holds_bytes(&both.dst, expected));
    free(before);
    free(expected);
    end_strided_pair(&both);
}

static void copies_come_in_the_order_of_their_stream(void **state) {
    (void)state;
    skip_where_calls_wait();
    ok(via_cuda_warmup(0));
    CUstream native = new_stream();
    FOR_EACH_EXAMPLE(at, on_stream) { check_order(at, native, 0); }
}

static void copies_between_devices_come_in_the_order_of_a_stream_of_either(void **state) {
    (void)state;
    need_two_devices();
    skip_where_calls_wait();
    for (int device = 0; device < 2; ++device) {
        ok(via_cuda_warmup(device));
        CUcontext popped = NULL;
        cu_ok(cu(cuCtxPushCurrent)(primary(device)));
        CUstream native = new_stream();
        FOR_EACH_EXAMPLE(at, between_devices) { check_order(at, native, device); }
        cu_ok(cu(cuCtxPopCurrent)(&popped));
    }
}

/* The caller may write to the source at once, though the stream has not got that far. */
static void a_pageable_source_has_been_read_on_return(void **state) {
    (void)state;
    strided_pair both = new_example(&by_host[0]);
    CUstream native = new_stream();
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    hold(native);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    write_block(&both.src.memory, 77);
    release(native);
    finish(native);
    assert_true(holds_bytes(&both.dst, expected));
    free(expected);
    end_strided_pair(&both);
}

static void what_the_host_has_a_part_in_is_done_on_return(void **state) {
    (void)state;
    CUstream native = new_stream();
    FOR_EACH_EXAMPLE(at, by_host) {
        strided_pair both = new_example(at);
        char *expected = expect_copy(&both.of, &both.dst, &both.src);
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
        if (at->src == PAGEABLE) {
            write_block(&both.src.memory, 77);
        }
        if (at->dst != PAGEABLE) {
            finish(native);
        }
        assert_true(holds_bytes(&both.dst, expected));
        free(expected);
        end_strided_pair(&both);
    }
}

static void a_copy_comes_after_the_legacy_stream(void **state) {
    (void)state;
    skip_where_calls_wait();
    FOR_EACH_EXAMPLE(at, by_host) {
        strided_pair both = new_example(at);
        char *expected = expect_copy(&both.of, &both.dst, &both.src);
        char *before = bytes_of(&both.dst);
        hold(NULL);
        keep_busy(NULL);
        behind copy = {.dst = both.dst.array, .src = both.src.array, .call = call_copy};
        start_behind(&copy);
        assert_waits(&copy);
        assert_true(holds_bytes(&both.dst, before));
        release(NULL);
        end_behind(&copy);
        assert_true(holds_bytes(&both.dst, expected));
        free(before);
        free(expected);
        release_strided_pair(&both);
    }
}

/* What the host gathers or scatters it waits for itself. */
static void a_copy_comes_after_the_points_at_which_its_arrays_are_ready(void **state) {
    (void)state;
    for (int32_t i = 0; by_host[i / 2].dst != PINNED; ++i) {
        strided_pair both = new_example(&by_host[i / 2]);
        char *expected = expect_copy(&both.of, &both.dst, &both.src);
        CUstream writer = new_stream();
        CUstream native = new_stream();
        hold(writer);
        keep_busy(writer);
        ok(via_array_set_ready(i % 2 == 0 ? both.src.array : both.dst.array, wrap_native(writer, 0)));
        behind copy = {
            .dst = both.dst.array, .src = both.src.array, .stream = wrap_native(native, 0), .call = call_copy_async};
        start_behind(&copy);
        assert_waits(&copy);
        release(writer);
        end_behind(&copy);
        finish(native);
        assert_true(holds_bytes(&both.dst, expected));
        free(expected);
        release_strided_pair(&both);
    }
}

/* ------------------------------------------------------------------------------------------------ holding */

static via_array *wrap_again(const strided *at, atomic_int *released) {
    via_array *made = NULL;
    const block *memory = &at->memory;
    ok(via_wrap(at->first, VIA_FLOAT32, 2, via_array_shape(at->array), at->at.strides, place_type(memory->where),
                memory->where == OTHER_DEVICE ? 1 : 0, VIA_WRAP_BYTE_STRIDES, count_release, released, &made));
    return made;
}

static void check_holding(const example *of, CUstream native) {
    atomic_int released = 0;
    strided_pair both = new_example(of);
    via_array *dst = wrap_again(&both.dst, &released);
    via_array *src = wrap_again(&both.src, &released);
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    hold(native);
    ok(via_copy_async(dst, src, wrap_native(native, 0)));
    via_array_release(dst);
    via_array_release(src);
    assert_int_equal(atomic_load(&released), 0);
    release(native);
    await_count(&released, 2);
    assert_true(holds_bytes(&both.dst, expected));
    free(expected);
    end_strided_pair(&both);
}

static void both_arrays_are_held_until_the_copy_has_run(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    CUstream native = new_stream();
    FOR_EACH_EXAMPLE(at, on_stream) { check_holding(at, native); }
    for (int32_t i = 0; i < LENGTH(between_devices) && device_count() > 1; ++i) {
        check_holding(&between_devices[i], native);
    }
}

/* ------------------------------------------------------------------------------------------------ graphs */

static void check_graph(const example *of) {
    strided_pair both = new_example(of);
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CUgraph graph = end_capture(native);
    assert_int_equal(node_count(graph), of->nodes);
    CUgraphExec exec = instantiate(graph);
    for (unsigned seed = 5; seed < 8; ++seed) {
        write_block(&both.src.memory, seed);
        char *expected = expect_copy(&both.of, &both.dst, &both.src);
        launch(exec, native);
        assert_true(holds_bytes(&both.dst, expected));
        free(expected);
    }
    put_away(exec);
    put_away(graph);
    release_strided_pair(&both);
}

static void a_graph_copies_what_is_there_when_it_is_launched(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    FOR_EACH_EXAMPLE(at, on_stream) { check_graph(at); }
}

static void refuse_capture(const example *of, const char *words) {
    strided_pair both = new_example(of);
    char *before = bytes_of(&both.dst);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, words, via_copy_async(both.dst.array, both.src.array, stream));
    refused(VIA_ERROR_STREAM_CAPTURE, words, via_copy_batch(1, &both.dst.array, &both.src.array, stream));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(node_count(end_capture(native)), 0);
    assert_true(holds_bytes(&both.dst, before));
    free(before);
    release_strided_pair(&both);
}

static void pageable_memory_is_not_captured(void **state) {
    (void)state;
    for (int32_t i = 0; by_host[i].dst != PINNED; ++i) {
        refuse_capture(&by_host[i], "pageable|captured");
    }
}

/* Elements that the other device has to pack, or to unpack, among them. */
static void copies_between_devices_are_captured_on_a_stream_of_either(void **state) {
    (void)state;
    need_two_devices();
    static const example examples[] = {{OTHER_DEVICE, DEVICE, 60, 50, 8, 0, "", 0},
                                       {DEVICE, OTHER_DEVICE, 60, 50, 8, 0, "", 0},
                                       {OTHER_DEVICE, DEVICE, 60, 50, 4, 1, "", 0},
                                       {DEVICE, OTHER_DEVICE, 60, 50, 4, 1, "", 0}};
    for (int device = 0; device < 2; ++device) {
        ok(via_cuda_warmup(0));
        ok(via_cuda_warmup(1));
        FOR_EACH_EXAMPLE(at, examples) {
            strided_pair both = new_example(at);
            CUstream native = new_stream_on(device);
            char *expected = expect_copy(&both.of, &both.dst, &both.src);
            begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
            ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, device)));
            launch(instantiate(end_capture(native)), native);
            assert_true(holds_bytes(&both.dst, expected));
            free(expected);
            release_strided_pair(&both);
        }
    }
}

static void capture_without_the_other_devices_kernels(void) {
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    ok(via_cuda_warmup(0));
    static const example apart = {OTHER_DEVICE, DEVICE, 60, 50, 8, 0, "", 0};
    refuse_capture(&apart, "being captured|kernels");
}

/* Which would have to be loaded while the stream is captured. */
static void without_the_other_devices_kernels_nothing_is_captured(void **state) {
    (void)state;
    steer();
    need_two_devices();
    run_apart(capture_without_the_other_devices_kernels, (const char *const[]){NULL});
}

static void check_during_capture(const example *of) {
    strided_pair both = new_example(of);
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    CUstream captured = new_stream();
    CUstream other = new_stream();
    via_task *task = NULL;
    begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_copy(both.dst.array, both.src.array));
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(other, 0)));
    ok(via_copy_submit(both.dst.array, both.src.array, wrap_native(other, 0), &task));
    ok(via_task_wait(task));
    assert_int_equal(capture_status(captured), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    (void)end_capture(captured);
    via_task_release(task);
    finish(other);
    assert_true(holds_bytes(&both.dst, expected));
    free(expected);
    end_strided_pair(&both);
}

static void copies_during_a_capture_do_not_break_it(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    FOR_EACH_EXAMPLE(at, on_stream) { check_during_capture(at); }
    FOR_EACH_EXAMPLE(at, by_host) { check_during_capture(at); }
    for (int32_t i = 0; i < LENGTH(between_devices) && device_count() > 1; ++i) {
        ok(via_cuda_warmup(1));
        check_during_capture(&between_devices[i]);
    }
}

/* ------------------------------------------------------------------------------------------------ tasks */

static void check_task(const example *of) {
    strided_pair both = new_example(of);
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    char *before = bytes_of(&both.dst);
    CUstream native = new_stream();
    via_task *task = NULL;
    int32_t ended = 0;
    int64_t done = 0, total = 0;
    hold(native);
    keep_busy(native);
    ok(via_copy_submit(both.dst.array, both.src.array, wrap_native(native, 0), &task));
    nanosleep(&(struct timespec){0, 5000000}, NULL);
    ok(via_task_poll(task, &ended));
    assert_false(ended);
    assert_true(holds_bytes(&both.dst, before));
    release(native);
    ok(via_task_wait(task));
    ok(via_task_progress(task, &done, &total));
    assert_int_equal(total, of->rows * of->columns * 4);
    assert_int_equal(done, total);
    assert_true(holds_bytes(&both.dst, expected));
    via_task_release(task);
    free(before);
    free(expected);
    release_strided_pair(&both);
}

static void a_task_starts_after_the_streams_work_so_far(void **state) {
    (void)state;
    FOR_EACH_EXAMPLE(at, on_stream) { check_task(at); }
    FOR_EACH_EXAMPLE(at, by_host) { check_task(at); }
    for (int32_t i = 0; i < LENGTH(between_devices) && device_count() > 1; ++i) {
        check_task(&between_devices[i]);
    }
}

static void a_task_cancelled_before_its_turn_touches_nothing(void **state) {
    (void)state;
    FOR_EACH_EXAMPLE(at, by_host) {
        strided_pair both = new_example(at);
        char *before = bytes_of(&both.dst);
        CUstream native = new_stream();
        via_task *task = NULL;
        hold(native);
        keep_busy(native);
        ok(via_copy_submit(both.dst.array, both.src.array, wrap_native(native, 0), &task));
        ok(via_task_cancel(task));
        refused(VIA_ERROR_CANCELLED, "cancelled", via_task_wait(task));
        release(native);
        finish(native);
        assert_true(holds_bytes(&both.dst, before));
        via_task_release(task);
        free(before);
        end_strided_pair(&both);
    }
}

/* ------------------------------------------------------------------------------------------------ contexts */

static void check_in_context(const example *of, CUcontext memory, CUcontext stream) {
    cu_ok(cu(cuCtxSetCurrent)(memory));
    strided_pair both = new_example(of);
    cu_ok(cu(cuCtxSetCurrent)(stream));
    CUstream native = new_stream();
    for (int32_t way = 0; way < 4; ++way) {
        write_block(&both.src.memory, (unsigned)way + 20);
        write_block(&both.dst.memory, 2);
        check_pair(&both, way, native);
    }
    put_away(native);
    cu_ok(cu(cuCtxSetCurrent)(memory));
    end_strided_pair(&both);
}

/* The application's own, for the memory or for the stream; the library's streams are of the primary one. */
static void memory_of_another_context_than_the_streams_is_copied(void **state) {
    (void)state;
    CUcontext mine = new_context();
    for (int32_t i = 0; i < 2; ++i) {
        CUcontext memory = i == 0 ? mine : primary(0), stream = i == 0 ? primary(0) : mine;
        FOR_EACH_EXAMPLE(at, on_stream) { check_in_context(at, memory, stream); }
        FOR_EACH_EXAMPLE(at, by_host) { check_in_context(at, memory, stream); }
    }
    end_context(mine);
}

/* Where neither device reaches the other, the destination's has the last part, on whichever stream. */
static void copy_between_strangers(void) {
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(1)));
    fake(fake_stream_delay)(CU_STREAM_LEGACY, 3000);
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    fake(fake_stream_delay)(CU_STREAM_LEGACY, 3000);
    const shape of = {2, 4, {60, 50}};
    layout dst = {{12, 12 * 60}, 0, 0};
    layout src = {{8 * 50, 8}, 0, 0};
    measure(&of, &dst);
    measure(&of, &src);
    for (int32_t i = 0; i < 4; ++i) {
        strided_pair both =
            new_strided_pair(i % 2 ? DEVICE : OTHER_DEVICE, i % 2 ? OTHER_DEVICE : DEVICE, &of, &dst, &src);
        assert_explained(both.dst.array, both.src.array, "through host memory|packed by a kernel|unpacked by a kernel");
        char *expected = expect_copy(&of, &both.dst, &both.src);
        cu_ok(cu(cuCtxSetCurrent)(primary(i / 2)));
        ok(via_copy(both.dst.array, both.src.array));
        assert_true(holds_bytes(&both.dst, expected));
        free(expected);
        end_strided_pair(&both);
    }
}

static void a_copy_between_devices_that_cannot_reach_one_another_is_done_on_return(void **state) {
    (void)state;
    steer();
    need_two_devices();
    run_apart(copy_between_strangers, (const char *const[]){"VIADUCT_FAKECUDA_PEERS=0", NULL});
}

/* ------------------------------------------------------------------------------------------------ without kernels */

static void copy_without_kernels(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    CUstream native = new_stream();
    FOR_EACH_EXAMPLE(at, by_host) {
        strided_pair both = new_example(at);
        for (int32_t way = 0; way < 3; ++way) {
            write_block(&both.dst.memory, 2);
            check_pair(&both, at->dst == PINNED || at->src == PINNED ? 0 : way, native);
        }
        end_strided_pair(&both);
    }
    FOR_EACH_EXAMPLE(at, on_stream) {
        strided_pair both = new_example(at);
        check_pair(&both, 0, native);
        end_strided_pair(&both);
    }
    const example rows = {DEVICE, PINNED, 500, 400, 4, 0, "", 0};
    const example many = {DEVICE, PINNED, 1001, 1001, 4, 1, "", 0};
    strided_pair few_calls = new_example(&rows);
    strided_pair many_calls = new_example(&many);
    check_pair(&few_calls, 1, native);
    refused(VIA_ERROR_UNSUPPORTED, "older than the CUDA Toolkit",
            via_copy_async(many_calls.dst.array, many_calls.src.array, wrap_native(native, 0)));
    check_pair(&many_calls, 0, native);
    end_strided_pair(&few_calls);
    end_strided_pair(&many_calls);
}

static void without_kernels_copy_engines_and_the_host_serve(void **state) {
    (void)state;
    steer();
    run_apart(copy_without_kernels, (const char *const[]){"VIADUCT_FAKECUDA_VERSION=11040", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(each_example_takes_its_route),
        GPU_TEST(a_small_download_says_who_copies_it),
        GPU_TEST(copies_come_in_the_order_of_their_stream),
        GPU_TEST(copies_between_devices_come_in_the_order_of_a_stream_of_either),
        GPU_TEST(a_pageable_source_has_been_read_on_return),
        GPU_TEST(what_the_host_has_a_part_in_is_done_on_return),
        GPU_TEST(a_copy_comes_after_the_legacy_stream),
        GPU_TEST(a_copy_comes_after_the_points_at_which_its_arrays_are_ready),
        GPU_TEST(both_arrays_are_held_until_the_copy_has_run),
        GPU_TEST(a_graph_copies_what_is_there_when_it_is_launched),
        GPU_TEST(pageable_memory_is_not_captured),
        GPU_TEST(copies_between_devices_are_captured_on_a_stream_of_either),
        GPU_TEST(without_the_other_devices_kernels_nothing_is_captured),
        GPU_TEST(copies_during_a_capture_do_not_break_it),
        GPU_TEST(a_task_starts_after_the_streams_work_so_far),
        GPU_TEST(a_task_cancelled_before_its_turn_touches_nothing),
        GPU_TEST(memory_of_another_context_than_the_streams_is_copied),
        GPU_TEST(a_copy_between_devices_that_cannot_reach_one_another_is_done_on_return),
        GPU_TEST(without_kernels_copy_engines_and_the_host_serve),
    };
    return run_kernel_tests(tests);
}
