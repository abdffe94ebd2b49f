/* Reading and writing arrays of host memory: any offset, any layout, at once or as a task. */
#define _GNU_SOURCE /* O_DIRECT */

#include <pthread.h>

#include "../repeats.h"
#include "page_cache.h"

enum { LARGE = 5 << 20, ODD = 12345 };

static uint8_t byte_at(int64_t offset) { return (uint8_t)(offset * 7 + offset / 251); }

static uint8_t *pattern(int64_t count) {
    uint8_t *bytes = malloc((size_t)count);
    assert_non_null(bytes);
    for (int64_t i = 0; i < count; ++i) {
        bytes[i] = byte_at(i);
    }
    return bytes;
}

static void put_pattern(const char *name, int64_t count) {
    uint8_t *bytes = pattern(count);
    put_file(name, bytes, (size_t)count);
    free(bytes);
}

static const int32_t every_cache[] = {VIA_PAGE_CACHE_AUTO, VIA_PAGE_CACHE_USE, VIA_PAGE_CACHE_AVOID};

static void any_part_is_read_whether_it_is_cached_or_not(void **state) {
    (void)state;
    static const int64_t parts[][2] = {{0, LARGE + ODD}, {1, LARGE},   {4095, 4098},         {1 << 20, 1 << 20},
                                       {ODD, 3 << 20},   {LARGE, ODD}, {LARGE + ODD - 1, 1}, {7, 0}};
    put_pattern("parts", LARGE + ODD);
    uint8_t *found = malloc(LARGE + ODD);
    for (int32_t cache = 0; cache < LENGTH(every_cache); ++cache) {
        for (int32_t cold = 0; cold < 2; ++cold) {
            via_file *file = open_with("parts", OPTIONS_OF(.page_cache = every_cache[cache]));
            for (int32_t i = 0; i < LENGTH(parts); ++i) {
                const int64_t offset = parts[i][0];
                const int64_t count = parts[i][1];
                if (cold) {
                    evict("parts");
                }
                memset(found, 0, LARGE + ODD);
                via_array *array = wrap_plain(found, VIA_UINT8, 1, SHAPE(count), NULL);
                ok(via_file_read(file, offset, array, NULL));
                via_array_release(array);
                for (int64_t j = 0; j < count; ++j) {
                    assert_int_equal(found[j], byte_at(offset + j));
                }
                assert_true(count == LARGE + ODD || found[count] == 0);
            }
            via_file_release(file);
        }
    }
    free(found);
}

/* The share of the pages of a file of LARGE bytes that are in the page cache. */
static double cached_share(const char *name) { return (double)cached_pages(name) * 4096 / LARGE; }

static void a_large_cold_read_leaves_the_page_cache_as_it_was(void **state) {
    (void)state;
    put_pattern("cold", LARGE);
    evict("cold");
    if (!may_pass_the_cache("cold")) {
        skip();
    }
    uint8_t *found = malloc(LARGE);
    via_array *array = wrap_plain(found, VIA_UINT8, 1, SHAPE(LARGE), NULL);
    for (int32_t cache = 0; cache < LENGTH(every_cache); ++cache) {
        evict("cold");
        via_file *file = open_with("cold", OPTIONS_OF(.page_cache = every_cache[cache]));
        ok(via_file_read(file, 0, array, NULL));
        const double share = cached_share("cold");
        assert_true(every_cache[cache] == VIA_PAGE_CACHE_USE ? share > 0.9 : share < 0.1);
        via_file_release(file);
    }
    via_array_release(array);
    free(found);
}

