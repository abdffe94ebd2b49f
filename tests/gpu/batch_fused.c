/* Copies of a batch that are done together: every layout, alignment and mix of places, against naive copies. */
#include "batch_support.h"

typedef void (*batch_way)(bundle *of, via_stream *stream, CUstream native);

static void copy_from_arrays(bundle *of, via_stream *stream, CUstream native) {
    expect_copies(of, 10);
    ok(via_copy_batch(of->count, of->dst_arrays, of->src_arrays, stream));
    finish(native);
    assert_copied(of);
}

static void run_prepared(bundle *of, via_stream *stream, CUstream native) {
    via_batch *batch = batch_of_bundle(of);
    for (unsigned round = 0; round < 3; ++round) {
        expect_copies(of, 20 + 10 * round);
        ok(via_batch_run(batch, stream));
        finish(native);
        assert_copied(of);
    }
    via_batch_release(batch);
}

static void submit_prepared(bundle *of, via_stream *stream, CUstream native) {
    (void)native;
    via_batch *batch = batch_of_bundle(of);
    for (unsigned round = 0; round < 2; ++round) {
        via_task *task = NULL;
        expect_copies(of, 50 + 10 * round);
        ok(via_batch_submit(batch, stream, &task));
        ok(via_task_wait(task));
        via_task_release(task);
        assert_copied(of);
    }
    via_batch_release(batch);
}

static void run_on_legacy(bundle *of, via_stream *stream, CUstream native) {
    (void)stream;
    (void)native;
    expect_copies(of, 70);
    ok(via_copy_batch(of->count, of->dst_arrays, of->src_arrays, NULL));
    finish_legacy();
    assert_copied(of);
}

static const batch_way ways[] = {copy_from_arrays, run_prepared, submit_prepared, run_on_legacy};

static void try_all_ways(bundle *of) {
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int32_t i = 0; i < LENGTH(ways); ++i) {
        ways[i](of, stream, native);
    }
}

/* ------------------------------------------------------------------------------------------------ what is copied */

static place random_place(void) {
    place where = PAGEABLE;
    do {
        where = one_in(2) ? DEVICE : (place)random_between(PAGEABLE, PLACES - 1);
    } while (!place_exists(where));
    return where;
}

static int64_t random_size(void) {
    return one_in(20) ? random_between(10000, 600000) : one_in(3) ? random_between(1, 64) : random_between(1, 6000);
}

/* Layouts other than rows of bytes, where a device reaches both sides. */
static entry random_strided_entry(void) {
    static const int64_t items[] = {1, 2, 4, 12, 16, 40, 100};
    entry made = {.of = random_shape(items[random_between(0, LENGTH(items) - 1)], 3000), .dst = DEVICE, .src = DEVICE};
    *(one_in(2) ? &made.dst : &made.src) = one_in(2) ? PINNED : DEVICE;
    made.to = random_layout(&made.of, 0);
    made.from = random_layout(&made.of, 1);
    return made;
}

/* A part of each row of a matrix. */
static entry random_rows_entry(void) {
    entry made = {.of = {2, 1, {random_between(1, 300), random_between(1, 200)}}, .dst = DEVICE, .src = DEVICE};
    made.to = dense_layout(&made.of, NULL);
    made.from = made.to;
    made.from.strides[0] += random_between(0, 100);
    measure(&made.of, &made.from);
    return made;
}

static void a_batch_of_anything_equals_naive_copies(void **state) {
    (void)state;
    need_kernels();
    for (int32_t round = 0; round < REPEATS(16); ++round) {
        bundle *of = new_bundle(2 << 20);
        const int32_t count = (int32_t)(one_in(2) ? random_between(2, 30) : random_between(100, 250));
        for (int32_t i = 0; i < count; ++i) {
            const entry given = one_in(10)  ? random_strided_entry()
                                : one_in(5) ? random_rows_entry()
                                            : entry_of_bytes(random_place(), random_place(), random_size());
            (void)add_entry(of, given, random_between(0, 40), random_between(0, 40));
        }
        try_all_ways(of);
        end_bundle(of);
    }
}

