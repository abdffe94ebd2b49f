/* Where files end: limits of the process, of the disk and of names, leases, and what is said of them. */
#define _GNU_SOURCE /* F_SETLEASE, unshare */

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "child.h"
#include "file_support.h"

enum { MIB = 1 << 20, BYTES = 2 * MIB };

static const via_file_options whole = {.struct_size = (int32_t)sizeof whole, .atomic_write = 1};
static const via_file_options rewriting = {.struct_size = (int32_t)sizeof rewriting, .mode = VIA_MODE_READ_WRITE};
static const via_file_options replacing = {
    .struct_size = (int32_t)sizeof replacing, .mode = VIA_MODE_READ_WRITE, .atomic_write = 1};

static char memory[BYTES];

static via_array *array_of(int byte, int64_t nbytes) {
    memset(memory, byte, (size_t)nbytes);
    return wrap_plain(memory, VIA_UINT8, 1, SHAPE(nbytes), NULL);
}

static via_status write_bytes(via_file *file, int64_t start, int64_t nbytes, int byte) {
    via_array *array = array_of(byte, nbytes);
    const via_status status = via_file_write(file, start, array, NULL);
    via_array_release(array);
    return status;
}

static void put_bytes(const char *name, int byte, size_t nbytes) {
    memset(memory, byte, nbytes);
    put_file(name, memory, nbytes);
}

/* Runs a body in a child, which ends itself if it hangs; returns what it exits with, or minus the signal. */
static int in_child(void (*body)(void)) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        body();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- Limits of the process. */

static int is_io(via_status status, int code, const char *words) {
    return status == VIA_ERROR_IO && via_last_error_code() == code && holds_words(via_last_error(), words);
}

static void set_limit(int what, rlim_t most) {
    struct rlimit limit;
    CHECK(getrlimit(what, &limit) == 0);
    limit.rlim_cur = most;
    CHECK(setrlimit(what, &limit) == 0);
}

static void reach_the_limit_of_file_sizes(void) {
    via_file *file = NULL;
    via_file *made = NULL;
    CHECK(via_file_open(path_of("limited"), &rewriting, &file) == VIA_OK);
    CHECK(via_file_create(path_of("limited-made"), VIA_UINT8, 1, SHAPE(BYTES), &whole, &made) == VIA_OK);
    set_limit(RLIMIT_FSIZE, MIB);
    CHECK(is_io(write_bytes(file, MIB - 8, 16, 2), EFBIG, "via_file_write|limited|EFBIG|RLIMIT_FSIZE|1048576"));
    CHECK(is_io(write_bytes(file, 0, BYTES, 2), EFBIG, "limited|EFBIG"));
    CHECK(write_bytes(file, MIB - 16, 16, 2) == VIA_OK);
    CHECK(is_io(write_bytes(made, 0, BYTES, 2), EFBIG, "limited-made|EFBIG"));
    via_file_release(made);
    via_file_release(file);
    for (int32_t i = 0; i < 2; ++i) {
        CHECK(is_io(via_file_create(path_of("too-large"), VIA_UINT8, 1, SHAPE(BYTES), i ? &whole : NULL, &file), EFBIG,
                    "via_file_create|too-large|EFBIG|RLIMIT_FSIZE"));
        CHECK(access(path_of("too-large"), F_OK) != 0);
    }
    CHECK(via_file_open(path_of("limited"), &replacing, &file) == VIA_OK);
    CHECK(is_io(write_bytes(file, 0, 8, 2), EFBIG, "limited|EFBIG"));
    via_file_release(file);
}

static void a_limit_on_file_sizes_is_an_error_and_no_signal(void **state) {
    (void)state;
    const int before = count_scratch();
    put_bytes("limited", 1, BYTES);
    assert_int_equal(in_child(reach_the_limit_of_file_sizes), 0);
    assert_int_equal(count_scratch(), before + 1);
}

/* With more and more descriptors: what fails is as it was, and what is left of them is what there was. */
static void run_out_of_descriptors(void) {
    const int next = dup(STDERR_FILENO);
    close(next);
    int32_t done = 0;
    for (rlim_t more = 0; more < 8; ++more) {
        via_file *file = NULL;
        via_file *made = NULL;
        set_limit(RLIMIT_NOFILE, (rlim_t)next + more);
        via_status status = via_file_open(path_of("few"), &replacing, &file);
        CHECK(status == VIA_OK || is_io(status, EMFILE, "few|EMFILE"));
        if (status == VIA_OK) {
            status = write_bytes(file, 0, 8, 2);
            CHECK(status == VIA_OK || is_io(status, EMFILE, "few|EMFILE"));
            done += status == VIA_OK;
        }
        const via_status other = via_file_create(path_of("few-made"), VIA_UINT8, 1, SHAPE(8), &whole, &made);
        CHECK(other == VIA_OK || is_io(other, EMFILE, "few-made|EMFILE"));
        via_file_release(file);
        via_file_release(made);
        const int left = dup(STDERR_FILENO);
        CHECK(left == (more > 0 ? next : -1));
        close(left);
    }
    CHECK(done >= 3);
}