static void any_part_is_written_and_nothing_else(void **state) {
    (void)state;
    static const int64_t parts[][2] = {{0, LARGE}, {1, 1 << 20}, {4096, 4 << 20}, {ODD, 200000}, {LARGE - 9, 9}};
    uint8_t *bytes = pattern(LARGE);
    uint8_t *found = malloc(LARGE + 1);
    for (int32_t i = 0; i < LENGTH(parts); ++i) {
        for (int32_t how = QUICK_OR(i % 3, 0); how < 8; how += QUICK_OR(3, 1)) {
            const int64_t offset = parts[i][0];
            const int64_t count = parts[i][1];
            memset(found, 0xEE, LARGE);
            put_file("places", found, LARGE);
            via_file *file = open_with(
                "places", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .durable = how & 1, .atomic_write = how >> 1 & 1,
                                     .page_cache = how & 4 ? VIA_PAGE_CACHE_AVOID : 0));
            via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(count), NULL);
            ok(via_file_write(file, offset, array, NULL));
            via_array_release(array);
            via_file_release(file);
            assert_int_equal(get_file("places", found, LARGE + 1), LARGE);
            for (int64_t j = 0; j < LARGE; ++j) {
                const int64_t place = j - offset;
                assert_int_equal(found[j], place >= 0 && place < count ? byte_at(place) : 0xEE);
            }
        }
    }
    free(found);
    free(bytes);
}

/* A view of `memory`, and a dense array of the same shape that holds what it holds. */
typedef struct sample {
    via_array *view;
    via_array *dense;
} sample;

static sample make_sample(int32_t number, int32_t *memory, via_array **out_whole) {
    via_array *whole = wrap_plain(memory, VIA_INT32, 3, SHAPE(60, 70, 80), NULL);
    sample made = {NULL, NULL};
    switch (number) {
        case 0:
            ok(via_array_permute(whole, NULL, &made.view));
            break;
        case 1:
            ok(via_array_permute(whole, AXES(1, 0, 2), &made.view));
            break;
        case 2:
            ok(via_array_slice(whole, SHAPE(59, 0, 79), SHAPE(30, 70, 40), SHAPE(-2, 1, -2), &made.view));
            break;
        case 3:
            ok(via_array_slice(whole, SHAPE(1, 1, 1), SHAPE(58, 68, 78), NULL, &made.view));
            break;
        case 4:
            ok(via_array_select(whole, 2, 7, &made.view));
            break;
        case 5:
            ok(via_array_field(whole, 1, VIA_INT16, 0, NULL, &made.view));
            break;
        default:
            ok(via_array_slice(whole, NULL, SHAPE(1, 1, 80), SHAPE(1, 1, 1), &made.view));
            break;
    }
    *out_whole = whole;
    ok(via_empty(NULL, via_array_dtype(made.view), via_array_ndim(made.view), via_array_shape(made.view), NULL,
                 &made.dense));
    ok(via_copy(made.dense, made.view));
    return made;
}

enum { SAMPLES = 7, NUMBERS_OF_SAMPLE = 60 * 70 * 80 };

static void arrays_of_any_layout_are_written_as_their_elements_follow_one_another(void **state) {
    (void)state;
    int32_t *memory = (int32_t *)pattern(4 * NUMBERS_OF_SAMPLE);
    char *found = malloc(4 * NUMBERS_OF_SAMPLE);
    for (int32_t i = 0; i < SAMPLES; ++i) {
        via_array *whole = NULL;
        const sample given = make_sample(i, memory, &whole);
        const int64_t nbytes = via_array_nbytes(given.view);
        via_file *file = create_with("strided", VIA_UINT8, 1, SHAPE(nbytes), NULL);
        ok(via_file_write(file, 0, given.view, NULL));
        via_file_release(file);
        assert_int_equal(get_file("strided", found, 4 * NUMBERS_OF_SAMPLE), nbytes);
        assert_memory_equal(found, via_array_data(given.dense), (size_t)nbytes);
        via_array_release(whole);
        via_array_release(given.view);
        via_array_release(given.dense);
    }
    free(found);
    free(memory);
}

static void arrays_of_any_layout_are_read_and_their_gaps_left_alone(void **state) {
    (void)state;
    for (int32_t i = 0; i < SAMPLES; ++i) {
        int32_t *memory = (int32_t *)pattern(4 * NUMBERS_OF_SAMPLE);
        via_array *whole = NULL;
        const sample given = make_sample(i, memory, &whole);
        const int64_t nbytes = via_array_nbytes(given.view);
        put_file("strided", via_array_data(given.dense), (size_t)nbytes);
        ok(via_fill(given.view, NULL, NULL));
        via_file *file = open_with("strided", NULL);
        ok(via_file_read(file, 0, given.view, NULL));
        via_file_release(file);
        for (int64_t j = 0; j < 4 * NUMBERS_OF_SAMPLE; ++j) {
            assert_int_equal(((uint8_t *)memory)[j], byte_at(j));
        }
        via_array_release(whole);
        via_array_release(given.view);
        via_array_release(given.dense);
        free(memory);
    }
}