static void add_alignments(bundle *of, place dst, place src, int64_t bytes) {
    const entry given = entry_of_bytes(dst, src, bytes);
    for (int64_t to = 0; to < 16; ++to) {
        for (int64_t from = 0; from < 16; ++from) {
            of->dsts[dst].used = (of->dsts[dst].used + 31) / 16 * 16;
            of->srcs[src].used = (of->srcs[src].used + 31) / 16 * 16;
            assert_true(add_entry(of, given, to, from));
        }
    }
}

static void every_alignment_of_any_size_is_copied_to_the_byte(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 15, 16, 31, 33, 47, 62, 63, 64, 79, 513, 4095, 5000, 8193};
    static const place pairs[][2] = {{DEVICE, DEVICE}, {DEVICE, PINNED}, {PINNED, DEVICE}};
    for (int32_t i = 0; i < LENGTH(sizes); i += QUICK_OR(4, 1)) {
        bundle *of = new_bundle(3 << 20);
        add_alignments(of, pairs[i % 3][0], pairs[i % 3][1], sizes[i]);
        try_all_ways(of);
        end_bundle(of);
    }
}

static void copies_of_very_unequal_sizes_are_done(void **state) {
    (void)state;
    bundle *of = new_bundle(24 << 20);
    for (int32_t i = 0; i < 300; ++i) {
        assert_true(add_bytes(of, DEVICE, DEVICE, 100 + i));
    }
    assert_true(add_bytes(of, DEVICE, DEVICE, (12 << 20) + 5));
    assert_true(add_bytes(of, DEVICE, PINNED, (6 << 20) + 1));
    assert_true(add_bytes(of, PINNED, DEVICE, 3 << 20));
    assert_true(add_bytes(of, DEVICE, PINNED, 4096));
    assert_true(add_bytes(of, PINNED, DEVICE, 1));
    try_all_ways(of);
    end_bundle(of);
}

/* Bytes of one array to another, one by one, backwards. */
static void a_hundred_thousand_copies_are_done(void **state) {
    (void)state;
    enum { copies = 100000, bytes = 24 };
    block dst = new_block(DEVICE, (int64_t)copies * bytes, NULL);
    block src = new_block(DEVICE, (int64_t)copies * bytes, NULL);
    write_block(&dst, 2);
    write_block(&src, 1);
    via_array **arrays = malloc(2 * copies * sizeof *arrays);
    assert_non_null(arrays);
    for (int64_t i = 0; i < copies; ++i) {
        const int64_t first = (copies - 1 - i) * bytes;
        ok(via_array_slice(dst.array, &first, SHAPE(bytes), NULL, &arrays[i]));
        ok(via_array_slice(src.array, &first, SHAPE(bytes), NULL, &arrays[copies + i]));
    }
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    ok(via_copy_batch(copies, arrays, arrays + copies, stream));
    finish(native);
    assert_block(&dst, 1);
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    for (int32_t i = 0; i < copies; ++i) {
        ok(via_batch_add(batch, arrays[i], arrays[copies + i]));
    }
    write_block(&src, 4);
    ok(via_batch_run(batch, stream));
    finish(native);
    assert_block(&dst, 4);
    via_batch_release(batch);
    for (int32_t i = 0; i < 2 * copies; ++i) {
        via_array_release(arrays[i]);
    }
    free(arrays);
    end_block(&dst);
    end_block(&src);
}

/* ------------------------------------------------------------------------------------------------ how it is done */

static bundle *new_small(int32_t count, int64_t bytes) {
    bundle *of = new_bundle(4 << 20);
    for (int32_t i = 0; i < count; ++i) {
        assert_true(add_bytes(of, DEVICE, i % 2 == 0 ? DEVICE : PINNED, bytes));
    }
    return of;
}

static int64_t calls_of(const char *name) { return fake(fake_call_count)(name); }

