/* Small copies, whose end is seen by a word of memory that the device writes behind them: once a program has made some.
 */
#include "pending_copy.h"
#include "strided_support.h"

enum { bytes = 5000, before = 100 };

static const place ways[][2] = {
    {DEVICE, PAGEABLE}, {PAGEABLE, DEVICE}, {DEVICE, DEVICE}, {PINNED, DEVICE}, {MANAGED, DEVICE}, {DEVICE, MANAGED},
};

static void make_some(void) {
    pair both = new_pair(DEVICE, DEVICE, bytes);
    for (int32_t i = 0; i < before; ++i) {
        ok(via_copy(both.dst.array, both.src.array));
    }
    end_pair(&both);
}

static void copy_every_way(unsigned seed) {
    for (int32_t i = 0; i < LENGTH(ways); ++i) {
        pair both = new_pair(ways[i][0], ways[i][1], bytes);
        write_block(&both.src, seed);
        ok(via_copy(both.dst.array, both.src.array));
        assert_block(&both.dst, seed);
        end_pair(&both);
    }
}

/* A few planes of short rows on the device: copy engines would take a call for each plane. */
static strided_pair new_planes(place to, place from) {
    const shape of = {3, 4, {40, 30, 3}};
    layout planes = {{1000, 24, 4}, 0, 0};
    measure(&of, &planes);
    const layout dense = dense_layout(&of, NULL);
    return new_strided_pair(to, from, &of, to == DEVICE ? &planes : &dense, to == DEVICE ? &dense : &planes);
}

static void copy_planes(place to, place from) {
    strided_pair both = new_planes(to, from);
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    ok(via_copy(both.dst.array, both.src.array));
    assert_true(holds_bytes(&both.dst, expected));
    free(expected);
    end_strided_pair(&both);
}

static void copy_the_first_planes(void) {
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    for (int32_t i = 0; i < 3; ++i) {
        copy_planes(DEVICE, PAGEABLE);
        copy_planes(PAGEABLE, DEVICE);
    }
    assert_int_equal(fake(fake_call_count)("cuMemcpy2DAsync") + fake(fake_call_count)("cuMemcpy3DAsync"), 0);
}

static void the_first_strided_copies_of_a_process_take_no_call_for_each_plane(void **state) {
    (void)state;
    steer();
    need_kernels();
    APART(copy_the_first_planes);
}

/* The host has the last part of these copies, and has waited for the device by then. */
static void a_copy_that_the_host_ends_waits_once(void **state) {
    (void)state;
    steer();
    make_some();
    for (place to = PAGEABLE; to <= PINNED; ++to) {
        strided_pair both = new_transposed_pair(to, DEVICE, 60, 50, 4);
        assert_explained(both.dst.array, both.src.array, "scattered by the host");
        const int64_t waits = fake(fake_call_count)("cuStreamSynchronize");
        fake(fake_fail_at)("cuStreamWriteValue32", -1, CUDA_ERROR_NOT_SUPPORTED);
        ok(via_copy(both.dst.array, both.src.array));
        fake(fake_clear_faults)();
        assert_int_equal(fake(fake_call_count)("cuStreamSynchronize") - waits, 1);
        end_strided_pair(&both);
    }
}

static void a_word_is_written_by_a_device_that_is_the_only_one(void **state) {
    (void)state;
    steer();
    make_some();
    for (int32_t i = 0; i < LENGTH(ways); ++i) {
        pair both = new_pair(ways[i][0], ways[i][1], bytes);
        const int64_t words = fake(fake_call_count)("cuStreamWriteValue32");
        ok(via_copy(both.dst.array, both.src.array));
        assert_int_equal(fake(fake_call_count)("cuStreamWriteValue32") - words, device_count() == 1);
        end_pair(&both);
    }
}

static void the_bytes_are_there_when_the_call_returns(void **state) {
    (void)state;
    make_some();
    for (unsigned round = 0; round < 50; ++round) {
        copy_every_way(round);
    }
}

static void what_takes_longer_is_waited_for_as_well(void **state) {
    (void)state;
    skip_where_calls_wait();
    make_some();
    for (int32_t i = 0; i < LENGTH(ways); ++i) {
        if (ways[i][1] != DEVICE) {
            continue;
        }
        pair both = new_pair(ways[i][0], ways[i][1], bytes);
        hold(NULL);
        write_behind(&both.src, 3, CU_STREAM_LEGACY);
        behind copy = {.dst = both.dst.array, .src = both.src.array, .call = call_copy};
        start_behind(&copy);
        assert_waits(&copy);
        release(NULL);
        end_behind(&copy);
        assert_block(&both.dst, 3);
        end_pair(&both);
    }
}

