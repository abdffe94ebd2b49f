/* Copies and fills: what they move, what they leave alone, and what they refuse. */
#include "support.h"

enum { ROOM = 4096 };

/* Two areas of bytes, and what the destination must hold afterwards. */
static _Alignas(64) unsigned char source[ROOM];
static _Alignas(64) unsigned char target[ROOM];
static _Alignas(64) unsigned char expected[ROOM];

static void refill(void) {
    for (int32_t i = 0; i < ROOM; ++i) {
        source[i] = (unsigned char)(i * 7 + i / 256);
        target[i] = (unsigned char)(200 - i);
    }
    memcpy(expected, target, ROOM);
}

/* Where element `number` of an array lies, by the definition of strides. */
static int64_t offset_of(via_array *array, int64_t number) {
    int64_t offset = 0;
    for (int32_t i = via_array_ndim(array) - 1; i >= 0; --i) {
        offset += number % via_array_shape(array)[i] * via_array_byte_strides(array)[i];
        number /= via_array_shape(array)[i];
    }
    return offset;
}

/* Copies by the definition, from source to `expected`. */
static void copy_by_definition(via_array *dst, via_array *src) {
    const size_t item = (size_t)(via_dtype_bits(via_array_dtype(dst)) / 8);
    unsigned char *to = expected + ((unsigned char *)via_array_data(dst) - target);
    const unsigned char *from = via_array_data(src);
    for (int64_t i = 0; i < via_array_size(dst); ++i) {
        memcpy(to + offset_of(dst, i), from + offset_of(src, i), item);
    }
}

/* Copies, compares everything in reach with the definition, and releases both arrays. */
static void assert_copied(via_array *dst, via_array *src) {
    copy_by_definition(dst, src);
    ok(via_copy(dst, src));
    assert_memory_equal(target, expected, ROOM);
    via_array_release(dst);
    via_array_release(src);
}

static void every_dtype_is_copied_dense_and_transposed(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        const int64_t item = every_dtype[i].bits / 8;
        if (every_dtype[i].bits % 8 != 0) {
            continue;
        }
        refill();
        assert_copied(wrap_plain(target, every_dtype[i].dtype, 2, SHAPE(5, 7), NULL),
                      wrap_plain(source, every_dtype[i].dtype, 2, SHAPE(5, 7), NULL));
        assert_copied(wrap_plain(target, every_dtype[i].dtype, 2, SHAPE(5, 7), NULL),
                      wrap_strided(source, every_dtype[i].dtype, 2, SHAPE(5, 7), SHAPE(item, 5 * item)));
    }
}

static void records_of_any_size_are_copied_as_bytes(void **state) {
    (void)state;
    for (int64_t bytes = 1; bytes <= 40; ++bytes) {
        refill();
        assert_copied(wrap_strided(target + 3, via_dtype_record(bytes), 2, SHAPE(3, 4), SHAPE(4 * bytes + 5, bytes)),
                      wrap_strided(source + 1, via_dtype_record(bytes), 2, SHAPE(3, 4), SHAPE(bytes, 3 * bytes + 1)));
    }
}

static void packed_elements_are_copied_where_they_come_in_whole_bytes(void **state) {
    (void)state;
    refill();
    via_array *dst = wrap_plain(target, VIA_INT4, 2, SHAPE(3, 8), NULL);
    via_array *src = wrap_plain(source, VIA_INT4, 2, SHAPE(3, 8), NULL);
    ok(via_copy(dst, src));
    assert_memory_equal(target, source, 12);
    assert_memory_equal(target + 12, expected + 12, ROOM - 12);
    via_array_release(dst);
    via_array_release(src);
}

