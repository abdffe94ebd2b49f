/* What goes wrong with files: short and interrupted calls are made good, failures are told by name, and an atomic write
 * that fails leaves the file as it was. */
#define _GNU_SOURCE /* O_DIRECT */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "file_support.h"

enum { LARGE = 5 << 20 };

/* What the next calls of the library's do, in the place of the system's own. */
static struct {
    int32_t short_by;     /* moves less than was asked for: one part in so many */
    int32_t interrupt;    /* every so many calls nothing but EINTR */
    int32_t fail_at;      /* calls from this number on fail, counted from 1 */
    int32_t error;        /* with this */
    int32_t refuse_block; /* direct transfers: EINVAL */
    atomic_int calls;
} fault;

static int is_direct(int file) { return (fcntl(file, F_GETFL) & O_DIRECT) != 0; }

/* 0, or the error that the call has. */
static int error_of_call(int file) {
    const int32_t number = atomic_fetch_add(&fault.calls, 1) + 1;
    if (fault.refuse_block && is_direct(file)) {
        return EINVAL;
    }
    if (fault.fail_at != 0 && number >= fault.fail_at) {
        return fault.error;
    }
    return fault.interrupt != 0 && number % fault.interrupt == 0 ? EINTR : 0;
}

static size_t length_of_call(size_t count) {
    return fault.short_by > 1 && count >= (size_t)fault.short_by ? count / (size_t)fault.short_by : count;
}

ssize_t pread(int file, void *memory, size_t count, off_t offset) {
    const int error = error_of_call(file);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_pread64, file, memory, length_of_call(count), offset);
}

ssize_t pwrite(int file, const void *memory, size_t count, off_t offset) {
    const int error = error_of_call(file);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_pwrite64, file, memory, length_of_call(count), offset);
}

/* How blocks were asked for, and how files were cut, since the last look. */
static struct {
    int32_t reservations;
    int64_t first; /* of the last one */
    int64_t nbytes;
    int32_t writes_before; /* it */
    int32_t error;         /* of the next ones */
    int32_t emptied;
} asked;

int fallocate(int file, int mode, off_t offset, off_t nbytes) {
    asked.reservations++;
    asked.first = offset;
    asked.nbytes = nbytes;
    asked.writes_before = atomic_load(&fault.calls);
    if (asked.error != 0) {
        errno = asked.error;
        return -1;
    }
    return (int)syscall(SYS_fallocate, file, mode, offset, nbytes);
}

int ftruncate(int file, off_t nbytes) {
    asked.emptied += nbytes == 0;
    return (int)syscall(SYS_ftruncate, file, nbytes);
}

static void no_faults(void) {
    memset(&asked, 0, sizeof asked);
    memset(&fault, 0, sizeof fault);
    ok(via_set_num_threads(0));
}

/* From the call with this number on, counted from now. */
static void fail_from(int32_t number, int32_t error) {
    atomic_store(&fault.calls, 0);
    fault.fail_at = number;
    fault.error = error;
}

static uint8_t *pattern(uint8_t seed) {
    uint8_t *bytes = malloc(LARGE);
    assert_non_null(bytes);
    for (int32_t i = 0; i < LARGE; ++i) {
        bytes[i] = (uint8_t)(i * 31 + i / 253 + seed);
    }
    return bytes;
}

/* A file of LARGE bytes in the folder, and an array of as many, both with a pattern of their own. */
typedef struct pair {
    uint8_t *old;
    uint8_t *bytes;
    via_array *array;
} pair;

static pair make_pair(const char *name) {
    pair made = {pattern(1), pattern(2), NULL};
    put_file(name, made.old, LARGE);
    made.array = wrap_plain(made.bytes, VIA_UINT8, 1, SHAPE(LARGE), NULL);
    return made;
}

static void end_pair(pair *made) {
    no_faults();
    via_array_release(made->array);
    free(made->old);
    free(made->bytes);
}