static void a_limit_on_descriptors_leaves_files_whole(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* UndefinedBehaviorSanitizer looks at objects through a pipe, and takes having none for a wrong object */
#endif
    const int before = count_scratch();
    put_bytes("few", 1, 4096);
    assert_int_equal(in_child(run_out_of_descriptors), 0);
    assert_int_equal(count_scratch(), before + 1);
}

/* ---- A disk of its own, where this may be had: 2 MiB in a mount namespace that goes with the child. */

enum { NO_DISK = 99 };

static void mount_disk(void) {
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", path_of("disk"), "tmpfs", 0, "size=2m") != 0) {
        _exit(NO_DISK);
    }
}

static void run_on_disk(void (*body)(void)) {
    assert_int_equal(mkdir(path_of("disk"), 0700), 0);
    const int ended = in_child(body);
    assert_int_equal(rmdir(path_of("disk")), 0);
    if (ended == NO_DISK) {
        skip();
    }
    assert_int_equal(ended, 0);
}

static void map_more_than_the_disk_has(void) {
    via_file *file = NULL;
    via_array *array = NULL;
    mount_disk();
    CHECK(via_file_create(path_of("disk/large"), VIA_UINT8, 2, SHAPE(64, MIB), NULL, &file) == VIA_OK);
    CHECK(is_io(via_file_array(file, 0, VIA_UINT8, 1, SHAPE(64 * MIB), &array), ENOSPC,
                "via_file_array|disk/large|reserving|ENOSPC"));
    CHECK(array == NULL);
    CHECK(via_file_array(file, 3 * MIB, VIA_UINT8, 1, SHAPE(MIB), &array) == VIA_OK);
    memset(via_array_data(array), 7, MIB);
    via_array_release(array);
    via_file *window = NULL;
    CHECK(via_file_window(file, 0, VIA_UINT8, 2, SHAPE(64, MIB), NULL, SHAPE(4, MIB), NULL, &window) == VIA_OK);
    CHECK(is_io(via_file_array(window, 0, 0, 0, NULL, &array), ENOSPC, "disk/large|ENOSPC"));
    via_file_release(window);
    via_file_release(file);
    CHECK(via_file_open(path_of("disk/large"), NULL, &file) == VIA_OK);
    CHECK(via_file_array(file, 0, VIA_UINT8, 1, SHAPE(64 * MIB), &array) == VIA_OK); /* nothing is written there */
    via_array_release(array);
    via_file_release(file);
}

static void a_made_file_that_is_mapped_has_its_blocks_or_says_that_there_are_none(void **state) {
    (void)state;
    run_on_disk(map_more_than_the_disk_has);
}

