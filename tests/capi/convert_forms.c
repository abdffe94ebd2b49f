/* Conversions on the way: of the elements of files, of the tensors of archives, and in batches. */
#include "file_support.h"

#define CONVERSION(...) (&(const via_convert_options){.struct_size = (int32_t)sizeof(via_convert_options), __VA_ARGS__})

enum { ROWS = 3, COLUMNS = 4, COUNT = ROWS * COLUMNS };

static const double kFirst = -4.5;

/* -- files --------------------------------------------------------------------------------------------------------- */

/* A .npy file of float64 numbers, `first` and on. */
static void put_numbers(const char *name, double first) {
    double numbers[COUNT];
    for (int32_t i = 0; i < COUNT; ++i) {
        numbers[i] = first + i;
    }
    via_array *array = wrap_plain(numbers, VIA_FLOAT64, 2, SHAPE(ROWS, COLUMNS), NULL);
    ok(via_save(path_of(name), array, NULL));
    via_array_release(array);
}

static void expect_file(const char *name, double first) {
    via_array *array = NULL;
    ok(via_load(path_of(name), NULL, NULL, &array));
    assert_int_equal(via_array_dtype(array), VIA_FLOAT64);
    for (int32_t i = 0; i < COUNT; ++i) {
        assert_true(((const double *)via_array_data(array))[i] == first + i);
    }
    via_array_release(array);
}

static via_file *convert_file(via_file *file, int32_t dtype, const via_convert_options *options) {
    via_file *converted = NULL;
    ok(via_file_convert(file, dtype, options, &converted));
    assert_non_null(converted);
    return converted;
}

/* A file of kFirst and on, which its conversion alone holds. */
static via_file *open_converted(const char *name, int32_t mode, int32_t dtype, const via_convert_options *options) {
    put_numbers(name, kFirst);
    via_file *file = open_mode(name, mode);
    via_file *converted = convert_file(file, dtype, options);
    via_file_release(file);
    return converted;
}

static void wait_for(via_task *task) {
    ok(via_task_wait(task));
    via_task_release(task);
}

static void a_file_is_read_in_another_dtype_at_once_and_as_a_task(void **state) {
    (void)state;
    float rows[COUNT] = {0};
    float columns[COUNT] = {0};
    via_file *file = open_converted("read.npy", VIA_MODE_READ, VIA_FLOAT32, NULL);
    via_array *dense = wrap_plain(rows, VIA_FLOAT32, 2, SHAPE(ROWS, COLUMNS), NULL);
    via_array *transposed = wrap_strided(columns, VIA_FLOAT32, 2, SHAPE(ROWS, COLUMNS), SHAPE(4, 4 * ROWS));
    via_task *task = NULL;
    ok(via_file_read(file, 0, dense, NULL));
    ok(via_file_read_submit(file, 0, transposed, NULL, &task));
    via_file_release(file);
    wait_for(task);
    for (int32_t i = 0; i < COUNT; ++i) {
        assert_true(rows[i] == (float)kFirst + (float)i);
        assert_true(columns[i % COLUMNS * ROWS + i / COLUMNS] == rows[i]);
    }
    via_array_release(transposed);
    via_array_release(dense);
}

static void a_file_is_written_in_its_own_dtype_at_once_and_as_a_task(void **state) {
    (void)state;
    int16_t numbers[COUNT];
    via_file *file = open_converted("written.npy", VIA_MODE_READ_WRITE, VIA_INT16, NULL);
    via_array *array = wrap_plain(numbers, VIA_INT16, 2, SHAPE(ROWS, COLUMNS), NULL);
    for (int16_t first = 100; first <= 200; first = (int16_t)(first + 100)) {
        via_task *task = NULL;
        for (int16_t i = 0; i < COUNT; ++i) {
            numbers[i] = (int16_t)(first + i);
        }
        if (first == 100) {
            ok(via_file_write(file, 0, array, NULL));
        } else {
            ok(via_file_write_submit(file, 0, array, NULL, &task));
            wait_for(task);
        }
        expect_file("written.npy", first);
    }
    via_array_release(array);
    via_file_release(file);
}

