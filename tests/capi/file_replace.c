/* What a file that replaces another may take the place of, and what becomes of two writers. */
#define _GNU_SOURCE /* mknod */

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/sysmacros.h>

#include "file_replacing.h"

/* ---- What may be replaced. */

static int make_directory(const char *path) { return mkdir(path, 0700); }
static int make_fifo(const char *path) { return mkfifo(path, 0600); }
/* As /dev/full is, and nobody else's. */
static int make_device(const char *path) { return mknod(path, S_IFCHR | 0600, makedev(1, 7)); }

static const struct {
    int (*make)(const char *path);
    const char *words;
} kinds[] = {{make_directory, "odd|a directory"}, {make_fifo, "odd|a FIFO"}, {make_device, "odd|a character device"}};

static int remove_odd(void) { return rmdir(path_of("odd")) == 0 || unlink(path_of("odd")) == 0; }

static void whatever_is_no_regular_file_is_refused_and_stays(void **state) {
    (void)state;
    static const char *const names[] = {"odd", "link-to-odd"};
    const int before = count_scratch();
    assert_int_equal(symlink("odd", path_of("link-to-odd")), 0);
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        if (kinds[i].make(path_of("odd")) != 0) {
            assert_int_equal(errno, EPERM);
            continue;
        }
        const struct stat made = look_at("odd");
        for (int32_t j = 0; j < LENGTH(names); ++j) {
            const char *path = path_of(names[j]);
            via_file *file = NULL;
            refused(VIA_ERROR_UNSUPPORTED, kinds[i].words, via_file_open(path, &replacing, &file));
            refused(VIA_ERROR_UNSUPPORTED, kinds[i].words,
                    via_file_create(path, VIA_UINT8, 1, SHAPE(8), &whole, &file));
            refused(VIA_ERROR_UNSUPPORTED, kinds[i].words,
                    via_file_create(path, VIA_UINT8, 1, SHAPE(8), &in_place, &file));
            const struct stat found = look_at("odd");
            assert_true(found.st_ino == made.st_ino && found.st_mode == made.st_mode);
        }
        assert_true(remove_odd());
    }
    assert_int_equal(unlink(path_of("link-to-odd")), 0);
    assert_int_equal(count_scratch(), before);
}

static void what_is_there_when_a_made_file_is_named_is_looked_at_again(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(kinds); ++i) {
        via_file *file = create_with("odd", VIA_UINT8, 1, SHAPE(8), &whole);
        if (kinds[i].make(path_of("odd")) == 0) {
            const struct stat made = look_at("odd");
            refused(VIA_ERROR_UNSUPPORTED, kinds[i].words, write_bytes(file, 0, 8, 1));
            assert_int_equal(look_at("odd").st_ino, made.st_ino);
            assert_true(remove_odd());
        }
        ok(write_bytes(file, 0, 8, 1));
        assert_true(has_bytes("odd", 0, 8, 1));
        via_file_release(file);
        assert_true(remove_odd());
    }
}

static void put_fifo_in_its_place(void) {
    assert_int_equal(unlink(path_of("odd")), 0);
    assert_int_equal(make_fifo(path_of("odd")), 0);
}

/* Whichever call of the library's it is that it comes before. */
static void what_takes_the_place_of_a_file_while_it_is_written_stays(void **state) {
    (void)state;
    int32_t refusals = 0;
    for (int32_t number = 1; number <= 40; ++number) {
        put_bytes("odd", 1);
        via_file *file = open_with("odd", &replacing);
        seen.calls = 0;
        seen.visit_at = number;
        seen.visit = put_fifo_in_its_place;
        const via_status status = write_bytes(file, 0, 8, 2);
        const int32_t code = via_last_error_code();
        const int visited = seen.visit == NULL;
        seen.visit = NULL;
        assert_true(status == VIA_OK || (status == VIA_ERROR_IO && code == ESTALE));
        assert_true(visited == S_ISFIFO(look_at("odd").st_mode));
        refusals += status != VIA_OK;
        via_file_release(file);
        assert_true(remove_odd());
    }
    assert_true(refusals >= 3);
}

static void a_link_that_leads_nowhere_is_ENOENT_however_the_file_is_made(void **state) {
    (void)state;
    via_file *file = NULL;
    assert_int_equal(symlink("not-there", path_of("dangling")), 0);
    refused(VIA_ERROR_IO, "dangling|ENOENT",
            via_file_create(path_of("dangling"), VIA_UINT8, 1, SHAPE(8), &in_place, &file));
    refused(VIA_ERROR_IO, "dangling|ENOENT",
            via_file_create(path_of("dangling"), VIA_UINT8, 1, SHAPE(8), &whole, &file));
    refused(VIA_ERROR_IO, "dangling|ENOENT", via_file_open(path_of("dangling"), &replacing, &file));
    assert_true(S_ISLNK(look_at("dangling").st_mode));
    assert_int_equal(unlink(path_of("dangling")), 0);
}

