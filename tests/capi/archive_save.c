/* Saved archives: arrays of any layout come back, parts of tensors are read alone, and a failure leaves nothing. */
#include "file_support.h"

enum { ROWS = 40, COLUMNS = 30 };

typedef struct given {
    via_array *arrays[5];
    float matrix[ROWS * COLUMNS];
    int64_t wide[3];
    unsigned char bytes[5];
} given;

static const char *const kNames[] = {"bytes", "matrix", "transposed \"x\"\n", "wide", "none"};

static given *make_given(void) {
    static given made;
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        made.matrix[i] = (float)i;
    }
    for (int i = 0; i < 3; ++i) {
        made.wide[i] = i * (INT64_C(1) << 40);
    }
    memcpy(made.bytes, "abcde", 5);
    made.arrays[0] = wrap_plain(made.bytes, VIA_UINT8, 1, SHAPE(5), 0);
    made.arrays[1] = wrap_plain(made.matrix, VIA_FLOAT32, 2, SHAPE(ROWS, COLUMNS), 0);
    ok(via_array_permute(made.arrays[1], NULL, &made.arrays[2]));
    made.arrays[3] = wrap_plain(made.wide, VIA_INT64, 1, SHAPE(3), 0);
    ok(via_empty(NULL, VIA_FLOAT64, 2, SHAPE(0, 4), NULL, &made.arrays[4]));
    return &made;
}

static void release_given(given *made) {
    for (int i = 0; i < LENGTH(made->arrays); ++i) {
        via_array_release(made->arrays[i]);
    }
}

/* The tensor of a name, in a buffer of its archive. */
static via_array *tensor(via_archive *archive, via_array *buffer, const char *name) {
    int64_t number = 0;
    via_array *array = NULL;
    ok(via_archive_find(archive, name, &number));
    ok(via_archive_array(archive, number, buffer, &array));
    return array;
}

static float at(via_array *array, int64_t i, int64_t k) {
    return ((const float *)via_array_data(array))[i * via_array_shape(array)[1] + k];
}

static void expect_given(const char *path) {
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    ok(via_archive_open(path, NULL, &archive));
    assert_int_equal(via_archive_size(archive), 5);
    ok(via_archive_load(archive, NULL, NULL, &buffer));
    via_array *transposed = tensor(archive, buffer, kNames[2]);
    via_array *wide = tensor(archive, buffer, "wide");
    via_array *bytes = tensor(archive, buffer, "bytes");
    via_array *none = tensor(archive, buffer, "none");
    assert_shape(transposed, 2, SHAPE(COLUMNS, ROWS));
    for (int i = 0; i < COLUMNS; ++i) {
        for (int k = 0; k < ROWS; ++k) {
            assert_true(at(transposed, i, k) == (float)(k * COLUMNS + i));
        }
    }
    assert_true(((const int64_t *)via_array_data(wide))[2] == INT64_C(1) << 41);
    assert_memory_equal(via_array_data(bytes), "abcde", 5);
    assert_shape(none, 2, SHAPE(0, 4));
    via_array_release(transposed);
    via_array_release(wide);
    via_array_release(bytes);
    via_array_release(none);
    via_array_release(buffer);
    via_archive_release(archive);
}

static via_status save_to(const char *name, given *made, int64_t shard_bytes, const via_file_options *options) {
    return via_archive_save(path_of(name), 5, made->arrays, kNames, NULL, shard_bytes, options, NULL);
}