static void arrays_that_do_not_fit_are_refused_and_nothing_is_touched(void **state) {
    (void)state;
    double numbers[COUNT];
    double before[COUNT];
    memset(numbers, 0xEE, sizeof numbers);
    memcpy(before, numbers, sizeof before);
    via_file *file = open_converted("fits.npy", VIA_MODE_READ_WRITE, VIA_FLOAT32, NULL);
    via_array *other = wrap_plain(numbers, VIA_FLOAT64, 2, SHAPE(ROWS, COLUMNS), NULL);
    via_array *flat = wrap_plain(numbers, VIA_FLOAT32, 1, SHAPE(COUNT), NULL);
    via_task *task = NULL;
    const char *words = "dtype of the array is float64; expected float32";
    refused(VIA_ERROR_DTYPE, words, via_file_read(file, 0, other, NULL));
    refused(VIA_ERROR_DTYPE, words, via_file_write(file, 0, other, NULL));
    refused(VIA_ERROR_DTYPE, words, via_file_read_submit(file, 0, other, NULL, &task));
    refused(VIA_ERROR_DTYPE, words, via_file_write_submit(file, 0, other, NULL, &task));
    refused(VIA_ERROR_SHAPE, "the number of axes", via_file_read(file, 0, flat, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is 4", via_file_write(file, 4, flat, NULL));
    assert_null(task);
    assert_memory_equal(numbers, before, sizeof before);
    expect_file("fits.npy", kFirst);
    via_array_release(flat);
    via_array_release(other);
    via_file_release(file);
}

static void the_casting_rule_is_that_of_the_direction(void **state) {
    (void)state;
    int32_t numbers[COUNT];
    for (int32_t i = 0; i < COUNT; ++i) {
        numbers[i] = i;
    }
    via_file *file = open_converted("rule.npy", VIA_MODE_READ_WRITE, VIA_INT32, NULL);
    via_array *array = wrap_plain(numbers, VIA_INT32, 2, SHAPE(ROWS, COLUMNS), NULL);
    refused(VIA_ERROR_DTYPE, "same_kind|float64|int32", via_file_read(file, 0, array, NULL));
    assert_int_equal(numbers[COUNT - 1], COUNT - 1);
    ok(via_file_write(file, 0, array, NULL));
    expect_file("rule.npy", 0);
    via_array_release(array);
    via_file_release(file);
    file = open_mode("rule.npy", VIA_MODE_READ);
    refused(VIA_ERROR_DTYPE, "same_kind|float64|int32", via_file_convert(file, VIA_INT32, NULL, &(via_file *){NULL}));
    via_file_release(file);
}

static void a_file_that_converts_has_no_windows_and_no_mapping(void **state) {
    (void)state;
    via_file *file = open_converted("whole.npy", VIA_MODE_READ, VIA_FLOAT32, NULL);
    via_file *window = NULL;
    via_array *mapped = NULL;
    refused(VIA_ERROR_UNSUPPORTED, "converts float64 to float32|a window",
            via_file_window(file, 0, 0, 0, NULL, SHAPE(0, 0), SHAPE(1, 1), NULL, &window));
    refused(VIA_ERROR_UNSUPPORTED, "converts float64 to float32|a mapping",
            via_file_array(file, 0, 0, 0, NULL, &mapped));
    assert_null(window);
    assert_null(mapped);
    via_file_release(file);
}

static void a_window_of_a_raw_file_converts_in_either_byte_order(void **state) {
    (void)state;
    int32_t wide[3] = {0};
    double doubles[3] = {0};
    const uint8_t big[] = {0xAA, 0x00, 0x01, 0xFF, 0xFE, 0x7F, 0xFF}; /* a byte, then 1, -2 and 32767 */
    const uint8_t written[] = {0xAA, 0xFF, 0xFD, 0x01, 0x00, 0x00, 0x05};
    uint8_t found[8];
    put_file("big.raw", big, sizeof big);
    via_file *file = open_mode("big.raw", VIA_MODE_READ_WRITE);
    via_file *window = NULL;
    refused(VIA_ERROR_INVALID_ARGUMENT, "the file is raw", via_file_convert(file, VIA_INT32, NULL, &window));
    ok(via_file_window(file, 1, VIA_INT16, 1, SHAPE(3), NULL, NULL, NULL, &window));
    via_file *converted = convert_file(window, VIA_INT32, CONVERSION(.byte_order = VIA_BYTE_ORDER_BIG));
    via_file *again = convert_file(converted, VIA_FLOAT64, NULL);
    via_array *array = wrap_plain(wide, VIA_INT32, 1, SHAPE(3), NULL);
    via_array *other = wrap_plain(doubles, VIA_FLOAT64, 1, SHAPE(3), NULL);
    ok(via_file_read(converted, 0, array, NULL));
    assert_true(wide[0] == 1 && wide[1] == -2 && wide[2] == 32767);
    ok(via_file_read(again, 0, other, NULL));
    assert_true(doubles[0] == 1 && doubles[1] == -2 && doubles[2] == 32767);
    memcpy(wide, (const int32_t[]){-3, 256, 5}, sizeof wide);
    ok(via_file_write(converted, 0, array, NULL));
    assert_int_equal(get_file("big.raw", found, sizeof found), sizeof written);
    assert_memory_equal(found, written, sizeof written);
    via_array_release(other);
    via_array_release(array);
    via_file *files[] = {again, converted, window, file};
    for (int32_t i = 0; i < LENGTH(files); ++i) {
        via_file_release(files[i]);
    }
}

/* The numbers 1 to 6, of which each column has two. */
static void a_file_that_converts_says_the_dtype_and_the_order_of_arrays(void **state) {
    (void)state;
    const uint8_t big[] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
    float numbers[6] = {0};
    put_npy("big.npy", "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", big, sizeof big);
    via_file *file = open_with("big.npy", NULL);
    via_file *converted = convert_file(file, VIA_FLOAT32, NULL);
    via_file_properties whole = VIA_FILE_PROPERTIES_INIT;
    via_file_properties found = VIA_FILE_PROPERTIES_INIT;
    ok(via_file_info(file, &whole));
    ok(via_file_info(converted, &found));
    assert_true(whole.dtype == VIA_INT16 && whole.byte_order == VIA_BYTE_ORDER_BIG);
    assert_true(found.dtype == VIA_FLOAT32 && found.byte_order == VIA_BYTE_ORDER_NATIVE);
    assert_true(found.file_format == VIA_FORMAT_NPY && found.column_major == 1 && found.ndim == 2);
    assert_numbers(found.shape, SHAPE(2, 3), 2);
    assert_true(found.nbytes == whole.nbytes && found.byte_offset == whole.byte_offset);
    via_array *array = wrap_plain(numbers, VIA_FLOAT32, 2, SHAPE(2, 3), NULL);
    ok(via_file_read(converted, 0, array, NULL));
    assert_memory_equal(numbers, ((const float[]){1, 3, 5, 2, 4, 6}), sizeof numbers);
    via_array_release(array);
    via_file_release(converted);
    via_file_release(file);
}

static void scales_go_along_an_axis_of_the_file_and_are_read_on_return(void **state) {
    (void)state;
    float numbers[COUNT] = {0};
    float scales[COLUMNS] = {1, 2, -3, 0.5F};
    float offsets[COLUMNS] = {10, 20, 30, 40};
    via_file *file =
        open_converted("scaled.npy", VIA_MODE_READ, VIA_FLOAT32,
                       CONVERSION(.scale = scales, .offset = offsets, .scale_count = COLUMNS, .scale_axis = -1));
    const float kept_scales[] = {1, 2, -3, 0.5F};
    const float kept_offsets[] = {10, 20, 30, 40};
    memset(scales, 0xFF, sizeof scales);
    memset(offsets, 0xFF, sizeof offsets);
    via_array *array = wrap_plain(numbers, VIA_FLOAT32, 2, SHAPE(ROWS, COLUMNS), NULL);
    ok(via_file_read(file, 0, array, NULL));
    for (int32_t i = 0; i < COUNT; ++i) {
        const float number = (float)kFirst + (float)i;
        assert_true(numbers[i] == number * kept_scales[i % COLUMNS] + kept_offsets[i % COLUMNS]);
    }
    via_array_release(array);
    via_file_release(file);
}

static void what_cannot_be_converted_is_refused_by_name(void **state) {
    (void)state;
    float scales[2] = {1, 2};
    const struct {
        via_status status;
        const char *words;
        int32_t dtype;
        const via_convert_options *options;
    } rows[] = {
        {VIA_ERROR_DTYPE, "dtype is 0x00000000", 0, NULL},
        {VIA_ERROR_DTYPE, "equiv|float64|float32|same_kind", VIA_FLOAT32, CONVERSION(.casting = VIA_CASTING_EQUIV)},
        {VIA_ERROR_DTYPE, "int32", VIA_INT32, CONVERSION(.casting = VIA_CASTING_UNSAFE, .scale = scales)},
        {VIA_ERROR_SHAPE, "options.scale_count is 2", VIA_FLOAT32, CONVERSION(.scale = scales, .scale_count = 2)},
        {VIA_ERROR_INDEX, "options.scale_axis is 2", VIA_FLOAT32,
         CONVERSION(.scale = scales, .scale_count = 2, .scale_axis = 2)},
        {VIA_ERROR_INVALID_ARGUMENT, "options.byte_order is VIA_BYTE_ORDER_BIG|.npy", VIA_FLOAT32,
         CONVERSION(.byte_order = VIA_BYTE_ORDER_BIG)},
        {VIA_ERROR_INVALID_ARGUMENT, "options.casting is 9", VIA_FLOAT32, CONVERSION(.casting = 9)},
        {VIA_ERROR_INVALID_ARGUMENT, "options.overflow is -1", VIA_FLOAT32, CONVERSION(.overflow = -1)},
    };
    put_numbers("refused.npy", kFirst);
    via_file *file = open_with("refused.npy", NULL);
    via_file *none = NULL;
    for (int32_t i = 0; i < LENGTH(rows); ++i) {
        refused(rows[i].status, rows[i].words, via_file_convert(file, rows[i].dtype, rows[i].options, &none));
        assert_null(none);
    }
    via_file_release(file);
    file = open_with("refused.npy", OPTIONS_OF(.as_bytes = 1));
    refused(VIA_ERROR_UNSUPPORTED, "as_bytes", via_file_convert(file, VIA_FLOAT32, NULL, &none));
    via_file_release(file);
}

/* -- archives ------------------------------------------------------------------------------------------------------ */

/* weights: 1 and on, float32 (2, 3); bias: 11 and on, float64 (3); counts: 21 and on, int64 (2). */
static via_archive *open_tensors(void) {
    static const float weights[] = {1, 2, 3, 4, 5, 6};
    static const double bias[] = {11, 12, 13};
    static const int64_t counts[] = {21, 22};
    const char *const names[] = {"weights", "bias", "counts"};
    via_array *arrays[] = {wrap_plain((void *)(uintptr_t)weights, VIA_FLOAT32, 2, SHAPE(2, 3), NULL),
                           wrap_plain((void *)(uintptr_t)bias, VIA_FLOAT64, 1, SHAPE(3), NULL),
                           wrap_plain((void *)(uintptr_t)counts, VIA_INT64, 1, SHAPE(2), NULL)};
    via_archive *archive = NULL;
    ok(via_archive_save(path_of("m.safetensors"), 3, arrays, names, NULL, 0, NULL, NULL));
    ok(via_archive_open(path_of("m.safetensors"), NULL, &archive));
    for (int32_t i = 0; i < LENGTH(arrays); ++i) {
        via_array_release(arrays[i]);
    }
    return archive;
}

static int64_t number_of(via_archive *archive, const char *name) {
    int64_t number = -1;
    ok(via_archive_find(archive, name, &number));
    return number;
}

static void expect_tensor(via_archive *archive, via_array *buffer, const char *name, int32_t dtype, double first) {
    double found[6];
    via_array *array = NULL;
    ok(via_archive_array(archive, number_of(archive, name), buffer, &array));
    assert_int_equal(via_array_dtype(array), dtype);
    via_array *doubles = wrap_plain(found, VIA_FLOAT64, via_array_ndim(array), via_array_shape(array), NULL);
    ok(via_convert(doubles, array, NULL, NULL));
    for (int64_t i = 0; i < via_array_size(array); ++i) {
        assert_true(found[i] == first + (double)i);
    }
    via_array_release(doubles);
    via_array_release(array);
}

/* Reads the tensors, at once or as a task, and expects these dtypes of them. */
static void expect_read(via_archive *archive, int32_t weights, int32_t bias, int32_t counts) {
    for (int32_t as_task = 0; as_task < 2; ++as_task) {
        via_array *buffer = NULL;
        via_task *task = NULL;
        ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(via_archive_nbytes(archive)), NULL, &buffer));
        if (as_task) {
            ok(via_archive_read_submit(archive, buffer, NULL, &task));
            wait_for(task);
        } else {
            ok(via_archive_read(archive, buffer, NULL));
        }
        expect_tensor(archive, buffer, "weights", weights, 1);
        expect_tensor(archive, buffer, "bias", bias, 11);
        expect_tensor(archive, buffer, "counts", counts, 21);
        via_array_release(buffer);
    }
}

