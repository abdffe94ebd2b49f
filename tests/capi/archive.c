/* Archives of tensors: what is in a safetensors file is read whole, and every wrong header is refused by name. */
#include <utime.h>

#include "file_support.h"

/* Writes a safetensors file: the length of the header, the header, and the data. */
static const char *put_tensors(const char *name, const char *header, const void *data, size_t data_bytes) {
    static char bytes[1 << 16];
    const uint64_t length = strlen(header);
    assert_true(8 + length + data_bytes <= sizeof bytes);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    if (data_bytes > 0) {
        memcpy(bytes + 8 + length, data, data_bytes);
    }
    return put_file(name, bytes, 8 + length + data_bytes);
}

#define ENTRY(name, dtype, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}"

static const char kThree[] = "{\"__metadata__\":{\"format\":\"pt\",\"a\\\"b\":\"a\\u0001b\"}," ENTRY(
    "b", "F32", "2,3", "3", "27") "," ENTRY("a", "U8", "3", "0", "3") "," ENTRY("empty", "I64", "0,4", "27", "27") "}";

static via_archive *open_three(const char *name, char first) {
    char data[27];
    for (int i = 0; i < LENGTH(data); ++i) {
        data[i] = (char)(first + i);
    }
    via_archive *archive = NULL;
    ok(via_archive_open(put_tensors(name, kThree, data, sizeof data), NULL, &archive));
    return archive;
}

static void expect_tensor(via_archive *archive, const char *name, via_array *buffer, int32_t dtype, int32_t ndim,
                          const int64_t *shape, char first) {
    int64_t number = -1;
    via_array *array = NULL;
    ok(via_archive_find(archive, name, &number));
    assert_string_equal(via_archive_name(archive, number), name);
    ok(via_archive_array(archive, number, buffer, &array));
    assert_int_equal(via_array_dtype(array), dtype);
    assert_shape(array, ndim, shape);
    assert_int_equal((uintptr_t)via_array_data(array) % 64, 0);
    for (int64_t i = 0; i < via_array_nbytes(array); ++i) {
        assert_int_equal(((const char *)via_array_data(array))[i], (char)(first + i));
    }
    via_array_release(array);
}

static void all_tensors_are_views_of_one_block(void **state) {
    (void)state;
    via_archive *archive = open_three("three.safetensors", 1);
    via_array *buffer = NULL;
    assert_int_equal(via_archive_size(archive), 3);
    ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(128), NULL, &buffer));
    memset(via_array_data(buffer), 0xFF, 128);
    ok(via_archive_read(archive, buffer, NULL));
    assert_int_equal(via_array_nbytes(buffer), via_archive_nbytes(archive));
    expect_tensor(archive, "a", buffer, VIA_UINT8, 1, SHAPE(3), 1);
    expect_tensor(archive, "b", buffer, VIA_FLOAT32, 2, SHAPE(2, 3), 4);
    expect_tensor(archive, "empty", buffer, VIA_INT64, 2, SHAPE(0, 4), 0);
    for (int64_t i = 3; i < via_array_nbytes(buffer); ++i) {
        const int is_between = i < 64 || i >= 64 + 24;
        assert_true(!is_between || ((const char *)via_array_data(buffer))[i] == 0);
    }
    assert_null(via_archive_name(archive, 3));
    assert_null(via_archive_name(archive, -1));
    via_archive_release(archive);
    via_array_release(buffer);
}

static void names_stay_where_they_are_as_long_as_the_archive(void **state) {
    (void)state;
    via_archive *archive = open_three("kept.safetensors", 1);
    int64_t number = -1;
    ok(via_archive_find(archive, "b", &number));
    const char *name = via_archive_name(archive, number);
    const char *type_name = via_archive_type_name(archive, number);
    const char more[] = "{" ENTRY("c", "U8", "1", "0", "1") "," ENTRY("d", "U8", "1", "1", "2") "}";
    ok(via_archive_add(archive, put_tensors("more.safetensors", more, "cd", 2)));
    ok(via_archive_slice(archive, number, 0, 0, 1));
    ok(via_archive_convert(archive, -1, VIA_FLOAT64, NULL));
    assert_ptr_equal(via_archive_name(archive, number), name);
    assert_ptr_equal(via_archive_type_name(archive, number), type_name);
    assert_string_equal(name, "b");
    assert_string_equal(type_name, "F32");
    via_archive_release(archive);
    unlink(path_of("kept.safetensors"));
    unlink(path_of("more.safetensors"));
}