static void a_packed_array_of_odd_length_is_copied_to_its_last_bit(void **state) {
    (void)state;
    refill();
    target[2] = 0xFF;
    source[2] = 0x00;
    via_array *dst = wrap_plain(target, VIA_UINT4, 1, SHAPE(5), NULL);
    via_array *src = wrap_plain(source, VIA_UINT4, 1, SHAPE(5), NULL);
    ok(via_copy(dst, src));
    assert_memory_equal(target, source, 2);
    assert_int_equal(target[2] & 0x0F, 0x00);
    assert_int_equal(target[2] & 0xF0, 0xF0); /* nobody's bits stay as they were */
    via_array_release(dst);
    via_array_release(src);
}

static void a_broadcast_source_is_repeated(void **state) {
    (void)state;
    refill();
    via_array *row = wrap_plain(source, VIA_FLOAT32, 2, SHAPE(1, 9), NULL);
    via_array *rows = NULL;
    ok(via_array_broadcast(row, 2, SHAPE(6, 9), &rows));
    via_array_release(row);
    assert_copied(wrap_plain(target, VIA_FLOAT32, 2, SHAPE(6, 9), NULL), rows);
    via_array *one = wrap_plain(source + 8, VIA_FLOAT64, 0, NULL, NULL);
    ok(via_array_broadcast(one, 2, SHAPE(6, 9), &rows));
    via_array_release(one);
    assert_copied(wrap_plain(target, VIA_FLOAT64, 2, SHAPE(6, 9), NULL), rows);
}

static void either_side_may_go_backwards(void **state) {
    (void)state;
    refill();
    assert_copied(wrap_strided(target + 900, VIA_INT16, 2, SHAPE(8, 9), SHAPE(-40, 2)),
                  wrap_strided(source + 700, VIA_INT16, 2, SHAPE(8, 9), SHAPE(18, -2)));
    assert_copied(wrap_strided(target + 900, VIA_INT64, 1, SHAPE(33), SHAPE(-8)),
                  wrap_strided(source + 900, VIA_INT64, 1, SHAPE(33), SHAPE(-8)));
}

static void gaps_of_the_destination_are_not_written(void **state) {
    (void)state;
    refill();
    assert_copied(wrap_strided(target + 1, VIA_UINT8, 3, SHAPE(4, 5, 6), SHAPE(400, 50, 3)),
                  wrap_plain(source, VIA_UINT8, 3, SHAPE(4, 5, 6), NULL));
}

static void narrow_rows_of_any_width_are_copied_whole(void **state) {
    (void)state;
    for (int64_t width = 1; width <= 70; ++width) {
        refill();
        assert_copied(wrap_strided(target + 5, VIA_UINT8, 2, SHAPE(20, width), SHAPE(width + 3, 1)),
                      wrap_strided(source + 2, VIA_UINT8, 2, SHAPE(20, width), SHAPE(width + 100, 1)));
    }
}

static void misaligned_elements_are_copied(void **state) {
    (void)state;
    for (int32_t shift = 1; shift < 16; ++shift) {
        refill();
        assert_copied(wrap_strided(target + shift, VIA_COMPLEX128, 2, SHAPE(4, 3), SHAPE(55, 17)),
                      wrap_strided(source + 16 - shift, VIA_COMPLEX128, 2, SHAPE(4, 3), SHAPE(16, 67)));
    }
}

static void no_elements_are_copied_at_no_cost(void **state) {
    (void)state;
    refill();
    via_array *dst = wrap_plain(NULL, VIA_FLOAT32, 2, SHAPE(0, 4), NULL);
    via_array *src = wrap_plain(NULL, VIA_FLOAT32, 2, SHAPE(0, 4), NULL);
    ok(via_copy(dst, src));
    via_array_release(dst);
    via_array_release(src);
    assert_copied(wrap_plain(target, VIA_FLOAT32, 0, NULL, NULL), wrap_plain(source, VIA_FLOAT32, 0, NULL, NULL));
}

