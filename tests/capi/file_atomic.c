/* Atomic writes: a file is replaced whole, under its name and permissions, or is as it was. */
#define _GNU_SOURCE /* O_DIRECT */

#include "file_faults.h"

/* The file system writes it out as it takes the other's place. */
static void a_replacement_that_is_not_durable_has_no_blocks_set_aside(void **state) {
    (void)state;
    for (int32_t durable = 0; durable < 2; ++durable) {
        pair it = make_pair("replaced");
        via_file *file =
            open_with("replaced", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .atomic_write = 1, .durable = durable));
        no_faults();
        ok(via_file_write(file, 0, it.array, NULL));
        assert_int_equal(asked.reservations, durable);
        assert_holds("replaced", it.bytes);
        via_file_release(file);
        end_pair(&it);
    }
}

/* Whichever call it is that fails. */
static void an_atomic_write_that_fails_leaves_the_file_whole(void **state) {
    (void)state;
    static const int32_t errors[] = {EIO, ENOSPC, EDQUOT, EROFS};
    for (int32_t number = 1; number <= 4; ++number) {
        pair it = make_pair("whole");
        const int before = count_scratch();
        via_file *file = open_with("whole", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .atomic_write = 1));
        fail_from(number, errors[number % LENGTH(errors)]);
        const via_status status = via_file_write(file, 0, it.array, NULL);
        const int32_t code = via_last_error_code();
        no_faults();
        if (number <= 3) {
            assert_int_equal(status, VIA_ERROR_IO);
            assert_int_equal(code, errors[number % LENGTH(errors)]);
            assert_holds("whole", it.old);
        } else {
            assert_int_equal(status, VIA_OK);
            assert_holds("whole", it.bytes);
        }
        assert_int_equal(count_scratch(), before);
        ok(via_file_write(file, 0, it.array, NULL));
        assert_holds("whole", it.bytes);
        via_file_release(file);
        end_pair(&it);
    }
}

static void a_file_made_to_replace_another_does_so_with_its_first_write(void **state) {
    (void)state;
    pair it = make_pair("later");
    via_file *file = create_with("later", VIA_UINT8, 1, SHAPE(LARGE), OPTIONS_OF(.atomic_write = 1));
    assert_holds("later", it.old);
    fail_from(2, EIO);
    refused(VIA_ERROR_IO, "EIO", via_file_write(file, 0, it.array, NULL));
    no_faults();
    assert_holds("later", it.old);
    ok(via_file_write(file, 0, it.array, NULL));
    assert_holds("later", it.bytes);
    via_file_release(file);
    assert_holds("later", it.bytes);
    end_pair(&it);
}

/* The first part of the array to the front of the file, which fails on the way. */
static void fail_to_write_the_front(via_file *file, const pair *from) {
    via_array *front = wrap_plain(from->bytes, VIA_UINT8, 1, SHAPE(4 << 20), NULL);
    fail_from(2, EIO);
    refused(VIA_ERROR_IO, "EIO|of 4194304 bytes were moved", via_file_write(file, 0, front, NULL));
    fault.fail_at = 0;
    via_array_release(front);
}

/* Where no hole can be made in a file, and where it cannot even be cut at first. */
static void nothing_of_a_write_that_failed_is_in_a_file_made_to_replace_another(void **state) {
    (void)state;
    enum { FRONT = 4 << 20 };
    static const struct {
        const char *name;
        int64_t header;
        int32_t error;
        int32_t cut_error;
    } made[] = {{"made", 0, 0, 0}, {"made.npy", 128, 0, 0}, {"made.npy", 128, EOPNOTSUPP, 0}, {"made", 0, EIO, EFBIG}};
    uint8_t *expected = calloc(1, 128 + LARGE);
    uint8_t *found = malloc(128 + LARGE + 1);
    for (size_t i = 0; i < LENGTH(made); ++i) {
        const int64_t header = made[i].header;
        pair it = make_pair("made");
        via_array *rest = wrap_plain(it.bytes, VIA_UINT8, 1, SHAPE(LARGE - FRONT), NULL);
        via_file *file = create_with(made[i].name, VIA_UINT8, 1, SHAPE(LARGE),
                                     OPTIONS_OF(.atomic_write = 1, .page_cache = VIA_PAGE_CACHE_USE, .as_bytes = 1));
        via_array *mapped = map_as(file, 0, VIA_UINT8, 1, SHAPE(LARGE));
        via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
        ok(via_set_num_threads(1));
        asked.error = made[i].error;
        asked.cut_error = made[i].cut_error;
        fail_to_write_the_front(file, &it);
        if (asked.cut_error != 0) {
            refused(VIA_ERROR_IO, "resizing|EFBIG", via_file_write(file, FRONT, rest, NULL));
            asked.cut_error = 0;
        }
        ok(via_file_write(file, FRONT, rest, NULL));
        ok(via_file_info(file, &properties));
        assert_int_equal(properties.byte_offset, header);
        memset(expected + header, 0, FRONT);
        memcpy(expected + header + FRONT, it.bytes, LARGE - FRONT);
        assert_memory_equal(via_array_data(mapped), expected + header, LARGE);
        assert_int_equal(get_file(made[i].name, found, 128 + LARGE + 1), header + LARGE);
        assert_memory_equal(found + header, expected + header, LARGE);
        assert_true(header == 0 || memcmp(found, "\x93NUMPY", 6) == 0);
        via_array_release(mapped);
        via_array_release(rest);
        via_file_release(file);
        end_pair(&it);
    }
    free(found);
    free(expected);
}

