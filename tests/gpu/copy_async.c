/* via_copy_async: in the order of its stream, both arrays held until it has run. */
#include "pending_copy.h"

/* Pairs that a stream copies by itself, the caller going on. Registered memory is called the host's. */
static const place free_pairs[][2] = {
    {DEVICE, PINNED},     {PINNED, DEVICE},     {DEVICE, DEVICE},  {MANAGED, DEVICE},
    {DEVICE, REGISTERED}, {REGISTERED, DEVICE}, {DEVICE, MANAGED}, {MANAGED, PINNED},
};

static void copy_in_stream_order(place dst, place src, int64_t count) {
    pair both = new_pair(dst, src, count);
    CUstream native = new_stream();
    hold(native);
    write_behind(&both.src, 3, native);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    assert_false(is_done(native));
    assert_block(&both.dst, 2);
    release(native);
    finish(native);
    assert_block(&both.dst, 3);
    release_block(&both.dst);
    release_block(&both.src);
}

static void a_copy_runs_in_the_order_of_its_stream(void **state) {
    (void)state;
    skip_where_calls_wait();
    for (int32_t i = 0; i < LENGTH(free_pairs); ++i) {
        copy_in_stream_order(free_pairs[i][0], free_pairs[i][1], 5000);
        if (QUICK_OR(i % 3 == 0, 1)) {
            copy_in_stream_order(free_pairs[i][0], free_pairs[i][1], 24 << 20);
        }
    }
}

static void later_work_of_the_stream_comes_after_the_copy(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    char *seen = pinned_memory(5000);
    CUstream native = new_stream();
    hold(native);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    cu_ok(cu(cuMemcpyDtoHAsync)(seen, number_of(both.dst.data), 5000, native));
    release(native);
    finish(native);
    assert_pattern(seen, 5000, 1);
    release_block(&both.dst);
    release_block(&both.src);
}

static void both_arrays_are_held_until_the_copy_has_run(void **state) {
    (void)state;
    skip_where_calls_wait();
    for (int32_t i = 0; i < LENGTH(free_pairs); ++i) {
        atomic_int released = 0;
        pair both = new_blank_pair(free_pairs[i][0], free_pairs[i][1], 5000, &released);
        CUstream native = new_stream();
        hold(native);
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
        release_block(&both.dst);
        release_block(&both.src);
        finish(new_stream());
        assert_int_equal(atomic_load(&released), 0);
        release(native);
        await_count(&released, 2);
    }
}

static void readers_wait_for_the_copy(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    block last = new_block(PAGEABLE, 5000, NULL);
    CUstream native = new_stream();
    hold(native);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    write_block(&last, 5);
    behind reader = {.dst = last.array, .src = both.dst.array, .call = call_copy};
    start_behind(&reader);
    assert_waits(&reader);
    release(native);
    end_behind(&reader);
    assert_block(&last, 1);
    release_block(&last);
    release_block(&both.dst);
    release_block(&both.src);
}