static void columns_of_one_matrix_may_be_copied_to_one_another(void **state) {
    (void)state;
    refill();
    memcpy(source, target, ROOM); /* the definition reads the source: the matrix itself, before */
    via_array *dst = wrap_strided(target, VIA_FLOAT32, 1, SHAPE(50), SHAPE(16));
    via_array *src = wrap_strided(target + 8, VIA_FLOAT32, 1, SHAPE(50), SHAPE(16));
    via_array *before = wrap_strided(source + 8, VIA_FLOAT32, 1, SHAPE(50), SHAPE(16));
    copy_by_definition(dst, before);
    ok(via_copy(dst, src));
    assert_memory_equal(target, expected, ROOM);
    via_array_release(dst);
    via_array_release(src);
    via_array_release(before);
}

/* A refused copy leaves everything as it was; both arrays are released. */
static void assert_refused(via_status status, const char *words, via_array *dst, via_array *src) {
    refused(status, words, via_copy(dst, src));
    assert_memory_equal(target, expected, ROOM);
    char text[64] = "x";
    int64_t length = 7;
    refused(status, words, via_copy_explain(dst, src, sizeof text, text, &length));
    assert_string_equal(text, "");
    assert_int_equal(length, 0);
    via_array_release(dst);
    via_array_release(src);
}

static void arrays_that_share_bytes_are_refused(void **state) {
    (void)state;
    refill();
    assert_refused(VIA_ERROR_OVERLAP, "dst|src", wrap_plain(target, VIA_INT32, 1, SHAPE(8), NULL),
                   wrap_plain(target, VIA_INT32, 1, SHAPE(8), NULL));
    assert_refused(VIA_ERROR_OVERLAP, "dst|src", wrap_plain(target, VIA_INT32, 1, SHAPE(8), NULL),
                   wrap_plain(target + 31, VIA_INT32, 1, SHAPE(8), NULL));
    assert_refused(VIA_ERROR_OVERLAP, "dst|src", wrap_strided(target, VIA_INT32, 1, SHAPE(8), SHAPE(16)),
                   wrap_strided(target + 14, VIA_INT32, 1, SHAPE(8), SHAPE(16)));
}

static void a_destination_that_overlaps_itself_is_refused(void **state) {
    (void)state;
    refill();
    assert_refused(VIA_ERROR_OVERLAP, "dst|stride 0", wrap_strided(target, VIA_INT32, 1, SHAPE(8), SHAPE(0)),
                   wrap_plain(source, VIA_INT32, 1, SHAPE(8), NULL));
    assert_refused(VIA_ERROR_OVERLAP, "dst|share", wrap_strided(target, VIA_INT32, 1, SHAPE(8), SHAPE(3)),
                   wrap_plain(source, VIA_INT32, 1, SHAPE(8), NULL));
    assert_refused(VIA_ERROR_OVERLAP, "dst|share", wrap_strided(target, VIA_INT8, 2, SHAPE(3, 4), SHAPE(3, 1)),
                   wrap_plain(source, VIA_INT8, 2, SHAPE(3, 4), NULL));
}

static void a_read_only_destination_is_refused(void **state) {
    (void)state;
    refill();
    via_array *dst = NULL;
    ok(via_wrap(target, VIA_INT32, 1, SHAPE(8), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_READ_ONLY, NULL, NULL, &dst));
    assert_refused(VIA_ERROR_READ_ONLY, "dst|read-only", dst, wrap_plain(source, VIA_INT32, 1, SHAPE(8), NULL));
}

static void other_shapes_and_dtypes_are_refused(void **state) {
    (void)state;
    refill();
    assert_refused(VIA_ERROR_SHAPE, "src|(8)|(9)", wrap_plain(target, VIA_INT32, 1, SHAPE(9), NULL),
                   wrap_plain(source, VIA_INT32, 1, SHAPE(8), NULL));
    assert_refused(VIA_ERROR_SHAPE, "src|ndim 2|ndim 1", wrap_plain(target, VIA_INT32, 1, SHAPE(8), NULL),
                   wrap_plain(source, VIA_INT32, 2, SHAPE(8, 1), NULL));
    assert_refused(VIA_ERROR_DTYPE, "src|float32|int32", wrap_plain(target, VIA_INT32, 1, SHAPE(8), NULL),
                   wrap_plain(source, VIA_FLOAT32, 1, SHAPE(8), NULL));
    assert_refused(VIA_ERROR_DTYPE, "src|record8|record12", wrap_plain(target, -12, 1, SHAPE(8), NULL),
                   wrap_plain(source, -8, 1, SHAPE(8), NULL));
}

