/* Wrapping: memory that exists, exported until the release callback has run. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

static void a_wrapped_array_is_the_memory_itself(void **state) {
    (void)state;
    float values[6] = {0, 1, 2, 3, 4, 5};
    via_array *array = wrap_plain(values, VIA_FLOAT32, 2, SHAPE(2, 3), NULL);
    assert_ptr_equal(via_array_data(array), values);
    assert_int_equal(via_array_dtype(array), VIA_FLOAT32);
    assert_layout(array, 2, SHAPE(2, 3), SHAPE(12, 4));
    assert_numbers(via_array_strides(array), SHAPE(3, 1), 2);
    assert_int_equal(via_array_flags(array), 0);
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CPU);
    via_array_release(array);
}

static void release_callback_runs_once_after_the_last_view_is_gone(void **state) {
    (void)state;
    double values[12];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT64, 2, SHAPE(3, 4), &released);
    via_array *column = NULL;
    ok(via_array_select(array, 1, 2, &column));
    via_array *reversed = NULL;
    ok(via_array_slice(column, SHAPE(2), NULL, SHAPE(-1), &reversed));
    via_array_release(array);
    via_array_release(column);
    assert_int_equal(released, 0);
    via_array_release(reversed);
    assert_int_equal(released, 1);
}

static void release_callback_runs_once_after_the_last_export_is_gone(void **state) {
    (void)state;
    double values[12];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT64, 1, SHAPE(12), &released);
    struct DLManagedTensorVersioned *tensor = NULL;
    struct DLManagedTensor *legacy = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    ok(via_to_dlpack_legacy(array, NULL, NULL, &legacy));
    via_array_release(array);
    via_dlpack_delete(tensor);
    assert_int_equal(released, 0);
    via_dlpack_delete_legacy(legacy);
    assert_int_equal(released, 1);
}

static void retain_asks_for_one_more_release(void **state) {
    (void)state;
    char byte = 0;
    atomic_int released = 0;
    via_array *array = wrap_plain(&byte, VIA_INT8, 0, NULL, &released);
    via_array_retain(array);
    via_array_release(array);
    assert_int_equal(released, 0);
    assert_ptr_equal(via_array_data(array), &byte);
    via_array_release(array);
    assert_int_equal(released, 1);
}

static void free_fits_as_a_release_callback(void **state) {
    (void)state;
    void *block = malloc(64);
    via_array *array = NULL;
    ok(via_wrap(block, VIA_UINT8, 1, SHAPE(64), NULL, VIA_DEVICE_CPU, 0, 0, free, block, &array));
    via_array_release(array);
}

static void a_borrowed_memory_without_callback_just_ends(void **state) {
    (void)state;
    char byte = 0;
    via_array *array = wrap_plain(&byte, VIA_INT8, 1, SHAPE(1), NULL);
    via_array_release(array);
}

static void a_failed_wrap_never_calls_release(void **state) {
    (void)state;
    float values[4];
    atomic_int released = 0;
    via_array *array = (via_array *)values;
    refused(VIA_ERROR_SHAPE, "via_wrap|shape[0]|-1",
            via_wrap(values, VIA_FLOAT32, 1, SHAPE(-1), NULL, VIA_DEVICE_CPU, 0, 0, count_release, &released, &array));
    assert_null(array);
    refused(
        VIA_ERROR_POINTER, "via_wrap",
        via_wrap((void *)64, VIA_FLOAT32, 1, SHAPE(4), NULL, VIA_DEVICE_ANY, 0, 0, count_release, &released, &array));
    assert_int_equal(released, 0);
}

static void shape_and_strides_are_copied(void **state) {
    (void)state;
    short values[32] = {0};
    int64_t shape[2] = {2, 3};
    int64_t strides[2] = {8, 2};
    via_array *array = NULL;
    ok(via_wrap(values, VIA_INT16, 2, shape, strides, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
    shape[0] = shape[1] = strides[0] = strides[1] = 99;
    assert_layout(array, 2, SHAPE(2, 3), SHAPE(16, 4));
    assert_numbers(via_array_strides(array), SHAPE(8, 2), 2);
    via_array_release(array);
}

static void strides_count_elements_unless_said_to_be_bytes(void **state) {
    (void)state;
    int32_t values[32];
    via_array *elements = NULL;
    via_array *bytes = NULL;
    ok(via_wrap(values, VIA_INT32, 2, SHAPE(2, 2), SHAPE(4, 2), VIA_DEVICE_CPU, 0, 0, NULL, NULL, &elements));
    ok(via_wrap(values, VIA_INT32, 2, SHAPE(2, 2), SHAPE(16, 8), VIA_DEVICE_CPU, 0, VIA_WRAP_BYTE_STRIDES, NULL, NULL,
                &bytes));
    assert_layout(elements, 2, SHAPE(2, 2), SHAPE(16, 8));
    assert_layout(bytes, 2, SHAPE(2, 2), SHAPE(16, 8));
    via_array_release(elements);
    via_array_release(bytes);
}

static void negative_strides_start_at_the_last_element(void **state) {
    (void)state;
    int64_t values[4] = {10, 11, 12, 13};
    via_array *array = NULL;
    ok(via_wrap(values + 3, VIA_INT64, 1, SHAPE(4), SHAPE(-1), VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
    assert_ptr_equal(via_array_data(array), values + 3);
    via_array *last = NULL;
    ok(via_array_select(array, 0, -1, &last));
    assert_ptr_equal(via_array_data(last), values);
    via_array_release(array);
    via_array_release(last);
}

static void strides_that_are_not_whole_elements_are_kept_in_bytes(void **state) {
    (void)state;
    char memory[256] = {0};
    via_array *array = wrap_strided(memory, VIA_COMPLEX128, 1, SHAPE(4), SHAPE(24));
    assert_null(via_array_strides(array));
    assert_numbers(via_array_byte_strides(array), SHAPE(24), 1);
    via_array_release(array);
}

static void strides_of_axes_of_one_never_matter(void **state) {
    (void)state;
    double value = 1;
    via_array *array = wrap_strided(&value, VIA_FLOAT64, 3, SHAPE(1, 1, 1), SHAPE(INT64_MAX, 3, INT64_MIN));
    assert_int_equal(via_array_is_contiguous(array, VIA_ORDER_ROW_MAJOR), 1);
    assert_int_equal(via_array_flags(array), 0);
    via_array *flat = NULL;
    ok(via_array_reshape(array, 1, SHAPE(-1), &flat));
    assert_shape(flat, 1, SHAPE(1));
    via_array_release(array);
    via_array_release(flat);
    ok(via_wrap(&value, VIA_FLOAT64, 2, SHAPE(1, 1), SHAPE(INT64_MAX, INT64_MIN), VIA_DEVICE_CPU, 0, 0, NULL, NULL,
                &array));
    assert_non_null(via_array_strides(array));
    via_array_release(array);
}

static void an_array_without_elements_may_have_no_address(void **state) {
    (void)state;
    via_array *array = wrap_plain(NULL, VIA_FLOAT32, 3, SHAPE(2, 0, 3), NULL);
    assert_null(via_array_data(array));
    assert_int_equal(via_array_size(array), 0);
    assert_int_equal(via_array_nbytes(array), 0);
    via_array_release(array);
    ok(via_wrap(NULL, VIA_FLOAT32, 1, SHAPE(0), NULL, VIA_DEVICE_ANY, 0, 0, NULL, NULL, &array));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CPU);
    via_array_release(array);
}

static void an_array_of_no_dimensions_has_one_element(void **state) {
    (void)state;
    float value = 2;
    via_array *array = wrap_plain(&value, VIA_FLOAT32, 0, NULL, NULL);
    assert_int_equal(via_array_size(array), 1);
    assert_int_equal(via_array_nbytes(array), 4);
    assert_null(via_array_shape(array));
    assert_null(via_array_strides(array));
    assert_null(via_array_byte_strides(array));
    via_array_release(array);
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_wrap|address is NULL",
            via_wrap(NULL, VIA_FLOAT32, 0, NULL, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
}

static void every_dtype_can_be_wrapped(void **state) {
    (void)state;
    char memory[64] = {0};
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        via_array *array = wrap_plain(memory, every_dtype[i].dtype, 1, SHAPE(3), NULL);
        assert_int_equal(via_array_dtype(array), every_dtype[i].dtype);
        assert_int_equal(via_array_nbytes(array), (3 * every_dtype[i].bits + 7) / 8);
        via_array_release(array);
    }
}

static void a_misaligned_address_is_taken_and_flagged(void **state) {
    (void)state;
    _Alignas(16) char memory[64] = {0};
    via_array *array = wrap_plain(memory + 2, VIA_FLOAT32, 1, SHAPE(3), NULL);
    assert_int_equal(via_array_flags(array), VIA_ARRAY_MISALIGNED);
    via_array_release(array);
    array = wrap_strided(memory, VIA_INT32, 1, SHAPE(3), SHAPE(6));
    assert_int_equal(via_array_flags(array), VIA_ARRAY_MISALIGNED);
    via_array_release(array);
    array = wrap_plain(memory + 8, VIA_COMPLEX128, 1, SHAPE(2), NULL);
    assert_int_equal(via_array_flags(array), 0); /* a double complex is aligned as a double */
    via_array_release(array);
    array = wrap_plain(memory + 1, via_dtype_record(12), 1, SHAPE(2), NULL);
    assert_int_equal(via_array_flags(array), 0); /* a record is bytes */
    via_array_release(array);
}