static void a_selection_has_a_buffer_of_its_own_and_outlives_the_archive(void **state) {
    (void)state;
    via_archive *archive = open_three("select.safetensors", 1);
    via_archive *selection = NULL;
    via_task *task = NULL;
    int64_t number = 0;
    ok(via_archive_find(archive, "b", &number));
    ok(via_archive_select(archive, 1, &number, &selection));
    via_archive_release(archive);
    assert_int_equal(via_archive_nbytes(selection), 24);
    via_array *buffer = NULL;
    ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(24), NULL, &buffer));
    ok(via_archive_read_submit(selection, buffer, NULL, &task));
    ok(via_task_wait(task));
    expect_tensor(selection, "b", buffer, VIA_FLOAT32, 2, SHAPE(2, 3), 4);
    memset(via_array_data(buffer), 0, 24);
    ok(via_archive_read(selection, buffer, NULL));
    expect_tensor(selection, "b", buffer, VIA_FLOAT32, 2, SHAPE(2, 3), 4);
    via_task_release(task);
    via_array_release(buffer);
    via_archive_release(selection);
}

static void a_tensor_is_a_window_of_its_file(void **state) {
    (void)state;
    via_archive *archive = open_three("window.safetensors", 1);
    via_file *window = NULL;
    via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
    int64_t number = 0;
    ok(via_archive_find(archive, "b", &number));
    ok(via_archive_file(archive, number, &window));
    ok(via_file_info(window, &properties));
    assert_int_equal(properties.dtype, VIA_FLOAT32);
    assert_numbers(properties.shape, SHAPE(2, 3), 2);
    assert_int_equal(properties.byte_offset, 8 + (int64_t)strlen(kThree) + 3);
    via_file_release(window);
    via_archive_release(archive);
}

static void metadata_is_json_of_any_length(void **state) {
    (void)state;
    via_archive *archive = open_three("metadata.safetensors", 1);
    const char *expected = "{\"format\": \"pt\", \"a\\\"b\": \"a\\u0001b\"}";
    char text[64] = {0};
    int64_t length = 0;
    ok(via_archive_metadata(archive, sizeof text, text, &length));
    assert_string_equal(text, expected);
    ok(via_archive_metadata(archive, 9, text, &length));
    assert_string_equal(text, "{\"format");
    assert_int_equal(length, (int64_t)strlen(expected));
    ok(via_archive_metadata(archive, 0, NULL, &length));
    refused(VIA_ERROR_INVALID_ARGUMENT, "capacity is -1; expected 0 or more",
            via_archive_metadata(archive, -1, text, &length));
    refused(VIA_ERROR_INVALID_ARGUMENT, "out_metadata is NULL", via_archive_metadata(archive, 1, NULL, &length));
    via_archive_release(archive);
}

/* Shards of which each has one tensor, and their index. */
static void put_shards(const char *index) {
    put_tensors("one.safetensors", "{" ENTRY("x", "U8", "2", "0", "2") "}", "ab", 2);
    put_tensors("two.safetensors", "{" ENTRY("y", "U8", "1", "0", "1") "}", "c", 1);
    put_file("m.safetensors.index.json", index, strlen(index));
}

#define INDEX(x, y) "{\"metadata\":{\"total_size\":3},\"weight_map\":{\"x\":\"" x "\",\"y\":\"" y "\"}}"

static void remove_shards(void) {
    unlink(path_of("one.safetensors"));
    unlink(path_of("two.safetensors"));
    unlink(path_of("m.safetensors.index.json"));
}