static void large_copies_by_many_threads_are_whole(void **state) {
    (void)state;
    const int64_t rows = 1500;
    const int64_t columns = 2111;
    const size_t nbytes = (size_t)(rows * columns) * 4;
    int32_t *from = malloc(nbytes);
    int32_t *to = malloc(nbytes + 4);
    for (int64_t i = 0; i < rows * columns; ++i) {
        from[i] = (int32_t)i;
    }
    via_array *src = wrap_plain(from, VIA_INT32, 2, SHAPE(rows, columns), NULL);
    via_array *transposed = wrap_strided(from, VIA_INT32, 2, SHAPE(columns, rows), SHAPE(4, columns * 4));
    via_array *dst = wrap_plain(to, VIA_INT32, 2, SHAPE(rows, columns), NULL);
    via_array *columns_first = wrap_plain(to, VIA_INT32, 2, SHAPE(columns, rows), NULL);
    for (int32_t threads = 1; threads <= 5; threads += 2) {
        ok(via_set_num_threads(threads));
        to[rows * columns] = 42;
        ok(via_copy(dst, src));
        assert_memory_equal(to, from, nbytes);
        ok(via_copy(columns_first, transposed));
        for (int64_t i = 0; i < rows * columns; ++i) {
            if (to[i] != (int32_t)(i % rows * columns + i / rows)) {
                fail_msg("%d threads: element %lld is %d", threads, (long long)i, to[i]);
            }
        }
        assert_int_equal(to[rows * columns], 42);
    }
    ok(via_set_num_threads(0));
    via_array *all[] = {src, transposed, dst, columns_first};
    for (int32_t i = 0; i < LENGTH(all); ++i) {
        via_array_release(all[i]);
    }
    free(from);
    free(to);
}

/* -- random layouts ------------------------------------------------------------------------------------------------ */

static uint64_t seed = UINT64_C(0x9E3779B97F4A7C15);

static int64_t random_below(int64_t limit) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)limit);
}