/* On the device: the caller does not wait. */
static void a_copy_waits_until_its_arrays_are_ready(void **state) {
    (void)state;
    skip_where_calls_wait();
    for (int32_t i = 0; i < 2 * LENGTH(free_pairs); ++i) {
        pair both = new_pair(free_pairs[i / 2][0], free_pairs[i / 2][1], 5000);
        const block *pending = i % 2 == 0 ? &both.src : &both.dst;
        CUstream writer = new_stream();
        CUstream native = new_stream();
        hold(writer);
        write_behind(pending, 3, writer);
        ok(via_array_set_ready(pending->array, wrap_native(writer, 0)));
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
        assert_false(is_done(native));
        release(writer);
        finish(native);
        assert_block(&both.dst, i % 2 == 0 ? 3 : 1);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static void pageable_memory_is_the_callers_again_on_return(int64_t count) {
    pair both = new_pair(DEVICE, PAGEABLE, count);
    CUstream native = new_stream();
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    memset(both.src.data, 0x77, (size_t)count);
    finish(native);
    assert_block(&both.dst, 1);
    write_block(&both.src, 6);
    ok(via_copy_async(both.src.array, both.dst.array, wrap_native(native, 0)));
    assert_pattern(both.src.data, (size_t)count, 1);
    release_block(&both.dst);
    release_block(&both.src);
}

static void a_pageable_source_has_been_read_and_a_destination_filled_on_return(void **state) {
    (void)state;
    pageable_memory_is_the_callers_again_on_return(100);
    pageable_memory_is_the_callers_again_on_return(70000);
    pageable_memory_is_the_callers_again_on_return((24 << 20) + 5);
}

static void a_small_pageable_source_is_written_in_stream_order(void **state) {
    (void)state;
    skip_where_calls_wait();
    pair both = new_pair(DEVICE, PAGEABLE, 5000);
    CUstream native = new_stream();
    hold(native);
    cu_ok(cu(cuMemsetD8Async)(number_of(both.dst.data), 9, 5000, native));
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    memset(both.src.data, 0x77, 5000);
    assert_block(&both.dst, 2);
    release(native);
    finish(native);
    assert_block(&both.dst, 1);
    release_block(&both.dst);
    release_block(&both.src);
}

/* The ring is taken only once the stream's work so far is done; the stream itself goes on afterwards. */
static void pageable_in_stream_order(place dst, place src, int64_t count) {
    pair both = new_pair(dst, src, count);
    const block *written = src == PAGEABLE ? &both.dst : &both.src;
    CUstream native = new_stream();
    hold(native);
    write_behind(written, 3, native);
    behind copy = {
        .dst = both.dst.array, .src = both.src.array, .stream = wrap_native(native, 0), .call = call_copy_async};
    start_behind(&copy);
    assert_waits(&copy);
    assert_block(&both.dst, 2);
    release(native);
    end_behind(&copy);
    if (dst == PAGEABLE) {
        assert_pattern(both.dst.data, (size_t)count, 3);
    }
    finish(native);
    assert_block(&both.dst, src == PAGEABLE ? 1 : 3);
    release_block(&both.dst);
    release_block(&both.src);
}

static void pageable_memory_waits_for_the_streams_work(void **state) {
    (void)state;
    skip_where_calls_wait();
    pageable_in_stream_order(PAGEABLE, DEVICE, 5000);
    pageable_in_stream_order(PAGEABLE, DEVICE, 24 << 20);
    pageable_in_stream_order(DEVICE, PAGEABLE, 24 << 20);
    pageable_in_stream_order(PAGEABLE, MANAGED, 5000);
    pageable_in_stream_order(PAGEABLE, PINNED, 5000);
    pageable_in_stream_order(PAGEABLE, REGISTERED, 5000);
}

static void a_large_pageable_source_lets_later_work_of_the_stream_wait(void **state) {
    (void)state;
    const int64_t count = 24 << 20;
    pair both = new_pair(DEVICE, PAGEABLE, count);
    const CUdeviceptr seen = device_memory((size_t)count);
    CUstream native = new_stream();
    for (int i = 0; i < 3; ++i) {
        refill_pair(&both);
        ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
        cu_ok(cu(cuMemcpyDtoDAsync)(seen, number_of(both.dst.data), (size_t)count, native));
        finish(native);
        assert_device_pattern(seen, (size_t)count, 1);
    }
    end_pair(&both);
}

static void copy_on_special(via_stream *stream, CUstream native) {
    pair both = new_pair(DEVICE, PINNED, 5000);
    hold(native);
    ok(via_copy_async(both.dst.array, both.src.array, stream));
    assert_block(&both.dst, 2);
    release(native);
    finish(native);
    assert_block(&both.dst, 1);
    end_pair(&both);
}

static void null_is_the_legacy_stream_and_special_handles_are_what_they_say(void **state) {
    (void)state;
    copy_on_special(NULL, CU_STREAM_LEGACY);
    copy_on_special(via_stream_legacy(), CU_STREAM_LEGACY);
    copy_on_special(via_stream_per_thread(), CU_STREAM_PER_THREAD);
}

static void a_copy_runs_in_its_streams_context_whichever_is_current(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    CUcontext before = NULL;
    CUcontext other = NULL;
    cu_ok(cu(cuCtxGetCurrent)(&before));
    cu_ok(cu(cuCtxSetCurrent)(NULL));
    ok(via_copy_async(both.dst.array, both.src.array, stream));
    cu_ok(cu(cuCtxGetCurrent)(&other));
    assert_null(other);
    cu_ok(cu(cuCtxSetCurrent)(before));
    finish(native);
    assert_block(&both.dst, 1);
    end_pair(&both);
}

static void many_copies_of_one_pair_do_not_pile_up(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 64);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int i = 0; i < 3000; ++i) {
        ok(via_copy_async(both.dst.array, both.src.array, stream));
        if (i % 100 == 0) {
            finish(native);
        }
    }
    finish(native);
    assert_block(&both.dst, 1);
    end_pair(&both);
}

