/* via_fill: every size of element, on every kind of memory, in every order. */
#include "pending_copy.h"
#include "strided_support.h"

/* An array of `count` elements of `item` bytes on a block. */
static via_array *wrap_items(const block *at, int64_t item, int64_t count) {
    via_array *made = NULL;
    ok(via_wrap(at->data, via_dtype_record(item), 1, &count, NULL, place_type(at->where),
                at->where == OTHER_DEVICE ? 1 : 0, 0, NULL, NULL, &made));
    return made;
}

/* The block, guards included, holds so many elements and then its old pattern. */
static void assert_filled(const block *at, const char *element, int64_t item, int64_t count) {
    const size_t whole = (size_t)at->count + 2 * guard_bytes;
    char *found = malloc(whole);
    char *expected = malloc(whole);
    assert_true(found != NULL && expected != NULL);
    memset(expected, 0xEE, whole);
    fill_pattern(expected + guard_bytes, (size_t)at->count, 2);
    for (int64_t i = 0; i < count; ++i) {
        memcpy(expected + guard_bytes + i * item, element, (size_t)item);
    }
    read_device(found, number_of(at->memory), whole);
    assert_memory_equal(found, expected, whole);
    free(found);
    free(expected);
}

static void fill_items(place where, int64_t item, int64_t count, const char *element) {
    static const char zeros[4096];
    block at = new_block(where, item * count + 5, NULL);
    via_array *array = wrap_items(&at, item, count);
    CUstream native = where == OTHER_DEVICE ? new_stream_on(1) : new_stream();
    write_block(&at, 2);
    ok(via_fill(array, element, NULL));
    assert_filled(&at, element != NULL ? element : zeros, item, count);
    write_block(&at, 2);
    ok(via_fill(array, element, wrap_native(native, where == OTHER_DEVICE ? 1 : 0)));
    finish(native);
    assert_filled(&at, element != NULL ? element : zeros, item, count);
    via_array_release(array);
    release_block(&at);
}

static void every_size_of_element_is_filled_everywhere(void **state) {
    (void)state;
    static const int64_t items[] = {1, 2, 3, 4, 6, 8, 12, 16, 17, 64, 65, 100, 4096};
    char element[4096];
    fill_pattern(element, sizeof element, 7);
    for (place where = PAGEABLE; where < PLACES; ++where) {
        for (int32_t i = 0; i < LENGTH(items) && place_exists(where); ++i) {
            fill_items(where, items[i], 1, element);
            fill_items(where, items[i], 37, element);
        }
    }
}

static void large_fills_are_whole(void **state) {
    (void)state;
    char element[64];
    fill_pattern(element, sizeof element, 7);
    fill_items(DEVICE, 1, 3000001, element);
    fill_items(DEVICE, 8, 300001, element);
    fill_items(DEVICE, 12, 100003, element);
    fill_items(DEVICE, 64, 30001, element);
}

static void elements_that_repeat_a_shorter_pattern_are_memsets(void **state) {
    (void)state;
    static const char *const elements[] = {"aaaaaaaaaaaaaaaa", "abababababababab", "abcdabcdabcdabcd"};
    for (int32_t i = 0; i < LENGTH(elements); ++i) {
        fill_items(DEVICE, 16, 1000, elements[i]);
        fill_items(DEVICE, 8, 1000, elements[i]);
        fill_items(MANAGED, 16, 1000, elements[i]);
    }
    fill_items(DEVICE, 16, 1000, NULL);
    fill_items(PINNED, 24, 1000, NULL);
}

static void misaligned_elements_are_filled(void **state) {
    (void)state;
    char element[8];
    fill_pattern(element, sizeof element, 7);
    block at = new_block(DEVICE, 8001, NULL);
    block part = {at.where, at.memory, at.data + 1, 8000, NULL};
    via_array *array = wrap_items(&part, 8, 1000);
    char found[8000];
    ok(via_fill(array, element, NULL));
    read_device(found, number_of(part.data), 8000);
    for (int32_t i = 0; i < 1000; ++i) {
        assert_memory_equal(found + 8 * i, element, 8);
    }
    via_array_release(array);
    release_block(&at);
}

static void narrow_elements_are_filled_in_whole_bytes_only(void **state) {
    (void)state;
    block at = new_block(DEVICE, 100, NULL);
    write_block(&at, 2);
    for (int64_t count = 19; count <= 20; ++count) {
        via_array *array = NULL;
        ok(via_wrap(at.data, VIA_UINT4, 1, &count, NULL, VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &array));
        if (count == 19) {
            refused(VIA_ERROR_UNSUPPORTED, "whole bytes", via_fill(array, "\x05", NULL));
            assert_block(&at, 2);
        } else {
            ok(via_fill(array, "\x05", NULL));
            assert_filled(&at, "\x55", 1, 10);
        }
        via_array_release(array);
    }
    end_block(&at);
}