static void a_tensor_is_read_as_another_dtype_and_then_as_its_own(void **state) {
    (void)state;
    float counts[2] = {0};
    via_archive *archive = open_tensors();
    const int64_t nbytes = via_archive_nbytes(archive);
    const int64_t number = number_of(archive, "counts");
    ok(via_archive_convert(archive, number_of(archive, "weights"), VIA_FLOAT64, NULL));
    ok(via_archive_convert(archive, number, VIA_FLOAT32, NULL));
    expect_read(archive, VIA_FLOAT64, VIA_FLOAT64, VIA_FLOAT32);
    via_file *window = NULL;
    via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
    ok(via_archive_file(archive, number, &window));
    ok(via_file_info(window, &properties));
    assert_int_equal(properties.dtype, VIA_FLOAT32);
    via_array *array = wrap_plain(counts, VIA_FLOAT32, 1, SHAPE(2), NULL);
    ok(via_file_read(window, 0, array, NULL));
    assert_true(counts[0] == 21 && counts[1] == 22);
    ok(via_archive_convert(archive, number, VIA_INT64, NULL));
    ok(via_archive_convert(archive, number_of(archive, "weights"), VIA_FLOAT32, NULL));
    assert_int_equal(via_archive_nbytes(archive), nbytes);
    expect_read(archive, VIA_FLOAT32, VIA_FLOAT64, VIA_INT64);
    via_array_release(array);
    via_file_release(window);
    via_archive_release(archive);
}

