/* Copies between every two kinds of memory, by every function that copies, of sizes around where routes change. */
#include "copy_support.h"

/* Bytes from which on a copy is staged; 0 where none of up to 64 MiB is. */
static int64_t staging_threshold(place dst, place src) {
    int64_t below = 0;
    int64_t from = INT64_C(64) << 20;
    block to = new_block(dst, from, NULL);
    block of = new_block(src, from, NULL);
    const int is_ever = strstr(explain(to.array, of.array), "staged") != NULL;
    while (is_ever && from - below > 1) {
        const int64_t middle = below + (from - below) / 2;
        const block part_to = {to.where, to.memory, to.data, middle, NULL};
        const block part_of = {of.where, of.memory, of.data, middle, NULL};
        via_array *part_dst = wrap_block(&part_to, NULL);
        via_array *part_src = wrap_block(&part_of, NULL);
        *(strstr(explain(part_dst, part_src), "staged") != NULL ? &from : &below) = middle;
        via_array_release(part_dst);
        via_array_release(part_src);
    }
    end_block(&to);
    end_block(&of);
    return is_ever ? from : 0;
}

static void copy_at_once(const pair *both) {
    ok(via_copy(both->dst.array, both->src.array));
    assert_block(&both->dst, 1);
}

static void copy_on_a_stream(const pair *both) {
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    ok(via_copy_async(both->dst.array, both->src.array, stream));
    finish(native);
    assert_block(&both->dst, 1);
    put_away(stream);
    put_away(native);
}

static void copy_on_the_legacy_stream(const pair *both) {
    ok(via_copy_async(both->dst.array, both->src.array, NULL));
    finish_legacy();
    assert_block(&both->dst, 1);
}

static void copy_as_a_task(const pair *both) {
    via_task *task = NULL;
    ok(via_copy_submit(both->dst.array, both->src.array, NULL, &task));
    ok(via_task_wait(task));
    int64_t done = 0;
    int64_t total = 0;
    ok(via_task_progress(task, &done, &total));
    assert_int_equal(done, both->dst.count);
    assert_int_equal(total, both->dst.count);
    via_task_release(task);
    assert_block(&both->dst, 1);
}

static void copy_raw(const pair *both) {
    ok(via_memcpy(both->dst.data, both->src.data, both->dst.count, NULL));
    assert_block(&both->dst, 1);
}

static void copy_in_a_batch(const pair *both) {
    ok(via_copy_batch(1, &both->dst.array, &both->src.array, NULL));
    finish_legacy();
    assert_block(&both->dst, 1);
}

typedef void (*copy_function)(const pair *both);

static void copy_in_every_way(place dst, place src, int64_t count) {
    static const copy_function functions[] = {copy_at_once,   copy_on_a_stream, copy_on_the_legacy_stream,
                                              copy_as_a_task, copy_raw,         copy_in_a_batch};
    pair both = new_pair(dst, src, count);
    for (int32_t i = 0; i < LENGTH(functions); ++i) {
        refill_pair(&both);
        functions[i](&both);
        assert_block(&both.src, 1);
    }
    end_pair(&both);
}

static void copy_small_sizes(place dst, place src) {
    static const int64_t sizes[] = {0, 1, 7, 4099, 65535, 65536, 65537};
    for (int32_t i = 0; i < LENGTH(sizes); ++i) {
        copy_in_every_way(dst, src, sizes[i]);
    }
}

static void copy_large_sizes(place dst, place src) {
    copy_in_every_way(dst, src, 1 << 20);
    copy_in_every_way(dst, src, (5 << 20) + 3);
}

static void every_pair_is_copied_at_small_sizes(void **state) {
    (void)state;
    for_each_pair(copy_small_sizes);
}

static void every_pair_is_copied_at_large_sizes(void **state) {
    (void)state;
    for_each_pair(copy_large_sizes);
}

static void copies_are_whole_on_both_sides_of_every_crossover(void **state) {
    (void)state;
    static const place pairs[][2] = {{DEVICE, PAGEABLE}, {PAGEABLE, DEVICE}};
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        const int64_t from = staging_threshold(pairs[i][0], pairs[i][1]);
        for (int64_t count = from - 1; from > 1 && count <= from + 1; ++count) {
            copy_in_every_way(pairs[i][0], pairs[i][1], count);
        }
    }
}

