/* via_copy comes after the legacy stream's work and when both arrays are ready, and returns when the bytes are there.
 */
#include "pending_copy.h"

/* Pairs whose source a device can write, so that work in a stream can be reported from what was there before. */
static const place written_pairs[][2] = {
    {DEVICE, DEVICE},  {DEVICE, PINNED}, {PINNED, DEVICE},   {PAGEABLE, DEVICE},  {MANAGED, DEVICE},
    {DEVICE, MANAGED}, {PINNED, PINNED}, {PAGEABLE, PINNED}, {PAGEABLE, MANAGED}, {MANAGED, PINNED},
};

static void copy_after_the_legacy_stream(place dst, place src, int64_t count) {
    pair both = new_pair(dst, src, count);
    hold(NULL);
    write_behind(&both.src, 3, CU_STREAM_LEGACY);
    behind copy = {.dst = both.dst.array, .src = both.src.array, .call = call_copy};
    start_behind(&copy);
    assert_waits(&copy);
    assert_block(&both.dst, 2);
    release(NULL);
    end_behind(&copy);
    assert_block(&both.dst, 3);
    release_block(&both.dst);
    release_block(&both.src);
}

static void a_copy_comes_after_the_legacy_streams_work(void **state) {
    (void)state;
    skip_where_calls_wait();
    for (int32_t i = 0; i < LENGTH(written_pairs); ++i) {
        copy_after_the_legacy_stream(written_pairs[i][0], written_pairs[i][1], 5000);
    }
}

static void a_large_copy_comes_after_the_legacy_streams_work(void **state) {
    (void)state;
    skip_where_calls_wait();
    copy_after_the_legacy_stream(PAGEABLE, DEVICE, 24 << 20);
    copy_after_the_legacy_stream(DEVICE, DEVICE, 24 << 20);
}

static void a_copy_comes_after_work_of_blocking_streams(void **state) {
    (void)state;
    pair both = new_pair(PAGEABLE, DEVICE, 5000);
    CUstream blocking = new_blocking_stream();
    hold(blocking);
    write_behind(&both.src, 3, blocking);
    behind copy = {.dst = both.dst.array, .src = both.src.array, .call = call_copy};
    start_behind(&copy);
    assert_waits(&copy);
    release(blocking);
    end_behind(&copy);
    assert_block(&both.dst, 3);
    release_block(&both.dst);
    release_block(&both.src);
}

static void copy_when_ready(place dst, place src, int64_t count) {
    pair both = new_pair(dst, src, count);
    CUstream native = new_stream();
    hold(native);
    write_behind(&both.src, 3, native);
    ok(via_array_set_ready(both.src.array, wrap_native(native, 0)));
    behind copy = {.dst = both.dst.array, .src = both.src.array, .call = call_copy};
    start_behind(&copy);
    assert_waits(&copy);
    assert_block(&both.dst, 2);
    release(native);
    end_behind(&copy);
    assert_block(&both.dst, 3);
    release_block(&both.dst);
    release_block(&both.src);
}

static void a_copy_waits_until_its_source_is_ready(void **state) {
    (void)state;
    skip_where_calls_wait();
    for (int32_t i = 0; i < LENGTH(written_pairs); ++i) {
        copy_when_ready(written_pairs[i][0], written_pairs[i][1], 5000);
    }
    copy_when_ready(PAGEABLE, DEVICE, 24 << 20);
    copy_when_ready(PAGEABLE, REGISTERED, 5000);
}

