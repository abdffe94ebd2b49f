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

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_replacement_that_is_not_durable_has_no_blocks_set_aside),
        TEST(an_atomic_write_that_fails_leaves_the_file_whole),
        TEST(a_file_made_to_replace_another_does_so_with_its_first_write),
        TEST(a_file_made_to_replace_another_and_never_written_leaves_no_trace),
        TEST(an_atomic_write_follows_links_and_keeps_permissions),
        TEST(a_file_made_to_replace_another_has_its_permissions),
    };
    return run_file_tests(tests);
}