static void remove_others(void) {
    const char *names[] = {"three", "select", "window", "metadata", "bad", "buffer", "changed"};
    for (int32_t i = 0; i < LENGTH(names); ++i) {
        char name[64];
        snprintf(name, sizeof name, "%s.safetensors", names[i]);
        unlink(path_of(name));
    }
}

static void shards_are_one_archive_by_directory_index_and_list(void **state) {
    (void)state;
    remove_others();
    put_shards(INDEX("one.safetensors", "two.safetensors"));
    for (int32_t way = 0; way < 3; ++way) {
        via_archive *archive = NULL;
        via_array *buffer = NULL;
        ok(via_archive_open(way == 0   ? scratch
                            : way == 1 ? path_of("m.safetensors.index.json")
                                       : path_of("one.safetensors"),
                            NULL, &archive));
        if (way == 2) {
            ok(via_archive_add(archive, path_of("two.safetensors")));
        }
        assert_int_equal(via_archive_size(archive), 2);
        ok(via_archive_load(archive, NULL, NULL, &buffer));
        expect_tensor(archive, "x", buffer, VIA_UINT8, 1, SHAPE(2), 'a');
        expect_tensor(archive, "y", buffer, VIA_UINT8, 1, SHAPE(1), 'c');
        refused(VIA_ERROR_FORMAT, "tensor 'x'|one.safetensors", via_archive_add(archive, path_of("one.safetensors")));
        assert_int_equal(via_archive_size(archive), 2);
        via_array_release(buffer);
        via_archive_release(archive);
    }
    remove_shards();
}

#define DEEP(bracket) DEEP8(bracket) DEEP8(bracket) DEEP8(bracket) DEEP8(bracket)
#define DEEP8(bracket) bracket bracket bracket bracket bracket bracket bracket bracket

static void values_of_an_index_that_are_skipped_may_be_32_deep(void **state) {
    (void)state;
    via_archive *archive = NULL;
    put_shards("{\"a\":" DEEP("[") DEEP("]") ",\"weight_map\":{\"x\":\"one.safetensors\"}}");
    ok(via_archive_open(path_of("m.safetensors.index.json"), NULL, &archive));
    via_archive_release(archive);
    remove_shards();
}

static void a_wrong_index_is_refused_by_name(void **state) {
    (void)state;
    const struct {
        const char *text;
        const char *words;
    } rows[] = {
        {INDEX("two.safetensors", "two.safetensors"), "tensor 'x' is not in|two.safetensors"},
        {INDEX("two.safetensors", "one.safetensors"), "tensor 'x' is not in|two.safetensors"},
        {INDEX("../one.safetensors", "two.safetensors"), "tensor 'x'|'../one.safetensors'|without '/'"},
        {"{\"weight_map\":{\"x\":\"one.safetensors\",\"x\":\"one.safetensors\"}}", "tensor 'x' occurs twice"},
        {"{\"metadata\":{}}", "a weight_map"},
        {"{\"weight_map\":{}} {}", "the end of the object"},
        {"[]", "an object"},
        {"{\"a\":1,\"weight_map\":{},\"a\":2}", "each name once"},
        {"{\"weight_map\":{},\"weight_map\":{}}", "each name once"},
        {"{\"a\":[{\"b\":1,\"b\":2}],\"weight_map\":{}}", "a value with each name once"},
        {"{\"a\":" DEEP("[") "{}" DEEP("]") ",\"weight_map\":{}}", "a value"},
    };
    for (int32_t i = 0; i < LENGTH(rows); ++i) {
        via_archive *archive = NULL;
        put_shards(rows[i].text);
        refused(VIA_ERROR_FORMAT, rows[i].words, via_archive_open(path_of("m.safetensors.index.json"), NULL, &archive));
        assert_null(archive);
    }
    remove_shards();
}