static void put_odd_at_once(void) { put_bytes("odd", 1); }
static void take_odd_away(void) { (void)unlink(path_of("odd")); }

/* Saves while another program does `visit`, before the call of the library's with this number. */
static void save_and_visit(int32_t number, void (*visit)(void)) {
    via_array *array = array_of(2, BYTES);
    seen.calls = 0;
    seen.visit_at = number;
    seen.visit = visit;
    ok(via_save(path_of("odd"), array, NULL));
    seen.visit = NULL;
    via_array_release(array);
}

/* As a program does that takes what it finds, or saves under the same name. */
static void a_file_may_come_and_go_while_its_name_is_saved_to(void **state) {
    (void)state;
    const int before = count_scratch();
    seen.renames = 1;
    for (int32_t number = 1; number <= 40; ++number) {
        put_bytes("odd", 1);
        save_and_visit(number, take_odd_away);
        assert_true(has_bytes("odd", 0, BYTES, 2));
        take_odd_away();
        save_and_visit(number, put_odd_at_once);
        assert_true(has_bytes("odd", 0, BYTES, 2));
        take_odd_away();
    }
    seen.renames = 0;
    assert_int_equal(count_scratch(), before);
}

static void a_file_may_go_while_it_is_made_anew(void **state) {
    (void)state;
    for (int32_t number = 1; number <= 10; ++number) {
        via_file *file = NULL;
        put_bytes("odd", 1);
        seen.calls = 0;
        seen.visit_at = number;
        seen.visit = take_odd_away;
        ok(via_file_create(path_of("odd"), VIA_UINT8, 1, SHAPE(8), &in_place, &file));
        seen.visit = NULL;
        via_file_release(file);
    }
    take_odd_away();
}

static void (*after_missing)(void);

/* In the place of the system's own, for the library too. */
char *realpath(const char *path, char *resolved) {
    char *found = canonicalize_file_name(path);
    const int error = errno;
    if (found == NULL && after_missing != NULL) {
        after_missing();
    }
    if (found != NULL && resolved != NULL) {
        snprintf(resolved, PATH_MAX, "%s", found);
        free(found);
        found = resolved;
    }
    errno = error;
    return found;
}

static void a_file_may_come_while_its_name_is_looked_for(void **state) {
    (void)state;
    after_missing = put_odd_at_once;
    save_and_visit(0, NULL);
    after_missing = NULL;
    assert_true(has_bytes("odd", 0, BYTES, 2));
    assert_true(remove_odd());
}

/* What neither names a file nor can. */
static void a_path_that_names_no_file_is_the_same_error_however_it_is_made(void **state) {
    (void)state;
    static const char *const names[] = {"new/", "none/new", "none/..", "", ".", "..", NULL};
    const int before = count_scratch();
    for (int32_t i = 0; i < LENGTH(names); ++i) {
        const char *path = names[i] != NULL ? path_of(names[i]) : "";
        via_file *file = NULL;
        const via_status expected = via_file_create(path, VIA_UINT8, 1, SHAPE(8), &in_place, &file);
        const int32_t code = via_last_error_code();
        const via_status found = via_file_create(path, VIA_UINT8, 1, SHAPE(8), &whole, &file);
        assert_int_not_equal(found, VIA_OK);
        assert_int_equal(found, expected);
        assert_int_equal(via_last_error_code(), code);
    }
    assert_int_equal(count_scratch(), before);
}

/* ---- Forks. */

static void reap(pid_t child) {
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_child_that_ends_leaves_a_made_file_to_its_parent(void **state) {
    (void)state;
    via_file *file = create_with("made", VIA_UINT8, 1, SHAPE(BYTES), &whole);
    const pid_t child = fork_child();
    if (child == 0) {
        alarm(20);
        CHECK(write_bytes(file, 0, 8, 3) == VIA_ERROR_FORKED);
        CHECK(holds_words(via_last_error(), "via_file_write|made"));
        via_file_release(file);
        _exit(0);
    }
    reap(child);
    ok(write_bytes(file, 0, BYTES, 2));
    assert_true(has_bytes("made", 0, BYTES, 2));
    via_file_release(file);
}

static via_file *shared_file;
static pid_t shared_child;

/* Everything that a child may do with the file; it ends itself if it hangs. */
static void fork_and_use_the_file(void) {
    shared_child = fork_child();
    if (shared_child != 0) {
        return;
    }
    alarm(20);
    via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
    CHECK(via_file_info(shared_file, &properties) == VIA_OK);
    char bytes[8];
    via_array *array = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(8), NULL);
    CHECK(via_file_read(shared_file, 0, array, NULL) == VIA_OK);
    via_array_release(array);
    via_file_release(shared_file);
    _exit(0);
}