static via_array *wrap_layout(const block *at, const int64_t *shape, const int64_t *byte_strides, int64_t offset) {
    via_array *made = NULL;
    ok(via_wrap(at->data + offset, VIA_FLOAT32, 2, shape, byte_strides, place_type(at->where),
                at->where == OTHER_DEVICE ? 1 : 0, VIA_WRAP_BYTE_STRIDES, NULL, NULL, &made));
    return made;
}

/* Adjacent bytes in the same order, whatever that order is called. */
static void equal_orders_are_one_run(void **state) {
    (void)state;
    static const int64_t strides[][3] = {{28, 4, 0}, {4, 20, 0}, {-28, 4, 112}, {-4, -20, 136}};
    for (int32_t i = 0; i < LENGTH(strides); ++i) {
        pair both = new_pair(DEVICE, PAGEABLE, 140);
        via_array *dst = wrap_layout(&both.dst, SHAPE(5, 7), strides[i], strides[i][2]);
        via_array *src = wrap_layout(&both.src, SHAPE(5, 7), strides[i], strides[i][2]);
        assert_explained(dst, src, "driver copy|bytes: 140");
        ok(via_copy(dst, src));
        assert_block(&both.dst, 1);
        via_array_release(dst);
        via_array_release(src);
        end_pair(&both);
    }
}

/* What the host can reach, the host turns. */
static void strided_copies_without_a_device_are_done(void **state) {
    (void)state;
    for (place to = PAGEABLE; to <= MANAGED; ++to) {
        for (place from = PAGEABLE; from <= MANAGED; ++from) {
            pair both = new_pair(to, from, 140);
            via_array *dst = wrap_layout(&both.dst, SHAPE(5, 7), SHAPE(28, 4), 0);
            via_array *src = wrap_layout(&both.src, SHAPE(5, 7), SHAPE(4, 20), 0);
            ok(via_copy(dst, src));
            for (int32_t k = 0; k < 35; ++k) {
                assert_memory_equal(both.dst.data + k * 4, both.src.data + (k % 7 * 5 + k / 7) * 4, 4);
            }
            write_block(&both.dst, 2);
            via_task *task = NULL;
            ok(via_copy_submit(dst, src, via_stream_legacy(), &task));
            ok(via_task_wait(task));
            via_task_release(task);
            assert_memory_equal(both.dst.data + 4, both.src.data + 20, 4);
            via_array_release(dst);
            via_array_release(src);
            end_pair(&both);
        }
    }
}

static via_array *wrap_packed(const block *at, int32_t ndim, const int64_t *shape, const int64_t *strides) {
    via_array *made = NULL;
    ok(via_wrap(at->data, VIA_UINT4, ndim, shape, strides, place_type(at->where), at->where == OTHER_DEVICE ? 1 : 0, 0,
                NULL, NULL, &made));
    return made;
}

static int nibble(const uint8_t *bytes, int64_t at) { return bytes[at / 2] >> (at % 2 * 4) & 15; }

static void put_nibble(uint8_t *bytes, int64_t at, int value) {
    const int shift = (int)(at % 2 * 4);
    bytes[at / 2] = (uint8_t)((bytes[at / 2] & ~(15 << shift)) | value << shift);
}

enum { PACKED_BYTES = 64 };

typedef struct packed_layout {
    int64_t dst[2];
    int64_t src[2];
} packed_layout;

/* What a copy nibble by nibble would make of every byte of the destination, those around its elements too. */
static void expect_packed(const packed_layout *of, uint8_t *expected) {
    uint8_t src[PACKED_BYTES];
    fill_pattern(src, PACKED_BYTES, 1);
    fill_pattern(expected, PACKED_BYTES, 2);
    for (int64_t i = 0; i < 5; ++i) {
        for (int64_t j = 0; j < 7; ++j) {
            put_nibble(expected, i * of->dst[0] + j * of->dst[1], nibble(src, i * of->src[0] + j * of->src[1]));
        }
    }
}

static void assert_packed(const pair *both, const uint8_t *expected) {
    uint8_t found[PACKED_BYTES];
    read_device(found, number_of(both->dst.data), PACKED_BYTES);
    assert_memory_equal(found, expected, PACKED_BYTES);
}