static void the_driver_waits_where_no_word_can_be_written(void **state) {
    (void)state;
    steer();
    make_some();
    const int64_t waits = fake(fake_call_count)("cuStreamSynchronize");
    fake(fake_fail_at)("cuStreamWriteValue32", -1, CUDA_ERROR_NOT_SUPPORTED);
    copy_every_way(4);
    fake(fake_clear_faults)();
    assert_true(fake(fake_call_count)("cuStreamSynchronize") - waits >= LENGTH(ways));
}

static void copy_apart(void) {
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    make_some();
    copy_every_way(5);
}

static void a_driver_that_writes_no_words_waits_itself(void **state) {
    (void)state;
    steer();
    run_apart(copy_apart, (const char *const[]){"VIADUCT_FAKECUDA_VERSION=11040", NULL});
}

/* The words go with the context that had them pinned. */
static void copy_around_a_reset(void) {
    CUcontext again = NULL;
    copy_apart();
    put_everything_away();
    cu_ok(cu(cuDevicePrimaryCtxReset)(0));
    cu_ok(cu(cuDevicePrimaryCtxRetain)(&again, 0));
    cu_ok(cu(cuCtxSetCurrent)(again));
    copy_every_way(6);
    copy_planes(DEVICE, PAGEABLE);
    copy_planes(PAGEABLE, DEVICE);
}

static void copies_go_on_after_a_reset(void **state) {
    (void)state;
    skip_where_all_must_be_freed();
    APART(copy_around_a_reset);
}

static void fail_meanwhile(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    make_some();
    pair both = new_pair(DEVICE, DEVICE, bytes);
    for (int32_t i = 0; i < 100; ++i) {
        /* More often than there are words: none of them may be had again. */
        behind copy = {.dst = both.dst.array, .src = both.src.array, .call = call_copy};
        hold(NULL);
        start_behind(&copy);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        if (i == 50) {
            fake(fake_poison)(CUDA_ERROR_ILLEGAL_ADDRESS);
        }
        release(NULL);
        pthread_join(copy.thread, NULL);
        assert_int_equal(copy.status, i < 50 ? VIA_OK : VIA_ERROR_CUDA);
        assert_true(i < 50 || holds_words(copy.text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
    via_array_release(both.dst.array);
    via_array_release(both.src.array);
}

static void a_device_that_fails_meanwhile_is_reported(void **state) {
    (void)state;
    steer();
    APART(fail_meanwhile);
}

enum { threads = 80, rounds = 60 };

static void *copy_there_and_back(void *context) {
    pair *pairs = context;
    for (unsigned round = 0; round < rounds; ++round) {
        fill_pattern(pairs[0].src.data, bytes, round);
        if (via_copy(pairs[0].dst.array, pairs[0].src.array) != VIA_OK ||
            via_copy(pairs[1].dst.array, pairs[0].dst.array) != VIA_OK ||
            memcmp(pairs[1].dst.data, pairs[0].src.data, bytes) != 0) {
            return pairs;
        }
    }
    return NULL;
}

static void more_threads_than_words_copy_at_once(void **state) {
    (void)state;
    static pair pairs[threads][2];
    pthread_t running[threads];
    make_some();
    for (int32_t i = 0; i < threads; ++i) {
        pairs[i][0] = new_pair(DEVICE, PAGEABLE, bytes);
        pairs[i][1] = new_pair(PAGEABLE, DEVICE, bytes);
    }
    for (int32_t i = 0; i < threads; ++i) {
        assert_int_equal(pthread_create(&running[i], NULL, copy_there_and_back, pairs[i]), 0);
    }
    for (int32_t i = 0; i < threads; ++i) {
        void *failed = NULL;
        assert_int_equal(pthread_join(running[i], &failed), 0);
        assert_null(failed);
    }
    for (int32_t i = 0; i < threads; ++i) {
        end_pair(&pairs[i][0]);
        end_pair(&pairs[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_word_is_written_by_a_device_that_is_the_only_one),
        GPU_TEST(the_first_strided_copies_of_a_process_take_no_call_for_each_plane),
        GPU_TEST(a_copy_that_the_host_ends_waits_once),
        GPU_TEST(the_bytes_are_there_when_the_call_returns),
        GPU_TEST(what_takes_longer_is_waited_for_as_well),
        GPU_TEST(the_driver_waits_where_no_word_can_be_written),
        GPU_TEST(a_driver_that_writes_no_words_waits_itself),
        GPU_TEST(copies_go_on_after_a_reset),
        GPU_TEST(a_device_that_fails_meanwhile_is_reported),
        GPU_TEST(more_threads_than_words_copy_at_once),
    };
    return run_gpu_tests(tests);
}