static void a_wrong_header_is_refused_by_name(void **state) {
    (void)state;
    const struct {
        const char *header;
        via_status status;
        const char *words;
    } rows[] = {
        {"{" ENTRY("w", "U8", "2", "0", "2") "," ENTRY("w", "U8", "2", "2", "4") "}", VIA_ERROR_FORMAT,
         "tensor 'w' occurs twice"},
        {"{" ENTRY("w", "U8", "3", "0", "3") "," ENTRY("v", "U8", "2", "2", "4") "}", VIA_ERROR_FORMAT,
         "tensor 'v'|overlap"},
        {"{" ENTRY("w", "U8", "1", "0", "1") "," ENTRY("v", "U8", "2", "2", "4") "}", VIA_ERROR_FORMAT,
         "tensor 'v'|a hole"},
        {"{" ENTRY("w", "U8", "5", "0", "5") "}", VIA_ERROR_FORMAT, "tensor 'w'|the end of the file"},
        {"{" ENTRY("w", "U8", "3", "0", "3") "}", VIA_ERROR_FORMAT, "4 bytes after its header; expected 3"},
        {"{" ENTRY("w", "F32", "2", "0", "4") "}", VIA_ERROR_FORMAT, "tensor 'w'|span 4 bytes; expected 8"},
        {"{" ENTRY("w", "F4", "7", "0", "4") "}", VIA_ERROR_FORMAT, "tensor 'w'|whole bytes"},
        {"{" ENTRY("w", "U8", "4", "4", "0") "}", VIA_ERROR_FORMAT, "tensor 'w'|a begin and an end"},
        {"{" ENTRY("w", "Q9", "4", "0", "4") "}", VIA_ERROR_DTYPE, "tensor 'w'|dtype is 'Q9'"},
        {"{" ENTRY("w", "U8", "-4", "0", "4") "}", VIA_ERROR_FORMAT, "tensor 'w'|extents"},
        {"{" ENTRY("w", "U8", "4.0", "0", "4") "}", VIA_ERROR_FORMAT, "tensor 'w'|extents"},
        {"{" ENTRY("w", "U8", "9223372036854775807,9", "0", "4") "}", VIA_ERROR_OVERFLOW, "tensor 'w'"},
        {"{" ENTRY("w\\u0000", "U8", "4", "0", "4") "}", VIA_ERROR_FORMAT, "NUL"},
        {"{" ENTRY("w\xff", "U8", "4", "0", "4") "}", VIA_ERROR_FORMAT, "UTF-8"},
        {"{" ENTRY("\\ud800", "U8", "4", "0", "4") "}", VIA_ERROR_FORMAT, "UTF-8"},
        {"{\"w\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", VIA_ERROR_FORMAT,
         "tensor 'w'|each once"},
        {"{\"w\":{\"dtype\":\"U8\",\"shape\":[4]}}", VIA_ERROR_FORMAT, "tensor 'w'|data_offsets"},
        {"{\"w\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"more\":[[[[1]]]]}}", VIA_ERROR_FORMAT,
         "tensor 'w'|each once"},
        {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", VIA_ERROR_FORMAT, "metadata 'a' occur twice"},
        {"{\"__metadata__\":{\"a\":1}}", VIA_ERROR_FORMAT, "texts"},
        {" {}", VIA_ERROR_FORMAT, "expected '{'"},
        {"{} x", VIA_ERROR_FORMAT, "the end of the header"},
        {"{", VIA_ERROR_FORMAT, "at byte 1"},
    };
    for (int32_t i = 0; i < LENGTH(rows); ++i) {
        via_archive *archive = NULL;
        refused(rows[i].status, rows[i].words,
                via_archive_open(put_tensors("bad.safetensors", rows[i].header, "1234", 4), NULL, &archive));
        refused(rows[i].status, "bad.safetensors", via_archive_open(path_of("bad.safetensors"), NULL, &archive));
        assert_null(archive);
    }
}

static void lengths_beyond_the_file_and_other_paths_are_refused(void **state) {
    (void)state;
    via_archive *archive = NULL;
    refused(VIA_ERROR_FORMAT, "4 bytes", via_archive_open(put_file("bad.safetensors", "1234", 4), NULL, &archive));
    refused(VIA_ERROR_FORMAT, "the header has|in a file of 9",
            via_archive_open(put_file("bad.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{", 9), NULL, &archive));
    refused(VIA_ERROR_IO, "none.safetensors|ENOENT", via_archive_open(path_of("none.safetensors"), NULL, &archive));
    refused(VIA_ERROR_UNSUPPORTED, "regular file", via_archive_open("/dev/null", NULL, &archive));
    refused(VIA_ERROR_INVALID_ARGUMENT, "options.durable is 1",
            via_archive_open(path_of("bad.safetensors"), OPTIONS_OF(.durable = 1), &archive));
    refused(VIA_ERROR_INVALID_ARGUMENT, "VIA_MODE_READ_WRITE",
            via_archive_open(path_of("bad.safetensors"), OPTIONS_OF(.mode = VIA_MODE_READ_WRITE), &archive));
    refused(VIA_ERROR_INVALID_ARGUMENT, "path is NULL", via_archive_open(NULL, NULL, &archive));
}

static void a_wrong_buffer_or_number_is_refused(void **state) {
    (void)state;
    via_archive *archive = open_three("buffer.safetensors", 1);
    via_archive *selection = NULL;
    via_array *made = NULL;
    via_array *small = NULL;
    via_array *floats = NULL;
    int64_t number = 7;
    ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(3), NULL, &small));
    ok(via_empty(NULL, VIA_FLOAT32, 1, SHAPE(88), NULL, &floats));
    refused(VIA_ERROR_SHAPE, "3 elements|128", via_archive_read(archive, small, NULL));
    refused(VIA_ERROR_DTYPE, "float32|uint8", via_archive_read(archive, floats, NULL));
    refused(VIA_ERROR_SHAPE, "128", via_archive_array(archive, 0, small, &made));
    refused(VIA_ERROR_INDEX, "number is 3; expected 0 to 2", via_archive_array(archive, 3, small, &made));
    refused(VIA_ERROR_INDEX, "name is 'c'", via_archive_find(archive, "c", &number));
    assert_int_equal(number, 0);
    refused(VIA_ERROR_INDEX, "number is -1", via_archive_select(archive, 1, SHAPE(-1), &selection));
    refused(VIA_ERROR_INVALID_ARGUMENT, "numbers[1] is 0|again",
            via_archive_select(archive, 2, SHAPE(0, 0), &selection));
    refused(VIA_ERROR_INVALID_ARGUMENT, "count is -1; expected 0 or more",
            via_archive_select(archive, -1, SHAPE(0), &selection));
    refused(VIA_ERROR_INVALID_ARGUMENT, "numbers is NULL", via_archive_select(archive, 1, NULL, &selection));
    via_array_release(small);
    via_array_release(floats);
    via_archive_release(archive);
}