static void arrays_of_any_layout_come_back_with_their_metadata(void **state) {
    (void)state;
    given *made = make_given();
    via_archive *archive = NULL;
    char text[64];
    int64_t length = 0;
    ok(via_archive_save(path_of("m.safetensors"), 5, made->arrays, kNames, " { \"by\" : \"\\u00e9\" } ", 0, NULL,
                        NULL));
    expect_given(path_of("m.safetensors"));
    ok(via_archive_open(path_of("m.safetensors"), NULL, &archive));
    ok(via_archive_metadata(archive, sizeof text, text, &length));
    assert_string_equal(text, "{\"by\": \"\xc3\xa9\"}");
    assert_string_equal(via_archive_name(archive, 0), "wide"); /* wide elements first: each is aligned */
    via_archive_release(archive);
    ok(save_to("m.safetensors", made, 0, OPTIONS_OF(.durable = 1, .page_cache = VIA_PAGE_CACHE_AVOID)));
    expect_given(path_of("m.safetensors"));
    ok(via_archive_save(path_of("m.safetensors"), 0, NULL, NULL, NULL, 0, NULL, NULL));
    ok(via_archive_open(path_of("m.safetensors"), NULL, &archive));
    assert_int_equal(via_archive_size(archive), 0);
    via_file *window = NULL;
    refused(VIA_ERROR_INDEX, "number is 0 in an archive that has no tensors; expected some",
            via_archive_file(archive, 0, &window));
    via_archive_release(archive);
    unlink(path_of("m.safetensors"));
    release_given(made);
}

/* Large arrays are written from where they are, others by way of buffers. */
static void large_arrays_and_small_ones_are_saved_in_any_order(void **state) {
    (void)state;
    enum { LARGE = 1 << 20, SMALL = 3, MOST = 4 };
    static const char *const names[MOST] = {"a", "b", "c", "d"};
    for (int large = 0; large < 1 << MOST; ++large) {
        via_array *arrays[MOST];
        via_archive *archive = NULL;
        via_array *buffer = NULL;
        for (int i = 0; i < MOST; ++i) {
            ok(via_empty(NULL, VIA_UINT8, 1, SHAPE((large >> i & 1) != 0 ? LARGE : SMALL), NULL, &arrays[i]));
            ok(via_fill(arrays[i], &(unsigned char){(unsigned char)(i + 1)}, NULL));
        }
        ok(via_archive_save(path_of("m.safetensors"), MOST, arrays, names, NULL, 0, NULL, NULL));
        ok(via_archive_open(path_of("m.safetensors"), NULL, &archive));
        ok(via_archive_load(archive, NULL, NULL, &buffer));
        for (int i = 0; i < MOST; ++i) {
            via_array *found = tensor(archive, buffer, names[i]);
            assert_int_equal(via_array_size(found), via_array_size(arrays[i]));
            assert_memory_equal(via_array_data(found), via_array_data(arrays[i]), (size_t)via_array_size(found));
            via_array_release(found);
            via_array_release(arrays[i]);
        }
        via_array_release(buffer);
        via_archive_release(archive);
    }
    unlink(path_of("m.safetensors"));
}

static void shards_are_found_by_their_index(void **state) {
    (void)state;
    given *made = make_given();
    const int before = count_scratch();
    ok(save_to("m.safetensors", made, 4800, OPTIONS_OF(.durable = 1)));
    assert_int_equal(count_scratch(), before + 5);
    expect_given(path_of("m.safetensors.index.json"));
    expect_given(scratch);
    assert_true(size_of_file("m-00002-of-00004.safetensors") > 4800);
    for (int i = 1; i <= 4; ++i) {
        char name[64];
        snprintf(name, sizeof name, "m-0000%d-of-00004.safetensors", i);
        assert_int_equal(unlink(path_of(name)), 0);
    }
    unlink(path_of("m.safetensors.index.json"));
    release_given(made);
}