static int64_t calls_now(const char *name) { return fake(fake_call_count)(name); }

static void small_copies_make_the_calls_they_need_and_no_more(void **state) {
    (void)state;
    steer();
    static const struct {
        place dst;
        place src;
        const char *copy;
        int32_t fences;
        int32_t calls;
    } expected[] = {
        {DEVICE, PINNED, "cuMemcpyHtoDAsync", 1, 4},   {PINNED, DEVICE, "cuMemcpyDtoHAsync", 1, 4},
        {DEVICE, DEVICE, "cuMemcpyDtoDAsync", 1, 4},   {DEVICE, REGISTERED, "cuMemcpyHtoDAsync", 1, 5},
        {PAGEABLE, DEVICE, "cuMemcpyDtoHAsync", 0, 7},
    };
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int32_t i = 0; i < LENGTH(expected); ++i) {
        pair both = new_pair(expected[i].dst, expected[i].src, 4096);
        for (int warm = 0; warm < 100; ++warm) { /* until what pays for many small copies has been made */
            ok(via_copy_async(both.dst.array, both.src.array, stream));
            finish(native);
        }
        const int64_t copies = calls_now(expected[i].copy);
        const int64_t fences = calls_now("cuEventRecord");
        const int64_t all = calls_now(NULL);
        ok(via_copy_async(both.dst.array, both.src.array, stream));
        assert_int_equal(calls_now(NULL) - all, expected[i].calls);
        assert_int_equal(calls_now(expected[i].copy) - copies, 1);
        assert_int_equal(calls_now("cuEventRecord") - fences, expected[i].fences);
        finish(native);
        end_pair(&both);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_copy_runs_in_the_order_of_its_stream),
        GPU_TEST(later_work_of_the_stream_comes_after_the_copy),
        GPU_TEST(both_arrays_are_held_until_the_copy_has_run),
        GPU_TEST(readers_wait_for_the_copy),
        GPU_TEST(a_copy_waits_until_its_arrays_are_ready),
        GPU_TEST(a_pageable_source_has_been_read_and_a_destination_filled_on_return),
        GPU_TEST(a_small_pageable_source_is_written_in_stream_order),
        GPU_TEST(pageable_memory_waits_for_the_streams_work),
        GPU_TEST(a_large_pageable_source_lets_later_work_of_the_stream_wait),
        GPU_TEST(null_is_the_legacy_stream_and_special_handles_are_what_they_say),
        GPU_TEST(a_copy_runs_in_its_streams_context_whichever_is_current),
        GPU_TEST(many_copies_of_one_pair_do_not_pile_up),
        GPU_TEST(small_copies_make_the_calls_they_need_and_no_more),
    };
    return run_gpu_tests(tests);
}