static void assert_holds(const char *name, const uint8_t *bytes) {
    uint8_t *found = malloc(LARGE + 1);
    assert_int_equal(get_file(name, found, LARGE + 1), LARGE);
    assert_memory_equal(found, bytes, LARGE);
    free(found);
}

static void what_the_system_does_by_halves_is_done_to_the_end(void **state) {
    (void)state;
    for (int32_t cache = 0; cache < 3; ++cache) {
        pair it = make_pair("halves");
        via_file *file = open_with("halves", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .page_cache = cache));
        fault.short_by = 3;
        fault.interrupt = 2;
        ok(via_file_write(file, 0, it.array, NULL));
        memset(it.bytes, 0, LARGE);
        ok(via_file_read(file, 0, it.array, NULL));
        assert_true(atomic_load(&fault.calls) > 20);
        uint8_t *expected = pattern(2);
        assert_memory_equal(it.bytes, expected, LARGE);
        assert_holds("halves", expected);
        free(expected);
        via_file_release(file);
        end_pair(&it);
    }
}

static void a_read_that_fails_tells_the_error_and_how_far_it_got(void **state) {
    (void)state;
    pair it = make_pair("broken");
    via_file *file = open_with("broken", OPTIONS_OF(.page_cache = VIA_PAGE_CACHE_USE));
    ok(via_set_num_threads(1));
    fail_from(2, EIO);
    refused(VIA_ERROR_IO, "via_file_read|reading at byte|EIO|of 5242880 bytes had been moved",
            via_file_read(file, 0, it.array, NULL));
    assert_int_equal(via_last_error_code(), EIO);
    int64_t place = 0;
    int64_t done = 0;
    assert_int_equal(sscanf(strstr(via_last_error(), "at byte"), "at byte %" SCNd64, &place), 1);
    assert_int_equal(sscanf(strrchr(via_last_error(), ';'), "; %" SCNd64 " of", &done), 1);
    assert_true(place > 0 && place == done);
    assert_memory_equal(it.bytes, it.old, (size_t)done);
    via_file_release(file);
    end_pair(&it);
}

/* An eighth of each row, which are near enough to be read at once, or not. */
static via_file *columns_of(via_file *file, int32_t apart) {
    via_file *window = NULL;
    const int64_t row = apart ? 32 << 10 : 5120;
    ok(via_file_window(file, 0, VIA_UINT8, 2, SHAPE(LARGE / row, row), SHAPE(0, 7), SHAPE(LARGE / row, row / 8), NULL,
                       &window));
    return window;
}