/* Larger than what is moved at a time, and apart. */
static void elements_of_any_size_are_written_and_read(void **state) {
    (void)state;
    enum { BYTES = (3 << 20) + ODD, COUNT = 3 };
    uint8_t *expected = pattern(2 * BYTES * COUNT);
    uint8_t *bytes = pattern(2 * BYTES * COUNT);
    uint8_t *found = malloc(BYTES * COUNT);
    via_array *whole = wrap_plain(bytes, via_dtype_record(BYTES), 1, SHAPE(2 * COUNT), NULL);
    via_array *apart = NULL;
    ok(via_array_slice(whole, NULL, SHAPE(COUNT), SHAPE(2), &apart));
    via_file *file = create_with("records", VIA_UINT8, 1, SHAPE(BYTES * COUNT), NULL);
    ok(via_file_write(file, 0, apart, NULL));
    assert_int_equal(get_file("records", found, BYTES * COUNT), BYTES * COUNT);
    for (int32_t i = 0; i < COUNT; ++i) {
        assert_memory_equal(found + i * BYTES, expected + 2 * i * BYTES, BYTES);
    }
    ok(via_fill(apart, NULL, NULL));
    ok(via_file_read(file, 0, apart, NULL));
    assert_memory_equal(bytes, expected, 2 * BYTES * COUNT);
    via_file_release(file);
    via_array_release(apart);
    via_array_release(whole);
    free(found);
    free(bytes);
    free(expected);
}

static void a_file_in_fortran_order_gives_and_takes_elements_in_that_order(void **state) {
    (void)state;
    int32_t numbers[6] = {0, 1, 2, 3, 4, 5};
    int32_t found[6];
    via_array *array = wrap_plain(numbers, VIA_INT32, 2, SHAPE(2, 3), NULL);
    via_file *file = create_with("transposed.npy", VIA_INT32, 2, SHAPE(2, 3), OPTIONS_OF(.column_major = 1));
    ok(via_file_write(file, 0, array, NULL));
    via_array *mapped = map_as(file, 0, 0, 0, NULL);
    assert_memory_equal(via_array_data(mapped), ((int32_t[]){0, 3, 1, 4, 2, 5}), sizeof numbers);
    via_array_release(mapped);
    via_array_release(array);
    array = wrap_plain(found, VIA_INT32, 2, SHAPE(2, 3), NULL);
    ok(via_file_read(file, 0, array, NULL));
    assert_memory_equal(found, numbers, sizeof numbers);
    via_array_release(array);
    via_file_release(file);
}

static via_array *wrap_shape(void *data, int32_t dtype, int32_t ndim, const int64_t *shape) {
    return wrap_plain(data, dtype, ndim, shape, NULL);
}