/* A raw file grows with what is written behind its end, and not with what was to be. */
static void a_file_made_to_replace_another_is_as_large_as_before_a_write_that_failed(void **state) {
    (void)state;
    pair it = make_pair("grown");
    via_file *file = create_with("grown", VIA_UINT8, 1, SHAPE(16), OPTIONS_OF(.atomic_write = 1));
    via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
    fail_to_write_the_front(file, &it);
    ok(via_file_info(file, &properties));
    assert_int_equal(properties.nbytes, 16);
    via_file_release(file);
    assert_holds("grown", it.old);
    end_pair(&it);
}

static void a_file_made_to_replace_another_and_never_written_leaves_no_trace(void **state) {
    (void)state;
    pair it = make_pair("unwritten");
    const int before = count_scratch();
    via_file *file = create_with("unwritten", VIA_UINT8, 1, SHAPE(8), OPTIONS_OF(.atomic_write = 1));
    via_file_release(file);
    file = create_with("unwritten-new.npy", VIA_UINT8, 1, SHAPE(8), OPTIONS_OF(.atomic_write = 1));
    via_file_release(file);
    assert_int_equal(count_scratch(), before);
    assert_holds("unwritten", it.old);
    end_pair(&it);
}

/* The folder of a created file is flushed, too: the one that it was created in. */
static void a_durable_file_may_be_written_from_another_folder(void **state) {
    (void)state;
    char before[4096];
    char byte = 7;
    via_array *array = wrap_plain(&byte, VIA_UINT8, 1, SHAPE(1), 0);
    via_file *file = NULL;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(mkdir(path_of("sub"), 0700), 0);
    assert_int_equal(chdir(scratch), 0);
    ok(via_file_create("sub/new.bin", VIA_UINT8, 1, SHAPE(1), OPTIONS_OF(.durable = 1), &file));
    assert_int_equal(chdir(before), 0);
    ok(via_file_write(file, 0, array, NULL));
    via_file_release(file);
    via_array_release(array);
    assert_int_equal(unlink(path_of("sub/new.bin")), 0);
    assert_int_equal(rmdir(path_of("sub")), 0);
}

/* First what is in it is flushed, then, under its new name, the folder. */
static void a_durable_write_that_fails_leaves_the_file_whole_under_its_name(void **state) {
    (void)state;
    pair it = make_pair("durable");
    const int before = count_scratch();
    via_file *file = open_with("durable", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .atomic_write = 1, .durable = 1));
    asked.flush_at = 1;
    refused(VIA_ERROR_IO, "flushing|.part|EIO", via_file_write(file, 0, it.array, NULL));
    assert_holds("durable", it.old);
    asked.flush_at = 2;
    refused(VIA_ERROR_IO, "flushing the directory of|durable|EIO", via_file_write(file, 0, it.array, NULL));
    assert_holds("durable", it.bytes);
    assert_int_equal(count_scratch(), before);
    ok(via_file_write(file, 0, it.array, NULL));
    assert_holds("durable", it.bytes);
    via_file_release(file);
    end_pair(&it);
}

static void an_atomic_write_follows_links_and_keeps_permissions(void **state) {
    (void)state;
    pair it = make_pair("real");
    assert_int_equal(chmod(path_of("real"), 0640), 0);
    assert_int_equal(symlink("real", path_of("link")), 0);
    via_file *file = open_with("link", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .atomic_write = 1, .durable = 1));
    via_array *mapped = map_as(file, 0, VIA_UINT8, 1, SHAPE(LARGE));
    assert_int_equal(via_array_flags(mapped), VIA_ARRAY_READ_ONLY);
    ok(via_file_write(file, 0, it.array, NULL));
    assert_memory_equal(via_array_data(mapped), it.old, LARGE);
    via_array_release(mapped);
    via_file_release(file);
    struct stat found;
    assert_int_equal(lstat(path_of("link"), &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(stat(path_of("real"), &found), 0);
    assert_int_equal(found.st_mode & 07777, 0640);
    assert_holds("real", it.bytes);
    end_pair(&it);
}

static mode_t permissions_of(const char *name) {
    struct stat found;
    assert_int_equal(stat(path_of(name), &found), 0);
    return found.st_mode & 07777;
}

/* The permissions of the only file whose name ends in .part. */
static mode_t permissions_of_part(void) {
    mode_t found = 0;
    DIR *folder = opendir(scratch);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        found = strstr(entry->d_name, ".part") != NULL ? permissions_of(entry->d_name) : found;
    }
    closedir(folder);
    return found;
}