static void what_is_wrapped_read_only_stays_so(void **state) {
    (void)state;
    const float values[4] = {1, 2, 3, 4};
    via_array *array = NULL;
    ok(via_wrap((void *)values, VIA_FLOAT32, 1, SHAPE(4), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_READ_ONLY, NULL, NULL,
                &array));
    assert_int_equal(via_array_flags(array), VIA_ARRAY_READ_ONLY);
    via_array *view = NULL;
    ok(via_array_reshape(array, 2, SHAPE(2, 2), &view));
    assert_int_equal(via_array_flags(view), VIA_ARRAY_READ_ONLY);
    refused(VIA_ERROR_READ_ONLY, "via_fill", via_fill(view, NULL, NULL));
    via_array_release(array);
    via_array_release(view);
}

static void host_memory_is_found_to_be_host_memory(void **state) {
    (void)state;
    float values[4];
    via_array *array = NULL;
    ok(via_wrap(values, VIA_FLOAT32, 1, SHAPE(4), NULL, VIA_DEVICE_ANY, 0, 0, NULL, NULL, &array));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CPU);
    via_array_release(array);
    ok(via_wrap(values, VIA_FLOAT32, 1, SHAPE(4), NULL, 77, -5, VIA_WRAP_DETECT, NULL, NULL, &array));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CPU);
    assert_int_equal(via_array_device_id(array), 0);
    via_array_release(array);
}