static void a_task_saves_and_one_that_is_cancelled_leaves_nothing_or_all(void **state) {
    (void)state;
    given *made = make_given();
    for (int cancels = 0; cancels < 2; ++cancels) {
        const int before = count_scratch();
        via_task *task = NULL;
        ok(via_archive_save_submit(path_of("m.safetensors"), 5, made->arrays, kNames, NULL, 0, NULL, NULL, &task));
        if (cancels) {
            ok(via_task_cancel(task));
        }
        const via_status status = via_task_wait(task);
        assert_true(status == VIA_OK || (cancels && status == VIA_ERROR_CANCELLED));
        assert_int_equal(count_scratch(), before + (status == VIA_OK));
        if (status == VIA_OK) {
            int64_t done = 0;
            int64_t total = 0;
            ok(via_task_progress(task, &done, &total));
            assert_int_equal(total, 2 * (int64_t)sizeof made->matrix + 24 + 5);
            assert_int_equal(done, total);
            expect_given(path_of("m.safetensors"));
            unlink(path_of("m.safetensors"));
        }
        via_task_release(task);
    }
    release_given(made);
}

static void a_read_that_is_cancelled_ends(void **state) {
    (void)state;
    given *made = make_given();
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    via_task *task = NULL;
    ok(save_to("m.safetensors", made, 0, NULL));
    ok(via_archive_open(path_of("m.safetensors"), NULL, &archive));
    ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(via_archive_nbytes(archive)), NULL, &buffer));
    ok(via_archive_read_submit(archive, buffer, NULL, &task));
    ok(via_task_cancel(task));
    const via_status status = via_task_wait(task);
    assert_true(status == VIA_OK || status == VIA_ERROR_CANCELLED);
    via_task_release(task);
    via_array_release(buffer);
    via_archive_release(archive);
    unlink(path_of("m.safetensors"));
    release_given(made);
}