static void all_floats_are_read_as_another_dtype_and_others_stay(void **state) {
    (void)state;
    via_archive *archive = open_tensors();
    ok(via_archive_convert(archive, -1, VIA_BFLOAT16, NULL));
    expect_read(archive, VIA_BFLOAT16, VIA_BFLOAT16, VIA_INT64);
    const int64_t number = number_of(archive, "weights");
    via_archive *selection = NULL;
    via_array *buffer = NULL;
    ok(via_archive_select(archive, 1, &number, &selection));
    ok(via_archive_slice(selection, 0, 0, 1, 1));
    assert_int_equal(via_archive_nbytes(selection), 3 * 2);
    ok(via_archive_load(selection, NULL, NULL, &buffer));
    expect_tensor(selection, buffer, "weights", VIA_BFLOAT16, 4);
    via_array_release(buffer);
    via_archive_release(selection);
    via_archive_release(archive);
}

static void a_refused_conversion_leaves_the_archive_as_it_was(void **state) {
    (void)state;
    float scale = 2;
    via_archive *archive = open_tensors();
    const int64_t number = number_of(archive, "weights");
    ok(via_archive_convert(archive, number, VIA_FLOAT16, NULL));
    refused(VIA_ERROR_DTYPE, "tensor 'bias'|safe|float64|float32",
            via_archive_convert(archive, -1, VIA_FLOAT32, CONVERSION(.casting = VIA_CASTING_SAFE)));
    refused(VIA_ERROR_DTYPE, "tensor 'weights'|float32|int8|unsafe",
            via_archive_convert(archive, number, VIA_INT8, NULL));
    refused(VIA_ERROR_UNSUPPORTED, "tensor 'weights'|int4|narrower than a byte",
            via_archive_convert(archive, number, VIA_INT4, CONVERSION(.casting = VIA_CASTING_UNSAFE)));
    refused(VIA_ERROR_UNSUPPORTED, "a scale or an offset",
            via_archive_convert(archive, number, VIA_FLOAT32, CONVERSION(.scale = &scale)));
    refused(VIA_ERROR_UNSUPPORTED, "a scale or an offset",
            via_archive_convert(archive, -1, VIA_FLOAT32, CONVERSION(.offset = &scale)));
    refused(VIA_ERROR_INVALID_ARGUMENT, "options.byte_order is VIA_BYTE_ORDER_BIG",
            via_archive_convert(archive, number, VIA_FLOAT32, CONVERSION(.byte_order = VIA_BYTE_ORDER_BIG)));
    refused(VIA_ERROR_INVALID_ARGUMENT, "options.casting is 9",
            via_archive_convert(archive, -1, VIA_FLOAT32, CONVERSION(.casting = 9)));
    refused(VIA_ERROR_INDEX, "number is 3", via_archive_convert(archive, 3, VIA_FLOAT32, NULL));
    refused(VIA_ERROR_INDEX, "number is -2", via_archive_convert(archive, -2, VIA_FLOAT32, NULL));
    expect_read(archive, VIA_FLOAT16, VIA_FLOAT64, VIA_INT64);
    via_archive_release(archive);
}

