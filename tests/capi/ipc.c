/* Arrays shared with other processes: host memory that they map, and its descriptions. */
#define _GNU_SOURCE /* unshare */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "ipc_support.h"

/* Runs `body` in another process; 0 if every check of it held, or the signal that ended it, negative. */
static int elsewhere(void (*body)(void *context), void *context) {
    const pid_t child = fork_child();
    assert_true(child >= 0);
    if (child == 0) {
        body(context);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void add_one_to_each(void *context) {
    via_array *array = NULL;
    const description *given = context;
    CHECK(via_array_import_ipc(given->bytes, given->length, &array) == VIA_OK);
    CHECK(via_array_is_contiguous(array, VIA_ORDER_ROW_MAJOR) && via_array_dtype(array) == VIA_INT32);
    int32_t *numbers = via_array_data(array);
    for (int64_t i = 0; i < via_array_size(array); ++i) {
        CHECK(numbers[i] == (int32_t)i);
        numbers[i] += 1;
    }
    via_array_release(array);
}

static void another_process_reads_and_writes_the_same_memory(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_INT32, 2, SHAPE(300, 7));
    int32_t *numbers = via_array_data(array);
    for (int32_t i = 0; i < 2100; ++i) {
        numbers[i] = i;
    }
    description given = describe(array);
    assert_int_equal(elsewhere(add_one_to_each, &given), 0);
    for (int32_t i = 0; i < 2100; ++i) {
        assert_int_equal(numbers[i], i + 1);
    }
    via_array_release(array);
}

static void assert_same_layout(via_array *one, via_array *other) {
    assert_int_equal(via_array_dtype(one), via_array_dtype(other));
    assert_int_equal(via_array_flags(one), via_array_flags(other));
    assert_shape(one, via_array_ndim(other), via_array_shape(other));
    assert_int_equal(via_array_strides(one) != NULL, via_array_strides(other) != NULL);
    if (via_array_strides(other) != NULL) {
        assert_numbers(via_array_strides(one), via_array_strides(other), via_array_ndim(other));
    }
}

/* A second mapping in one process: what is written through one is read through the other. */
static void a_view_comes_over_as_it_is(void **state) {
    (void)state;
    via_array *whole = shared_array(VIA_UINT8, 2, SHAPE(50, 40));
    via_array *view = NULL;
    ok(via_array_slice(whole, SHAPE(40, 3), SHAPE(9, 10), SHAPE(-4, 3), &view));
    const description given = describe(view);
    via_array *same = imported(&given);
    assert_same_layout(same, view);
    assert_ptr_not_equal(via_array_data(same), via_array_data(view));
    for (int64_t i = 0; i < 9; ++i) {
        for (int64_t j = 0; j < 10; ++j) {
            const int64_t offset = -160 * i + 3 * j;
            ((unsigned char *)via_array_data(view))[offset] = (unsigned char)(i * 10 + j);
            assert_int_equal(((unsigned char *)via_array_data(same))[offset], i * 10 + j);
        }
    }
    via_array_release(same);
    via_array_release(view);
    via_array_release(whole);
}

static void every_dtype_comes_over(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        via_array *array = shared_array(every_dtype[i].dtype, 2, SHAPE(3, 8));
        const description given = describe(array);
        via_array *same = imported(&given);
        assert_same_layout(same, array);
        via_array_release(same);
        via_array_release(array);
    }
}

static void arrays_without_elements_or_dimensions_come_over(void **state) {
    (void)state;
    via_array *none = shared_array(VIA_FLOAT32, 3, SHAPE(4, 0, 5));
    const description of_none = describe(none);
    via_array *same = imported(&of_none);
    assert_same_layout(same, none);
    via_array_release(same);
    via_array_release(none);
    via_array *one = shared_array(VIA_FLOAT64, 0, NULL);
    *(double *)via_array_data(one) = 2.5;
    const description of_one = describe(one);
    same = imported(&of_one);
    assert_int_equal(via_array_ndim(same), 0);
    assert_true(*(double *)via_array_data(same) == 2.5);
    via_array_release(same);
    via_array_release(one);
}

