/* Arrays mapped from files: raw and .npy, read, written, copied on write; what a file does not hold is refused. */
#include "file_support.h"

static void fill_numbers(int32_t *numbers, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
        numbers[i] = i;
    }
}

static const char *put_numbers(const char *name, int32_t count) {
    int32_t numbers[4096];
    assert_true(count <= LENGTH(numbers));
    fill_numbers(numbers, count);
    return put_file(name, numbers, (size_t)count * sizeof numbers[0]);
}

static int32_t first_of(via_array *array) { return *(const int32_t *)via_array_data(array); }

static void a_raw_file_becomes_an_array_of_the_shape_asked_for(void **state) {
    (void)state;
    put_numbers("raw", 24);
    via_file *file = open_with("raw", NULL);
    via_array *array = map_as(file, 0, VIA_INT32, 2, SHAPE(4, 6));
    assert_layout(array, 2, SHAPE(4, 6), SHAPE(24, 4));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CPU);
    assert_int_equal(via_array_flags(array), VIA_ARRAY_READ_ONLY);
    for (int32_t i = 0; i < 24; ++i) {
        assert_int_equal(((const int32_t *)via_array_data(array))[i], i);
    }
    via_array_release(array);
    via_file_release(file);
}

static void an_array_may_begin_anywhere_in_the_file(void **state) {
    (void)state;
    put_numbers("anywhere", 4096);
    via_file *file = open_with("anywhere", NULL);
    for (int64_t from = 0; from < 4096; from += 511) {
        via_array *array = map_as(file, 4 * from, VIA_INT32, 1, SHAPE(1));
        assert_int_equal(first_of(array), from);
        via_array_release(array);
    }
    via_array *odd = map_as(file, 1, VIA_INT32, 1, SHAPE(4));
    assert_int_equal(via_array_flags(odd), VIA_ARRAY_READ_ONLY | VIA_ARRAY_MISALIGNED);
    via_array_release(odd);
    via_file_release(file);
}

static void a_raw_file_in_fortran_order_has_its_first_index_fastest(void **state) {
    (void)state;
    put_numbers("fortran", 24);
    via_file *file = open_with("fortran", OPTIONS_OF(.column_major = 1));
    via_array *array = map_as(file, 0, VIA_INT32, 3, SHAPE(2, 3, 4));
    assert_layout(array, 3, SHAPE(2, 3, 4), SHAPE(4, 8, 24));
    via_array_release(array);
    via_file_release(file);
}

static void a_mapped_array_and_its_views_outlive_the_file(void **state) {
    (void)state;
    const char *path = put_numbers("gone", 24);
    via_file *file = open_with("gone", NULL);
    via_array *array = map_as(file, 0, VIA_INT32, 2, SHAPE(4, 6));
    via_file_release(file);
    unlink(path);
    via_array *row = NULL;
    ok(via_array_select(array, 0, 3, &row));
    via_array_release(array);
    assert_int_equal(first_of(row), 18);
    via_array_release(row);
}

static void what_is_written_through_the_array_is_in_the_file(void **state) {
    (void)state;
    put_numbers("written", 8);
    via_file *file = open_mode("written", VIA_MODE_READ_WRITE);
    via_array *array = map_as(file, 8, VIA_INT32, 1, SHAPE(2));
    assert_int_equal(via_array_flags(array), 0);
    ok(via_fill(array, &(const int32_t){77}, NULL));
    via_array_release(array);
    via_file_release(file);
    int32_t found[8];
    assert_int_equal(get_file("written", found, sizeof found), sizeof found);
    assert_int_equal(found[1], 1);
    assert_int_equal(found[2], 77);
    assert_int_equal(found[3], 77);
    assert_int_equal(found[4], 4);
}