static void fill_and_wait(via_array *dst, const char *element, CUstream native) {
    (void)native;
    ok(via_fill(dst, element, NULL));
}

static void fill_on_stream(via_array *dst, const char *element, CUstream native) {
    ok(via_fill(dst, element, wrap_native(native, 0)));
    finish(native);
}

static void fill_as_graph(via_array *dst, const char *element, CUstream native) {
    ok(via_cuda_warmup(0));
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_fill(dst, element, wrap_native(native, 0)));
    CUgraphExec exec = instantiate(end_capture(native));
    launch(exec, native);
    put_away(exec);
}

static void (*const ways[])(via_array *, const char *, CUstream) = {fill_and_wait, fill_on_stream, fill_as_graph};

/* An element of zeros is given as NULL. */
static void check_strided_fill(place where, const shape *of, const layout *at, const char *element, int32_t way,
                               CUstream native) {
    static const char zeros[4096];
    static const layout same_everywhere;
    strided dst = new_strided(where, of, at, random_between(0, 20));
    write_block(&dst.memory, 2);
    char *expected = bytes_of(&dst);
    copy_naively(of, at, expected + (dst.first - dst.memory.memory), &same_everywhere,
                 element != NULL ? element : zeros);
    ways[way](dst.array, element, native);
    assert_true(holds_bytes(&dst, expected));
    free(expected);
    end_strided(&dst);
}

static void fills_of_random_layouts_equal_naive_ones(void **state) {
    (void)state;
    need_kernels();
    static const int64_t items[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 40, 64};
    static const place places[] = {DEVICE, DEVICE, MANAGED, PINNED, REGISTERED};
    char element[64];
    fill_pattern(element, sizeof element, 7);
    CUstream native = new_stream();
    for (int32_t i = 0; i < REPEATS(300); ++i) {
        const shape of = random_shape(items[random_between(0, LENGTH(items) - 1)], 5000);
        const layout at = random_layout(&of, 0);
        const place where = places[random_between(0, LENGTH(places) - 1)];
        const int32_t way = where == DEVICE && of.item <= 16 ? i % LENGTH(ways) : i % 2; /* no graph of long elements */
        check_strided_fill(where, &of, &at, one_in(4) ? NULL : element, way, native);
    }
}

/* Rows longer than what is written first, of which the last part is shorter. */
static void long_rows_are_filled_to_their_ends(void **state) {
    (void)state;
    need_kernels();
    char element[12];
    fill_pattern(element, sizeof element, 7);
    CUstream native = new_stream();
    static const int64_t extents[] = {16384, 16385, 40000, 65536};
    for (int32_t i = 0; i < LENGTH(extents); ++i) {
        for (int64_t item = 4; item <= 12; item += 8) {
            const shape of = {3, item, {2, 3, extents[i]}};
            layout at = dense_layout(&of, NULL);
            at.strides[1] += 20;
            at.strides[0] = 3 * at.strides[1];
            measure(&of, &at);
            check_strided_fill(DEVICE, &of, &at, i % 2 == 0 ? element : NULL, i % LENGTH(ways), native);
        }
    }
}

static void refuse_without_kernels(void) {
    fake(fake_set)(FAKE_MODULE_RESULT, CUDA_ERROR_NO_BINARY_FOR_GPU);
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    block at = new_block(DEVICE, 100, NULL);
    via_array *array = NULL;
    ok(via_wrap(at.data, VIA_UINT8, 1, SHAPE(50), SHAPE(2), VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &array));
    write_block(&at, 2);
    refused(VIA_ERROR_UNSUPPORTED, "not built for this GPU", via_fill(array, NULL, NULL));
    refused(VIA_ERROR_UNSUPPORTED, "not built for this GPU", via_fill(array, NULL, via_stream_legacy()));
    assert_block(&at, 2);
    via_array_release(array);
    end_block(&at);
}

static void a_device_that_runs_no_kernels_refuses_strided_fills_untouched(void **state) {
    (void)state;
    steer();
    APART(refuse_without_kernels);
}

static void strided_fills_of_the_hosts_memory_are_done(void **state) {
    (void)state;
    for (place where = PAGEABLE; where <= MANAGED; ++where) {
        block at = new_block(where, 100, NULL);
        via_array *array = NULL;
        ok(via_wrap(at.data, VIA_UINT8, 1, SHAPE(50), SHAPE(2), place_type(where), 0, 0, NULL, NULL, &array));
        for (int i = 0; i < 2; ++i) {
            write_block(&at, 2);
            ok(via_fill(array, "\x21", i == 0 ? NULL : via_stream_legacy()));
            assert_int_equal(at.data[0], 0x21);
            assert_int_equal(at.data[98], 0x21);
        }
        via_array_release(array);
        end_block(&at);
    }
}