static void windows_are_moved_to_the_end_or_say_why_not(void **state) {
    (void)state;
    for (int32_t how = 0; how < 6; ++how) {
        pair it = make_pair("windows");
        via_file *file = open_with("windows", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .page_cache = how / 2));
        via_file *window = columns_of(file, how % 2);
        via_array *array = NULL;
        via_array *mapped = NULL;
        ok(via_file_array(window, 0, 0, 0, NULL, &mapped));
        const int64_t *shape = via_array_shape(mapped);
        ok(via_wrap(it.bytes, VIA_UINT8, 2, shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
        fault.short_by = 3;
        fault.interrupt = 2;
        ok(via_file_write(window, 0, array, NULL));
        ok(via_file_read(window, 0, array, NULL));
        for (int64_t i = 0; i < LARGE / 8; ++i) {
            assert_int_equal(it.bytes[i], (uint8_t)(i * 31 + i / 253 + 2));
            assert_int_equal(((uint8_t *)via_array_data(mapped))[i / shape[1] * shape[1] * 8 + i % shape[1]],
                             it.bytes[i]);
        }
        no_faults();
        fail_from(how + 2, EIO);
        refused(VIA_ERROR_IO, "reading at byte|EIO|bytes had been moved", via_file_read(window, 0, array, NULL));
        fail_from(how + 2, ENOSPC);
        refused(VIA_ERROR_IO, "writing at byte|ENOSPC|bytes had been moved", via_file_write(window, 0, array, NULL));
        via_array_release(array);
        via_array_release(mapped);
        via_file_release(window);
        via_file_release(file);
        end_pair(&it);
    }
}

static void a_task_that_fails_keeps_its_progress_and_its_error(void **state) {
    (void)state;
    pair it = make_pair("broken");
    via_file *file = open_mode("broken", VIA_MODE_READ_WRITE);
    ok(via_set_num_threads(1));
    fail_from(2, EIO);
    via_task *task = NULL;
    ok(via_file_write_submit(file, 0, it.array, NULL, &task));
    refused(VIA_ERROR_IO, "writing at byte 2097152|EIO|2097152 of 5242880", via_task_wait(task));
    assert_int_equal(via_last_error_code(), EIO);
    int64_t done = 0;
    int64_t total = 0;
    ok(via_task_progress(task, &done, &total));
    assert_int_equal(done, 2 << 20);
    assert_int_equal(total, LARGE);
    via_task_release(task);
    via_file_release(file);
    end_pair(&it);
}

static void a_file_system_without_direct_transfers_is_asked_once(void **state) {
    (void)state;
    pair it = make_pair("direct");
    via_file *file = open_with("direct", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .page_cache = VIA_PAGE_CACHE_AVOID));
    ok(via_set_num_threads(1));
    fault.refuse_block = 1;
    ok(via_file_write(file, 0, it.array, NULL));
    assert_holds("direct", it.bytes);
    memset(it.bytes, 0, LARGE);
    ok(via_file_read(file, 0, it.array, NULL));
    uint8_t *expected = pattern(2);
    assert_memory_equal(it.bytes, expected, LARGE);
    free(expected);
    via_file_release(file);
    end_pair(&it);
}

static void a_large_write_has_its_blocks_set_aside_before_it_begins(void **state) {
    (void)state;
    pair it = make_pair("set-aside");
    via_file *file = open_mode("set-aside", VIA_MODE_READ_WRITE);
    via_array *small = wrap_plain(it.bytes, VIA_UINT8, 1, SHAPE(1 << 19), NULL);
    no_faults();
    ok(via_file_write(file, 4096, small, NULL));
    assert_int_equal(asked.reservations, 0);
    no_faults();
    ok(via_file_write(file, 512, it.array, NULL));
    assert_int_equal(asked.reservations, 1);
    assert_int_equal(asked.first, 512);
    assert_int_equal(asked.nbytes, LARGE);
    assert_int_equal(asked.writes_before, 0);
    assert_int_equal(size_of_file("set-aside"), LARGE + 512);
    via_array_release(small);
    via_file_release(file);
    end_pair(&it);
}

static void a_disk_without_room_for_a_large_write_is_told_before_anything_is_written(void **state) {
    (void)state;
    static const int32_t errors[] = {ENOSPC, EDQUOT, EFBIG};
    pair it = make_pair("no-room");
    via_file *file = open_mode("no-room", VIA_MODE_READ_WRITE);
    for (size_t i = 0; i < LENGTH(errors); ++i) {
        no_faults();
        asked.error = errors[i];
        refused(VIA_ERROR_IO, "via_file_write|reserving blocks at byte 0", via_file_write(file, 0, it.array, NULL));
        assert_int_equal(via_last_error_code(), errors[i]);
        assert_int_equal(atomic_load(&fault.calls), 0);
        assert_holds("no-room", it.old);
    }
    no_faults();
    asked.error = EOPNOTSUPP;
    ok(via_file_write(file, 0, it.array, NULL));
    assert_holds("no-room", it.bytes);
    via_file_release(file);
    end_pair(&it);
}

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

