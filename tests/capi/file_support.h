/* Files that tests make, in a folder of their own that goes with the program. */
#ifndef VIADUCT_TESTS_FILE_SUPPORT_H
#define VIADUCT_TESTS_FILE_SUPPORT_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static char scratch[256];

static inline int make_scratch(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/viaduct-XXXXXX", base != NULL && strlen(base) < 200 ? base : "/tmp");
    return mkdtemp(scratch) != NULL ? 0 : -1;
}

/* The path of a name in the folder; good until the eighth call after. */
static inline const char *path_of(const char *name) {
    static char paths[8][768];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

/* How many files there are in the folder. */
static inline int count_scratch(void) {
    int count = 0;
    DIR *folder = opendir(scratch);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

static inline int remove_scratch(void **state) {
    (void)state;
    DIR *folder = opendir(scratch);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL; entry = readdir(folder)) {
        unlink(path_of(entry->d_name));
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return rmdir(scratch);
}

static inline const char *put_file(const char *name, const void *bytes, size_t length) {
    const char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
    return path;
}

/* The bytes of a file, at most `capacity` of them; returns how many there are. */
static inline size_t get_file(const char *name, void *bytes, size_t capacity) {
    FILE *file = fopen(path_of(name), "rb");
    assert_non_null(file);
    const size_t length = fread(bytes, 1, capacity, file);
    fclose(file);
    return length;
}

static inline int64_t size_of_file(const char *name) {
    struct stat found;
    assert_int_equal(stat(path_of(name), &found), 0);
    return found.st_size;
}

#define OPTIONS_OF(...) (&(const via_file_options){.struct_size = (int32_t)sizeof(via_file_options), __VA_ARGS__})

static inline via_file *open_with(const char *name, const via_file_options *options) {
    via_file *file = NULL;
    ok(via_file_open(path_of(name), options, &file));
    assert_non_null(file);
    return file;
}

static inline via_file *open_mode(const char *name, int32_t mode) { return open_with(name, OPTIONS_OF(.mode = mode)); }

static inline via_file *create_with(const char *name, int32_t dtype, int32_t ndim, const int64_t *shape,
                                    const via_file_options *options) {
    via_file *file = NULL;
    ok(via_file_create(path_of(name), dtype, ndim, shape, options, &file));
    assert_non_null(file);
    return file;
}

static inline via_array *map_as(via_file *file, int64_t byte_offset, int32_t dtype, int32_t ndim,
                                const int64_t *shape) {
    via_array *array = NULL;
    ok(via_file_array(file, byte_offset, dtype, ndim, shape, &array));
    assert_non_null(array);
    return array;
}

/* Writes a .npy file of version 1.0 with this text as its header; returns the whole length. */
static inline size_t put_npy(const char *name, const char *text, const void *data, size_t data_bytes) {
    static char bytes[1 << 16];
    const size_t length = strlen(text);
    assert_true(10 + length + data_bytes <= sizeof bytes);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (char)(length & 0xFF);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + 10, text, length);
    if (data_bytes > 0) {
        memcpy(bytes + 10 + length, data, data_bytes);
    }
    put_file(name, bytes, 10 + length + data_bytes);
    return 10 + length + data_bytes;
}

/* The tests of a program that makes files. */
#define run_file_tests(tests) cmocka_run_group_tests(tests, make_scratch, remove_scratch)

#endif