static void a_read_only_array_is_not_filled(void **state) {
    (void)state;
    block at = new_block(DEVICE, 100, NULL);
    via_array *array = NULL;
    ok(via_wrap(at.data, VIA_UINT8, 1, SHAPE(100), NULL, VIA_DEVICE_CUDA, 0, VIA_WRAP_READ_ONLY, NULL, NULL, &array));
    write_block(&at, 2);
    refused(VIA_ERROR_READ_ONLY, "dst", via_fill(array, NULL, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "no_sync", via_fill(at.array, NULL, via_stream_no_sync()));
    assert_block(&at, 2);
    via_array_release(array);
    end_block(&at);
}

static void a_fill_runs_in_stream_order_and_holds_its_array(void **state) {
    (void)state;
    static const place places[] = {DEVICE, PINNED, MANAGED, REGISTERED};
    for (int32_t i = 0; i < LENGTH(places); ++i) {
        atomic_int released = 0;
        block at = new_block(places[i], 5000, &released);
        write_block(&at, 2);
        CUstream native = new_stream();
        hold(native);
        ok(via_fill(at.array, NULL, wrap_native(native, 0)));
        release_block(&at);
        assert_block(&at, 2);
        assert_int_equal(atomic_load(&released), 0);
        release(native);
        await_count(&released, 1);
        assert_device_bytes(number_of(at.data), 5000, 0);
    }
}

static void without_a_stream_a_fill_comes_after_the_legacy_streams_work(void **state) {
    (void)state;
    static const place places[] = {DEVICE, PINNED, MANAGED};
    for (int32_t i = 0; i < LENGTH(places); ++i) {
        block at = new_block(places[i], 5000, NULL);
        write_block(&at, 2);
        hold(NULL);
        write_behind(&at, 3, CU_STREAM_LEGACY);
        behind fill = {.dst = at.array, .call = call_fill};
        start_behind(&fill);
        assert_waits(&fill);
        release(NULL);
        end_behind(&fill);
        assert_device_bytes(number_of(at.data), 5000, 0);
        release_block(&at);
    }
}

static void a_fill_waits_until_its_array_is_ready(void **state) {
    (void)state;
    static const place places[] = {DEVICE, PINNED, MANAGED, REGISTERED};
    for (int32_t i = 0; i < LENGTH(places); ++i) {
        block at = new_block(places[i], 5000, NULL);
        write_block(&at, 2);
        CUstream native = new_stream();
        hold(native);
        write_behind(&at, 3, native);
        ok(via_array_set_ready(at.array, wrap_native(native, 0)));
        behind fill = {.dst = at.array, .call = call_fill};
        start_behind(&fill);
        assert_waits(&fill);
        release(native);
        end_behind(&fill);
        assert_device_bytes(number_of(at.data), 5000, 0);
        release_block(&at);
    }
}

static void readers_wait_for_the_fill(void **state) {
    (void)state;
    block at = new_block(DEVICE, 5000, NULL);
    block last = new_block(PAGEABLE, 5000, NULL);
    write_block(&at, 2);
    CUstream native = new_stream();
    hold(native);
    ok(via_fill(at.array, NULL, wrap_native(native, 0)));
    behind reader = {.dst = last.array, .src = at.array, .call = call_copy};
    start_behind(&reader);
    assert_waits(&reader);
    release(native);
    end_behind(&reader);
    assert_bytes(last.data, 5000, 0);
    release_block(&at);
    release_block(&last);
}

static void a_stream_of_another_device_is_refused(void **state) {
    (void)state;
    need_two_devices();
    block at = new_block(OTHER_DEVICE, 100, NULL);
    write_block(&at, 2);
    refused(VIA_ERROR_DEVICE, "stream is of device 0|device 1", via_fill(at.array, NULL, wrap_native(new_stream(), 0)));
    assert_block(&at, 2);
    release_block(&at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(every_size_of_element_is_filled_everywhere),
        GPU_TEST(large_fills_are_whole),
        GPU_TEST(elements_that_repeat_a_shorter_pattern_are_memsets),
        GPU_TEST(misaligned_elements_are_filled),
        GPU_TEST(narrow_elements_are_filled_in_whole_bytes_only),
        GPU_TEST(fills_of_random_layouts_equal_naive_ones),
        GPU_TEST(long_rows_are_filled_to_their_ends),
        GPU_TEST(a_device_that_runs_no_kernels_refuses_strided_fills_untouched),
        GPU_TEST(strided_fills_of_the_hosts_memory_are_done),
        GPU_TEST(a_read_only_array_is_not_filled),
        GPU_TEST(a_fill_runs_in_stream_order_and_holds_its_array),
        GPU_TEST(without_a_stream_a_fill_comes_after_the_legacy_streams_work),
        GPU_TEST(a_fill_waits_until_its_array_is_ready),
        GPU_TEST(readers_wait_for_the_fill),
        GPU_TEST(a_stream_of_another_device_is_refused),
    };
    return run_gpu_tests(tests);
}
