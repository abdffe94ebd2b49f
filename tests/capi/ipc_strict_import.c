/* Descriptions of arrays that were damaged, or made up: what they are taken for, and that none leads astray. */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc_support.h"

/* Whatever is imported lies within the memory: all of it can be read. */
static void read_all_of(via_array *array) {
    const int64_t nbytes = via_array_is_contiguous(array, VIA_ORDER_ANY) ? via_array_nbytes(array) : 0;
    volatile unsigned char sum = 0;
    for (int64_t i = 0; i < nbytes && via_array_data(array) != NULL; ++i) {
        sum = (unsigned char)(sum + ((unsigned char *)via_array_data(array))[i]);
    }
}

/* What a description says of the file that the memory is. */
typedef struct file_name {
    int32_t process;
    int32_t descriptor;
    uint64_t number;
    uint64_t inode;
} file_name;

enum { file_at = 24 };

static file_name file_of(const description *given) {
    file_name file;
    memcpy(&file, given->bytes + file_at, sizeof file);
    return file;
}

/* A description of the same array in another file. */
static description moved(const description *given, file_name file) {
    description changed = *given;
    memcpy(changed.bytes + file_at, &file, sizeof file);
    put_check_right(&changed);
    return changed;
}

/* The same in a descriptor of this process, under its own inode. */
static description moved_to(const description *given, int descriptor) {
    struct stat about = {0};
    file_name file = file_of(given);
    assert_true(descriptor >= 0);
    assert_int_equal(fstat(descriptor, &about), 0);
    file.descriptor = descriptor;
    file.inode = about.st_ino;
    return moved(given, file);
}

/* A file of 4096 bytes with the name that the description reports, and seals of the test's choice. */
static int same_name(const description *given, int seals) {
    char name[64];
    snprintf(name, sizeof name, "viaduct-%016llx", (unsigned long long)file_of(given).number);
    const int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, 4096), 0);
    assert_int_equal(fcntl(descriptor, F_ADD_SEALS, seals), 0);
    return descriptor;
}

static void damaged_bytes_are_refused(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_UINT16, 2, SHAPE(100, 20));
    const description given = describe(array);
    for (int64_t bit = 0; bit < given.length * 8; ++bit) {
        description damaged = given;
        via_array *same = NULL;
        damaged.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        const via_status status = via_array_import_ipc(damaged.bytes, damaged.length, &same);
        assert_int_equal(status, bit / 8 == 7 ? VIA_ERROR_VERSION : VIA_ERROR_EXCHANGE);
        assert_null(same);
    }
    via_array_release(array);
}

static void no_bytes_lead_outside_the_memory(void **state) {
    (void)state;
    static const unsigned char values[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    via_array *array = shared_array(VIA_UINT16, 2, SHAPE(100, 20));
    const description given = describe(array);
    const int before = open_descriptors();
    for (int64_t length = 0; length < given.length; ++length) {
        via_array *same = NULL;
        refused(VIA_ERROR_EXCHANGE, "no description", via_array_import_ipc(given.bytes, length, &same));
    }
    for (int64_t at = 0; at < given.length; ++at) {
        for (int32_t i = 0; i < LENGTH(values); ++i) {
            description changed = given;
            via_array *same = NULL;
            changed.bytes[at] = values[i];
            put_check_right(&changed);
            if (via_array_import_ipc(changed.bytes, changed.length, &same) == VIA_OK) {
                read_all_of(same);
            }
            via_array_release(same);
        }
    }
    assert_int_equal(open_descriptors(), before);
    via_array_release(array);
}

static void a_file_that_could_be_cut_short_is_refused(void **state) {
    (void)state;
    static const int too_few[] = {0, F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_GROW | F_SEAL_SEAL};
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(4096));
    via_array *same = NULL;
    const description given = describe(array);
    for (int32_t i = 0; i < LENGTH(too_few); ++i) {
        const int descriptor = same_name(&given, too_few[i]);
        const description changed = moved_to(&given, descriptor);
        refused(VIA_ERROR_EXCHANGE, "variable size", via_array_import_ipc(changed.bytes, changed.length, &same));
        close(descriptor);
    }
    const int descriptor = same_name(&given, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    const description whole = moved_to(&given, descriptor);
    same = imported(&whole); /* as good as one of the library's own */
    via_array_release(same);
    close(descriptor);
    via_array_release(array);
}

/* The system knows no seals of a file on a disk. Its path begins as the link of one in memory does. */
static void a_file_of_a_file_system_is_refused(void **state) {
    (void)state;
    char path[64];
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(4096));
    via_array *same = NULL;
    const description given = describe(array);
    snprintf(path, sizeof path, "/memfd:viaduct-%016llx", (unsigned long long)file_of(&given).number);
    const int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        via_array_release(array);
        skip();
    }
    unlink(path);
    assert_int_equal(ftruncate(descriptor, 4096), 0);
    const description changed = moved_to(&given, descriptor);
    refused(VIA_ERROR_EXCHANGE, "variable size", via_array_import_ipc(changed.bytes, changed.length, &same));
    close(descriptor);
    via_array_release(array);
}