static void a_wrong_save_is_refused_by_name_and_touches_nothing(void **state) {
    (void)state;
    given *made = make_given();
    via_array *complexes = NULL;
    via_array *nibbles = NULL;
    const char *path = path_of("m.safetensors");
    ok(via_empty(NULL, VIA_COMPLEX128, 1, SHAPE(2), NULL, &complexes));
    ok(via_empty(NULL, VIA_FLOAT4_E2M1FN, 1, SHAPE(3), NULL, &nibbles));
    ok(save_to("m.safetensors", made, 0, NULL));
    const int before = count_scratch();
    const struct {
        via_status status;
        const char *words;
        int32_t count;
        via_array *array;
        const char *name;
        const char *metadata;
        int64_t shard_bytes;
        const via_file_options *options;
    } rows[] = {
        {VIA_ERROR_DTYPE, "tensor 'w': dtype is complex128", 1, complexes, "w", NULL, 0, NULL},
        {VIA_ERROR_UNSUPPORTED, "tensor 'w': the elements have 12 bits", 1, nibbles, "w", NULL, 0, NULL},
        {VIA_ERROR_INVALID_ARGUMENT, "tensor '__metadata__'", 1, made->arrays[0], "__metadata__", NULL, 0, NULL},
        {VIA_ERROR_INVALID_ARGUMENT, "UTF-8", 1, made->arrays[0], "\xff", NULL, 0, NULL},
        {VIA_ERROR_INVALID_ARGUMENT, "arrays[0] is NULL", 1, NULL, "w", NULL, 0, NULL},
        {VIA_ERROR_INVALID_ARGUMENT, "names[0] is NULL", 1, made->arrays[0], NULL, NULL, 0, NULL},
        {VIA_ERROR_INVALID_ARGUMENT, "count is -1; expected 0 or more", -1, made->arrays[0], "w", NULL, 0, NULL},
        {VIA_ERROR_FORMAT, "argument metadata: ", 1, made->arrays[0], "w", "{\"a\":1}", 0, NULL},
        {VIA_ERROR_FORMAT, "argument metadata: ", 1, made->arrays[0], "w", "{},\"x\":{}", 0, NULL},
        {VIA_ERROR_INVALID_ARGUMENT, "shard_bytes is -1", 1, made->arrays[0], "w", NULL, -1, NULL},
        {VIA_ERROR_INVALID_ARGUMENT, "options.as_bytes is 1", 1, made->arrays[0], "w", NULL, 0,
         OPTIONS_OF(.as_bytes = 1)},
        {VIA_ERROR_INVALID_ARGUMENT, "options.mode is 1", 1, made->arrays[0], "w", NULL, 0,
         OPTIONS_OF(.mode = VIA_MODE_READ_WRITE)},
        {VIA_ERROR_INVALID_ARGUMENT, "options.durable is 2", 1, made->arrays[0], "w", NULL, 0,
         OPTIONS_OF(.durable = 2)},
    };
    for (int i = 0; i < LENGTH(rows); ++i) {
        via_task *task = NULL;
        refused(rows[i].status, rows[i].words,
                via_archive_save(path, rows[i].count, &rows[i].array, &rows[i].name, rows[i].metadata,
                                 rows[i].shard_bytes, rows[i].options, NULL));
        refused(rows[i].status, rows[i].words,
                via_archive_save_submit(path, rows[i].count, &rows[i].array, &rows[i].name, rows[i].metadata,
                                        rows[i].shard_bytes, rows[i].options, NULL, &task));
        assert_null(task);
    }
    const char *const twice[] = {"w", "w"};
    refused(VIA_ERROR_INVALID_ARGUMENT, "tensor 'w'|twice",
            via_archive_save(path, 2, made->arrays, twice, NULL, 0, NULL, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "arrays is NULL", via_archive_save(path, 1, NULL, kNames, NULL, 0, NULL, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "names is NULL",
            via_archive_save(path, 1, made->arrays, NULL, NULL, 0, NULL, NULL));
    refused(VIA_ERROR_IO, "none/m|ENOENT",
            via_archive_save(path_of("none/m"), 1, made->arrays, kNames, NULL, 0, NULL, NULL));
    refused(VIA_ERROR_UNSUPPORTED, "directory",
            via_archive_save(scratch, 1, made->arrays, kNames, NULL, 0, NULL, NULL));
    assert_int_equal(mkdir(path_of("m-00003-of-00004.safetensors"), 0700), 0);
    refused(VIA_ERROR_UNSUPPORTED, "m-00003-of-00004.safetensors", save_to("m.safetensors", made, 4800, NULL));
    assert_int_equal(rmdir(path_of("m-00003-of-00004.safetensors")), 0);
    assert_int_equal(count_scratch(), before);
    expect_given(path);
    unlink(path);
    via_array_release(complexes);
    via_array_release(nibbles);
    release_given(made);
}

static void parts_of_tensors_are_read_alone(void **state) {
    (void)state;
    given *made = make_given();
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    via_file *window = NULL;
    float read[3 * 7];
    int64_t number = 0;
    ok(save_to("m.safetensors", made, 0, NULL));
    ok(via_archive_open(path_of("m.safetensors"), NULL, &archive));
    const int64_t whole = via_archive_nbytes(archive);
    ok(via_archive_find(archive, "matrix", &number));
    ok(via_archive_slice(archive, number, 1, 5, 20));
    ok(via_archive_slice(archive, number, 0, 10, 3));
    ok(via_archive_slice(archive, number, -1, 2, 7));
    assert_true(via_archive_nbytes(archive) < whole - 4000);
    ok(via_archive_find(archive, kNames[2], &number));
    ok(via_archive_slice(archive, number, 0, 29, 1));
    ok(via_archive_find(archive, "bytes", &number));
    ok(via_archive_slice(archive, number, 0, 2, 0));
    ok(via_archive_load(archive, NULL, NULL, &buffer));
    via_array *part = tensor(archive, buffer, "matrix");
    via_array *row = tensor(archive, buffer, kNames[2]);
    via_array *nothing = tensor(archive, buffer, "bytes");
    assert_shape(part, 2, SHAPE(3, 7));
    assert_shape(row, 2, SHAPE(1, ROWS));
    assert_shape(nothing, 1, SHAPE(0));
    ok(via_archive_find(archive, "matrix", &number));
    ok(via_archive_file(archive, number, &window));
    via_array *dense = wrap_plain(read, VIA_FLOAT32, 2, SHAPE(3, 7), 0);
    ok(via_file_read(window, 0, dense, NULL));
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 7; ++k) {
            assert_true(at(part, i, k) == (float)((10 + i) * COLUMNS + 7 + k));
            assert_true(at(dense, i, k) == at(part, i, k));
        }
    }
    assert_true(at(row, 0, 39) == (float)(39 * COLUMNS + 29));
    refused(VIA_ERROR_INDEX, "tensor 'matrix': start is 5 and count is 3; expected indices of an axis of 7",
            via_archive_slice(archive, number, 1, 5, 3));
    refused(VIA_ERROR_INDEX, "start is -1", via_archive_slice(archive, number, 1, -1, 3));
    refused(VIA_ERROR_INDEX, "axis is 2", via_archive_slice(archive, number, 2, 0, 1));
    refused(VIA_ERROR_INDEX, "axis is -3", via_archive_slice(archive, number, -3, 0, 1));
    refused(VIA_ERROR_INDEX, "number is 9", via_archive_slice(archive, 9, 0, 0, 1));
    via_file_release(window);
    via_array_release(dense);
    via_array_release(part);
    via_array_release(row);
    via_array_release(nothing);
    via_array_release(buffer);
    via_archive_release(archive);
    unlink(path_of("m.safetensors"));
    release_given(made);
}