static void copies_that_a_device_reaches_take_one_launch(void **state) {
    (void)state;
    need_kernels();
    steer();
    ok(via_cuda_warmup(0));
    bundle *of = new_small(1000, 100);
    via_batch *batch = batch_of_bundle(of);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    ok(via_batch_run(batch, stream));
    for (int32_t i = 0; i < 20; ++i) {
        const int64_t calls = calls_of(NULL);
        const int64_t launches = calls_of("cuLaunchKernel");
        expect_copies(of, 5);
        const int64_t mirrored = calls_of(NULL) - calls;
        ok(i % 2 == 0 ? via_batch_run(batch, stream)
                      : via_copy_batch(of->count, of->dst_arrays, of->src_arrays, stream));
        assert_int_equal(calls_of("cuLaunchKernel") - launches, 1);
        assert_true(calls_of(NULL) - calls - mirrored < 60);
        finish(native);
        assert_copied(of);
    }
    via_batch_release(batch);
    end_bundle(of);
}

/* The driver does not report such a thread where the device has an address. */
static void a_thread_without_a_context_takes_one_launch_as_well(void **state) {
    (void)state;
    need_kernels();
    steer();
    ok(via_cuda_warmup(0));
    bundle *of = new_small(200, 100);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    expect_copies(of, 5);
    const int64_t launches = calls_of("cuLaunchKernel");
    CUcontext mine = NULL;
    cu_ok(cu(cuCtxPopCurrent)(&mine));
    const via_status once = via_copy_batch(of->count, of->dst_arrays, of->src_arrays, stream);
    via_batch *batch = batch_of_bundle(of);
    const via_status prepared = via_batch_run(batch, stream);
    via_batch_release(batch);
    cu_ok(cu(cuCtxPushCurrent)(mine));
    assert_int_equal(once, VIA_OK);
    assert_int_equal(prepared, VIA_OK);
    assert_int_equal(calls_of("cuLaunchKernel") - launches, 2);
    finish(native);
    assert_copied(of);
    end_bundle(of);
}

static void runs_of_one_stream_ask_for_no_event(void **state) {
    (void)state;
    need_kernels();
    steer();
    ok(via_cuda_warmup(0));
    bundle *of = new_small(50, 100); /* which need no table */
    via_batch *batch = batch_of_bundle(of);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    ok(via_batch_run(batch, stream));
    ok(via_copy_batch(of->count, of->dst_arrays, of->src_arrays, stream));
    const int64_t asked = calls_of("cuEventQuery");
    const int64_t waits = calls_of("cuStreamWaitEvent");
    for (int32_t i = 0; i < 10; ++i) {
        ok(i % 2 == 0 ? via_batch_run(batch, stream)
                      : via_copy_batch(of->count, of->dst_arrays, of->src_arrays, stream));
    }
    assert_int_equal(calls_of("cuEventQuery"), asked);
    assert_int_equal(calls_of("cuStreamWaitEvent"), waits);
    finish(native);
    via_batch_release(batch);
    end_bundle(of);
}

/* The graph's share of a table may end last, and the graph knows nothing of the work of other streams. */
static void a_table_is_not_used_again_while_a_stream_reads_it(void **state) {
    (void)state;
    need_kernels();
    skip_where_calls_wait();
    bundle *of = new_small(500, 100);
    bundle *other = new_small(500, 100);
    via_batch *batch = batch_of_bundle(of);
    CUstream native = new_stream();
    CUstream next = new_stream();
    via_stream *stream = wrap_native(native, 0);
    expect_copies(of, 5);
    expect_copies(other, 6);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_batch_run(batch, stream));
    CUgraph graph = end_capture(native);
    hold(native);
    ok(via_batch_run(batch, stream));
    via_batch_release(batch);
    put_away(graph);
    nanosleep(&(struct timespec){0, 30000000}, NULL); /* for what the graph held */
    ok(via_copy_batch(other->count, other->dst_arrays, other->src_arrays, wrap_native(next, 0)));
    finish(next);
    release(native);
    finish(native);
    assert_copied(of);
    assert_copied(other);
    end_bundle(of);
    end_bundle(other);
}