/* What a header describes is not read or written as something else: not even if the bytes would fit. */
static void a_npy_file_takes_an_array_of_its_own_shape_and_type_and_no_other(void **state) {
    (void)state;
    float numbers[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    char before[256];
    char after[256];
    uint8_t memory[128];
    const struct {
        int32_t dtype;
        int32_t ndim;
        int64_t shape[4];
        int64_t byte_offset;
        via_status status;
        const char *words;
    } wrong[] = {
        {VIA_FLOAT32, 1, {5}, 0, VIA_ERROR_SHAPE, "expected 2, that of the file"},
        {VIA_FLOAT32, 1, {12}, 0, VIA_ERROR_SHAPE, "expected 2, that of the file"},
        {VIA_FLOAT32, 2, {4, 3}, 0, VIA_ERROR_SHAPE, "4; expected 3, that of the file"},
        {VIA_FLOAT32, 2, {2, 4}, 0, VIA_ERROR_SHAPE, "2; expected 3, that of the file"},
        {VIA_FLOAT32, 2, {3, 0}, 0, VIA_ERROR_SHAPE, "0; expected 4, that of the file"},
        {VIA_FLOAT32, 3, {3, 2, 2}, 0, VIA_ERROR_SHAPE, "3; expected 2, that of the file"},
        {VIA_FLOAT32, 1, {2}, 3, VIA_ERROR_INVALID_ARGUMENT, "byte_offset is 3; expected 0"},
        {VIA_FLOAT32, 2, {2, 4}, 16, VIA_ERROR_INVALID_ARGUMENT, "byte_offset is 16; expected 0"},
        {VIA_FLOAT32, 2, {3, 4}, -1, VIA_ERROR_INVALID_ARGUMENT, "byte_offset is -1; expected 0"},
        {VIA_INT32, 2, {3, 4}, 0, VIA_ERROR_DTYPE, "dtype of the array is int32; expected float32, that of the file"},
        {VIA_UINT8, 2, {3, 16}, 0, VIA_ERROR_DTYPE, "dtype of the array is uint8; expected float32, that of the file"},
        {-4, 2, {3, 4}, 0, VIA_ERROR_DTYPE, "dtype of the array is record4; expected float32, that of the file"},
        {VIA_FLOAT64,
         2,
         {3, 2},
         0,
         VIA_ERROR_DTYPE,
         "dtype of the array is float64; expected float32, that of the file"},
    };
    for (int32_t column_major = 0; column_major < 2; ++column_major) {
        via_file *file =
            create_with("typed.npy", VIA_FLOAT32, 2, SHAPE(3, 4), OPTIONS_OF(.column_major = column_major));
        via_array *whole = wrap_shape(numbers, VIA_FLOAT32, 2, SHAPE(3, 4));
        ok(via_file_write(file, 0, whole, NULL));
        const size_t size = get_file("typed.npy", before, sizeof before);
        for (int32_t i = 0; i < LENGTH(wrong); ++i) {
            memset(memory, 7, sizeof memory);
            via_task *task = NULL;
            via_array *array = wrap_shape(memory, wrong[i].dtype, wrong[i].ndim, wrong[i].shape);
            const int64_t at = wrong[i].byte_offset;
            refused(wrong[i].status, wrong[i].words, via_file_read(file, at, array, NULL));
            refused(wrong[i].status, wrong[i].words, via_file_write(file, at, array, NULL));
            refused(wrong[i].status, wrong[i].words, via_file_read_submit(file, at, array, NULL, &task));
            refused(wrong[i].status, wrong[i].words, via_file_write_submit(file, at, array, NULL, &task));
            assert_null(task);
            for (size_t k = 0; k < sizeof memory; ++k) {
                assert_int_equal(memory[k], 7);
            }
            via_array_release(array);
        }
        assert_int_equal(get_file("typed.npy", after, sizeof after), size);
        assert_memory_equal(before, after, size);
        via_array_release(whole);
        via_file_release(file);
    }
}

static void axes_of_extent_1_are_no_other_shape(void **state) {
    (void)state;
    float numbers[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    float found[12] = {0};
    via_file *file = create_with("ones.npy", VIA_FLOAT32, 3, SHAPE(3, 1, 4), OPTIONS_OF(.column_major = 1));
    via_array *source = wrap_shape(numbers, VIA_FLOAT32, 2, SHAPE(3, 4));
    via_array *target = wrap_shape(found, VIA_FLOAT32, 4, SHAPE(1, 3, 4, 1));
    ok(via_file_write(file, 0, source, NULL));
    ok(via_file_read(file, 0, target, NULL));
    assert_memory_equal(found, numbers, sizeof found);
    via_array_release(target);
    via_array_release(source);
    via_file_release(file);
}

static void as_bytes_a_npy_file_is_read_and_written_as_a_raw_one(void **state) {
    (void)state;
    float numbers[6] = {0, 1, 2, 3, 4, 5};
    uint8_t bytes[sizeof numbers];
    double wide[2] = {0, 0};
    via_file *file = create_with("bytes.npy", VIA_FLOAT32, 2, SHAPE(2, 3), OPTIONS_OF(.as_bytes = 1));
    via_array *array = wrap_shape(numbers, VIA_FLOAT32, 1, SHAPE(6));
    via_array *of_bytes = wrap_shape(bytes, VIA_UINT8, 1, SHAPE(sizeof bytes));
    via_array *of_double = wrap_shape(wide, VIA_FLOAT64, 1, SHAPE(2));
    ok(via_file_write(file, 0, array, NULL));
    ok(via_file_read(file, 0, of_bytes, NULL));
    assert_memory_equal(bytes, numbers, sizeof numbers);
    ok(via_file_read(file, 3, of_double, NULL));
    assert_memory_equal(wide, bytes + 3, sizeof wide);
    refused(VIA_ERROR_INVALID_ARGUMENT, "the end of the .npy file", via_file_write(file, 1, of_bytes, NULL));
    via_file *window = NULL;
    ok(via_file_window(file, 0, 0, 0, NULL, SHAPE(0, 1), SHAPE(1, 2), NULL, &window));
    via_array *one = wrap_shape(wide, VIA_INT64, 1, SHAPE(1));
    refused(VIA_ERROR_DTYPE, "int64", via_file_read(window, 0, one, NULL));
    via_array *two = wrap_shape(wide, VIA_INT32, 1, SHAPE(2));
    ok(via_file_read(window, 0, two, NULL));
    assert_memory_equal(wide, numbers + 1, 8);
    via_array_release(two);
    via_array_release(one);
    via_file_release(window);
    via_array_release(of_double);
    via_array_release(of_bytes);
    via_array_release(array);
    via_file_release(file);
}

static void a_raw_file_grows_and_a_npy_file_does_not(void **state) {
    (void)state;
    uint8_t bytes[16] = {1, 2, 3};
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(16), NULL);
    via_file *file = create_with("growing", VIA_UINT8, 1, SHAPE(0), NULL);
    ok(via_file_write(file, 100, array, NULL));
    assert_int_equal(size_of_file("growing"), 116);
    ok(via_file_read(file, 100, array, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "101 to 117", via_file_read(file, 101, array, NULL));
    via_file_release(file);
    file = create_with("fixed.npy", VIA_UINT8, 1, SHAPE(20), OPTIONS_OF(.as_bytes = 1));
    ok(via_file_write(file, 4, array, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "the end of the .npy file", via_file_write(file, 5, array, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is -1", via_file_write(file, -1, array, NULL));
    refused(VIA_ERROR_OVERFLOW, "byte_offset", via_file_write(file, INT64_MAX, array, NULL));
    assert_int_equal(size_of_file("fixed.npy"), 128 + 20);
    via_file_release(file);
    via_array_release(array);
}

static void what_cannot_be_written_or_read_is_refused_untouched(void **state) {
    (void)state;
    uint8_t bytes[64] = {9};
    put_pattern("kept", 64);
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(64), NULL);
    via_array *constant = NULL;
    ok(via_array_as_read_only(array, &constant));
    via_array *folded = wrap_strided(bytes, VIA_UINT8, 2, SHAPE(4, 4), SHAPE(2, 1));
    via_array *packed = wrap_plain(bytes, VIA_INT4, 2, SHAPE(4, 8), NULL);
    via_array *apart = NULL;
    ok(via_array_slice(packed, NULL, SHAPE(4, 6), NULL, &apart));
    for (int32_t mode = 0; mode < 3; mode += 2) {
        via_file *file = open_mode("kept", mode);
        refused(VIA_ERROR_READ_ONLY, "mode is not VIA_MODE_READ_WRITE; expected that to write, in Python 'r+'",
                via_file_write(file, 0, array, NULL));
        refused(VIA_ERROR_READ_ONLY, "dst", via_file_read(file, 0, constant, NULL));
        refused(VIA_ERROR_OVERLAP, "share bytes", via_file_read(file, 0, folded, NULL));
        refused(VIA_ERROR_UNSUPPORTED, "int4|expected adjacent elements", via_file_read(file, 0, apart, NULL));
        refused(VIA_ERROR_INVALID_ARGUMENT, "expected bytes within its 64", via_file_read(file, 1, array, NULL));
        via_task *task = NULL;
        refused(VIA_ERROR_READ_ONLY, "dst", via_file_read_submit(file, 0, constant, NULL, &task));
        assert_null(task);
        refused(VIA_ERROR_READ_ONLY, "mode is not VIA_MODE_READ_WRITE",
                via_file_write_submit(file, 0, array, NULL, &task));
        via_file_release(file);
    }
    assert_int_equal(bytes[0], 9);
    via_array_release(apart);
    via_array_release(packed);
    via_array_release(folded);
    via_array_release(constant);
    via_array_release(array);
}

static void a_file_that_was_cut_short_fails_instead_of_crashing(void **state) {
    (void)state;
    put_pattern("shrinks", LARGE);
    via_file *file = open_with("shrinks", NULL);
    uint8_t *bytes = malloc(LARGE);
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(LARGE), NULL);
    assert_int_equal(truncate(path_of("shrinks"), ODD), 0);
    refused(VIA_ERROR_IO, "12345 bytes|expected 5242880", via_file_read(file, 0, array, NULL));
    via_array_release(array);
    via_file_release(file);
    free(bytes);
}

static void a_task_reads_behind_the_caller_and_reports_how_far_it_is(void **state) {
    (void)state;
    put_pattern("task", LARGE);
    via_file *file = open_with("task", NULL);
    uint8_t *bytes = malloc(LARGE);
    atomic_int released = 0;
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(LARGE), &released);
    via_task *task = NULL;
    ok(via_file_read_submit(file, 0, array, NULL, &task));
    via_file_release(file);
    ok(via_array_synchronize(array));
    assert_int_equal(bytes[LARGE - 1], byte_at(LARGE - 1));
    via_array_release(array);
    ok(via_task_wait(task));
    int64_t done = 0;
    int64_t total = 0;
    ok(via_task_progress(task, &done, &total));
    assert_int_equal(done, LARGE);
    assert_int_equal(total, LARGE);
    via_task_release(task);
    assert_int_equal(released, 1);
    free(bytes);
}

static void a_task_writes_behind_the_caller(void **state) {
    (void)state;
    uint8_t *bytes = pattern(LARGE);
    via_file *file = create_with("written", VIA_UINT8, 1, SHAPE(LARGE), NULL);
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(LARGE), NULL);
    via_task *task = NULL;
    ok(via_file_write_submit(file, 0, array, via_stream_no_sync(), &task));
    via_array_release(array);
    via_file_release(file);
    ok(via_task_wait(task));
    via_task_release(task);
    uint8_t *found = malloc(LARGE);
    assert_int_equal(get_file("written", found, LARGE), LARGE);
    assert_memory_equal(found, bytes, LARGE);
    free(found);
    free(bytes);
}

static void a_task_comes_after_the_one_that_fills_its_array(void **state) {
    (void)state;
    put_pattern("chain", LARGE);
    via_file *from = open_with("chain", NULL);
    via_file *to = create_with("copy", VIA_UINT8, 1, SHAPE(LARGE), NULL);
    via_array *array = NULL;
    ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(LARGE), NULL, &array));
    via_task *read = NULL;
    via_task *write = NULL;
    ok(via_file_read_submit(from, 0, array, NULL, &read));
    ok(via_file_write_submit(to, 0, array, NULL, &write));
    ok(via_task_wait(write));
    uint8_t *found = malloc(LARGE);
    assert_int_equal(get_file("copy", found, LARGE), LARGE);
    assert_memory_equal(found, via_array_data(array), LARGE);
    free(found);
    via_task_release(read);
    via_task_release(write);
    via_array_release(array);
    via_file_release(from);
    via_file_release(to);
}

