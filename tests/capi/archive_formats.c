/* Archives of .npz and GGUF files: read by what they contain, and refused by name wherever they are wrong. */
#include "archive_files.h"
#include "file_support.h"

static const char *put(const char *name, const archive_bytes *content) {
    return put_file(name, content->bytes, content->length);
}

static void expect_tensor(via_archive *archive, const char *name, const char *type_name, int32_t dtype, int32_t ndim,
                          const int64_t *shape) {
    via_array *buffer = NULL;
    via_array *array = NULL;
    assert_int_equal(via_archive_size(archive), 1);
    assert_string_equal(via_archive_name(archive, 0), name);
    assert_string_equal(via_archive_type_name(archive, 0), type_name);
    assert_null(via_archive_type_name(archive, 1));
    assert_null(via_archive_type_name(archive, -1));
    ok(via_archive_load(archive, NULL, NULL, &buffer));
    ok(via_archive_array(archive, 0, buffer, &array));
    assert_int_equal(via_array_dtype(array), dtype);
    assert_shape(array, ndim, shape);
    for (int64_t i = 0; i < via_array_nbytes(array); ++i) {
        assert_int_equal(((const char *)via_array_data(array))[i], (char)(1 + i));
    }
    via_array_release(array);
    via_array_release(buffer);
}

static void a_stored_array_of_npz_is_a_tensor(void **state) {
    (void)state;
    archive_bytes content;
    via_archive *archive = NULL;
    via_file *window = NULL;
    via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
    make_npz(&content, "a/b.npy", 0, 5);
    ok(via_archive_open(put("any name", &content), NULL, &archive));
    expect_tensor(archive, "a/b", "uint8", VIA_UINT8, 1, SHAPE(5));
    ok(via_archive_file(archive, 0, &window));
    ok(via_file_info(window, &properties));
    assert_int_equal(properties.byte_offset, 30 + 7 + 128);
    via_file_release(window);
    via_archive_release(archive);
}

static void a_tensor_of_gguf_has_its_rows_last(void **state) {
    (void)state;
    archive_bytes content;
    via_archive *archive = NULL;
    char text[64];
    int64_t length = 0;
    make_gguf(&content, "w", 25, 3, 12);
    ok(via_archive_open(put("any name", &content), NULL, &archive));
    expect_tensor(archive, "w", "I16", VIA_INT16, 2, SHAPE(2, 3));
    ok(via_archive_metadata(archive, sizeof text, text, &length));
    assert_string_equal(text, "{\"general.name\": \"small\"}");
    via_archive_release(archive);
}

static void quantised_blocks_are_bytes_and_named(void **state) {
    (void)state;
    archive_bytes content;
    via_archive *archive = NULL;
    make_gguf(&content, "w", 8, 64, 136);
    ok(via_archive_open(put("any name", &content), NULL, &archive));
    expect_tensor(archive, "w", "Q8_0", VIA_UINT8, 2, SHAPE(2, 68));
    ok(via_archive_slice(archive, 0, 0, 0, 1));
    expect_tensor(archive, "w", "Q8_0", VIA_UINT8, 2, SHAPE(1, 68));
    via_archive_release(archive);
}

static void files_cut_short_anywhere_are_refused(void **state) {
    (void)state;
    for (int is_gguf = 0; is_gguf < 2; ++is_gguf) {
        archive_bytes content;
        make_npz(&content, "a.npy", 0, 5);
        if (is_gguf) {
            make_gguf(&content, "a", 24, 5, 10);
        }
        for (size_t length = 0; length < content.length; ++length) {
            via_archive *archive = NULL;
            refused(VIA_ERROR_FORMAT, "cut short",
                    via_archive_open(put_file("cut short", content.bytes, length), NULL, &archive));
            assert_null(archive);
        }
    }
}

static void wrong_entries_are_refused_by_name(void **state) {
    (void)state;
    archive_bytes content;
    via_archive *archive = NULL;
    make_npz(&content, "a.npy", 8, 5);
    refused(VIA_ERROR_UNSUPPORTED, "tensor 'a'|deflated", via_archive_open(put("bad", &content), NULL, &archive));
    make_npz(&content, "a.txt", 0, 5);
    refused(VIA_ERROR_FORMAT, "entry 'a.txt'|.npy", via_archive_open(put("bad", &content), NULL, &archive));
    make_gguf(&content, "a", 99, 5, 10);
    refused(VIA_ERROR_DTYPE, "tensor 'a'|the type is 99", via_archive_open(put("bad", &content), NULL, &archive));
    make_gguf(&content, "a", 2, 33, 10);
    refused(VIA_ERROR_FORMAT, "tensor 'a'|blocks of 32", via_archive_open(put("bad", &content), NULL, &archive));
    make_gguf(&content, "a", 0, UINT64_C(1) << 62, 10);
    refused(VIA_ERROR_OVERFLOW, "tensor 'a'", via_archive_open(put("bad", &content), NULL, &archive));
    make_gguf(&content, "\xff", 24, 5, 10);
    refused(VIA_ERROR_FORMAT, "UTF-8", via_archive_open(put("bad", &content), NULL, &archive));
    make_gguf(&content, "a", 24, 5, 10);
    content.bytes[4] = 1;
    refused(VIA_ERROR_VERSION, "version is 1", via_archive_open(put("bad", &content), NULL, &archive));
    assert_null(archive);
}

static void files_of_several_formats_are_one_archive(void **state) {
    (void)state;
    archive_bytes content;
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    make_npz(&content, "a.npy", 0, 5);
    ok(via_archive_open(put("first", &content), NULL, &archive));
    make_gguf(&content, "b", 24, 5, 10);
    ok(via_archive_add(archive, put("second", &content)));
    refused(VIA_ERROR_FORMAT, "tensor 'b' is in", via_archive_add(archive, path_of("second")));
    assert_int_equal(via_archive_size(archive), 2);
    assert_int_equal(via_archive_nbytes(archive), 64 + 10);
    ok(via_archive_load(archive, NULL, NULL, &buffer));
    via_array_release(buffer);
    via_archive_release(archive);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_stored_array_of_npz_is_a_tensor),    TEST(a_tensor_of_gguf_has_its_rows_last),
        TEST(quantised_blocks_are_bytes_and_named), TEST(files_cut_short_anywhere_are_refused),
        TEST(wrong_entries_are_refused_by_name),    TEST(files_of_several_formats_are_one_archive),
    };
    return run_file_tests(tests);
}
