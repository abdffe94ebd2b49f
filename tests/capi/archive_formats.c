/* Archives of .npz and GGUF files: read by what they contain, and refused by name wherever they are wrong. */
#define _GNU_SOURCE /* memfd_create */
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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
    refused(VIA_ERROR_UNSUPPORTED, "tensor 'w'|multiples of 34|Q8_0", via_archive_slice(archive, 0, 1, 1, 34));
    refused(VIA_ERROR_UNSUPPORTED, "tensor 'w'|Q8_0", via_archive_slice(archive, 0, -1, 0, 35));
    ok(via_archive_slice(archive, 0, -1, 0, 34));
    expect_tensor(archive, "w", "Q8_0", VIA_UINT8, 2, SHAPE(1, 34));
    via_archive_release(archive);
}

/* Every entry of the directory has the one header, whose extra field is as long as it can be. */
static void entries_that_share_a_large_header_are_refused_soon(void **state) {
    (void)state;
    enum { kEntries = 65534, kExtra = 0xFFFF, kEntry = 46 + 5, kHeader = 30 + 5 + kExtra };
    archive_bytes one;
    via_archive *archive = NULL;
    struct timespec start, end;
    char *content = calloc(1, kHeader + (size_t)kEntries * kEntry + 22);
    assert_non_null(content);
    make_npz(&one, "a.npy", 0, 1);
    const char *central = one.bytes + 30 + 5 + 129;
    memcpy(content, one.bytes, 30 + 5);
    memset(content + 18, 0, 8);
    memset(content + 28, 0xFF, 2);
    for (size_t at = 0; at + 4 <= kExtra; at += 4) {
        content[30 + 5 + at] = 2; /* fields without content */
    }
    memset(content + kHeader - 3, 0, 3);
    content[kHeader - 7 + 2] = 3; /* the last one has the three bytes that are left */
    for (size_t i = 0; i < kEntries; ++i) {
        char *entry = content + kHeader + i * kEntry;
        memcpy(entry, central, kEntry);
        memset(entry + 20, 0, 8);
    }
    char *last = content + kHeader + (size_t)kEntries * kEntry;
    const uint32_t directory[] = {kEntries * kEntry, kHeader};
    memcpy(last, one.bytes + one.length - 22, 22);
    memset(last + 8, 0xFF, 4);
    last[8] = last[10] = (char)0xFE;
    memcpy(last + 12, directory, sizeof directory);
    (void)put_file("large header", content, kHeader + (size_t)kEntries * kEntry + 22);
    free(content);
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    refused(VIA_ERROR_FORMAT, "entry 'a.npy'|without overlap",
            via_archive_open(path_of("large header"), NULL, &archive));
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    assert_null(archive);
    assert_true(end.tv_sec - start.tv_sec <= 1);
}