static void few_copies_and_large_ones_are_left_to_the_driver(void **state) {
    (void)state;
    steer();
    bundle *of = new_bundle(12 << 20);
    for (int32_t i = 0; i < 3; ++i) {
        assert_true(add_bytes(of, DEVICE, PINNED, 5000));
        assert_true(add_bytes(of, PINNED, DEVICE, 2 << 20));
    }
    const int64_t launches = calls_of("cuLaunchKernel");
    try_all_ways(of);
    assert_int_equal(calls_of("cuLaunchKernel"), launches);
    assert_true(calls_of("cuMemcpyBatchAsync") > 0);
    end_bundle(of);
}

static void copy_in_a_process_of_another_kind(void) {
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    bundle *of = new_small(500, 100);
    assert_true(add_bytes(of, DEVICE, PINNED, 2 << 20));
    assert_true(add_bytes(of, PINNED, DEVICE, 1 << 20));
    try_all_ways(of);
    end_bundle(of);
}

static void without_kernels_and_newer_calls_batches_are_copied_one_by_one(void **state) {
    (void)state;
    steer();
    run_apart(copy_in_a_process_of_another_kind, (const char *const[]){"VIADUCT_FAKECUDA_VERSION=11040", NULL});
    run_apart(copy_in_a_process_of_another_kind, (const char *const[]){"VIADUCT_FAKECUDA_VERSION=12000", NULL});
}

static int64_t launches_now(void) { return on_fake_driver() ? calls_of("cuLaunchKernel") : 0; }

static void only_kernels_of_its_own_context_copy_memory(void **state) {
    (void)state;
    need_kernels();
    enum { bytes = 1 << 20 };
    ok(via_cuda_warmup(0));
    CUstream foreign = new_stream();
    bundle *of = new_bundle(bytes);
    end_arena(&of->dsts[DEVICE]);
    CUcontext mine = new_context();
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    of->dsts[DEVICE] = arena_on(DEVICE, (char *)(uintptr_t)device_memory(bytes), bytes, 2);
    for (int32_t i = 0; i < 50; ++i) {
        assert_true(add_bytes(of, DEVICE, PINNED, 200));
    }
    int64_t launches = launches_now();
    copy_from_arrays(of, wrap_native(foreign, 0), foreign);
    run_prepared(of, wrap_native(foreign, 0), foreign);
    submit_prepared(of, stream, native);
    assert_int_equal(launches_now(), launches);
    copy_from_arrays(of, stream, native);
    run_prepared(of, stream, native);
    assert_int_equal(launches_now(), on_fake_driver() ? launches + 4 : 0);
    put_away(stream);
    end_bundle(of);
    end_context(mine);
}

static void memory_that_is_not_what_it_is_called_is_copied_without_a_kernel(void **state) {
    (void)state;
    enum { copies = 20, bytes = 300 };
    block dst = new_block(DEVICE, (int64_t)copies * bytes, NULL);
    block src = new_block(PAGEABLE, (int64_t)copies * bytes, NULL);
    via_array *dsts[copies], *srcs[copies];
    write_block(&dst, 2);
    write_block(&src, 1);
    for (int64_t i = 0; i < copies; ++i) {
        dsts[i] = wrap_device(number_of(dst.data) + (CUdeviceptr)(i * bytes), bytes, NULL);
        ok(via_wrap(src.data + i * bytes, VIA_UINT8, 1, SHAPE(bytes), NULL, VIA_DEVICE_CUDA_HOST, 0, VIA_WRAP_UNCHECKED,
                    NULL, NULL, &srcs[i]));
    }
    CUstream native = new_stream();
    ok(via_copy_batch(copies, dsts, srcs, wrap_native(native, 0)));
    finish(native);
    assert_block(&dst, 1);
    for (int32_t i = 0; i < copies; ++i) {
        via_array_release(dsts[i]);
        via_array_release(srcs[i]);
    }
    end_block(&dst);
    end_block(&src);
}

