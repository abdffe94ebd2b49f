/* What goes wrong with files: short and interrupted calls are made good, and failures are reported by name. */
#define _GNU_SOURCE /* O_DIRECT */

#include <inttypes.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "file_faults.h"

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

static void a_read_that_fails_reports_the_error_and_how_far_it_got(void **state) {
    (void)state;
    pair it = make_pair("broken");
    via_file *file = open_with("broken", OPTIONS_OF(.page_cache = VIA_PAGE_CACHE_USE));
    ok(via_set_num_threads(1));
    fail_from(2, EIO);
    refused(VIA_ERROR_IO, "via_file_read|reading at byte|EIO|of 5242880 bytes were moved",
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

/* Rows that are near enough on any machine to be read at once, or not, or long enough to be scattered. */
static const struct {
    int64_t step;
    int64_t nbytes;
} rows_of[] = {{1024, 128}, {32 << 10, 4 << 10}, {4 << 10, 3584}};

static via_file *columns_of(via_file *file, int32_t apart) {
    via_file *window = NULL;
    const int64_t step = rows_of[apart].step;
    ok(via_file_window(file, 0, VIA_UINT8, 2, SHAPE(LARGE / step, step), SHAPE(0, 7),
                       SHAPE(LARGE / step, rows_of[apart].nbytes), NULL, &window));
    return window;
}

static void windows_are_moved_to_the_end_or_say_why_not(void **state) {
    (void)state;
    for (int32_t how = 0; how < 9; ++how) {
        pair it = make_pair("windows");
        via_file *file = open_with("windows", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .page_cache = how / 3));
        via_file *window = columns_of(file, how % 3);
        via_array *array = NULL;
        via_array *mapped = NULL;
        ok(via_file_array(window, 0, 0, 0, NULL, &mapped));
        const int64_t *shape = via_array_shape(mapped);
        ok(via_wrap(it.bytes, VIA_UINT8, 2, shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
        fault.short_by = 3;
        fault.interrupt = 2;
        ok(via_file_write(window, 0, array, NULL));
        ok(via_file_read(window, 0, array, NULL));
        for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
            assert_int_equal(it.bytes[i], (uint8_t)(i * 31 + i / 253 + 2));
            assert_int_equal(((uint8_t *)via_array_data(mapped))[i / shape[1] * rows_of[how % 3].step + i % shape[1]],
                             it.bytes[i]);
        }
        no_faults();
        fail_from(how % 3 == 2 ? 1 : how + 2, EIO); /* all rows may be scattered by one call */
        refused(VIA_ERROR_IO, "reading at byte|EIO|bytes were moved", via_file_read(window, 0, array, NULL));
        fail_from(how + 2, ENOSPC);
        refused(VIA_ERROR_IO, "writing at byte|ENOSPC|bytes were moved", via_file_write(window, 0, array, NULL));
        via_array_release(array);
        via_array_release(mapped);
        via_file_release(window);
        via_file_release(file);
        end_pair(&it);
    }
}

static void rows_near_one_another_take_few_calls(void **state) {
    (void)state;
    for (int32_t apart = 0; apart < 3; apart += 2) {
        pair it = make_pair("few");
        via_file *file = open_with("few", OPTIONS_OF(.page_cache = VIA_PAGE_CACHE_USE));
        via_file *window = columns_of(file, apart);
        via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
        via_array *array = NULL;
        ok(via_file_info(window, &properties));
        ok(via_wrap(it.bytes, VIA_UINT8, 2, properties.shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
        no_faults();
        atomic_store(&fault.calls, 0);
        ok(via_file_read(window, 0, array, NULL));
        assert_true(atomic_load(&fault.calls) * 6 < properties.shape[0]);
        via_array_release(array);
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

static void assert_goes_there_and_back(via_file *file, const char *name, pair *it) {
    ok(via_file_write(file, 0, it->array, NULL));
    assert_holds(name, it->bytes);
    memset(it->bytes, 0, LARGE);
    ok(via_file_read(file, 0, it->array, NULL));
    uint8_t *expected = pattern(2);
    assert_memory_equal(it->bytes, expected, LARGE);
    free(expected);
}

static void a_file_system_without_direct_transfers_is_asked_once(void **state) {
    (void)state;
    pair it = make_pair("direct");
    via_file *file = open_with("direct", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .page_cache = VIA_PAGE_CACHE_AVOID));
    ok(via_set_num_threads(1));
    fault.refuse_block = 1;
    assert_goes_there_and_back(file, "direct", &it);
    via_file_release(file);
    end_pair(&it);
}

static void a_file_whose_flags_cannot_be_had_goes_through_the_cache(void **state) {
    (void)state;
    pair it = make_pair("flags");
    via_file *file = open_with("flags", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .page_cache = VIA_PAGE_CACHE_AVOID));
    asked.flags_error = ENOSYS;
    assert_goes_there_and_back(file, "flags", &it);
    via_file_release(file);
    end_pair(&it);
}

/* Descriptor 0 is one like the others there. */
static void a_program_without_standard_input_is_left_no_descriptor(void **state) {
    (void)state;
    const int input = dup(STDIN_FILENO);
    if (input < 0) {
        skip();
    }
    pair it = make_pair("windows");
    via_file *file = open_with("windows", OPTIONS_OF(.page_cache = VIA_PAGE_CACHE_USE));
    via_file *window = columns_of(file, 1);
    via_array *mapped = NULL;
    via_array *array = NULL;
    ok(via_file_array(window, 0, 0, 0, NULL, &mapped));
    ok(via_wrap(it.bytes, VIA_UINT8, 2, via_array_shape(mapped), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
    ok(via_set_num_threads(1));
    close(STDIN_FILENO);
    for (int32_t i = 0; i < 3; ++i) {
        ok(via_file_read(window, 0, array, NULL));
    }
    via_array_release(array);
    via_array_release(mapped);
    via_file_release(window);
    via_file_release(file);
    const int left = fcntl(STDIN_FILENO, F_GETFD);
    assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
    close(input);
    assert_int_equal(left, -1);
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

static void a_disk_without_room_for_a_large_write_is_reported_before_anything_is_written(void **state) {
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

/* A file system may keep what it had reserved before it failed, which is all of it. */
static void a_disk_without_room_for_a_mapping_is_not_filled(void **state) {
    (void)state;
    struct statvfs disk;
    assert_int_equal(statvfs(path_of(""), &disk), 0);
    const int64_t nbytes = ((int64_t)disk.f_bfree + ((int64_t)1 << 20)) * (int64_t)disk.f_frsize;
    via_file *file = NULL;
    ok(via_file_create(path_of("full"), VIA_UINT8, 1, &nbytes, NULL, &file));
    no_faults();
    asked.error = ENOSPC;
    via_array *array = NULL;
    refused(VIA_ERROR_IO, "via_file_array|reserving blocks at byte 0",
            via_file_array(file, 0, VIA_UINT8, 1, &nbytes, &array));
    assert_int_equal(via_last_error_code(), ENOSPC);
    assert_int_equal(asked.reservations, 0);
    no_faults();
    via_file_release(file);
    assert_int_equal(unlink(path_of("full")), 0);
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

static void a_limit_on_file_sizes_is_reported_by_name(void **state) {
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
static void a_disk_that_is_full_or_read_only_is_reported_by_name(void **state) {
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
        TEST(a_read_that_fails_reports_the_error_and_how_far_it_got),
        TEST(windows_are_moved_to_the_end_or_say_why_not),
        TEST(rows_near_one_another_take_few_calls),
        TEST(a_task_that_fails_keeps_its_progress_and_its_error),
        TEST(a_file_system_without_direct_transfers_is_asked_once),
        TEST(a_file_whose_flags_cannot_be_had_goes_through_the_cache),
        TEST(a_program_without_standard_input_is_left_no_descriptor),
        TEST(a_large_write_has_its_blocks_set_aside_before_it_begins),
        TEST(a_disk_without_room_for_a_large_write_is_reported_before_anything_is_written),
        TEST(a_disk_without_room_for_a_mapping_is_not_filled),
        TEST(a_file_is_emptied_only_if_there_is_something_in_it),
        TEST(a_limit_on_file_sizes_is_reported_by_name),
        TEST(a_disk_that_is_full_or_read_only_is_reported_by_name),
    };
    return run_file_tests(tests);
}
