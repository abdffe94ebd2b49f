/* Windows of files: which bytes are read and written, in which handle they live, and what is refused. */
#define _GNU_SOURCE /* O_DIRECT, before support.h */

#include "page_cache.h"

enum { ROWS = 300, COLUMNS = 3000, COUNT = ROWS * COLUMNS };

static int32_t value_at(int64_t row, int64_t column) { return (int32_t)(row * 10007 + column); }

static void put_table(const char *name) {
    int32_t *values = malloc(4 * COUNT);
    assert_non_null(values);
    for (int64_t i = 0; i < COUNT; ++i) {
        values[i] = value_at(i / COLUMNS, i % COLUMNS);
    }
    put_file(name, values, 4 * COUNT);
    free(values);
}

static via_file *window_of(via_file *file, const int64_t *starts, const int64_t *counts, const int64_t *steps) {
    via_file *window = NULL;
    ok(via_file_window(file, 0, VIA_INT32, 2, SHAPE(ROWS, COLUMNS), starts, counts, steps, &window));
    assert_non_null(window);
    return window;
}

typedef struct slice {
    int64_t starts[2];
    int64_t counts[2];
    int64_t steps[2];
} slice;

static const slice slices[] = {
    {{0, 1000}, {ROWS, 100}, {1, 1}},        /* columns */
    {{0, 0}, {ROWS, COLUMNS}, {1, 1}},       /* all */
    {{5, 0}, {200, COLUMNS}, {1, 1}},        /* adjacent rows */
    {{0, 7}, {ROWS, 1}, {1, 1}},             /* one column */
    {{1, 1}, {149, 1499}, {2, 2}},           /* near one another */
    {{ROWS - 1, 2999}, {40, 30}, {-7, -99}}, /* backwards */
    {{0, 0}, {1, 1}, {1, 1}},                /* one element */
    {{3, 3}, {0, 5}, {1, 1}},                /* none */
    {{0, 5}, {ROWS, 2990}, {1, 1}}           /* nearly all */
};

static void assert_slice(const int32_t *found, const slice *of) {
    for (int64_t i = 0; i < of->counts[0]; ++i) {
        for (int64_t j = 0; j < of->counts[1]; ++j) {
            const int64_t row = of->starts[0] + i * of->steps[0];
            const int64_t column = of->starts[1] + j * of->steps[1];
            assert_int_equal(found[i * of->counts[1] + j], value_at(row, column));
        }
    }
}

static void a_window_is_read_whether_it_is_cached_or_not(void **state) {
    (void)state;
    put_table("table");
    int32_t *found = malloc(4 * COUNT);
    for (int32_t i = 0; i < 3 * 2 * LENGTH(slices); ++i) {
        const slice *of = &slices[i / 6];
        via_file *file = open_with("table", OPTIONS_OF(.page_cache = i % 3, .as_bytes = 1));
        via_file *window = window_of(file, of->starts, of->counts, of->steps);
        via_file_release(file); /* the window holds it */
        via_array *array = wrap_plain(found, VIA_FLOAT32, 2, of->counts, NULL);
        if (i / 3 % 2 == 1) {
            evict("table");
        }
        memset(found, 0, 4 * COUNT);
        ok(via_file_read(window, 0, array, NULL));
        assert_slice(found, of);
        via_task *task = NULL;
        memset(found, 0, 4 * COUNT);
        ok(via_file_read_submit(window, 0, array, NULL, &task));
        ok(via_task_wait(task));
        assert_slice(found, of);
        via_task_release(task);
        via_array_release(array);
        via_file_release(window);
    }
    free(found);
}

static void a_cold_window_leaves_the_page_cache_as_it_was(void **state) {
    (void)state;
    put_table("cold");
    if (!may_pass_the_cache("cold")) {
        skip();
    }
    static int32_t found[ROWS * 100];
    via_file *file = open_with("cold", NULL);
    via_file *window = window_of(file, slices[0].starts, slices[0].counts, NULL);
    via_array *array = wrap_plain(found, VIA_INT32, 2, slices[0].counts, NULL);
    for (int32_t i = 0; i < 1000 && cached_pages("cold") > 0; ++i) {
        evict("cold"); /* what the system reads ahead when the file is opened, it may be reading still */
        usleep(1000);
    }
    ok(via_file_read(window, 0, array, NULL));
    assert_slice(found, &slices[0]);
    assert_int_in_range(cached_pages("cold"), 0, 19);
    via_array_release(array);
    via_file_release(window);
    via_file_release(file);
}