/* Whoever may not read what is there may not read what takes its place, before it does so either. */
static void a_file_made_to_replace_another_has_its_permissions(void **state) {
    (void)state;
    static const mode_t given[] = {0600, 0664, 0400};
    const mode_t mask = umask(022);
    pair it = make_pair("private");
    for (size_t i = 0; i < LENGTH(given); ++i) {
        assert_int_equal(chmod(path_of("private"), given[i]), 0);
        via_file *file = create_with("private", VIA_UINT8, 1, SHAPE(LARGE), OPTIONS_OF(.atomic_write = 1));
        assert_int_equal(permissions_of_part(), given[i]);
        ok(via_file_write(file, 0, it.array, NULL));
        assert_int_equal(permissions_of("private"), given[i]);
        via_file_release(file);
        file = create_with("private", VIA_UINT8, 1, SHAPE(LARGE), OPTIONS_OF(.atomic_write = 1));
        assert_int_equal(chmod(path_of("private"), 0640), 0);
        ok(via_file_write(file, 0, it.array, NULL));
        assert_int_equal(permissions_of("private"), 0640);
        via_file_release(file);
    }
    via_file *file = create_with("first", VIA_UINT8, 1, SHAPE(LARGE), OPTIONS_OF(.atomic_write = 1));
    ok(via_file_write(file, 0, it.array, NULL));
    assert_int_equal(permissions_of("first"), 0644);
    via_file_release(file);
    umask(mask);
    end_pair(&it);
}

static int64_t blocks_of(const char *name) {
    struct stat found;
    assert_int_equal(stat(path_of(name), &found), 0);
    return found.st_blocks;
}

/* A file of a size that the disk has no room for: most of it is a hole, and stays one. */
static void an_atomic_write_leaves_holes_as_they_are(void **state) {
    (void)state;
    enum { SOME = 4096 };
    const int64_t length = INT64_C(1) << 32, middle = length / 2;
    const int64_t places[] = {0, middle, length - SOME};
    static uint8_t bytes[SOME], found[SOME];
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(SOME), NULL);
    via_array *read = wrap_plain(found, VIA_UINT8, 1, SHAPE(SOME), NULL);
    via_file *file = create_with("sparse", VIA_UINT8, 1, SHAPE(length), OPTIONS_OF(.file_format = VIA_FORMAT_RAW));
    memset(bytes, 1, SOME);
    ok(via_file_write(file, places[0], array, NULL));
    memset(bytes, 2, SOME);
    ok(via_file_write(file, places[1], array, NULL));
    via_file_release(file);
    file =
        open_with("sparse", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .atomic_write = 1, .file_format = VIA_FORMAT_RAW));
    memset(bytes, 3, SOME);
    ok(via_file_write(file, places[2], array, NULL));
    for (int32_t i = 0; i < 3; ++i) {
        ok(via_file_read(file, places[i], read, NULL));
        memset(bytes, i + 1, SOME);
        assert_memory_equal(found, bytes, SOME);
    }
    memset(bytes, 0, SOME);
    ok(via_file_read(file, middle + SOME, read, NULL));
    assert_memory_equal(found, bytes, SOME);
    assert_true(blocks_of("sparse") < 4096);
    via_file_release(file);
    via_array_release(array);
    via_array_release(read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_replacement_that_is_not_durable_has_no_blocks_set_aside),
        TEST(an_atomic_write_that_fails_leaves_the_file_whole),
        TEST(a_file_made_to_replace_another_does_so_with_its_first_write),
        TEST(nothing_of_a_write_that_failed_is_in_a_file_made_to_replace_another),
        TEST(a_file_made_to_replace_another_is_as_large_as_before_a_write_that_failed),
        TEST(a_file_made_to_replace_another_and_never_written_leaves_no_trace),
        TEST(a_durable_file_may_be_written_from_another_folder),
        TEST(a_durable_write_that_fails_leaves_the_file_whole_under_its_name),
        TEST(an_atomic_write_follows_links_and_keeps_permissions),
        TEST(a_file_made_to_replace_another_has_its_permissions),
        TEST(an_atomic_write_leaves_holes_as_they_are),
    };
    return run_file_tests(tests);
}