static void write_to_a_read_only_page(void *context) {
    via_array *array = NULL;
    const description *given = context;
    CHECK(via_array_import_ipc(given->bytes, given->length, &array) == VIA_OK);
    CHECK((via_array_flags(array) & VIA_ARRAY_READ_ONLY) != 0);
    signal(SIGSEGV, SIG_DFL);
    *(volatile unsigned char *)via_array_data(array) = 1;
}

static void a_read_only_array_cannot_be_written_by_another_process(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(100));
    via_array *constant = NULL;
    ok(via_array_as_read_only(array, &constant));
    description given = describe(constant);
    assert_int_equal(elsewhere(write_to_a_read_only_page, &given), -SIGSEGV);
    via_array_release(constant);
    via_array_release(array);
}

/* What a process writes to another, and reads: a pipe each way. */
typedef struct exporter {
    pid_t process;
    int from;
    int to;
    description given;
} exporter;

/* A process with an array of its own, 1000 bytes of 7; it ends when the pipe does. */
static exporter start_exporter(void) {
    int out[2];
    int in[2];
    exporter made = {0};
    assert_int_equal(pipe(out) + pipe(in), 0);
    made.process = fork_child();
    if (made.process == 0) {
        close(out[0]);
        close(in[1]);
        via_memory *memory = NULL;
        via_array *array = NULL;
        description own = {0};
        CHECK(via_memory_create(VIA_MEMORY_SHARED, 0, &memory) == VIA_OK);
        CHECK(via_empty(memory, VIA_UINT8, 1, SHAPE(1000), NULL, &array) == VIA_OK);
        memset(via_array_data(array), 7, 1000);
        CHECK(via_array_export_ipc(array, sizeof own.bytes, own.bytes, &own.length) == VIA_OK);
        CHECK(write(out[1], &own, sizeof own) == (ssize_t)sizeof own);
        char end = 0;
        CHECK(read(in[0], &end, 1) == 0);
        _exit(0);
    }
    close(out[1]);
    close(in[0]);
    made.from = out[0];
    made.to = in[1];
    assert_int_equal(read(made.from, &made.given, sizeof made.given), sizeof made.given);
    return made;
}

static void end_exporter(exporter *gone, int kill_it) {
    if (kill_it) {
        kill(gone->process, SIGKILL);
    }
    close(gone->to);
    close(gone->from);
    assert_int_equal(waitpid(gone->process, NULL, 0), gone->process);
}

static void memory_outlives_the_process_that_made_it(void **state) {
    (void)state;
    for (int kill_it = 0; kill_it < 2; ++kill_it) {
        exporter other = start_exporter();
        via_array *array = imported(&other.given);
        end_exporter(&other, kill_it);
        const unsigned char *bytes = via_array_data(array);
        for (int i = 0; i < 1000; ++i) {
            assert_int_equal(bytes[i], 7);
        }
        const description again = describe(array); /* and can be handed on */
        via_array *same = imported(&again);
        assert_int_equal(((unsigned char *)via_array_data(same))[999], 7);
        via_array_release(same);
        via_array_release(array);
    }
}

static void memory_that_is_gone_is_refused(void **state) {
    (void)state;
    via_array *array = NULL;
    exporter other = start_exporter();
    end_exporter(&other, 0);
    refused(VIA_ERROR_EXCHANGE, "no longer shared|process",
            via_array_import_ipc(other.given.bytes, other.given.length, &array));
    via_array *mine = shared_array(VIA_UINT8, 1, SHAPE(10));
    const description given = describe(mine);
    via_array_release(mine);
    refused(VIA_ERROR_EXCHANGE, "no longer shared", via_array_import_ipc(given.bytes, given.length, &array));
    via_array *another = shared_array(VIA_UINT8, 1, SHAPE(10)); /* the same descriptor as a rule */
    refused(VIA_ERROR_EXCHANGE, "no longer shared", via_array_import_ipc(given.bytes, given.length, &array));
    via_array_release(another);
    assert_null(array);
}