static void copy_packed_in_every_way(const pair *both, via_array *dst, via_array *src, const uint8_t *expected) {
    via_stream *stream = NULL;
    via_task *task = NULL;
    ok(via_stream_create(0, &stream));
    ok(via_copy(dst, src));
    assert_packed(both, expected);
    refill_pair(both);
    ok(via_copy_async(dst, src, stream));
    ok(via_stream_synchronize(stream));
    assert_packed(both, expected);
    refill_pair(both);
    ok(via_copy_submit(dst, src, stream, &task));
    ok(via_task_wait(task));
    via_task_release(task);
    assert_packed(both, expected);
    refill_pair(both);
    ok(via_copy_batch(1, &dst, &src, stream));
    ok(via_stream_synchronize(stream));
    assert_packed(both, expected);
    via_stream_release(stream);
}

/* 5 x 7 elements of 4 bits: rows that begin inside a byte, columns, gaps, and elements a byte apart. */
static void packed_elements_are_copied_between_any_two_places_in_any_layout(void **state) {
    (void)state;
    static const packed_layout layouts[] = {{{1, 5}, {7, 1}}, {{7, 1}, {1, 5}},  {{9, 1}, {7, 1}},
                                            {{7, 1}, {0, 1}}, {{14, 2}, {1, 5}}, {{20, 1}, {1, 0}}};
    for (place to = PAGEABLE; to < PLACES; ++to) {
        for (place from = PAGEABLE; from < PLACES; ++from) {
            if (!place_exists(to) || !place_exists(from)) {
                continue;
            }
            for (int32_t i = 0; i < LENGTH(layouts); ++i) {
                pair both = new_pair(to, from, PACKED_BYTES);
                via_array *dst = wrap_packed(&both.dst, 2, SHAPE(5, 7), layouts[i].dst);
                via_array *src = wrap_packed(&both.src, 2, SHAPE(5, 7), layouts[i].src);
                assert_explained(dst, src, "bits|bytes: 18");
                uint8_t expected[PACKED_BYTES];
                expect_packed(&layouts[i], expected);
                copy_packed_in_every_way(&both, dst, src, expected);
                via_array_release(dst);
                via_array_release(src);
                end_pair(&both);
            }
        }
    }
}

static via_array *wrap_packed_backwards(const block *at) {
    via_array *whole = wrap_packed(at, 1, SHAPE(2 * PACKED_BYTES), NULL);
    via_array *part = NULL;
    ok(via_array_slice(whole, SHAPE(6), SHAPE(4), SHAPE(-1), &part));
    via_array_release(whole);
    return part;
}

static void copy_packed_backwards(place to, place from) {
    pair both = new_pair(to, from, PACKED_BYTES);
    via_array *dst = wrap_packed_backwards(&both.dst);
    via_array *src = wrap_packed_backwards(&both.src);
    uint8_t given[PACKED_BYTES];
    uint8_t expected[PACKED_BYTES];
    fill_pattern(given, PACKED_BYTES, 1);
    fill_pattern(expected, PACKED_BYTES, 2);
    for (int64_t i = 3; i <= 6; ++i) {
        put_nibble(expected, i, nibble(given, i));
    }
    assert_explained(dst, src, "bits|bytes: 2");
    copy_packed_in_every_way(&both, dst, src, expected);
    via_array_release(dst);
    via_array_release(src);
    end_pair(&both);
}

/* Elements 6 to 3: one run, though the plan counts it in bits. */
static void packed_elements_that_are_one_run_inside_bytes_are_copied_between_any_two_places(void **state) {
    (void)state;
    for_each_pair(copy_packed_backwards);
}

static void packed_elements_keep_what_lies_in_their_last_byte(void **state) {
    (void)state;
    for (int64_t elements = 1; elements <= 32; ++elements) {
        pair both = new_pair(DEVICE, elements % 2 == 0 ? PAGEABLE : DEVICE, 16);
        uint8_t expected[16];
        uint8_t found[16];
        uint8_t given[16];
        fill_pattern(given, 16, 1);
        fill_pattern(expected, 16, 2);
        for (int64_t i = 0; i < elements; ++i) {
            put_nibble(expected, i, nibble(given, i));
        }
        via_array *dst = wrap_packed(&both.dst, 1, &elements, NULL);
        via_array *src = wrap_packed(&both.src, 1, &elements, NULL);
        ok(via_copy(dst, src));
        read_device(found, number_of(both.dst.data), 16);
        assert_memory_equal(found, expected, 16);
        via_array_release(dst);
        via_array_release(src);
        end_pair(&both);
    }
}