static void a_file_is_emptied_only_if_there_is_something_in_it(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int32_t atomic_write;
        int32_t emptied;
    } made[] = {{"emptied", 0, 1}, {"new", 0, 0}, {"emptied", 1, 0}};
    pair it = make_pair("emptied");
    for (size_t i = 0; i < LENGTH(made); ++i) {
        no_faults();
        via_file *file =
            create_with(made[i].name, VIA_UINT8, 1, SHAPE(8), OPTIONS_OF(.atomic_write = made[i].atomic_write));
        assert_int_equal(asked.emptied, made[i].emptied);
        via_file_release(file);
        const uint8_t zeros[8] = {0};
        uint8_t found[9];
        assert_int_equal(get_file(made[i].name, found, sizeof found), 8);
        assert_memory_equal(found, zeros, 8);
    }
    end_pair(&it);
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

static void a_limit_on_file_sizes_is_told_by_name(void **state) {
    (void)state;
    pair it = make_pair("limited");
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    via_file *file = open_with("limited", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .atomic_write = 1));
    via_file *made = create_with("limited-too", VIA_UINT8, 1, SHAPE(1), NULL);
    const struct rlimit small = {1 << 20, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const via_status status = via_file_write(file, 0, it.array, NULL);
    const int32_t code = via_last_error_code();
    const via_status other = via_file_write(made, 0, it.array, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, VIA_ERROR_IO);
    assert_int_equal(code, EFBIG);
    assert_int_equal(other, VIA_ERROR_IO);
    assert_true(holds_words(via_last_error(), "EFBIG"));
    assert_holds("limited", it.old);
    via_file_release(file);
    via_file_release(made);
    end_pair(&it);
}

/* A file system of its own, where this may be had. */
static void a_disk_that_is_full_or_read_only_is_told_by_name(void **state) {
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", path_of("disk"));
    assert_int_equal(mkdir(folder, 0700), 0);
    if (mount("none", folder, "tmpfs", 0, "size=2m") != 0) {
        rmdir(folder);
        skip();
    }
    pair it = make_pair("outside");
    via_file *file = create_with("disk/file", VIA_UINT8, 1, SHAPE(LARGE), NULL);
    const via_status status = via_file_write(file, 0, it.array, NULL);
    const int full = holds_words(via_last_error(), "ENOSPC");
    via_file_release(file);
    put_file("disk/kept", "kept", 4);
    mount("none", folder, NULL, MS_REMOUNT | MS_RDONLY, NULL);
    via_file *other = NULL;
    const via_status opened = via_file_open(path_of("disk/kept"), OPTIONS_OF(.mode = VIA_MODE_READ_WRITE), &other);
    const int read_only = holds_words(via_last_error(), "EROFS");
    umount(folder);
    rmdir(folder);
    assert_int_equal(status, VIA_ERROR_IO);
    assert_true(full);
    assert_int_equal(opened, VIA_ERROR_IO);
    assert_true(read_only);
    end_pair(&it);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_the_system_does_by_halves_is_done_to_the_end),
        TEST(a_read_that_fails_tells_the_error_and_how_far_it_got),
        TEST(windows_are_moved_to_the_end_or_say_why_not),
        TEST(a_task_that_fails_keeps_its_progress_and_its_error),
        TEST(a_file_system_without_direct_transfers_is_asked_once),
        TEST(a_large_write_has_its_blocks_set_aside_before_it_begins),
        TEST(a_disk_without_room_for_a_large_write_is_told_before_anything_is_written),
        TEST(a_replacement_that_is_not_durable_has_no_blocks_set_aside),
        TEST(a_file_is_emptied_only_if_there_is_something_in_it),
        TEST(an_atomic_write_that_fails_leaves_the_file_whole),
        TEST(a_file_made_to_replace_another_does_so_with_its_first_write),
        TEST(a_file_made_to_replace_another_and_never_written_leaves_no_trace),
        TEST(an_atomic_write_follows_links_and_keeps_permissions),
        TEST(a_file_made_to_replace_another_has_its_permissions),
        TEST(a_limit_on_file_sizes_is_told_by_name),
        TEST(a_disk_that_is_full_or_read_only_is_told_by_name),
    };
    return run_file_tests(tests);
}