static void the_importers_memory_stays_when_the_exporter_releases_it(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(5000));
    memset(via_array_data(array), 3, 5000);
    const description given = describe(array);
    via_array *same = imported(&given);
    via_array_release(array);
    assert_int_equal(((unsigned char *)via_array_data(same))[4999], 3);
    via_array_release(same);
}

static void other_memory_is_refused_by_name(void **state) {
    (void)state;
    unsigned char bytes[16] = {0};
    description made = {0};
    via_array *plain = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(16), NULL);
    refused(VIA_ERROR_UNSUPPORTED, "ordinary host memory|VIA_MEMORY_SHARED",
            via_array_export_ipc(plain, sizeof made.bytes, made.bytes, &made.length));
    assert_int_equal(made.length, 0);
    via_array_release(plain);
    via_memory *memory = NULL;
    refused(VIA_ERROR_DEVICE, "device_id", via_memory_create(VIA_MEMORY_SHARED, 3, &memory));
    refused(VIA_ERROR_INVALID_ARGUMENT, "kind is 7", via_memory_create(7, 0, &memory));
}

static void the_length_can_be_asked_for(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_UINT8, 2, SHAPE(10, 10));
    description made = {0};
    int64_t length = 0;
    ok(via_array_export_ipc(array, 0, NULL, &length));
    ok(via_array_export_ipc(array, length - 1, made.bytes, &made.length));
    assert_int_equal(made.length, length);
    assert_int_equal(made.bytes[0], 0); /* not enough room: nothing is written */
    ok(via_array_export_ipc(array, length, made.bytes, &made.length));
    via_array *same = imported(&made);
    via_array_release(same);
    via_array_release(array);
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(10));
    via_array *same = NULL;
    const description given = describe(array);
    int64_t length = 0;
    unsigned char byte = 0;
    refused(VIA_ERROR_INVALID_ARGUMENT, "array is NULL", via_array_export_ipc(NULL, 1, &byte, &length));
    refused(VIA_ERROR_INVALID_ARGUMENT, "out_bytes is NULL", via_array_export_ipc(array, 1, NULL, &length));
    refused(VIA_ERROR_INVALID_ARGUMENT, "out_length is NULL", via_array_export_ipc(array, 1, &byte, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "capacity is -1", via_array_export_ipc(array, -1, &byte, &length));
    refused(VIA_ERROR_INVALID_ARGUMENT, "bytes is NULL", via_array_import_ipc(NULL, 1, &same));
    refused(VIA_ERROR_INVALID_ARGUMENT, "out_array is NULL", via_array_import_ipc(given.bytes, given.length, NULL));
    refused(VIA_ERROR_EXCHANGE, "no description", via_array_import_ipc(given.bytes, -1, &same));
    refused(VIA_ERROR_EXCHANGE, "no description", via_array_import_ipc(&byte, 0, &same));
    description other = given;
    other.bytes[7] = 0;
    refused(VIA_ERROR_VERSION, "is -48; expected 1", via_array_import_ipc(other.bytes, other.length, &same));
    via_array_release(array);
}

static void descriptors_go_with_the_arrays(void **state) {
    (void)state;
    const int before = open_descriptors();
    for (int i = 0; i < 2000; ++i) {
        via_array *array = shared_array(VIA_UINT8, 1, SHAPE(4096));
        const description given = describe(array);
        via_array *same = imported(&given);
        via_array_release(i % 2 ? array : same);
        via_array_release(i % 2 ? same : array);
    }
    assert_int_equal(open_descriptors(), before);
}

static void too_much_is_refused(void **state) {
    (void)state;
    via_memory *memory = NULL;
    via_array *array = NULL;
    ok(via_memory_create(VIA_MEMORY_SHARED, 0, &memory));
    refused(VIA_ERROR_OUT_OF_MEMORY, "", via_empty(memory, VIA_UINT8, 1, SHAPE(INT64_MAX), NULL, &array));
    via_memory_release(memory);
}