static void a_cancelled_task_ends_as_such_or_is_done(void **state) {
    (void)state;
    put_pattern("cancel", LARGE);
    via_file *file = open_with("cancel", NULL);
    uint8_t *bytes = malloc(LARGE);
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(LARGE), NULL);
    for (int32_t i = 0; i < 50; ++i) {
        via_task *task = NULL;
        ok(via_file_read_submit(file, 0, array, NULL, &task));
        ok(via_task_cancel(task));
        const via_status status = via_task_wait(task);
        int64_t done = 0;
        int64_t total = 0;
        ok(via_task_progress(task, &done, &total));
        assert_true(status == VIA_OK ? done == total : status == VIA_ERROR_CANCELLED && done <= total);
        via_task_release(task);
    }
    via_array_release(array);
    via_file_release(file);
    free(bytes);
}

typedef struct reader {
    pthread_t thread;
    via_file *file;
    int64_t offset;
    int32_t good;
} reader;

static void *read_often(void *context) {
    reader *self = context;
    uint8_t *bytes = malloc(1 << 20);
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(1 << 20), NULL);
    for (int32_t i = 0; i < 20; ++i) {
        const int64_t offset = self->offset + i;
        self->good += via_file_read(self->file, offset, array, NULL) == VIA_OK && bytes[77] == byte_at(offset + 77);
    }
    via_array_release(array);
    free(bytes);
    return NULL;
}