static void what_is_written_on_copied_pages_is_not_in_the_file(void **state) {
    (void)state;
    put_numbers("private", 8);
    via_file *file = open_mode("private", VIA_MODE_COPY_ON_WRITE);
    via_array *array = map_as(file, 0, VIA_INT32, 1, SHAPE(8));
    via_array *second = map_as(file, 0, VIA_INT32, 1, SHAPE(8));
    assert_int_equal(via_array_flags(array), 0);
    ok(via_fill(array, NULL, NULL));
    assert_int_equal(((const int32_t *)via_array_data(array))[7], 0);
    assert_int_equal(((const int32_t *)via_array_data(second))[7], 7);
    via_array_release(array);
    via_array_release(second);
    via_file_release(file);
    int32_t found[8];
    assert_int_equal(get_file("private", found, sizeof found), sizeof found);
    assert_int_equal(found[7], 7);
}

static void a_read_only_array_of_a_file_is_refused_as_a_destination(void **state) {
    (void)state;
    put_numbers("constant", 8);
    via_file *file = open_with("constant", NULL);
    via_array *array = map_as(file, 0, VIA_INT32, 1, SHAPE(8));
    refused(VIA_ERROR_READ_ONLY, "read-only", via_fill(array, NULL, NULL));
    via_array_release(array);
    via_file_release(file);
}