/* -- batches ------------------------------------------------------------------------------------------------------- */

/* What a batch converts, scales and copies, and the arrays of it. */
typedef struct work {
    double numbers[COUNT];
    float converted[COUNT];
    uint8_t pixels[COUNT];
    float scaled[COUNT];
    char records[24];
    char copied[24];
    via_array *arrays[6];
    atomic_int released;
} work;

enum { NUMBERS, CONVERTED, PIXELS, SCALED, RECORDS, COPIED };

static void make_work(work *made) {
    memset(made, 0, sizeof *made);
    made->arrays[NUMBERS] = wrap_plain(made->numbers, VIA_FLOAT64, 1, SHAPE(COUNT), &made->released);
    made->arrays[CONVERTED] = wrap_plain(made->converted, VIA_FLOAT32, 1, SHAPE(COUNT), &made->released);
    made->arrays[PIXELS] = wrap_plain(made->pixels, VIA_UINT8, 1, SHAPE(COUNT), &made->released);
    made->arrays[SCALED] = wrap_plain(made->scaled, VIA_FLOAT32, 1, SHAPE(COUNT), &made->released);
    made->arrays[RECORDS] = wrap_plain(made->records, -12, 1, SHAPE(2), &made->released);
    made->arrays[COPIED] = wrap_plain(made->copied, -12, 1, SHAPE(2), &made->released);
}