static void a_file_that_may_not_be_written_is_an_error_that_says_so(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(4096));
    via_array *same = NULL;
    const description given = describe(array);
    const int descriptor = same_name(&given, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_WRITE);
    const description changed = moved_to(&given, descriptor);
    refused(VIA_ERROR_IO, "not permitted", via_array_import_ipc(changed.bytes, changed.length, &same));
    close(descriptor);
    via_array_release(array);
}

/* The name is looked at before the file is opened, the inode after that: either alone is not enough. */
static void another_file_of_the_same_name_is_distinguished(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(4096));
    via_array *same = NULL;
    const description given = describe(array);
    const int before = open_descriptors();
    file_name file = file_of(&given);
    file.inode += 1;
    const description other_inode = moved(&given, file);
    refused(VIA_ERROR_EXCHANGE, "no longer shared", via_array_import_ipc(other_inode.bytes, other_inode.length, &same));
    file = file_of(&given);
    file.number += 1;
    const description other_number = moved(&given, file);
    refused(VIA_ERROR_EXCHANGE, "no longer shared",
            via_array_import_ipc(other_number.bytes, other_number.length, &same));
    assert_int_equal(open_descriptors(), before);
    via_array_release(array);
}

/* Whether anybody opened what the descriptor of inotify watches. */
static int was_opened(int inotify) {
    char events[512];
    return read(inotify, events, sizeof events) > 0;
}

/* To open a device, or a pipe with a name, can do something. */
static void what_the_descriptor_has_come_to_be_is_not_opened(void **state) {
    (void)state;
    char path[] = "/tmp/viaduct-ipc-XXXXXX";
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(4096));
    via_array *same = NULL;
    const description given = describe(array);
    const int descriptor = mkstemp(path);
    const int inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(inotify, path, IN_OPEN) >= 0);
    const description changed = moved_to(&given, descriptor);
    refused(VIA_ERROR_EXCHANGE, "no longer shared", via_array_import_ipc(changed.bytes, changed.length, &same));
    assert_false(was_opened(inotify));
    close(open(path, O_RDONLY | O_CLOEXEC));
    assert_true(was_opened(inotify)); /* that is how it would be seen */
    unlink(path);
    close(inotify);
    close(descriptor);
    via_array_release(array);
}

static void processes_that_are_none_are_refused(void **state) {
    (void)state;
    static const int32_t none[] = {0, -1, INT32_MIN, INT32_MAX};
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(10));
    via_array *same = NULL;
    const description given = describe(array);
    file_name file = file_of(&given);
    for (int32_t i = 0; i < LENGTH(none); ++i) {
        file.process = none[i];
        const description changed = moved(&given, file);
        refused(VIA_ERROR_EXCHANGE, "no longer shared", via_array_import_ipc(changed.bytes, changed.length, &same));
    }
    via_array_release(array);
}

static void a_description_of_another_form_is_distinguished(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(10));
    via_array *same = NULL;
    description given = describe(array);
    given.bytes[7] = '2';
    refused(VIA_ERROR_VERSION, "version of the description is 2",
            via_array_import_ipc(given.bytes, given.length, &same));
    via_array_release(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(damaged_bytes_are_refused),
        TEST(no_bytes_lead_outside_the_memory),
        TEST(a_file_that_could_be_cut_short_is_refused),
        TEST(a_file_of_a_file_system_is_refused),
        TEST(a_file_that_may_not_be_written_is_an_error_that_says_so),
        TEST(another_file_of_the_same_name_is_distinguished),
        TEST(what_the_descriptor_has_come_to_be_is_not_opened),
        TEST(processes_that_are_none_are_refused),
        TEST(a_description_of_another_form_is_distinguished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
