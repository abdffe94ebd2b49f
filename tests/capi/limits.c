/* Where numbers end: dimensions, products, strides, and the address space. Nothing here is ever touched. */
#include "support.h"

#define TWO_TO(power) (INT64_C(1) << (power))

static char byte;

static via_status wrap_at(void *address, int32_t dtype, int32_t ndim, const int64_t *shape, const int64_t *strides,
                          int32_t flags, via_array **out_array) {
    return via_wrap(address, dtype, ndim, shape, strides, VIA_DEVICE_CPU, 0, flags, NULL, NULL, out_array);
}

static void an_array_may_have_64_dimensions_and_no_more(void **state) {
    (void)state;
    int64_t ones[VIA_MAX_NDIM + 1];
    for (int32_t i = 0; i <= VIA_MAX_NDIM; ++i) {
        ones[i] = 1;
    }
    via_array *array = NULL;
    refused(VIA_ERROR_SHAPE, "via_wrap|ndim is 65|64", wrap_at(&byte, VIA_INT8, 65, ones, NULL, 0, &array));
    refused(VIA_ERROR_SHAPE, "via_wrap|ndim is -1", wrap_at(&byte, VIA_INT8, -1, ones, NULL, 0, &array));
    refused(VIA_ERROR_SHAPE, "via_wrap|ndim", wrap_at(&byte, VIA_INT8, INT32_MAX, ones, NULL, 0, &array));
    refused(VIA_ERROR_SHAPE, "via_wrap|ndim", wrap_at(&byte, VIA_INT8, INT32_MIN, ones, NULL, 0, &array));
    ok(wrap_at(&byte, VIA_INT8, 64, ones, NULL, 0, &array));
    assert_shape(array, 64, ones);
    via_array *view = NULL;
    refused(VIA_ERROR_SHAPE, "via_array_expand|64", via_array_expand(array, 0, &view));
    refused(VIA_ERROR_SHAPE, "via_array_broadcast|65", via_array_broadcast(array, 65, ones, &view));
    refused(VIA_ERROR_SHAPE, "via_array_field|ndim is 1|64", via_array_field(array, 0, VIA_INT8, 1, ones, &view));
    ok(via_array_squeeze(array, 0, NULL, &view));
    assert_int_equal(via_array_ndim(view), 0);
    via_array_release(view);
    via_array_release(array);
}

static void a_product_that_overflows_is_refused_wherever_there_is_a_zero(void **state) {
    (void)state;
    const int64_t shapes[][4] = {
        {TWO_TO(32), TWO_TO(32), 1, 1}, {0, TWO_TO(32), TWO_TO(32), 1},       {TWO_TO(32), 0, TWO_TO(32), 1},
        {TWO_TO(32), TWO_TO(32), 0, 1}, {TWO_TO(32), TWO_TO(32), 1, 0},       {INT64_MAX, 2, 1, 1},
        {INT64_MAX, 2, 1, 0},           {0, INT64_MAX, INT64_MAX, INT64_MAX}, {3, INT64_MAX / 2, 1, 1},
    };
    for (int32_t i = 0; i < LENGTH(shapes); ++i) {
        via_array *array = NULL;
        refused(VIA_ERROR_OVERFLOW, "via_wrap|shape", wrap_at(&byte, VIA_INT8, 4, shapes[i], NULL, 0, &array));
        refused(VIA_ERROR_OVERFLOW, "via_empty|shape", via_empty(NULL, VIA_INT8, 4, shapes[i], NULL, &array));
        refused(VIA_ERROR_OVERFLOW, "via_wrap|shape",
                wrap_at(&byte, VIA_INT8, 4, shapes[i], SHAPE(0, 0, 0, 0), 0, &array));
    }
}