static void detection_hands_the_borrowed_memory_over_once(void **state) {
    (void)state;
    float values[4];
    atomic_int released = 0;
    via_array *array = NULL;
    ok(via_wrap(values, VIA_FLOAT32, 1, SHAPE(4), NULL, VIA_DEVICE_ANY, 0, 0, count_release, &released, &array));
    assert_ptr_equal(via_array_context(array, count_release), &released);
    via_array_release(array);
    assert_int_equal(released, 1);
}

/* Two pages, the second of which cannot be read; the first one's address. */
static char *page_before_a_hole(size_t page) {
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    return pages;
}

static void detection_refuses_memory_that_ends_before_the_array(void **state) {
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = page_before_a_hole(page);
    via_array *array = NULL;
    ok(via_wrap(pages, VIA_UINT8, 1, SHAPE((int64_t)page), NULL, VIA_DEVICE_ANY, 0, 0, NULL, NULL, &array));
    via_array_release(array);
    refused(VIA_ERROR_POINTER, "via_wrap|address",
            via_wrap(pages, VIA_UINT8, 1, SHAPE((int64_t)page + 1), NULL, VIA_DEVICE_ANY, 0, 0, NULL, NULL, &array));
    refused(VIA_ERROR_POINTER, "via_wrap|address",
            via_wrap(pages + page, VIA_UINT8, 1, SHAPE(1), NULL, VIA_DEVICE_ANY, 0, 0, NULL, NULL, &array));
    refused(VIA_ERROR_POINTER, "via_wrap|address",
            via_wrap(pages + page - 1, VIA_UINT8, 1, SHAPE(2), NULL, VIA_DEVICE_ANY, 0, 0, NULL, NULL, &array));
    assert_int_equal(munmap(pages, 2 * page), 0);
}