static void a_write_leaves_what_lies_between_alone(void **state) {
    (void)state;
    int32_t *values = malloc(4 * COUNT);
    int32_t *found = malloc(4 * COUNT);
    for (int32_t i = 0; i < 2 * LENGTH(slices); ++i) {
        const slice *of = &slices[i / 2];
        put_table("written");
        via_file *file =
            open_with("written", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .durable = i & 1, .atomic_write = i & 1));
        via_file *window = window_of(file, of->starts, of->counts, of->steps);
        memset(values, 0xEE, 4 * COUNT);
        via_array *array = wrap_plain(values, VIA_INT32, 2, of->counts, NULL);
        ok(via_file_write(window, 0, array, NULL));
        via_array *mapped = NULL;
        ok(via_file_array(window, 0, 0, 0, NULL, &mapped));
        assert_shape(mapped, 2, of->counts);
        via_array *back = wrap_plain(found, VIA_INT32, 2, of->counts, NULL);
        ok(via_copy(back, mapped));
        assert_memory_equal(found, values, (size_t)via_array_nbytes(back));
        assert_int_equal(get_file("written", found, 4 * COUNT), 4 * COUNT);
        int64_t changed = 0;
        for (int64_t j = 0; j < COUNT; ++j) {
            changed += found[j] != value_at(j / COLUMNS, j % COLUMNS);
        }
        assert_int_equal(changed, of->counts[0] * of->counts[1]);
        via_array_release(mapped);
        via_array_release(back);
        via_array_release(array);
        via_file_release(window);
        via_file_release(file);
    }
    free(values);
    free(found);
}

static void a_raw_file_grows_with_its_window(void **state) {
    (void)state;
    put_file("grows", "1234", 4);
    via_file *file = open_mode("grows", VIA_MODE_READ_WRITE);
    via_file *window = NULL;
    ok(via_file_window(file, 1, VIA_INT8, 2, SHAPE(3, 5), SHAPE(0, 1), SHAPE(3, 2), NULL, &window));
    char bytes[] = "abcdef";
    via_array *array = wrap_plain(bytes, VIA_INT8, 2, SHAPE(3, 2), NULL);
    ok(via_file_write(window, 0, array, NULL));
    char found[32];
    assert_int_equal(get_file("grows", found, sizeof found), 14);
    assert_memory_equal(found, "12ab\0\0\0cd\0\0\0ef", 14);
    via_array_release(array);
    via_file_release(window);
    via_file_release(file);
}

static void a_window_says_what_it_is(void **state) {
    (void)state;
    put_npy("f.npy", "{'descr': '<i2', 'fortran_order': True, 'shape': (3, 4), }\n", "ABCDEFGHIJKLMNOPQRSTUVWX", 24);
    via_file *file = open_with("f.npy", NULL);
    via_file_properties whole = VIA_FILE_PROPERTIES_INIT;
    ok(via_file_info(file, &whole));
    via_file *window = NULL;
    via_file *inner = NULL;
    ok(via_file_window(file, 0, 0, 0, NULL, SHAPE(1, 0), SHAPE(2, 2), SHAPE(1, 2), &window));
    ok(via_file_window(window, 0, 0, 0, NULL, SHAPE(1, 1), SHAPE(1, 1), NULL, &inner));
    via_file_properties found = VIA_FILE_PROPERTIES_INIT;
    ok(via_file_info(window, &found));
    assert_true(found.file_format == VIA_FORMAT_NPY && found.dtype == VIA_INT16 && found.column_major == 1);
    assert_true(found.ndim == 2 && found.shape[0] == 2 && found.shape[1] == 2 && found.nbytes == whole.nbytes);
    assert_int_equal(found.byte_offset, whole.byte_offset + 2);
    int16_t values[4];
    via_array *array = wrap_plain(values, VIA_INT16, 2, SHAPE(2, 2), NULL);
    ok(via_file_read(window, 0, array, NULL));
    assert_memory_equal(values, "CDOPEFQR", 8);
    via_array_release(array);
    array = wrap_plain(values, VIA_INT16, 0, NULL, NULL);
    ok(via_file_read(inner, 0, array, NULL));
    assert_memory_equal(values, "QR", 2);
    via_array_release(array);
    via_file_release(inner);
    via_file_release(window);
    via_file_release(file);
}

static void what_no_window_is_is_refused_by_name(void **state) {
    (void)state;
    put_table("table");
    via_file *file = open_with("table", NULL);
    via_file *none = NULL;
    const int64_t *shape = SHAPE(ROWS, COLUMNS);
    refused(VIA_ERROR_INVALID_ARGUMENT, "dtype is 0", via_file_window(file, 0, 0, 0, NULL, NULL, NULL, NULL, &none));
    refused(VIA_ERROR_INVALID_ARGUMENT, "byte_offset",
            via_file_window(file, -1, VIA_INT32, 2, shape, NULL, NULL, NULL, &none));
    refused(VIA_ERROR_INDEX, "start[1]",
            via_file_window(file, 0, VIA_INT32, 2, shape, SHAPE(0, COLUMNS), SHAPE(1, 1), NULL, &none));
    refused(VIA_ERROR_INDEX, "count[0]",
            via_file_window(file, 0, VIA_INT32, 2, shape, SHAPE(1, 0), SHAPE(ROWS, 1), NULL, &none));
    refused(VIA_ERROR_INVALID_ARGUMENT, "step[0]",
            via_file_window(file, 0, VIA_INT32, 2, shape, NULL, NULL, SHAPE(0, 1), &none));
    refused(VIA_ERROR_UNSUPPORTED, "packed", via_file_window(file, 0, VIA_INT4, 2, shape, NULL, NULL, NULL, &none));
    refused(VIA_ERROR_OVERFLOW, "",
            via_file_window(file, 0, VIA_INT32, 2, SHAPE(INT64_MAX, 2), NULL, NULL, NULL, &none));
    refused(VIA_ERROR_OVERFLOW, "byte_offset is",
            via_file_window(file, INT64_MAX, VIA_INT32, 1, SHAPE(1), NULL, NULL, NULL, &none));
    assert_null(none);
    via_file_release(file);
}