static void the_product_counts_in_elements_times_their_size(void **state) {
    (void)state;
    via_array *array = NULL;
    ok(wrap_at(NULL, VIA_INT8, 2, SHAPE(0, INT64_MAX), NULL, 0, &array));
    via_array_release(array);
    refused(VIA_ERROR_OVERFLOW, "via_wrap|element size",
            wrap_at(NULL, VIA_INT16, 2, SHAPE(0, INT64_MAX), NULL, 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|element size",
            wrap_at(&byte, VIA_FLOAT64, 1, SHAPE(TWO_TO(60)), NULL, 0, &array));
    ok(wrap_at(&byte, VIA_FLOAT64, 1, SHAPE(TWO_TO(60) - TWO_TO(50)), NULL, 0, &array));
    assert_int_equal(via_array_nbytes(array), INT64_MAX - TWO_TO(53) + 1);
    via_array_release(array);
    refused(VIA_ERROR_OVERFLOW, "via_wrap",
            wrap_at(&byte, via_dtype_record(1 << 30), 1, SHAPE(TWO_TO(33)), NULL, 0, &array));
}

static void packed_elements_count_in_bits(void **state) {
    (void)state;
    via_array *array = NULL;
    refused(VIA_ERROR_OVERFLOW, "via_wrap", wrap_at(&byte, VIA_INT4, 1, SHAPE(TWO_TO(61)), NULL, 0, &array));
    ok(wrap_at(&byte, VIA_INT4, 1, SHAPE(TWO_TO(61) - 2), NULL, 0, &array));
    assert_int_equal(via_array_nbytes(array), TWO_TO(60) - 1);
    via_array_release(array);
}

static void the_last_byte_of_packed_elements_counts_where_their_bits_just_fit(void **state) {
    (void)state;
    const int64_t *steps[] = {NULL, SHAPE(1), SHAPE(0)};
    for (int32_t i = 0; i < LENGTH(steps); ++i) {
        via_array *array = NULL;
        ok(wrap_at(&byte, VIA_INT4, 1, SHAPE(TWO_TO(61) - 1), steps[i], 0, &array));
        assert_int_equal(via_array_nbytes(array), TWO_TO(60));
        via_array_release(array);
    }
}

static void a_slice_without_elements_minds_no_stride_that_does_not_fit(void **state) {
    (void)state;
    const int64_t huge = TWO_TO(59);
    const int32_t dtypes[] = {VIA_INT4, VIA_INT8};
    for (int32_t i = 0; i < LENGTH(dtypes); ++i) {
        via_array *array = NULL;
        via_array *view = NULL;
        ok(wrap_at(&byte, dtypes[i], 2, SHAPE(0, 300), SHAPE(1, huge), 0, &array));
        ok(via_array_slice(array, NULL, SHAPE(0, 3), SHAPE(1, 100), &view));
        assert_shape(view, 2, SHAPE(0, 3));
        via_array_release(view);
        via_array_release(array);
    }
}

static void strides_that_overflow_are_refused(void **state) {
    (void)state;
    via_array *array = NULL;
    refused(VIA_ERROR_OVERFLOW, "via_wrap|strides[0] is 4611686018427387904",
            wrap_at(&byte, VIA_INT16, 1, SHAPE(2), SHAPE(TWO_TO(62)), 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|strides",
            wrap_at(&byte, VIA_INT8, 1, SHAPE(3), SHAPE(TWO_TO(62)), 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|strides",
            wrap_at(&byte, VIA_INT8, 2, SHAPE(2, 2), SHAPE(TWO_TO(62), TWO_TO(62)), 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|strides",
            wrap_at(&byte, VIA_INT8, 2, SHAPE(2, 2), SHAPE(INT64_MIN, -1), 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|strides",
            wrap_at(&byte, VIA_FLOAT64, 1, SHAPE(2), SHAPE(INT64_MAX), VIA_WRAP_BYTE_STRIDES, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|strides",
            wrap_at(&byte, VIA_INT4, 1, SHAPE(2), SHAPE(TWO_TO(62)), 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|strides",
            wrap_at(&byte, VIA_INT4, 1, SHAPE(2), SHAPE(TWO_TO(61)), VIA_WRAP_BYTE_STRIDES, &array));
}

static void a_span_that_leaves_the_address_space_is_refused(void **state) {
    (void)state;
    via_array *array = NULL;
    refused(VIA_ERROR_OVERFLOW, "via_wrap|address space",
            wrap_at((void *)(UINTPTR_MAX - 7), VIA_INT8, 1, SHAPE(9), NULL, 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|address space",
            wrap_at((void *)8, VIA_INT64, 1, SHAPE(3), SHAPE(-1), 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|address space",
            wrap_at(&byte, VIA_INT8, 1, SHAPE(2), SHAPE(INT64_MIN), 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|address space",
            wrap_at(&byte, VIA_INT4, 1, SHAPE(2), SHAPE(-TWO_TO(61)), 0, &array));
    refused(VIA_ERROR_OVERFLOW, "via_wrap|address space",
            wrap_at((void *)1, VIA_INT4, 1, SHAPE(2), SHAPE(-4), 0, &array));
}

static void a_span_up_to_the_edge_of_the_address_space_is_taken(void **state) {
    (void)state;
    via_array *array = NULL;
    ok(wrap_at((void *)(UINTPTR_MAX - 8), VIA_INT8, 1, SHAPE(8), NULL, 0, &array));
    via_array_release(array);
    ok(wrap_at((void *)24, VIA_INT64, 1, SHAPE(4), SHAPE(-1), 0, &array));
    via_array_release(array);
    ok(wrap_at((void *)2, VIA_INT4, 1, SHAPE(2), SHAPE(-4), 0, &array));
    via_array_release(array);
}

static void views_of_the_widest_arrays_do_not_overflow(void **state) {
    (void)state;
    via_array *array = NULL;
    ok(wrap_at((void *)8, VIA_INT8, 1, SHAPE(2), SHAPE(TWO_TO(62)), 0, &array));
    via_array *view = NULL;
    ok(via_array_reshape(array, 3, SHAPE(1, 2, 1), &view));
    assert_shape(view, 3, SHAPE(1, 2, 1));
    via_array_release(view);
    ok(via_array_expand(array, 0, &view));
    via_array_release(view);
    ok(via_array_slice(array, SHAPE(1), NULL, SHAPE(-1), &view));
    assert_ptr_equal(via_array_data(view), (void *)(TWO_TO(62) + 8));
    via_array_release(view);
    ok(via_array_broadcast(array, 2, SHAPE(TWO_TO(61), 2), &view));
    assert_int_equal(via_array_size(view), TWO_TO(62));
    via_array_release(view);
    refused(VIA_ERROR_OVERFLOW, "via_array_broadcast|shape",
            via_array_broadcast(array, 2, SHAPE(TWO_TO(62), 2), &view));
    via_array_release(array);
}

static void views_of_empty_arrays_do_not_overflow(void **state) {
    (void)state;
    via_array *array = NULL;
    ok(wrap_at(NULL, VIA_INT8, 3, SHAPE(TWO_TO(31), 0, TWO_TO(31)), SHAPE(INT64_MAX, INT64_MIN, INT64_MAX), 0, &array));
    via_array *view = NULL;
    ok(via_array_slice(array, SHAPE(1, 0, TWO_TO(31) - 1), NULL, SHAPE(1000, 1, -1000), &view));
    via_array_release(view);
    ok(via_array_select(array, 0, -1, &view));
    assert_null(via_array_data(view));
    via_array_release(view);
    ok(via_array_expand(array, 1, &view));
    via_array_release(view);
    ok(via_array_reshape(array, 2, SHAPE(0, TWO_TO(62)), &view));
    via_array_release(view);
    refused(VIA_ERROR_NEEDS_COPY, "via_array_reinterpret|last axis", via_array_reinterpret(array, VIA_INT4, &view));
    via_array_release(array);
    ok(via_wrap(NULL, VIA_UINT8, 2, SHAPE(TWO_TO(61), 0), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
    refused(VIA_ERROR_OVERFLOW, "via_array_reinterpret|shape", via_array_reinterpret(array, VIA_FLOAT64, &view));
    via_array_release(array);
}

static void a_field_of_the_widest_record_is_taken(void **state) {
    (void)state;
    via_array *array = NULL;
    ok(wrap_at((void *)4096, via_dtype_record(1 << 30), 1, SHAPE(2), NULL, 0, &array));
    via_array *view = NULL;
    ok(via_array_field(array, (1 << 30) - 8, VIA_FLOAT64, 0, NULL, &view));
    assert_ptr_equal(via_array_data(view), (void *)(4096 + TWO_TO(30) - 8));
    via_array_release(view);
    refused(VIA_ERROR_INDEX, "via_array_field", via_array_field(array, (1 << 30) - 7, VIA_FLOAT64, 0, NULL, &view));
    refused(VIA_ERROR_INDEX, "via_array_field",
            via_array_field(array, 8, VIA_FLOAT64, 1, SHAPE(TWO_TO(60) - 1), &view));
    via_array_release(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_array_may_have_64_dimensions_and_no_more),
        TEST(a_product_that_overflows_is_refused_wherever_there_is_a_zero),
        TEST(the_product_counts_in_elements_times_their_size),
        TEST(packed_elements_count_in_bits),
        TEST(the_last_byte_of_packed_elements_counts_where_their_bits_just_fit),
        TEST(a_slice_without_elements_minds_no_stride_that_does_not_fit),
        TEST(strides_that_overflow_are_refused),
        TEST(a_span_that_leaves_the_address_space_is_refused),
        TEST(a_span_up_to_the_edge_of_the_address_space_is_taken),
        TEST(views_of_the_widest_arrays_do_not_overflow),
        TEST(views_of_empty_arrays_do_not_overflow),
        TEST(a_field_of_the_widest_record_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