static int count_disk(void) {
    int count = 0;
    DIR *folder = opendir(path_of("disk"));
    CHECK(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

/* There is room for the file, and not for it and another one. */
static void replace_on_a_full_disk(void) {
    via_file *file = NULL;
    mount_disk();
    put_bytes("disk/file", 1, MIB + MIB / 2);
    CHECK(via_file_open(path_of("disk/file"), &replacing, &file) == VIA_OK);
    for (int32_t i = 0; i < 3; ++i) {
        CHECK(is_io(write_bytes(file, i * 4096, 8, 2), ENOSPC, "disk/file|ENOSPC"));
        CHECK(is_io(write_bytes(file, 0, MIB + MIB / 2, 2), ENOSPC, "disk/file|ENOSPC"));
        CHECK(count_disk() == 1);
    }
    via_file_release(file);
    static char found[MIB + MIB / 2];
    CHECK(get_file("disk/file", found, sizeof found) == sizeof found);
    CHECK(found[0] == 1 && memcmp(found, found + 1, sizeof found - 1) == 0);
}

static void a_disk_that_is_full_leaves_the_file_that_was_to_be_replaced(void **state) {
    (void)state;
    run_on_disk(replace_on_a_full_disk);
}

/* ---- Leases, as Samba and nfsd have them. */

static volatile sig_atomic_t lease_broken;

static void note_lease(int signal_number) {
    (void)signal_number;
    lease_broken = 1;
}

/* Holds a lease until somebody asks for the file, and then some time more. */
static void hold_lease(int ready) {
    const int file = open(path_of("leased"), O_RDWR);
    CHECK(file >= 0);
    signal(SIGIO, note_lease);
    const int held = fcntl(file, F_SETLEASE, F_WRLCK) == 0;
    CHECK(write(ready, held ? "1" : "0", 1) == 1);
    for (int32_t i = 0; held && !lease_broken && i < 2000; ++i) {
        usleep(10000);
    }
    usleep(200000);
    CHECK(fcntl(file, F_SETLEASE, F_UNLCK) == 0);
    _exit(lease_broken ? 0 : 1);
}

static void a_file_on_which_there_is_a_lease_is_waited_for_as_open_waits(void **state) {
    (void)state;
    static const via_file_options *const options[] = {NULL, &rewriting, &replacing};
    put_bytes("leased", 1, 4096);
    for (int32_t i = 0; i < LENGTH(options); ++i) {
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            hold_lease(ready[1]);
        }
        char held = 0;
        assert_int_equal(read(ready[0], &held, 1), 1);
        close(ready[0]);
        close(ready[1]);
        via_file *file = NULL;
        const via_status status = via_file_open(path_of("leased"), options[i], &file);
        int ended = -1;
        assert_int_equal(waitpid(child, &ended, 0), child);
        if (held == '0') {
            skip();
        }
        assert_int_equal(status, VIA_OK);
        assert_int_equal(ended, 0);
        via_file_release(file);
    }
}

/* ---- Names. */

static void names_of_any_length_that_the_disk_takes_may_be_replaced(void **state) {
    (void)state;
    const int before = count_scratch();
    for (int32_t length = 230; length <= NAME_MAX; ++length) {
        for (int32_t wide = 0; wide < 2; ++wide) {
            char name[NAME_MAX + 1];
            memset(name, 'n', sizeof name);
            for (int32_t i = length % 3; wide && i + 3 <= length; i += 3) {
                memcpy(name + i, "\xE2\x82\xAC", 3);
            }
            name[length] = '\0';
            via_file *file = create_with(name, VIA_UINT8, 1, SHAPE(64), &whole);
            ok(write_bytes(file, 0, 64, 1));
            ok(write_bytes(file, 0, 8, 2));
            via_file_release(file);
            assert_int_equal(size_of_file(name), 64);
            assert_int_equal(unlink(path_of(name)), 0);
        }
    }
    char name[NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[NAME_MAX + 1] = '\0';
    via_file *file = NULL;
    refused(VIA_ERROR_IO, "nnnn|ENAMETOOLONG", via_file_create(path_of(name), VIA_UINT8, 1, SHAPE(8), &whole, &file));
    assert_int_equal(count_scratch(), before);
}

static void go_where_paths_are_long(void) {
    static char path[PATH_MAX + 64];
    int length = snprintf(path, sizeof path, "%s", path_of("deep"));
    while (length < PATH_MAX - 200) {
        length += snprintf(path + length, sizeof path - (size_t)length, "/%0199d", 0);
        CHECK(mkdir(path, 0700) == 0);
    }
    int32_t done = 0;
    for (int32_t name = 1; length + 1 + name < PATH_MAX; ++name) {
        via_file *file = NULL;
        snprintf(path + length, sizeof path - (size_t)length, "/%0*d", (int)name, 0);
        via_status status = via_file_create(path, VIA_UINT8, 1, SHAPE(8), &whole, &file);
        if (status == VIA_OK) {
            CHECK(write_bytes(file, 0, 8, 1) == VIA_OK && access(path, F_OK) == 0);
            CHECK(unlink(path) == 0);
            via_file_release(file);
            done++;
        } else {
            CHECK(is_io(status, ENAMETOOLONG, "ENAMETOOLONG"));
        }
    }
    CHECK(done > 20);
    for (path[length] = '\0'; length > (int)strlen(path_of("deep")); length -= 200, path[length] = '\0') {
        CHECK(rmdir(path) == 0);
    }
}

static void a_path_as_long_as_there_can_be_is_replaced_or_refused_by_name(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("deep"), 0700), 0);
    const int ended = in_child(go_where_paths_are_long);
    assert_int_equal(rmdir(path_of("deep")), 0);
    assert_int_equal(ended, 0);
}

static void open_without_proc(void) {
    via_file *file = NULL;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, "size=1m") != 0) {
        _exit(NO_DISK);
    }
    CHECK(via_file_open(path_of("fifo"), &rewriting, &file) == VIA_ERROR_UNSUPPORTED);
    CHECK(via_file_open(path_of("seen"), &replacing, &file) == VIA_OK);
    CHECK(write_bytes(file, 0, BYTES, 2) == VIA_OK);
    via_file_release(file);
}