/* Strides of a random order of the axes, with gaps, some of them negative; what they span must fit the area. */
static int64_t random_strides(int32_t ndim, const int64_t *shape, int64_t item, int may_repeat, int64_t *strides) {
    int32_t order[4] = {0, 1, 2, 3};
    for (int32_t i = ndim - 1; i > 0; --i) {
        const int64_t j = random_below(i + 1);
        const int32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    int64_t span = item + random_below(3);
    int64_t first = 0;
    for (int32_t i = 0; i < ndim; ++i) {
        const int32_t axis = order[i];
        strides[axis] = span;
        span = span * shape[axis] + random_below(4);
        if (random_below(3) == 0) {
            first += (shape[axis] - 1) * strides[axis];
            strides[axis] = -strides[axis];
        } else if (may_repeat && random_below(4) == 0) {
            strides[axis] = 0;
        }
    }
    assert_true(span < ROOM);
    return first;
}

static void random_layouts_are_copied_by_the_definition(void **state) {
    (void)state;
    const int64_t items[] = {1, 2, 3, 4, 8, 12, 16};
    for (int32_t round = 0; round < 4000; ++round) {
        const int32_t ndim = (int32_t)random_below(5);
        const int64_t item = items[random_below(LENGTH(items))];
        int64_t shape[4];
        int64_t dst_strides[4] = {0};
        int64_t src_strides[4] = {0};
        for (int32_t i = 0; i < ndim; ++i) {
            shape[i] = 1 + random_below(ndim < 3 ? 7 : 3);
        }
        const int64_t to = random_strides(ndim, shape, item, 0, dst_strides);
        const int64_t from = random_strides(ndim, shape, item, 1, src_strides);
        refill();
        assert_copied(wrap_strided(target + to, via_dtype_record(item), ndim, shape, dst_strides),
                      wrap_strided(source + from, via_dtype_record(item), ndim, shape, src_strides));
    }
}

/* -- fill ---------------------------------------------------------------------------------------------------------- */

static void fill_by_definition(via_array *dst, const void *element) {
    const size_t item = (size_t)(via_dtype_bits(via_array_dtype(dst)) / 8);
    unsigned char *to = expected + ((unsigned char *)via_array_data(dst) - target);
    for (int64_t i = 0; i < via_array_size(dst); ++i) {
        if (element == NULL) {
            memset(to + offset_of(dst, i), 0, item);
        } else {
            memcpy(to + offset_of(dst, i), element, item);
        }
    }
}

static void assert_filled(via_array *dst, const void *element) {
    fill_by_definition(dst, element);
    ok(via_fill(dst, element, NULL));
    assert_memory_equal(target, expected, ROOM);
    via_array_release(dst);
}

static void every_dtype_is_filled_with_its_element_or_zero(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        const int64_t item = every_dtype[i].bits / 8;
        if (every_dtype[i].bits % 8 != 0) {
            continue;
        }
        refill();
        assert_filled(wrap_plain(target, every_dtype[i].dtype, 2, SHAPE(5, 7), NULL), source + 5);
        assert_filled(wrap_strided(target + 2000, every_dtype[i].dtype, 2, SHAPE(3, 7), SHAPE(-9 * item, item)),
                      source + 9);
        assert_filled(wrap_strided(target + 2000, every_dtype[i].dtype, 2, SHAPE(3, 7), SHAPE(9 * item, item)), NULL);
    }
}

static void records_of_any_size_are_filled(void **state) {
    (void)state;
    for (int64_t bytes = 1; bytes <= 40; ++bytes) {
        refill();
        assert_filled(wrap_strided(target + 3, via_dtype_record(bytes), 2, SHAPE(3, 4), SHAPE(4 * bytes + 5, bytes)),
                      source + 3);
        assert_filled(wrap_plain(target + 1000, via_dtype_record(bytes), 1, SHAPE(40), NULL), source + 3);
    }
}

static void packed_elements_are_filled_from_the_low_bits(void **state) {
    (void)state;
    refill();
    const unsigned char element = 0x05;
    via_array *dst = wrap_plain(target, VIA_UINT4, 1, SHAPE(6), NULL);
    ok(via_fill(dst, &element, NULL));
    assert_int_equal(target[0], 0x55);
    assert_int_equal(target[1], 0x55);
    assert_int_equal(target[2], 0x55);
    assert_memory_equal(target + 3, expected + 3, ROOM - 3);
    via_array_release(dst);
}

static void a_fill_refuses_what_a_copy_refuses(void **state) {
    (void)state;
    refill();
    via_array *dst = wrap_strided(target, VIA_INT32, 1, SHAPE(8), SHAPE(0));
    refused(VIA_ERROR_OVERLAP, "via_fill|dst", via_fill(dst, source, NULL));
    via_array_release(dst);
    dst = wrap_strided(target, VIA_INT32, 1, SHAPE(8), SHAPE(2));
    refused(VIA_ERROR_OVERLAP, "via_fill|dst", via_fill(dst, source, NULL));
    via_array_release(dst);
    ok(via_wrap(target, VIA_INT32, 1, SHAPE(8), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_READ_ONLY, NULL, NULL, &dst));
    refused(VIA_ERROR_READ_ONLY, "via_fill|dst", via_fill(dst, source, NULL));
    via_array_release(dst);
    assert_memory_equal(target, expected, ROOM);
}

/* -- raw bytes, and explanations ----------------------------------------------------------------------------------- */