static void bytes_that_the_file_does_not_have_are_refused(void **state) {
    (void)state;
    put_numbers("short", 8);
    via_file *file = open_with("short", NULL);
    via_array *array = NULL;
    refused(VIA_ERROR_INVALID_ARGUMENT, "0 to 36|within its 32",
            via_file_array(file, 0, VIA_INT32, 1, SHAPE(9), &array));
    assert_null(array);
    refused(VIA_ERROR_INVALID_ARGUMENT, "32 to 33", via_file_array(file, 32, VIA_INT8, 1, SHAPE(1), &array));
    refused(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is -4", via_file_array(file, -4, VIA_INT32, 1, SHAPE(1), &array));
    refused(VIA_ERROR_OVERFLOW, "byte_offset", via_file_array(file, INT64_MAX, VIA_INT32, 1, SHAPE(1), &array));
    refused(VIA_ERROR_OVERFLOW, "2^63", via_file_array(file, 0, VIA_INT32, 1, SHAPE(INT64_MAX), &array));
    refused(VIA_ERROR_INVALID_ARGUMENT, "raw file", via_file_array(file, 0, 0, 0, NULL, &array));
    refused(VIA_ERROR_DTYPE, "dtype", via_file_array(file, 0, 0, 1, SHAPE(1), &array));
    refused(VIA_ERROR_SHAPE, "-1", via_file_array(file, 0, VIA_INT8, 1, SHAPE(-1), &array));
    via_file_release(file);
}

static void a_file_that_was_cut_short_is_reported_as_such(void **state) {
    (void)state;
    const char *path = put_numbers("cut", 8);
    via_file *file = open_with("cut", NULL);
    assert_int_equal(truncate(path, 8), 0);
    via_array *array = NULL;
    refused(VIA_ERROR_IO, "8 bytes|expected 32", via_file_array(file, 0, VIA_INT32, 1, SHAPE(8), &array));
    array = map_as(file, 0, VIA_INT32, 1, SHAPE(2));
    via_array_release(array);
    via_file_release(file);
}

static void an_array_without_elements_maps_nothing(void **state) {
    (void)state;
    put_numbers("empty", 0);
    via_file *file = open_with("empty", NULL);
    via_array *array = map_as(file, 0, VIA_FLOAT64, 3, SHAPE(2, 0, INT64_MAX / 64));
    assert_null(via_array_data(array));
    assert_int_equal(via_array_size(array), 0);
    via_array_release(array);
    via_file_release(file);
}

static void narrow_elements_are_mapped_packed(void **state) {
    (void)state;
    put_file("narrow", "\x21\x43\x05", 3);
    via_file *file = open_with("narrow", NULL);
    via_array *array = map_as(file, 0, VIA_INT4, 1, SHAPE(5));
    assert_int_equal(via_array_nbytes(array), 3);
    via_array_release(array);
    refused(VIA_ERROR_INVALID_ARGUMENT, "0 to 4", via_file_array(file, 0, VIA_INT4, 1, SHAPE(7), &array));
    via_file_release(file);
}

static void what_is_no_regular_file_is_refused(void **state) {
    (void)state;
    via_file *file = (via_file *)&state;
    refused(VIA_ERROR_IO, "ENOENT|none", via_file_open(path_of("none"), NULL, &file));
    assert_null(file);
    assert_int_equal(via_last_error_code(), 2);
    refused(VIA_ERROR_UNSUPPORTED, "expected a regular file", via_file_open(scratch, NULL, &file));
    refused(VIA_ERROR_UNSUPPORTED, "expected a regular file", via_file_open("/dev/null", NULL, &file));
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    refused(VIA_ERROR_UNSUPPORTED, "expected a regular file", via_file_open(path_of("pipe"), NULL, &file));
    refused(VIA_ERROR_IO, "ENOENT", via_file_create(path_of("none/x"), VIA_INT8, 1, SHAPE(4), NULL, &file));
}

static void options_outside_their_range_are_refused(void **state) {
    (void)state;
    put_numbers("fine", 4);
    const char *path = path_of("fine");
    via_file *file = NULL;
    refused(VIA_ERROR_INVALID_ARGUMENT, "mode is 3; expected a VIA_MODE_... constant",
            via_file_open(path, OPTIONS_OF(.mode = 3), &file));
    refused(VIA_ERROR_INVALID_ARGUMENT, "file_format is -1; expected a VIA_FORMAT_... constant",
            via_file_open(path, OPTIONS_OF(.file_format = -1), &file));
    refused(VIA_ERROR_INVALID_ARGUMENT, "column_major is 2", via_file_open(path, OPTIONS_OF(.column_major = 2), &file));
    refused(VIA_ERROR_INVALID_ARGUMENT, "durable", via_file_open(path, OPTIONS_OF(.durable = 2), &file));
    refused(VIA_ERROR_INVALID_ARGUMENT, "atomic_write", via_file_open(path, OPTIONS_OF(.atomic_write = -1), &file));
    refused(VIA_ERROR_INVALID_ARGUMENT, "page_cache is 3; expected a VIA_PAGE_CACHE_... constant",
            via_file_open(path, OPTIONS_OF(.page_cache = 3), &file));
    refused(VIA_ERROR_INVALID_ARGUMENT, "struct_size",
            via_file_open(path, &(const via_file_options){.struct_size = 0}, &file));
    assert_null(file);
}

static void a_created_file_is_as_large_as_the_array_and_all_zeros(void **state) {
    (void)state;
    put_numbers("made", 4096);
    via_file *file = create_with("made", VIA_INT32, 2, SHAPE(3, 5), NULL);
    assert_int_equal(size_of_file("made"), 60);
    via_array *array = map_as(file, 0, VIA_INT32, 2, SHAPE(3, 5));
    assert_int_equal(via_array_flags(array), 0);
    for (int32_t i = 0; i < 15; ++i) {
        assert_int_equal(((const int32_t *)via_array_data(array))[i], 0);
    }
    via_array_release(array);
    via_file_release(file);
}

static void what_cannot_be_created_leaves_no_file(void **state) {
    (void)state;
    const int before = count_scratch();
    via_file *file = NULL;
    const char *path = path_of("never.npy");
    refused(VIA_ERROR_DTYPE, "bfloat16", via_file_create(path, VIA_BFLOAT16, 1, SHAPE(4), NULL, &file));
    refused(VIA_ERROR_DTYPE, "int4", via_file_create(path, VIA_INT4, 1, SHAPE(4), NULL, &file));
    refused(VIA_ERROR_DTYPE, "float32x4", via_file_create(path, WITH_LANES(VIA_FLOAT32, 4), 1, SHAPE(4), NULL, &file));
    refused(VIA_ERROR_SHAPE, "-1", via_file_create(path, VIA_INT8, 1, SHAPE(-1), NULL, &file));
    refused(VIA_ERROR_OVERFLOW, "2^63", via_file_create(path, VIA_INT8, 1, SHAPE(INT64_MAX), NULL, &file));
    refused(VIA_ERROR_IO, "EFBIG", via_file_create(path, VIA_INT8, 1, SHAPE(INT64_MAX - 4096), NULL, &file));
    assert_null(file);
    assert_int_equal(count_scratch(), before);
}

static void a_file_reports_what_it_is(void **state) {
    (void)state;
    via_file *file = create_with("reported.npy", VIA_FLOAT64, 2, SHAPE(3, 5), OPTIONS_OF(.column_major = 1));
    via_file_properties found = VIA_FILE_PROPERTIES_INIT;
    ok(via_file_info(file, &found));
    assert_int_equal(found.file_format, VIA_FORMAT_NPY);
    assert_int_equal(found.dtype, VIA_FLOAT64);
    assert_int_equal(found.ndim, 2);
    assert_int_equal(found.column_major, 1);
    assert_int_equal(found.byte_offset, 128);
    assert_int_equal(found.nbytes, 128 + 120);
    assert_numbers(found.shape, SHAPE(3, 5), 2);
    via_file_release(file);
    file = open_with("reported.npy", OPTIONS_OF(.file_format = VIA_FORMAT_RAW));
    ok(via_file_info(file, &found));
    assert_int_equal(found.file_format, VIA_FORMAT_RAW);
    assert_int_equal(found.dtype, 0);
    assert_int_equal(found.byte_offset, 0);
    via_file_release(file);
}

static void every_share_of_a_handle_keeps_the_file_open(void **state) {
    (void)state;
    put_numbers("shared", 4);
    via_file *file = open_with("shared", NULL);
    via_file_retain(file);
    via_file_release(file);
    via_array *array = map_as(file, 0, VIA_INT32, 1, SHAPE(4));
    assert_int_equal(first_of(array), 0);
    via_array_release(array);
    via_file_release(file);
}

/* The system takes any bytes but '/' and 0. What a failure says of them is text all the same. */
static void a_path_is_any_bytes(void **state) {
    (void)state;
    static const char *const names[] = {
        "\xff", "M\xfcnze.npy", "\xc3", "\xed\xa0\x80", "\xc3\xa4\xf0\x9f\x98\x80.npy", "\n\t\x01%s%n"};
    static const char *const shown[] = {"\\xff: ENOENT",
                                        "M\\xfcnze.npy: ENOENT",
                                        "\\xc3: ENOENT",
                                        "\\xed\\xa0\\x80: ENOENT",
                                        "\xc3\xa4\xf0\x9f\x98\x80.npy: ENOENT",
                                        "\n\t\x01%s%n: ENOENT"};
    for (int32_t i = 0; i < LENGTH(names); ++i) {
        via_file *file = NULL;
        refused(VIA_ERROR_IO, shown[i], via_file_open(path_of(names[i]), NULL, &file));
        via_file_release(create_with(names[i], VIA_INT16, 1, SHAPE(3), OPTIONS_OF(.atomic_write = i % 2)));
        file = create_with(names[i], VIA_INT16, 1, SHAPE(4), NULL);
        via_file_release(file);
        file = open_mode(names[i], VIA_MODE_READ_WRITE);
        via_array *array = map_as(file, 0, VIA_INT16, 1, SHAPE(4));
        assert_int_equal(((int16_t *)via_array_data(array))[3], 0);
        via_array_release(array);
        via_file_release(file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_raw_file_becomes_an_array_of_the_shape_asked_for),
        TEST(an_array_may_begin_anywhere_in_the_file),
        TEST(a_raw_file_in_fortran_order_has_its_first_index_fastest),
        TEST(a_mapped_array_and_its_views_outlive_the_file),
        TEST(what_is_written_through_the_array_is_in_the_file),
        TEST(what_is_written_on_copied_pages_is_not_in_the_file),
        TEST(a_read_only_array_of_a_file_is_refused_as_a_destination),
        TEST(bytes_that_the_file_does_not_have_are_refused),
        TEST(a_file_that_was_cut_short_is_reported_as_such),
        TEST(an_array_without_elements_maps_nothing),
        TEST(narrow_elements_are_mapped_packed),
        TEST(what_is_no_regular_file_is_refused),
        TEST(a_path_is_any_bytes),
        TEST(options_outside_their_range_are_refused),
        TEST(a_created_file_is_as_large_as_the_array_and_all_zeros),
        TEST(what_cannot_be_created_leaves_no_file),
        TEST(a_file_reports_what_it_is),
        TEST(every_share_of_a_handle_keeps_the_file_open),
    };
    return run_file_tests(tests);
}