static void files_are_opened_where_proc_is_not_mounted(void **state) {
    (void)state;
    put_bytes("seen", 1, BYTES);
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    const int ended = in_child(open_without_proc);
    if (ended == NO_DISK) {
        skip();
    }
    assert_int_equal(ended, 0);
    assert_int_equal(get_file("seen", memory, BYTES), BYTES);
    assert_int_equal(memory[BYTES - 1], 2);
}

/* ---- What is said. */

static void every_failure_of_a_file_reports_its_path(void **state) {
    (void)state;
    char path[512];
    char words[600];
    put_npy("named.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n", "0123456789abcdef", 16);
    put_npy("broken.npy", "{'descr': 7, 'fortran_order': False, 'shape': (4,), }\n", "0123456789abcdef", 16);
    snprintf(path, sizeof path, "%s", path_of("broken.npy"));
    snprintf(words, sizeof words, "via_file_open: %s: |string in quotes", path);
    via_file *file = NULL;
    refused(VIA_ERROR_FORMAT, words, via_file_open(path, NULL, &file));
    snprintf(path, sizeof path, "%s", path_of("named.npy"));
    snprintf(words, sizeof words, "%s", path);
    refused(VIA_ERROR_INVALID_ARGUMENT, words, via_file_open(path, OPTIONS_OF(.mode = 7), &file));
    refused(VIA_ERROR_SHAPE, words, via_file_create(path, VIA_UINT8, 1, SHAPE(-1), NULL, &file));
    file = open_mode("named.npy", VIA_MODE_READ);
    via_array *array = array_of(0, 8);
    via_array *floats = NULL;
    via_array *out = NULL;
    via_file *window = NULL;
    via_task *task = NULL;
    ok(via_empty(NULL, VIA_FLOAT32, 1, SHAPE(4), NULL, &floats));
    refused(VIA_ERROR_INVALID_ARGUMENT, words, via_file_read(file, -1, array, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, words, via_file_read(file, 12, array, NULL));
    refused(VIA_ERROR_READ_ONLY, words, via_file_write(file, 0, floats, NULL));
    refused(VIA_ERROR_READ_ONLY, words, via_file_write_submit(file, 0, floats, NULL, &task));
    refused(VIA_ERROR_INVALID_ARGUMENT, words, via_file_read_submit(file, -1, array, NULL, &task));
    refused(VIA_ERROR_SHAPE, words, via_file_array(file, 0, VIA_UINT8, 1, SHAPE(-1), &out));
    refused(VIA_ERROR_INDEX, words, via_file_window(file, 0, 0, 0, NULL, SHAPE(3), SHAPE(3), NULL, &window));
    ok(via_file_window(file, 0, 0, 0, NULL, SHAPE(1), SHAPE(2), NULL, &window));
    refused(VIA_ERROR_DTYPE, words, via_file_read(window, 0, array, NULL));
    via_file_release(window);
    via_array_release(floats);
    via_array_release(array);
    via_file_release(file);
}

static void the_path_of_a_failure_is_reported_once(void **state) {
    (void)state;
    via_file *file = NULL;
    refused(VIA_ERROR_IO, "ENOENT", via_file_open("/nowhere/at-all", NULL, &file));
    const char *first = strstr(via_last_error(), "/nowhere/at-all");
    assert_non_null(first);
    assert_null(strstr(first + 1, "/nowhere/at-all"));
}

static void a_file_that_was_cut_short_has_an_error_number(void **state) {
    (void)state;
    put_bytes("cut", 1, 4096);
    via_file *file = open_mode("cut", VIA_MODE_READ);
    assert_int_equal(truncate(path_of("cut"), 100), 0);
    via_array *array = array_of(0, 4096);
    refused(VIA_ERROR_IO, "cut|100 bytes|4096|which it had before|ENODATA", via_file_read(file, 0, array, NULL));
    assert_int_equal(via_last_error_code(), ENODATA);
    via_array_release(array);
    via_file_release(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_limit_on_file_sizes_is_an_error_and_no_signal),
        TEST(a_limit_on_descriptors_leaves_files_whole),
        TEST(a_made_file_that_is_mapped_has_its_blocks_or_says_that_there_are_none),
        TEST(a_disk_that_is_full_leaves_the_file_that_was_to_be_replaced),
        TEST(a_file_on_which_there_is_a_lease_is_waited_for_as_open_waits),
        TEST(names_of_any_length_that_the_disk_takes_may_be_replaced),
        TEST(a_path_as_long_as_there_can_be_is_replaced_or_refused_by_name),
        TEST(files_are_opened_where_proc_is_not_mounted),
        TEST(every_failure_of_a_file_reports_its_path),
        TEST(the_path_of_a_failure_is_reported_once),
        TEST(a_file_that_was_cut_short_has_an_error_number),
    };
    return run_file_tests(tests);
}