static void memcpy_copies_bytes_between_addresses(void **state) {
    (void)state;
    for (int64_t count = 0; count < 300; ++count) {
        refill();
        memcpy(expected + 7, source + 3, (size_t)count);
        ok(via_memcpy(target + 7, source + 3, count, NULL));
        assert_memory_equal(target, expected, ROOM);
    }
    ok(via_memcpy(NULL, NULL, 0, NULL));
}

static void memcpy_refuses_overlap_and_touches_nothing(void **state) {
    (void)state;
    refill();
    refused(VIA_ERROR_OVERLAP, "via_memcpy|dst", via_memcpy(target + 1, target, 100, NULL));
    refused(VIA_ERROR_OVERLAP, "via_memcpy|dst", via_memcpy(target, target + 99, 100, NULL));
    refused(VIA_ERROR_OVERLAP, "via_memcpy|dst", via_memcpy(target + 100, target, INT64_MAX, NULL));
    refused(VIA_ERROR_OVERLAP, "via_memcpy|dst", via_memcpy(target, target, 100, NULL));
    assert_memory_equal(target, expected, ROOM);
    ok(via_memcpy(target, target + 100, 100, NULL));
}

static void an_explanation_is_whole_or_cut_and_copies_nothing(void **state) {
    (void)state;
    refill();
    via_array *dst = wrap_plain(target, VIA_INT32, 2, SHAPE(5, 7), NULL);
    via_array *src = wrap_strided(source, VIA_INT32, 2, SHAPE(5, 7), SHAPE(4, 20));
    char whole[1024];
    int64_t length = 0;
    ok(via_copy_explain(dst, src, sizeof whole, whole, &length));
    assert_int_equal(strlen(whole), length);
    assert_true(length > 10);
    assert_non_null(strstr(whole, "140"));
    char cut[9];
    memset(cut, 'x', sizeof cut);
    int64_t same = 0;
    ok(via_copy_explain(dst, src, 8, cut, &same));
    assert_int_equal(same, length);
    assert_memory_equal(cut, whole, 7);
    assert_int_equal(cut[7], 0);
    assert_int_equal(cut[8], 'x');
    int64_t queried = 0;
    ok(via_copy_explain(dst, src, 0, NULL, &queried));
    assert_int_equal(queried, length);
    assert_memory_equal(target, expected, ROOM);
    via_array_release(dst);
    via_array_release(src);
}

int main(void) {
    print_message("seed %#llx\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        TEST(every_dtype_is_copied_dense_and_transposed),
        TEST(records_of_any_size_are_copied_as_bytes),
        TEST(packed_elements_are_copied_where_they_come_in_whole_bytes),
        TEST(a_packed_array_of_odd_length_is_copied_to_its_last_bit),
        TEST(a_broadcast_source_is_repeated),
        TEST(either_side_may_go_backwards),
        TEST(gaps_of_the_destination_are_not_written),
        TEST(narrow_rows_of_any_width_are_copied_whole),
        TEST(misaligned_elements_are_copied),
        TEST(no_elements_are_copied_at_no_cost),
        TEST(columns_of_one_matrix_may_be_copied_to_one_another),
        TEST(arrays_that_share_bytes_are_refused),
        TEST(a_destination_that_overlaps_itself_is_refused),
        TEST(a_read_only_destination_is_refused),
        TEST(other_shapes_and_dtypes_are_refused),
        TEST(large_copies_by_many_threads_are_whole),
        TEST(random_layouts_are_copied_by_the_definition),
        TEST(every_dtype_is_filled_with_its_element_or_zero),
        TEST(records_of_any_size_are_filled),
        TEST(packed_elements_are_filled_from_the_low_bits),
        TEST(a_fill_refuses_what_a_copy_refuses),
        TEST(memcpy_copies_bytes_between_addresses),
        TEST(memcpy_refuses_overlap_and_touches_nothing),
        TEST(an_explanation_is_whole_or_cut_and_copies_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