static void a_batch_follows_the_device_of_the_stream(void **state) {
    (void)state;
    need_two_devices();
    bundle *of = new_bundle(1 << 20);
    for (int32_t i = 0; i < 30; ++i) {
        assert_true(add_bytes(of, DEVICE, DEVICE, 100));
        assert_true(add_bytes(of, OTHER_DEVICE, OTHER_DEVICE, 100));
        assert_true(add_bytes(of, OTHER_DEVICE, PINNED, 100));
    }
    via_batch *batch = batch_of_bundle(of);
    for (CUdevice device = 0; device < 4; ++device) {
        CUstream native = new_stream_on(device % 2);
        expect_copies(of, 5 + (unsigned)device);
        ok(via_batch_run(batch, wrap_native(native, device % 2)));
        finish(native);
        assert_copied(of);
    }
    expect_copies(of, 3);
    ok(via_batch_run(batch, NULL));
    finish_legacy();
    assert_copied(of);
    via_batch_release(batch);
    end_bundle(of);
}

static void a_batch_that_has_run_takes_more_copies(void **state) {
    (void)state;
    bundle *of = new_small(20, 1000);
    via_batch *batch = batch_of_bundle(of);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int32_t round = 0; round < 5; ++round) {
        expect_copies(of, 5 + (unsigned)round);
        ok(via_batch_run(batch, stream));
        for (int32_t more = 0; more < 90; ++more) {
            assert_true(add_bytes(of, DEVICE, DEVICE, 300));
            ok(via_batch_add(batch, of->dst_arrays[of->count - 1], of->src_arrays[of->count - 1]));
        }
        assert_int_equal(via_batch_size(batch), of->count);
        finish(native);
        assert_copied(of);
    }
    via_batch_release(batch);
    end_bundle(of);
}

static void an_entry_that_cannot_be_copied_is_named_and_none_is(void **state) {
    (void)state;
    pair pairs[4];
    via_array *dsts[4], *srcs[4];
    for (int32_t i = 0; i < 4; ++i) {
        pairs[i] = new_pair(DEVICE, DEVICE, 100);
        dsts[i] = pairs[i].dst.array;
        srcs[i] = pairs[i].src.array;
    }
    via_array *shorter = wrap_device(number_of(pairs[3].src.data), 99, NULL);
    via_array *later = wrap_device(number_of(pairs[2].dst.data) + 1, 99, NULL);
    via_array *before = wrap_device(number_of(pairs[2].dst.data), 99, NULL);
    srcs[3] = shorter;
    refused(VIA_ERROR_SHAPE, "via_copy_batch|copy 3 of 4|src has", via_copy_batch(4, dsts, srcs, NULL));
    srcs[3] = pairs[3].src.array;
    dsts[2] = before;
    srcs[2] = later;
    refused(VIA_ERROR_OVERLAP, "copy 2 of 4|shares bytes", via_copy_batch(4, dsts, srcs, NULL));
    finish_legacy();
    via_array_release(shorter);
    via_array_release(later);
    via_array_release(before);
    for (int32_t i = 0; i < 4; ++i) {
        assert_block(&pairs[i].dst, 2);
        end_pair(&pairs[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_batch_of_anything_equals_naive_copies),
        GPU_TEST(every_alignment_of_any_size_is_copied_to_the_byte),
        GPU_TEST(copies_of_very_unequal_sizes_are_done),
        GPU_TEST(a_hundred_thousand_copies_are_done),
        GPU_TEST(copies_that_a_device_reaches_take_one_launch),
        GPU_TEST(a_thread_without_a_context_takes_one_launch_as_well),
        GPU_TEST(runs_of_one_stream_ask_for_no_event),
        GPU_TEST(a_table_is_not_used_again_while_a_stream_reads_it),
        GPU_TEST(few_copies_and_large_ones_are_left_to_the_driver),
        GPU_TEST(without_kernels_and_newer_calls_batches_are_copied_one_by_one),
        GPU_TEST(only_kernels_of_its_own_context_copy_memory),
        GPU_TEST(memory_that_is_not_what_it_is_called_is_copied_without_a_kernel),
        GPU_TEST(a_batch_follows_the_device_of_the_stream),
        GPU_TEST(a_batch_that_has_run_takes_more_copies),
        GPU_TEST(an_entry_that_cannot_be_copied_is_named_and_none_is),
    };
    return run_gpu_tests(tests);
}