static void a_window_that_converts_takes_arrays_of_its_dtype_alone(void **state) {
    (void)state;
    put_table("table");
    static int64_t memory[200];
    via_file *file = open_with("table", OPTIONS_OF(.as_bytes = 1));
    via_file *window = window_of(file, SHAPE(0, 0), SHAPE(10, 20), NULL);
    via_file *converting = NULL;
    via_array *same_size = wrap_plain(memory, VIA_INT64, 2, SHAPE(10, 20), NULL);
    via_array *fits = wrap_plain(memory, VIA_FLOAT64, 2, SHAPE(10, 20), NULL);
    ok(via_file_convert(window, VIA_FLOAT64, NULL, &converting));
    refused(VIA_ERROR_DTYPE, "int64; expected float64", via_file_read(converting, 0, same_size, NULL));
    ok(via_file_read(converting, 0, fits, NULL));
    via_array_release(same_size);
    via_array_release(fits);
    via_file_release(converting);
    via_file_release(window);
    via_file_release(file);
}

static void what_does_not_fit_a_window_is_refused_by_name(void **state) {
    (void)state;
    put_table("table");
    via_file *file = open_mode("table", VIA_MODE_READ_WRITE);
    via_file *window = window_of(file, SHAPE(0, 0), SHAPE(10, 20), NULL);
    static int64_t memory[200];
    via_array *fits = wrap_plain(memory, VIA_INT32, 3, SHAPE(10, 1, 20), NULL);
    via_array *transposed = wrap_plain(memory, VIA_INT32, 2, SHAPE(20, 10), NULL);
    via_array *flat = wrap_plain(memory, VIA_INT32, 1, SHAPE(200), NULL);
    via_array *wide = wrap_plain(memory, VIA_INT64, 2, SHAPE(10, 20), NULL);
    via_array *other = wrap_plain(memory, VIA_FLOAT32, 2, SHAPE(10, 20), NULL);
    via_task *task = NULL;
    ok(via_file_read(window, 0, fits, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is 4; expected 0 for a window",
            via_file_read(window, 4, fits, NULL));
    refused(VIA_ERROR_SHAPE, "an extent", via_file_read(window, 0, transposed, NULL));
    refused(VIA_ERROR_SHAPE, "number of axes", via_file_write(window, 0, flat, NULL));
    refused(VIA_ERROR_DTYPE, "int64", via_file_read_submit(window, 0, wide, NULL, &task));
    refused(VIA_ERROR_DTYPE, "float32; expected int32", via_file_write(window, 0, other, NULL));
    via_array *mapped = NULL;
    via_file *none = NULL;
    refused(VIA_ERROR_INVALID_ARGUMENT, "dtype is int32|transferred as a whole",
            via_file_array(window, 0, VIA_INT32, 1, SHAPE(3), &mapped));
    refused(VIA_ERROR_INVALID_ARGUMENT, "transferred as a whole",
            via_file_window(window, 8, 0, 0, NULL, NULL, NULL, NULL, &none));
    via_file *far = NULL;
    ok(via_file_window(file, 4 * COUNT, VIA_INT32, 2, SHAPE(10, 20), NULL, NULL, NULL, &far));
    refused(VIA_ERROR_INVALID_ARGUMENT, "expected bytes within", via_file_read(far, 0, fits, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "expected bytes within", via_file_array(far, 0, 0, 0, NULL, &mapped));
    assert_int_equal(truncate(path_of("table"), 100), 0);
    refused(VIA_ERROR_IO, "which it had before", via_file_read(window, 0, fits, NULL));
    via_array *gone[] = {fits, transposed, flat, wide, other};
    for (int32_t i = 0; i < LENGTH(gone); ++i) {
        via_array_release(gone[i]);
    }
    via_file_release(far);
    via_file_release(window);
    via_file_release(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_read_whether_it_is_cached_or_not),
        cmocka_unit_test(a_cold_window_leaves_the_page_cache_as_it_was),
        cmocka_unit_test(a_write_leaves_what_lies_between_alone),
        cmocka_unit_test(a_raw_file_grows_with_its_window),
        cmocka_unit_test(a_window_says_what_it_is),
        cmocka_unit_test(what_no_window_is_is_refused_by_name),
        cmocka_unit_test(a_window_that_converts_takes_arrays_of_its_dtype_alone),
        cmocka_unit_test(what_does_not_fit_a_window_is_refused_by_name),
    };
    return run_file_tests(tests);
}
