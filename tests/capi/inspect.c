/* Inspecting: what an array reports of itself, and what an address is. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "support.h"

static void getters_accept_null(void **state) {
    (void)state;
    assert_null(via_array_data(NULL));
    assert_int_equal(via_array_dtype(NULL), 0);
    assert_int_equal(via_array_ndim(NULL), 0);
    assert_null(via_array_shape(NULL));
    assert_null(via_array_strides(NULL));
    assert_null(via_array_byte_strides(NULL));
    assert_int_equal(via_array_device_type(NULL), 0);
    assert_int_equal(via_array_device_id(NULL), 0);
    assert_int_equal(via_array_size(NULL), 0);
    assert_int_equal(via_array_nbytes(NULL), 0);
    assert_int_equal(via_array_flags(NULL), 0);
    assert_int_equal(via_array_is_contiguous(NULL, VIA_ORDER_ANY), 0);
    assert_int_equal(via_array_release_waits(NULL), 0);
    assert_null(via_array_context(NULL, free));
    assert_null(via_array_context(NULL, NULL));
    assert_int_equal(via_memory_device_type(NULL), 0);
    assert_int_equal(via_memory_device_id(NULL), 0);
}

static void nbytes_counts_elements_and_not_gaps(void **state) {
    (void)state;
    char memory[256];
    via_array *array = wrap_strided(memory, VIA_INT16, 2, SHAPE(3, 4), SHAPE(64, 8));
    assert_int_equal(via_array_size(array), 12);
    assert_int_equal(via_array_nbytes(array), 24);
    via_array_release(array);
}

static void nbytes_of_packed_elements_is_rounded_up(void **state) {
    (void)state;
    char memory[16];
    via_array *array = wrap_plain(memory, VIA_INT4, 1, SHAPE(5), NULL);
    assert_int_equal(via_array_nbytes(array), 3);
    via_array_release(array);
    array = wrap_plain(memory, VIA_FLOAT6_E2M3FN, 1, SHAPE(5), NULL);
    assert_int_equal(via_array_nbytes(array), 4);
    via_array_release(array);
    array = wrap_plain(memory, SCALAR(0, 1), 2, SHAPE(3, 3), NULL);
    assert_int_equal(via_array_nbytes(array), 2);
    via_array_release(array);
}

static void strides_of_packed_elements_are_reported_where_they_are_whole(void **state) {
    (void)state;
    char memory[16];
    via_array *array = wrap_plain(memory, VIA_INT4, 2, SHAPE(2, 6), NULL);
    assert_numbers(via_array_strides(array), SHAPE(6, 1), 2);
    assert_null(via_array_byte_strides(array));
    via_array_release(array);
    array = wrap_strided(memory, VIA_INT4, 2, SHAPE(2, 1), SHAPE(3, 7));
    assert_numbers(via_array_byte_strides(array), SHAPE(3), 1);
    assert_numbers(via_array_strides(array), SHAPE(6), 1);
    via_array_release(array);
}

static int contiguous(via_array *array) {
    return via_array_is_contiguous(array, VIA_ORDER_ROW_MAJOR) |
           via_array_is_contiguous(array, VIA_ORDER_COLUMN_MAJOR) << 1 |
           via_array_is_contiguous(array, VIA_ORDER_ANY) << 2;
}

enum { ROW = 1, COLUMN = 2, ANY = 4 };

static void contiguity_is_reported_by_order(void **state) {
    (void)state;
    char memory[4096];
    const struct {
        int64_t shape[3];
        int64_t strides[3];
        int expected;
    } cases[] = {
        {{2, 3, 4}, {48, 16, 4}, ROW | ANY},
        {{2, 3, 4}, {4, 8, 24}, COLUMN | ANY},
        {{2, 3, 4}, {16, 32, 4}, ANY},
        {{2, 3, 4}, {64, 16, 4}, 0}, /* gaps */
        {{2, 3, 4}, {0, 16, 4}, 0},  /* overlap */
        {{1, 3, 1}, {999, 4, -7}, ROW | COLUMN | ANY},
        {{1, 1, 1}, {0, 0, 0}, ROW | COLUMN | ANY},
        {{0, 3, 4}, {1, 2, 3}, ROW | COLUMN | ANY},
        {{2, 1, 4}, {16, 1, 4}, ROW | ANY},
        {{2, 1, 4}, {4, 1, 8}, COLUMN | ANY},
        {{2, 2, 2}, {4, 4, 8}, 0}, /* overlap that sums up to the right size */
    };
    for (int32_t i = 0; i < LENGTH(cases); ++i) {
        via_array *array = wrap_strided(memory, VIA_INT32, 3, cases[i].shape, cases[i].strides);
        assert_int_equal(contiguous(array), cases[i].expected);
        via_array_release(array);
    }
}

static void backwards_is_not_contiguous(void **state) {
    (void)state;
    int32_t memory[8];
    via_array *array = wrap_strided(memory + 7, VIA_INT32, 1, SHAPE(8), SHAPE(-4));
    assert_int_equal(contiguous(array), 0);
    via_array_release(array);
}