static void a_file_that_changes_is_reported_by_name(void **state) {
    (void)state;
    via_archive *archive = open_three("changed.safetensors", 1);
    via_array *buffer = NULL;
    const struct utimbuf past = {1, 1};
    assert_int_equal(utime(path_of("changed.safetensors"), &past), 0);
    refused(VIA_ERROR_IO, "changed.safetensors|ESTALE", via_archive_load(archive, NULL, NULL, &buffer));
    assert_null(buffer);
    assert_int_equal(truncate(path_of("changed.safetensors"), 10), 0);
    refused(VIA_ERROR_IO, "changed.safetensors|ESTALE", via_archive_load(archive, NULL, NULL, &buffer));
    via_archive_release(archive);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(all_tensors_are_views_of_one_block),
        TEST(names_stay_where_they_are_as_long_as_the_archive),
        TEST(a_selection_has_a_buffer_of_its_own_and_outlives_the_archive),
        TEST(a_tensor_is_a_window_of_its_file),
        TEST(metadata_is_json_of_any_length),
        TEST(shards_are_one_archive_by_directory_index_and_list),
        TEST(values_of_an_index_that_are_skipped_may_be_32_deep),
        TEST(a_wrong_index_is_refused_by_name),
        TEST(a_wrong_header_is_refused_by_name),
        TEST(lengths_beyond_the_file_and_other_paths_are_refused),
        TEST(a_wrong_buffer_or_number_is_refused),
        TEST(a_file_that_changes_is_reported_by_name),
    };
    return run_file_tests(tests);
}