static void release_work(work *made) {
    for (int32_t i = 0; i < LENGTH(made->arrays); ++i) {
        via_array_release(made->arrays[i]);
    }
}

/* Sets new sources, and the destinations to 0. */
static void renew(work *made, int32_t first) {
    memset(made->converted, 0, sizeof made->converted);
    memset(made->scaled, 0, sizeof made->scaled);
    memset(made->copied, 0, sizeof made->copied);
    memset(made->records, first, sizeof made->records);
    for (int32_t i = 0; i < COUNT; ++i) {
        made->numbers[i] = first + i + 0.5;
        made->pixels[i] = (uint8_t)(first + i);
    }
}

static void expect_done(const work *made) {
    for (int32_t i = 0; i < COUNT; ++i) {
        assert_true(made->converted[i] == (float)made->numbers[i]);
        assert_true(made->scaled[i] == (float)made->pixels[i] * 2 + 1);
    }
    assert_memory_equal(made->copied, made->records, sizeof made->copied);
}

/* Its options change once they have been read. */
static void add_work(via_batch *batch, const work *made) {
    float scale = 2;
    float offset = 1;
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    options.scale = &scale;
    options.offset = &offset;
    ok(via_batch_add_convert(batch, made->arrays[SCALED], made->arrays[PIXELS], &options));
    scale = offset = 0;
    memset(&options, 0xFF, sizeof options);
    ok(via_batch_add_convert(batch, made->arrays[CONVERTED], made->arrays[NUMBERS], NULL));
}