static void an_order_that_is_none_is_not_contiguous(void **state) {
    (void)state;
    int32_t value = 0;
    via_array *array = wrap_plain(&value, VIA_INT32, 0, NULL, NULL);
    assert_int_equal(via_array_is_contiguous(array, -1), 0);
    assert_int_equal(via_array_is_contiguous(array, 3), 0);
    via_array_release(array);
}

static void release_other(void *context) { (void)context; }

static void a_producer_recovers_its_own_context_from_any_view(void **state) {
    (void)state;
    float values[6];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT32, 2, SHAPE(2, 3), &released);
    via_array *view = NULL;
    ok(via_array_permute(array, NULL, &view));
    via_array_release(array);
    assert_ptr_equal(via_array_context(view, count_release), &released);
    via_array_release(view);
}

static void nobody_mistakes_the_context_of_another(void **state) {
    (void)state;
    float values[6];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(6), &released);
    assert_null(via_array_context(array, release_other));
    assert_null(via_array_context(array, NULL));
    via_array_release(array);
    via_array *own = NULL;
    ok(via_empty(NULL, VIA_FLOAT32, 1, SHAPE(6), NULL, &own));
    assert_null(via_array_context(own, count_release));
    assert_null(via_array_context(own, NULL));
    via_array_release(own);
}

static void a_stack_address_is_writable_host_memory(void **state) {
    (void)state;
    int value = 0;
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    ok(via_pointer_query(&value, &info));
    assert_int_equal(info.struct_size, (int32_t)sizeof info);
    assert_int_equal(info.device_type, VIA_DEVICE_CPU);
    assert_int_equal(info.device_id, 0);
    assert_int_equal(info.read_only, 0);
    assert_true((char *)info.base_address <= (char *)&value);
    assert_true((char *)&value < (char *)info.base_address + info.nbytes);
}

static void a_constant_is_read_only_memory(void **state) {
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    ok(via_pointer_query(pages + 100, &info));
    assert_int_equal(info.read_only, 1);
    assert_int_equal(munmap(pages, page), 0);
}

static void an_address_that_is_no_memory_is_reported_and_the_answer_left_alone(void **state) {
    (void)state;
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    info.device_id = 42;
    refused(VIA_ERROR_POINTER, "via_pointer_query|address", via_pointer_query(NULL, &info));
    refused(VIA_ERROR_POINTER, "via_pointer_query|address|0x10", via_pointer_query((void *)16, &info));
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    refused(VIA_ERROR_POINTER, "via_pointer_query|address", via_pointer_query(pages, &info));
    assert_int_equal(munmap(pages, page), 0);
    assert_int_equal(info.device_id, 42);
}

static void a_query_without_descriptors_says_what_it_lacks(void **state) {
    (void)state;
    int value = 0;
    struct rlimit before;
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    info.device_id = 42;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0);
    const via_status of_memory = via_pointer_query(&value, &info);
    const int32_t code = via_last_error_code();
    char text[512];
    snprintf(text, sizeof text, "%s", via_last_error());
    const via_status of_nothing = via_pointer_query((void *)16, &info);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(of_memory, VIA_ERROR_IO);
    assert_int_equal(code, EMFILE);
    assert_true(holds_words(text, "via_pointer_query|/proc/self/maps|EMFILE"));
    assert_int_equal(of_nothing, VIA_ERROR_POINTER);
    assert_int_equal(info.device_id, 42);
}

static void a_query_without_proc_says_what_it_lacks(void **state) {
    (void)state;
    char folder[] = "/tmp/viaduct-empty-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const pid_t process = fork();
    if (process == 0) {
        int value = 0;
        via_pointer_info info = VIA_POINTER_INFO_INIT;
        /* QEMU makes some files of /proc up wherever the process is. */
        if (chroot(folder) != 0 || open("/proc/self/maps", O_RDONLY) >= 0) {
            _exit(77);
        }
        CHECK(via_pointer_query(&value, &info) == VIA_ERROR_IO && via_last_error_code() == ENOENT);
        CHECK(via_pointer_query((void *)16, &info) == VIA_ERROR_POINTER);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    rmdir(folder);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(getters_accept_null),
        TEST(nbytes_counts_elements_and_not_gaps),
        TEST(nbytes_of_packed_elements_is_rounded_up),
        TEST(strides_of_packed_elements_are_reported_where_they_are_whole),
        TEST(contiguity_is_reported_by_order),
        TEST(backwards_is_not_contiguous),
        TEST(an_order_that_is_none_is_not_contiguous),
        TEST(a_producer_recovers_its_own_context_from_any_view),
        TEST(nobody_mistakes_the_context_of_another),
        TEST(a_stack_address_is_writable_host_memory),
        TEST(a_constant_is_read_only_memory),
        TEST(an_address_that_is_no_memory_is_reported_and_the_answer_left_alone),
        TEST(a_query_without_descriptors_says_what_it_lacks),
        TEST(a_query_without_proc_says_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