/* An earlier write of the destination must not come after the copy. */
static void a_copy_waits_until_its_destination_is_ready(void **state) {
    (void)state;
    static const place places[] = {DEVICE, PINNED, MANAGED, REGISTERED};
    for (int32_t i = 0; i < LENGTH(places); ++i) {
        pair both = new_pair(places[i], PAGEABLE, 5000);
        CUstream native = new_stream();
        hold(native);
        write_behind(&both.dst, 4, native);
        ok(via_array_set_ready(both.dst.array, wrap_native(native, 0)));
        behind copy = {.dst = both.dst.array, .src = both.src.array, .call = call_copy};
        start_behind(&copy);
        assert_waits(&copy);
        release(native);
        end_behind(&copy);
        assert_block(&both.dst, 1);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static void a_use_of_the_arrays_is_not_waited_for(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    hold(native);
    keep_busy(native);
    ok(via_array_record_stream(both.src.array, wrap_native(native, 0)));
    ok(via_array_record_stream(both.dst.array, wrap_native(native, 0)));
    ok(via_copy(both.dst.array, both.src.array));
    assert_block(&both.dst, 1);
    assert_false(is_done(native));
    release(native);
    finish(native);
    release_block(&both.dst);
    release_block(&both.src);
}

/* Managed memory goes to the device and comes to be as it was. The first copy of a process that makes a device fetch
 * managed pages can wait for a stream that waits for a word: the driver's own cuMemcpyAsync does, with no library
 * next to it (580.159.04 on H200, under compute-sanitizer or with other processes on the device), and is not what is
 * asked. */
static void let_device_have(const block *at) {
    if (at->where == MANAGED) {
        const size_t whole = (size_t)at->count + 2 * guard_bytes;
        const CUdeviceptr neighbour = device_memory(whole);
        cu_ok(cu(cuMemcpyDtoDAsync)(neighbour, number_of(at->memory), whole, NULL));
        cu_ok(cu(cuMemcpyDtoDAsync)(number_of(at->memory), neighbour, whole, NULL));
        finish(NULL);
    }
}

static void other_streams_are_not_waited_for(place dst, place src) {
    if (dst == OTHER_DEVICE || src == OTHER_DEVICE) {
        return;
    }
    pair both = new_pair(dst, src, 5000);
    let_device_have(&both.dst);
    let_device_have(&both.src);
    CUstream native = new_stream();
    hold(native);
    keep_busy(native);
    ok(via_copy(both.dst.array, both.src.array));
    assert_false(is_done(native));
    assert_block(&both.dst, 1);
    release(native);
    release_block(&both.dst);
    release_block(&both.src);
}

static void a_copy_does_not_wait_for_streams_next_to_the_legacy_one(void **state) {
    (void)state;
    for_each_pair(other_streams_are_not_waited_for);
}

/* What the driver calls synchronous returns earlier for pageable memory, and within a device. */
static void what_a_copy_has_brought_every_stream_sees(void **state) {
    (void)state;
    static const place sources[] = {PAGEABLE, PINNED, DEVICE, MANAGED};
    enum { count = 200000 };
    CUstream native = new_stream();
    char *seen = pinned_memory(count);
    for (int32_t i = 0; i < LENGTH(sources) * 8; ++i) {
        pair both = new_pair(DEVICE, sources[i % LENGTH(sources)], count);
        ok(via_copy(both.dst.array, both.src.array));
        cu_ok(cu(cuMemcpyDtoHAsync)(seen, number_of(both.dst.data), count, native));
        finish(native);
        assert_pattern(seen, count, 1);
        end_pair(&both);
    }
}

static void nothing_of_a_copy_is_left_in_the_legacy_stream(void **state) {
    (void)state;
    steer();
    static const place sources[] = {PAGEABLE, PINNED, DEVICE, MANAGED};
    for (int32_t i = 0; i < LENGTH(sources); ++i) {
        pair both = new_pair(DEVICE, sources[i], 70000);
        fake(fake_stream_delay)(NULL, 2000);
        ok(via_copy(both.dst.array, both.src.array));
        assert_int_equal(fake(fake_stream_pending)(NULL), 0);
        fake(fake_stream_delay)(NULL, 0);
        end_pair(&both);
    }
}

static void a_thread_without_a_context_copies_as_well(void **state) {
    (void)state;
    CUcontext before = NULL;
    pair both = new_pair(DEVICE, PINNED, 5000);
    cu_ok(cu(cuCtxGetCurrent)(&before));
    cu_ok(cu(cuCtxSetCurrent)(NULL));
    ok(via_copy(both.dst.array, both.src.array));
    CUcontext after = before;
    cu_ok(cu(cuCtxGetCurrent)(&after));
    assert_null(after);
    cu_ok(cu(cuCtxSetCurrent)(before));
    assert_block(&both.dst, 1);
    end_pair(&both);
}

static int64_t calls_now(const char *name) { return fake(fake_call_count)(name); }

/* Every call of the driver is some hundredth of a microsecond, or a microsecond: none is added unawares. */
static void small_copies_make_the_calls_they_need_and_no_more(void **state) {
    (void)state;
    steer();
    static const struct {
        place dst;
        place src;
        const char *copy;
        int32_t calls;
    } expected[] = {
        {DEVICE, PINNED, "cuMemcpyHtoDAsync", 9},   {PINNED, DEVICE, "cuMemcpyDtoHAsync", 9},
        {DEVICE, DEVICE, "cuMemcpyDtoDAsync", 9},   {DEVICE, PAGEABLE, "cuMemcpyHtoDAsync", 9},
        {PAGEABLE, DEVICE, "cuMemcpyDtoHAsync", 9},
    };
    for (int32_t i = 0; i < LENGTH(expected); ++i) {
        pair both = new_pair(expected[i].dst, expected[i].src, 4096);
        for (int warm = 0; warm < 100; ++warm) { /* until what pays for many small copies has been made */
            ok(via_copy(both.dst.array, both.src.array));
        }
        const int64_t copies = calls_now(expected[i].copy);
        const int64_t waits = calls_now("cuStreamSynchronize");
        const int64_t fences = calls_now("cuEventRecord");
        const int64_t all = calls_now(NULL);
        ok(via_copy(both.dst.array, both.src.array));
        assert_int_equal(calls_now(expected[i].copy) - copies, 1);
        assert_int_equal(calls_now("cuStreamSynchronize") - waits, 1);
        assert_int_equal(calls_now("cuEventRecord") - fences, 0);
        assert_int_equal(calls_now(NULL) - all, expected[i].calls);
        end_pair(&both);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_copy_comes_after_the_legacy_streams_work),
        GPU_TEST(a_large_copy_comes_after_the_legacy_streams_work),
        GPU_TEST(a_copy_comes_after_work_of_blocking_streams),
        GPU_TEST(a_copy_waits_until_its_source_is_ready),
        GPU_TEST(a_copy_waits_until_its_destination_is_ready),
        GPU_TEST(a_use_of_the_arrays_is_not_waited_for),
        GPU_TEST(a_copy_does_not_wait_for_streams_next_to_the_legacy_one),
        GPU_TEST(what_a_copy_has_brought_every_stream_sees),
        GPU_TEST(nothing_of_a_copy_is_left_in_the_legacy_stream),
        GPU_TEST(a_thread_without_a_context_copies_as_well),
        GPU_TEST(small_copies_make_the_calls_they_need_and_no_more),
    };
    return run_gpu_tests(tests);
}