static void what_is_refused_was_not_touched(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, DEVICE, 128);
    via_array *read_only = NULL;
    via_array *part = NULL;
    via_array *other = NULL;
    ok(via_wrap(both.dst.data, VIA_UINT8, 1, SHAPE(128), NULL, VIA_DEVICE_CUDA, 0, VIA_WRAP_READ_ONLY, NULL, NULL,
                &read_only));
    ok(via_wrap(both.dst.data + 1, VIA_UINT8, 1, SHAPE(64), NULL, VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &part));
    ok(via_wrap(both.dst.data, VIA_UINT8, 1, SHAPE(64), NULL, VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &other));
    refused(VIA_ERROR_READ_ONLY, "dst", via_copy_async(read_only, both.src.array, NULL));
    refused(VIA_ERROR_SHAPE, "src", via_copy_async(part, both.src.array, NULL));
    refused(VIA_ERROR_OVERLAP, "dst", via_copy_async(part, other, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "no_sync",
            via_copy_async(both.dst.array, both.src.array, via_stream_no_sync()));
    assert_block(&both.dst, 2);
    via_array_release(read_only);
    via_array_release(part);
    via_array_release(other);
    end_pair(&both);
}

static void a_batch_is_checked_whole_before_it_begins(void **state) {
    (void)state;
    pair good = new_pair(DEVICE, PINNED, 100);
    pair bad = new_pair(DEVICE, PINNED, 101);
    via_array *dsts[] = {good.dst.array, bad.dst.array};
    via_array *srcs[] = {good.src.array, good.src.array};
    refused(VIA_ERROR_SHAPE, "src", via_copy_batch(2, dsts, srcs, NULL));
    dsts[1] = NULL;
    refused(VIA_ERROR_INVALID_ARGUMENT, "dsts[1] is NULL", via_copy_batch(2, dsts, srcs, NULL));
    assert_block(&good.dst, 2);
    ok(via_copy_batch(0, dsts, srcs, NULL));
    end_pair(&good);
    end_pair(&bad);
}

static void the_route_is_explained(void **state) {
    (void)state;
    static const struct {
        place dst;
        place src;
        const char *words;
    } routes[] = {
        {DEVICE, PINNED, "driver copy|pinned memory to device"},
        {PINNED, DEVICE, "driver copy|device to pinned memory"},
        {DEVICE, DEVICE, "driver copy|device to device"},
        {DEVICE, PAGEABLE, "driver copy|pageable memory to device"},
        {MANAGED, PAGEABLE, "driver copy|pageable memory to managed memory"},
        {PINNED, PAGEABLE, "contiguous"},
    };
    for (int32_t i = 0; i < LENGTH(routes); ++i) {
        pair both = new_pair(routes[i].dst, routes[i].src, 4096);
        assert_explained(both.dst.array, both.src.array, routes[i].words);
        assert_explained(both.dst.array, both.src.array, "bytes: 4096");
        end_pair(&both);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(every_pair_is_copied_at_small_sizes),
        GPU_TEST(every_pair_is_copied_at_large_sizes),
        GPU_TEST(copies_are_whole_on_both_sides_of_every_crossover),
        GPU_TEST(equal_orders_are_one_run),
        GPU_TEST(strided_copies_without_a_device_are_done),
        GPU_TEST(packed_elements_are_copied_between_any_two_places_in_any_layout),
        GPU_TEST(packed_elements_that_are_one_run_inside_bytes_are_copied_between_any_two_places),
        GPU_TEST(packed_elements_keep_what_lies_in_their_last_byte),
        GPU_TEST(what_is_refused_was_not_touched),
        GPU_TEST(a_batch_is_checked_whole_before_it_begins),
        GPU_TEST(the_route_is_explained),
    };
    return run_gpu_tests(tests);
}