static void detection_looks_where_negative_strides_lead(void **state) {
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = page_before_a_hole(page);
    assert_int_equal(munmap(pages + page, page), 0);
    via_array *array = NULL;
    ok(via_wrap(pages + page - 1, VIA_UINT8, 1, SHAPE((int64_t)page), SHAPE(-1), VIA_DEVICE_ANY, 0, 0, NULL, NULL,
                &array));
    via_array_release(array);
    refused(VIA_ERROR_POINTER, "via_wrap|address",
            via_wrap((char *)16, VIA_UINT8, 1, SHAPE(8), SHAPE(-1), VIA_DEVICE_ANY, 0, 0, NULL, NULL, &array));
    assert_int_equal(munmap(pages, page), 0);
}

static void a_named_host_address_is_probed_where_that_is_asked_for(void **state) {
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = page_before_a_hole(page);
    atomic_int released = 0;
    via_array *array = NULL;
    ok(via_wrap(pages, VIA_UINT8, 1, SHAPE((int64_t)page), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_PROBE, count_release,
                &released, &array));
    via_array_release(array);
    assert_int_equal(released, 1);
    refused(VIA_ERROR_POINTER, "via_wrap|address",
            via_wrap(pages + 1, VIA_UINT8, 1, SHAPE((int64_t)page), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_PROBE,
                     count_release, &released, &array));
    assert_int_equal(released, 1);
    assert_int_equal(munmap(pages, 2 * page), 0);
}

static void a_named_host_address_is_not_looked_up_otherwise(void **state) {
    (void)state;
    via_array *array = NULL;
    ok(via_wrap((void *)4096, VIA_UINT8, 1, SHAPE(8), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
    via_array_release(array);
}

static void device_memory_is_refused_where_there_is_no_cuda(void **state) {
    (void)state;
    int32_t count = 0;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    if (count > 0) {
        skip();
    }
    float values[4];
    via_array *array = NULL;
    const int32_t types[] = {VIA_DEVICE_CUDA, VIA_DEVICE_CUDA_HOST, VIA_DEVICE_CUDA_MANAGED};
    for (int32_t i = 0; i < LENGTH(types); ++i) {
        refused(VIA_ERROR_UNSUPPORTED, "via_wrap|CUDA",
                via_wrap(values, VIA_FLOAT32, 1, SHAPE(4), NULL, types[i], 0, 0, NULL, NULL, &array));
    }
}

static void retain_and_release_of_nothing_do_nothing(void **state) {
    (void)state;
    via_array_retain(NULL);
    via_array_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_wrapped_array_is_the_memory_itself),
        TEST(release_callback_runs_once_after_the_last_view_is_gone),
        TEST(release_callback_runs_once_after_the_last_export_is_gone),
        TEST(retain_asks_for_one_more_release),
        TEST(free_fits_as_a_release_callback),
        TEST(a_borrowed_memory_without_callback_just_ends),
        TEST(a_failed_wrap_never_calls_release),
        TEST(shape_and_strides_are_copied),
        TEST(strides_count_elements_unless_said_to_be_bytes),
        TEST(negative_strides_start_at_the_last_element),
        TEST(strides_that_are_not_whole_elements_are_kept_in_bytes),
        TEST(strides_of_axes_of_one_never_matter),
        TEST(an_array_without_elements_may_have_no_address),
        TEST(an_array_of_no_dimensions_has_one_element),
        TEST(every_dtype_can_be_wrapped),
        TEST(a_misaligned_address_is_taken_and_flagged),
        TEST(what_is_wrapped_read_only_stays_so),
        TEST(host_memory_is_found_to_be_host_memory),
        TEST(detection_hands_the_borrowed_memory_over_once),
        TEST(detection_refuses_memory_that_ends_before_the_array),
        TEST(detection_looks_where_negative_strides_lead),
        TEST(a_named_host_address_is_probed_where_that_is_asked_for),
        TEST(a_named_host_address_is_not_looked_up_otherwise),
        TEST(device_memory_is_refused_where_there_is_no_cuda),
        TEST(retain_and_release_of_nothing_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