static void any_number_of_threads_read_one_file(void **state) {
    (void)state;
    put_pattern("threads", LARGE);
    via_file *file = open_with("threads", NULL);
    reader readers[4] = {0};
    for (int32_t i = 0; i < LENGTH(readers); ++i) {
        readers[i].file = file;
        readers[i].offset = i * 1000003;
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_often, &readers[i]), 0);
    }
    for (int32_t i = 0; i < LENGTH(readers); ++i) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].good, 20);
    }
    via_file_release(file);
}

static void a_mapping_sees_what_is_written_past_the_cache(void **state) {
    (void)state;
    uint8_t *bytes = pattern(LARGE);
    via_file *file = create_with("both", VIA_UINT8, 1, SHAPE(LARGE), OPTIONS_OF(.page_cache = VIA_PAGE_CACHE_AVOID));
    via_array *mapped = map_as(file, 0, VIA_UINT8, 1, SHAPE(LARGE));
    ok(via_fill(mapped, &(const uint8_t){5}, NULL));
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(LARGE - 2), NULL);
    ok(via_file_write(file, 1, array, NULL));
    const uint8_t *found = via_array_data(mapped);
    assert_int_equal(found[0], 5);
    assert_memory_equal(found + 1, bytes, LARGE - 2);
    assert_int_equal(found[LARGE - 1], 5);
    via_array_release(array);
    via_array_release(mapped);
    via_file_release(file);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(any_part_is_read_whether_it_is_cached_or_not),
        TEST(a_large_cold_read_leaves_the_page_cache_as_it_was),
        TEST(any_part_is_written_and_nothing_else),
        TEST(arrays_of_any_layout_are_written_as_their_elements_follow_one_another),
        TEST(arrays_of_any_layout_are_read_and_their_gaps_left_alone),
        TEST(elements_of_any_size_are_written_and_read),
        TEST(a_file_in_fortran_order_gives_and_takes_elements_in_that_order),
        TEST(a_npy_file_takes_an_array_of_its_own_shape_and_type_and_no_other),
        TEST(axes_of_extent_1_are_no_other_shape),
        TEST(as_bytes_a_npy_file_is_read_and_written_as_a_raw_one),
        TEST(a_raw_file_grows_and_a_npy_file_does_not),
        TEST(what_cannot_be_written_or_read_is_refused_untouched),
        TEST(a_file_that_was_cut_short_fails_instead_of_crashing),
        TEST(a_task_reads_behind_the_caller_and_reports_how_far_it_is),
        TEST(a_task_writes_behind_the_caller),
        TEST(a_task_comes_after_the_one_that_fills_its_array),
        TEST(a_cancelled_task_ends_as_such_or_is_done),
        TEST(any_number_of_threads_read_one_file),
        TEST(a_mapping_sees_what_is_written_past_the_cache),
    };
    return run_file_tests(tests);
}