static void one_array_is_saved_and_loaded_by_one_call(void **state) {
    (void)state;
    given *made = make_given();
    via_array *loaded = NULL;
    ok(via_save(path_of("a.npy"), made->arrays[2], NULL));
    ok(via_load(path_of("a.npy"), NULL, NULL, &loaded));
    assert_int_equal(via_array_dtype(loaded), VIA_FLOAT32);
    assert_shape(loaded, 2, SHAPE(COLUMNS, ROWS));
    assert_true(at(loaded, 3, 5) == (float)(5 * COLUMNS + 3));
    via_array_release(loaded);
    ok(via_save(path_of("a.npy"), made->arrays[2], OPTIONS_OF(.column_major = 1)));
    ok(via_load(path_of("a.npy"), NULL, NULL, &loaded));
    assert_true(at(loaded, 3, 5) == (float)(5 * COLUMNS + 3));
    via_array_release(loaded);
    ok(via_save(path_of("a.bin"), made->arrays[0], NULL));
    ok(via_load(path_of("a.bin"), NULL, NULL, &loaded));
    assert_int_equal(via_array_dtype(loaded), VIA_UINT8);
    assert_shape(loaded, 1, SHAPE(5));
    assert_memory_equal(via_array_data(loaded), "abcde", 5);
    via_array_release(loaded);
    loaded = NULL;
    const int before = count_scratch();
    refused(VIA_ERROR_IO, "none.npy|ENOENT", via_load(path_of("none.npy"), NULL, NULL, &loaded));
    refused(VIA_ERROR_INVALID_ARGUMENT, "array is NULL", via_save(path_of("b.npy"), NULL, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "path is NULL", via_save(NULL, made->arrays[0], NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "page_cache",
            via_save(path_of("b.npy"), made->arrays[0], OPTIONS_OF(.page_cache = 9)));
    assert_int_equal(count_scratch(), before);
    assert_null(loaded);
    release_given(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(arrays_of_any_layout_come_back_with_their_metadata),
        TEST(large_arrays_and_small_ones_are_saved_in_any_order),
        TEST(shards_are_found_by_their_index),
        TEST(a_task_saves_and_one_that_is_cancelled_leaves_nothing_or_all),
        TEST(a_read_that_is_cancelled_ends),
        TEST(a_wrong_save_is_refused_by_name_and_touches_nothing),
        TEST(parts_of_tensors_are_read_alone),
        TEST(one_array_is_saved_and_loaded_by_one_call),
    };
    return run_file_tests(tests);
}