static via_status allocate(int64_t nbytes) {
    via_memory *memory = NULL;
    via_array *array = NULL;
    via_status status = via_memory_create(VIA_MEMORY_SHARED, 0, &memory);
    status = status == VIA_OK ? via_empty(memory, VIA_UINT8, 1, SHAPE(nbytes), NULL, &array) : status;
    via_array_release(array);
    via_memory_release(memory);
    return status;
}

/* The system would end the process by SIGXFSZ. */
static void allocate_beyond_the_limit(void *context) {
    (void)context;
    const struct rlimit limit = {1000, 1000};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(allocate(1001) == VIA_ERROR_OUT_OF_MEMORY);
    CHECK(strstr(via_last_error(), "limit") != NULL && via_last_error_code() == EFBIG);
    CHECK(allocate(1000) == VIA_OK);
}

static void a_limit_of_a_files_size_is_an_error_and_no_signal(void **state) {
    (void)state;
    assert_int_equal(elsewhere(allocate_beyond_the_limit, NULL), 0);
}

/* As the profile of a container may have it. */
static void forbid_files_in_memory(void) {
    struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {LENGTH(rules), rules};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void allocate_where_that_is_forbidden(void *context) {
    (void)context;
    forbid_files_in_memory();
    CHECK(allocate(1000) == VIA_ERROR_IO);
    CHECK(strstr(via_last_error(), "memfd_create") != NULL && via_last_error_code() == EPERM);
}

static void a_sandbox_that_forbids_files_in_memory_is_reported(void **state) {
    (void)state;
    /* A kernel that filters no system calls, and QEMU, know no such mode; the others look for the rules. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != 0 && errno == EINVAL) {
        skip();
    }
    assert_int_equal(elsewhere(allocate_where_that_is_forbidden, NULL), 0);
}

enum { not_permitted = 255 };

static char empty_folder[] = "/tmp/viaduct-ipc-XXXXXX";

static void import_without_proc(void *context) {
    const description *given = context;
    via_array *array = NULL;
    if (chroot(empty_folder) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(empty_folder) != 0)) {
        _exit(not_permitted);
    }
    CHECK(via_array_import_ipc(given->bytes, given->length, &array) == VIA_ERROR_IO);
    CHECK(strstr(via_last_error(), "/proc is not mounted") != NULL);
}

static void without_proc_it_is_not_said_that_the_exporter_has_ended(void **state) {
    (void)state;
    via_array *array = shared_array(VIA_UINT8, 1, SHAPE(10));
    description given = describe(array);
    assert_non_null(mkdtemp(empty_folder));
    const int code = elsewhere(import_without_proc, &given);
    assert_int_equal(rmdir(empty_folder), 0);
    via_array_release(array);
    if (code == not_permitted) {
        skip();
    }
    assert_int_equal(code, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(another_process_reads_and_writes_the_same_memory),
        TEST(a_view_comes_over_as_it_is),
        TEST(every_dtype_comes_over),
        TEST(arrays_without_elements_or_dimensions_come_over),
        TEST(a_read_only_array_cannot_be_written_by_another_process),
        TEST(memory_outlives_the_process_that_made_it),
        TEST(memory_that_is_gone_is_refused),
        TEST(the_importers_memory_stays_when_the_exporter_releases_it),
        TEST(other_memory_is_refused_by_name),
        TEST(the_length_can_be_asked_for),
        TEST(wrong_arguments_are_refused),
        TEST(descriptors_go_with_the_arrays),
        TEST(too_much_is_refused),
        TEST(a_limit_of_a_files_size_is_an_error_and_no_signal),
        TEST(a_sandbox_that_forbids_files_in_memory_is_reported),
        TEST(without_proc_it_is_not_said_that_the_exporter_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