static void a_batch_converts_next_to_its_copies(void **state) {
    (void)state;
    work made;
    via_batch *batch = NULL;
    make_work(&made);
    ok(via_batch_create(&batch));
    ok(via_batch_add(batch, made.arrays[COPIED], made.arrays[RECORDS]));
    add_work(batch, &made);
    assert_int_equal(via_batch_size(batch), 3);
    release_work(&made);
    for (int32_t first = 1; first < 5; ++first) {
        via_task *task = NULL;
        renew(&made, first);
        if (first % 2 == 0) {
            ok(via_batch_run(batch, NULL));
        } else {
            ok(via_batch_submit(batch, NULL, &task));
            wait_for(task);
        }
        expect_done(&made);
    }
    assert_int_equal(made.released, 0);
    via_batch_release(batch);
    assert_int_equal(made.released, LENGTH(made.arrays));
}

/* Records have no conversion. */
static void a_conversion_between_equal_dtypes_is_a_copy(void **state) {
    (void)state;
    work made;
    via_batch *batch = NULL;
    make_work(&made);
    ok(via_batch_create(&batch));
    ok(via_batch_add_convert(batch, made.arrays[COPIED], made.arrays[RECORDS], NULL));
    assert_int_equal(via_batch_size(batch), 1);
    renew(&made, 7);
    ok(via_batch_run(batch, NULL));
    assert_memory_equal(made.copied, made.records, sizeof made.copied);
    via_batch_release(batch);
    release_work(&made);
}

static void a_refused_conversion_leaves_the_batch_as_it_was(void **state) {
    (void)state;
    work made;
    via_batch *batch = NULL;
    via_array *half = NULL;
    make_work(&made);
    ok(via_array_slice(made.arrays[NUMBERS], NULL, SHAPE(COUNT / 2), NULL, &half));
    ok(via_batch_create(&batch));
    ok(via_batch_add(batch, made.arrays[COPIED], made.arrays[RECORDS]));
    add_work(batch, &made);
    refused(VIA_ERROR_DTYPE, "same_kind|float64|uint8|unsafe",
            via_batch_add_convert(batch, made.arrays[PIXELS], made.arrays[NUMBERS], NULL));
    refused(VIA_ERROR_SHAPE, "src", via_batch_add_convert(batch, made.arrays[CONVERTED], half, NULL));
    refused(VIA_ERROR_OVERLAP, "dst|src",
            via_batch_add_convert(batch, made.arrays[NUMBERS], made.arrays[NUMBERS],
                                  CONVERSION(.byte_order = VIA_BYTE_ORDER_BIG)));
    refused(VIA_ERROR_INVALID_ARGUMENT, "options.overflow is 7",
            via_batch_add_convert(batch, made.arrays[CONVERTED], made.arrays[NUMBERS], CONVERSION(.overflow = 7)));
    assert_int_equal(via_batch_size(batch), 3);
    renew(&made, 9);
    ok(via_batch_run(batch, NULL));
    expect_done(&made);
    via_batch_release(batch);
    via_array_release(half);
    release_work(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_read_in_another_dtype_at_once_and_as_a_task),
        TEST(a_file_is_written_in_its_own_dtype_at_once_and_as_a_task),
        TEST(arrays_that_do_not_fit_are_refused_and_nothing_is_touched),
        TEST(the_casting_rule_is_that_of_the_direction),
        TEST(a_file_that_converts_has_no_windows_and_no_mapping),
        TEST(a_window_of_a_raw_file_converts_in_either_byte_order),
        TEST(a_file_that_converts_says_the_dtype_and_the_order_of_arrays),
        TEST(scales_go_along_an_axis_of_the_file_and_are_read_on_return),
        TEST(what_cannot_be_converted_is_refused_by_name),
        TEST(a_tensor_is_read_as_another_dtype_and_then_as_its_own),
        TEST(all_floats_are_read_as_another_dtype_and_others_stay),
        TEST(a_refused_conversion_leaves_the_archive_as_it_was),
        TEST(a_batch_converts_next_to_its_copies),
        TEST(a_conversion_between_equal_dtypes_is_a_copy),
        TEST(a_refused_conversion_leaves_the_batch_as_it_was),
    };
    return run_file_tests(tests);
}