/* Sparse files of nearly 2^63 bytes are refused where offsets and sizes would add up to more. */
static void sizes_near_the_end_of_numbers_are_refused(void **state) {
    (void)state;
    archive_bytes one;
    via_archive *archive = NULL;
    make_npz(&one, "a.npy", 0, 1);
    const int64_t data = INT64_MAX / 2;
    const char extra_field[] = {1, 0, 16, 0};
    char header[64] = {0};
    memcpy(header, one.bytes, 35);
    memset(header + 18, 0xFF, 8);
    header[28] = 20;
    memcpy(header + 35, extra_field, 4);
    memcpy(header + 39, &data, 8);
    memcpy(header + 47, &data, 8);
    char tail[512] = {0};
    const char *central = one.bytes + 35 + 129;
    const int64_t begin = INT64_MAX - (int64_t)(1 << 20);
    memcpy(tail, central, 51);
    memset(tail + 20, 0xFF, 8);
    memset(tail + 42, 0xFF, 4);
    tail[30] = 28;
    tail[51] = 1;
    tail[53] = 24;
    memcpy(tail + 55, &data, 8);
    memcpy(tail + 63, &data, 8);
    memcpy(tail + 71, &begin, 8);
    const int64_t directory_bytes = 79;
    const int64_t directory = begin + 4096;
    char *end64 = tail + directory_bytes;
    const int64_t record[] = {44, 0, 0, 1, 1, directory_bytes, directory};
    memcpy(end64, "PK\x06\x06", 4);
    memcpy(end64 + 4, record, 8);
    memcpy(end64 + 24, record + 3, 32);
    const int64_t end64_offset = directory + directory_bytes;
    memcpy(end64 + 56, "PK\x06\x07", 4);
    memcpy(end64 + 64, &end64_offset, 8);
    end64[72] = 1;
    memcpy(end64 + 76, one.bytes + one.length - 22, 22);
    memset(end64 + 76 + 12, 0xFF, 8);
    char path[32];
    const int file = memfd_create("sparse", MFD_CLOEXEC); /* other file systems have smaller files */
    assert_true(file >= 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    assert_int_equal(pwrite(file, header, 4, 0), 4);
    assert_int_equal(pwrite(file, header, 59, begin), 59);
    assert_int_equal(pwrite(file, tail, 79 + 98, directory), 79 + 98);
    refused(VIA_ERROR_FORMAT, "entry 'a.npy'|bytes from", via_archive_open(path, NULL, &archive));
    close(file);
    assert_null(archive);
}

static void an_npy_file_is_no_archive(void **state) {
    (void)state;
    archive_bytes content;
    via_archive *archive = NULL;
    make_npz(&content, "a.npy", 0, 5);
    refused(VIA_ERROR_FORMAT, "one.npy|one .npy array; expected|via_load",
            via_archive_open(put_file("one.npy", content.bytes + 35, 128 + 5), NULL, &archive));
    assert_null(archive);
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

static void an_entry_of_objects_is_refused_alone(void **state) {
    (void)state;
    archive_bytes content;
    via_archive *archive = NULL;
    via_archive *selection = NULL;
    via_file *window = NULL;
    via_array *buffer = NULL;
    make_npz(&content, "odd.npy", 0, 5);
    *(char *)memchr(content.bytes, 'u', content.length) = 'O'; /* descr: '|O1' */
    ok(via_archive_open(put("objects", &content), NULL, &archive));
    make_npz(&content, "a.npy", 0, 5);
    ok(via_archive_add(archive, put("numbers", &content)));
    assert_int_equal(via_archive_size(archive), 2);
    assert_string_equal(via_archive_name(archive, 0), "odd");
    assert_string_equal(via_archive_type_name(archive, 0), "");
    const char *words = "objects: tensor 'odd'|Python objects, pickled";
    refused(VIA_ERROR_DTYPE, words, via_archive_file(archive, 0, &window));
    refused(VIA_ERROR_DTYPE, words, via_archive_load(archive, NULL, NULL, &buffer));
    refused(VIA_ERROR_DTYPE, words, via_archive_slice(archive, 0, 0, 0, 1));
    refused(VIA_ERROR_DTYPE, words, via_archive_convert(archive, 0, VIA_FLOAT32, NULL));
    refused(VIA_ERROR_DTYPE, words, via_archive_select(archive, 2, (const int64_t[]){1, 0}, &selection));
    assert_null(selection);
    ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(via_archive_nbytes(archive)), NULL, &buffer));
    refused(VIA_ERROR_DTYPE, words, via_archive_read(archive, buffer, NULL));
    via_array_release(buffer);
    ok(via_archive_convert(archive, -1, VIA_FLOAT32, NULL));
    ok(via_archive_select(archive, 1, (const int64_t[]){1}, &selection));
    expect_tensor(selection, "a", "uint8", VIA_UINT8, 1, SHAPE(5));
    via_archive_release(selection);
    via_archive_release(archive);
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
    int64_t number = 0;
    make_gguf(&content, "new", 24, 5, 9);
    refused(VIA_ERROR_FORMAT, "third", via_archive_add(archive, put("third", &content)));
    refused(VIA_ERROR_INDEX, "new", via_archive_find(archive, "new", &number));
    refused(VIA_ERROR_INDEX, "third", via_archive_find(archive, "third", &number));
    ok(via_archive_find(archive, "b", &number));
    assert_int_equal(number, 1);
    ok(via_archive_slice(archive, 1, 0, 1, 1));
    make_gguf(&content, "c", 24, 5, 10);
    ok(via_archive_add(archive, put("third", &content)));
    assert_int_equal(via_archive_nbytes(archive), 128 + 10);
    ok(via_archive_load(archive, NULL, NULL, &buffer));
    via_array_release(buffer);
    via_archive_release(archive);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_stored_array_of_npz_is_a_tensor),         TEST(a_tensor_of_gguf_has_its_rows_last),
        TEST(quantised_blocks_are_bytes_and_named),      TEST(entries_that_share_a_large_header_are_refused_soon),
        TEST(sizes_near_the_end_of_numbers_are_refused), TEST(an_npy_file_is_no_archive),
        TEST(files_cut_short_anywhere_are_refused),      TEST(wrong_entries_are_refused_by_name),
        TEST(an_entry_of_objects_is_refused_alone),      TEST(files_of_several_formats_are_one_archive),
    };
    return run_file_tests(tests);
}