static void fork_and_write_the_file(void) {
    shared_child = fork_child();
    if (shared_child != 0) {
        return;
    }
    alarm(20);
    const via_status status = write_bytes(shared_file, 8, 8, 3);
    CHECK(status == VIA_OK || status == VIA_ERROR_FORKED ||
          (status == VIA_ERROR_IO && via_last_error_code() == ESTALE));
    via_file_release(shared_file);
    _exit(status == VIA_OK ? 77 : 0);
}

/* What the child exits with; -1 if it was killed. */
static int end_of_child(void) {
    int status = -1;
    assert_int_equal(waitpid(shared_child, &status, 0), shared_child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Forks before the call of the library's with this number while a file is written; 0 if there are not so many. */
static int fork_at(int32_t number, int made, int durable, void (*visit)(void)) {
    via_file_options options = replacing;
    options.durable = durable;
    put_bytes("forked", 1);
    shared_file = made ? create_with("forked", VIA_UINT8, 1, SHAPE(BYTES), &options) : open_with("forked", &options);
    seen.calls = 0;
    seen.visit_at = number;
    seen.visit = visit;
    const via_status status = write_bytes(shared_file, 0, 8, 2);
    const int32_t code = via_last_error_code();
    const int visited = seen.visit == NULL;
    seen.visit = NULL;
    const int ended = visited ? end_of_child() : 0;
    assert_true(ended == 0 || ended == 77);
    /* The child's write came first, or else it has not taken place. */
    assert_true(status == VIA_OK || (ended == 77 && status == VIA_ERROR_IO && code == ESTALE));
    assert_true(status == VIA_OK || has_bytes("forked", 8, 8, 3));
    assert_true(status != VIA_OK || has_bytes("forked", 0, 8, 2));
    via_file_release(shared_file);
    return visited;
}

static void a_fork_at_any_point_of_a_write_leaves_parent_and_child_whole(void **state) {
    (void)state;
    const int before = count_scratch();
    void (*const visits[])(void) = {fork_and_use_the_file, fork_and_write_the_file};
    put_bytes("forked", 1);
    ok(via_set_num_threads(1));
    seen.renames = 1;
    for (int32_t how = 0; how < 8; ++how) {
        int32_t number = 1;
        while (fork_at(number, how & 1, how >> 1 & 1, visits[how >> 2])) {
            number++;
        }
        assert_true(number > 3);
    }
    seen.renames = 0;
    ok(via_set_num_threads(0));
    assert_int_equal(unlink(path_of("forked")), 0);
    assert_true(count_scratch() <= before);
}

static atomic_int has_to_stop;

static void *write_again_and_again(void *given) {
    static uint8_t bytes[BYTES];
    via_file *file = given;
    via_array *array = NULL;
    CHECK(via_wrap(bytes, VIA_UINT8, 1, SHAPE(BYTES), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) == VIA_OK);
    while (!atomic_load(&has_to_stop)) {
        via_task *task = NULL;
        const via_status status = via_file_write(file, 0, array, NULL);
        CHECK(status == VIA_OK || via_last_error_code() == ESTALE);
        CHECK(via_file_write_submit(file, 0, array, NULL, &task) == VIA_OK);
        CHECK(via_task_wait(task) == VIA_OK || via_last_error_code() == ESTALE);
        via_task_release(task);
    }
    via_array_release(array);
    return NULL;
}

/* Whatever the other thread holds then. */
static void a_child_of_a_program_that_is_writing_may_write_too(void **state) {
    (void)state;
    put_bytes("written", 1);
    pthread_t thread;
    shared_file = open_with("written", &replacing);
    atomic_store(&has_to_stop, 0);
    assert_int_equal(pthread_create(&thread, NULL, write_again_and_again, shared_file), 0);
    for (int32_t i = 0; i < 60; ++i) {
        usleep((useconds_t)(i * 17 % 301));
        fork_and_write_the_file();
        const int ended = end_of_child();
        assert_true(ended == 0 || ended == 77);
    }
    atomic_store(&has_to_stop, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    via_file_release(shared_file);
}

/* ---- Two writers. */

/* How often the next files are locked, without success. */
static struct {
    int32_t error;
    int32_t calls;
} locks;

int flock(int file, int operation) {
    if (locks.error != 0 && (operation & LOCK_EX) != 0) {
        locks.calls++;
        errno = locks.error;
        return -1;
    }
    return (int)syscall(SYS_flock, file, operation);
}

/* On a file system without such locks, or in a sandbox. */
static void a_directory_that_cannot_be_locked_is_not_waited_for(void **state) {
    (void)state;
    via_array *array = array_of(2, 8);
    locks.error = ENOSYS;
    ok(via_save(path_of("unlocked"), array, NULL));
    locks.error = 0;
    assert_int_equal(locks.calls, 1);
    via_array_release(array);
}

static void the_second_of_two_writers_learns_that_the_file_was_replaced(void **state) {
    (void)state;
    put_bytes("halves", 0);
    via_file *first = open_with("halves", &replacing);
    via_file *second = open_with("halves", &replacing);
    ok(write_bytes(first, 0, BYTES / 2, 1));
    refused(VIA_ERROR_IO, "via_file_write|halves|replaced|ESTALE", write_bytes(second, BYTES / 2, BYTES / 2, 2));
    assert_int_equal(via_last_error_code(), ESTALE);
    assert_true(has_bytes("halves", 0, BYTES / 2, 1) && has_bytes("halves", BYTES / 2, BYTES / 2, 0));
    ok(write_bytes(first, 0, 8, 3));
    via_file_release(first);
    via_file_release(second);
}

static void the_replacement_by_another_program_is_not_lost(void **state) {
    (void)state;
    put_bytes("theirs", 1);
    via_file *file = open_with("theirs", &replacing);
    put_bytes("new", 5);
    assert_int_equal(rename(path_of("new"), path_of("theirs")), 0);
    refused(VIA_ERROR_IO, "theirs|ESTALE", write_bytes(file, 0, 8, 2));
    assert_true(has_bytes("theirs", 0, BYTES, 5));
    assert_int_equal(unlink(path_of("theirs")), 0);
    refused(VIA_ERROR_IO, "theirs|ESTALE", write_bytes(file, 0, 8, 2));
    assert_int_equal(access(path_of("theirs"), F_OK), -1);
    via_file_release(file);
}

static void write_in_place(void) {
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path_of("theirs"), O_WRONLY, 0);
    assert_int_equal(syscall(SYS_pwrite64, file, "theirs", 6, 100), 6);
    close(file);
}

static void make_private(void) { assert_int_equal(chmod(path_of("theirs"), 0600), 0); }

/* From the first look at the file to the rename. */
static void what_happens_to_a_file_while_it_is_copied_is_not_lost(void **state) {
    (void)state;
    void (*const visits[])(void) = {write_in_place, make_private};
    for (int32_t how = 0; how < LENGTH(visits); ++how) {
        int32_t stale = 0;
        for (int32_t number = 1; number <= 20; ++number) {
            put_bytes("theirs", 1);
            assert_int_equal(chmod(path_of("theirs"), 0644), 0);
            via_file *file = open_with("theirs", &replacing);
            usleep(10000); /* two writes in one tick of the file system's clock have one time */
            seen.calls = 0;
            seen.visit_at = number;
            seen.visit = visits[how];
            const via_status status = write_bytes(file, 0, 8, 2);
            const int visited = seen.visit == NULL;
            seen.visit = NULL;
            char found[BYTES];
            assert_int_equal(get_file("theirs", found, BYTES), BYTES);
            const int kept =
                how == 0 ? memcmp(found + 100, "theirs", 6) == 0 : (look_at("theirs").st_mode & 07777) == 0600;
            assert_true(!visited || kept);
            stale += status != VIA_OK;
            via_file_release(file);
        }
        assert_true(stale >= 2);
    }
}

static struct {
    pthread_t thread;
    via_file *file;
    via_status status;
    int32_t code;
} late;

static void *write_late(void *nothing) {
    (void)nothing;
    static uint8_t bytes[8] = {5, 5, 5, 5, 5, 5, 5, 5};
    via_array *array = NULL;
    CHECK(via_wrap(bytes, VIA_UINT8, 1, SHAPE(8), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) == VIA_OK);
    late.status = via_file_write(late.file, 8, array, NULL);
    late.code = via_last_error_code();
    via_array_release(array);
    return NULL;
}

static void start_late_writer(void) {
    assert_int_equal(pthread_create(&late.thread, NULL, write_late, NULL), 0);
    usleep(50000);
}

/* The second one has to wait, and finds another file then. */
static void nobody_comes_between_the_last_look_at_a_file_and_its_replacement(void **state) {
    (void)state;
    put_bytes("between", 1);
    via_file *file = open_with("between", &replacing);
    late.file = open_with("between", &replacing);
    seen.at_rename = start_late_writer;
    ok(write_bytes(file, 0, 8, 2));
    assert_int_equal(pthread_join(late.thread, NULL), 0);
    assert_int_equal(late.status, VIA_ERROR_IO);
    assert_int_equal(late.code, ESTALE);
    assert_true(has_bytes("between", 0, 8, 2) && has_bytes("between", 8, BYTES - 8, 1));
    via_file_release(late.file);
    via_file_release(file);
}

enum { WRITERS = 4, ROUNDS = 25 };

static char contended[512]; /* a path */

/* One byte, as often as it takes: who learns that the file was replaced opens it again. */
static void write_byte(int32_t place, uint8_t byte) {
    via_status status = VIA_ERROR_IO;
    while (status != VIA_OK) {
        via_file *file = NULL;
        via_array *array = NULL;
        CHECK(via_file_open(contended, &replacing, &file) == VIA_OK);
        CHECK(via_wrap(&byte, VIA_UINT8, 1, SHAPE(1), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) == VIA_OK);
        status = via_file_write(file, place, array, NULL);
        CHECK(status == VIA_OK || via_last_error_code() == ESTALE);
        via_array_release(array);
        via_file_release(file);
    }
}

static void *write_own_byte(void *number) {
    const int32_t own = *(const int32_t *)number;
    for (int32_t round = 1; round <= ROUNDS; ++round) {
        write_byte(own, (uint8_t)round);
        uint8_t found = 0;
        const int file = (int)syscall(SYS_openat, AT_FDCWD, contended, O_RDONLY, 0);
        CHECK(pread(file, &found, 1, own) == 1);
        CHECK(found == round);
        close(file);
    }
    return NULL;
}

static void processes_that_write_one_file_lose_nothing_either(void **state) {
    (void)state;
    snprintf(contended, sizeof contended, "%s", put_file("contended", "\0\0\0\0", WRITERS));
    pid_t children[WRITERS];
    for (int32_t i = 0; i < WRITERS; ++i) {
        children[i] = fork_child();
        if (children[i] == 0) {
            alarm(60);
            write_own_byte(&i);
            _exit(0);
        }
    }
    for (int32_t i = 0; i < WRITERS; ++i) {
        reap(children[i]);
    }
}

static void a_write_that_was_answered_with_ok_is_never_lost(void **state) {
    (void)state;
    snprintf(contended, sizeof contended, "%s", put_file("contended", "\0\0\0\0", WRITERS));
    pthread_t threads[WRITERS];
    int32_t numbers[WRITERS];
    for (int32_t i = 0; i < WRITERS; ++i) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, write_own_byte, &numbers[i]), 0);
    }
    for (int32_t i = 0; i < WRITERS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(whatever_is_no_regular_file_is_refused_and_stays),
        TEST(what_is_there_when_a_made_file_is_named_is_looked_at_again),
        TEST(what_takes_the_place_of_a_file_while_it_is_written_stays),
        TEST(a_file_may_come_and_go_while_its_name_is_saved_to),
        TEST(a_file_may_go_while_it_is_made_anew),
        TEST(a_file_may_come_while_its_name_is_looked_for),
        TEST(a_link_that_leads_nowhere_is_ENOENT_however_the_file_is_made),
        TEST(a_path_that_names_no_file_is_the_same_error_however_it_is_made),
        TEST(a_child_that_ends_leaves_a_made_file_to_its_parent),
        TEST(a_fork_at_any_point_of_a_write_leaves_parent_and_child_whole),
        TEST(a_child_of_a_program_that_is_writing_may_write_too),
        TEST(a_directory_that_cannot_be_locked_is_not_waited_for),
        TEST(the_second_of_two_writers_learns_that_the_file_was_replaced),
        TEST(the_replacement_by_another_program_is_not_lost),
        TEST(what_happens_to_a_file_while_it_is_copied_is_not_lost),
        TEST(nobody_comes_between_the_last_look_at_a_file_and_its_replacement),
        TEST(a_write_that_was_answered_with_ok_is_never_lost),
        TEST(processes_that_write_one_file_lose_nothing_either),
    };
    return run_file_tests(tests);
}
