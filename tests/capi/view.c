/* Views: other shapes, orders and element types of the same memory. */
#include <limits.h>

#include "support.h"

/* 0 to 23 as a row-major (2, 3, 4). */
static int32_t numbers[24];

static via_array *cube(void) {
    for (int32_t i = 0; i < 24; ++i) {
        numbers[i] = i;
    }
    return wrap_plain(numbers, VIA_INT32, 3, SHAPE(2, 3, 4), NULL);
}

typedef struct listing {
    const char *data;
    int32_t *values;
} listing;

static void list_element(int64_t offset, int64_t number, void *context) {
    const listing *list = context;
    memcpy(&list->values[number], list->data + offset, sizeof(int32_t));
}

/* The view's elements, in row-major order, are these. The view is released. */
static void assert_elements(via_array *view, int32_t count, const int32_t *expected) {
    int32_t values[64] = {0};
    listing list = {via_array_data(view), values};
    assert_int_equal(via_array_size(view), count);
    visit_elements(view, list_element, &list);
    for (int32_t i = 0; i < count; ++i) {
        assert_int_equal(values[i], expected[i]);
    }
    via_array_release(view);
}

#define VALUES(...) LENGTH(((const int32_t[]){__VA_ARGS__})), ((const int32_t[]){__VA_ARGS__})

static void slice_takes_count_elements_from_start_on_in_steps(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_slice(array, SHAPE(1, 2, 0), SHAPE(1, 2, 2), SHAPE(1, -2, 3), &view));
    assert_shape(view, 3, SHAPE(1, 2, 2));
    assert_elements(view, VALUES(20, 23, 12, 15));
    via_array_release(array);
}

static void slice_takes_as_many_as_there_are_if_not_reported(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_slice(array, SHAPE(1, 0, 3), NULL, SHAPE(5, 2, -2), &view));
    assert_shape(view, 3, SHAPE(1, 2, 2));
    assert_elements(view, VALUES(15, 13, 23, 21));
    ok(via_array_slice(array, NULL, NULL, NULL, &view));
    assert_layout(view, 3, SHAPE(2, 3, 4), SHAPE(48, 16, 4));
    via_array_release(view);
    ok(via_array_slice(array, NULL, NULL, SHAPE(-1, -1, -1), &view));
    assert_elements(view, VALUES(0));
    via_array_release(array);
}

static void slice_of_nothing_is_a_view_too(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_slice(array, SHAPE(2, 3, 4), SHAPE(0, 0, 0), NULL, &view));
    assert_shape(view, 3, SHAPE(0, 0, 0));
    via_array *again = NULL;
    ok(via_array_slice(view, NULL, NULL, NULL, &again));
    assert_shape(again, 3, SHAPE(0, 0, 0));
    via_array_release(again);
    via_array_release(view);
    via_array_release(array);
}

static void slice_of_no_dimensions_is_the_array(void **state) {
    (void)state;
    via_array *array = wrap_plain(numbers, VIA_INT32, 0, NULL, NULL);
    via_array *view = NULL;
    ok(via_array_slice(array, NULL, NULL, NULL, &view));
    assert_ptr_equal(via_array_data(view), numbers);
    via_array_release(view);
    via_array_release(array);
}

static void slice_refuses_what_does_not_exist(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    refused(VIA_ERROR_INDEX, "via_array_slice|start[1] is 3",
            via_array_slice(array, SHAPE(0, 3, 0), SHAPE(1, 1, 1), NULL, &view));
    refused(VIA_ERROR_INDEX, "via_array_slice|start[0] is -1",
            via_array_slice(array, SHAPE(-1, 0, 0), NULL, NULL, &view));
    refused(VIA_ERROR_INDEX, "via_array_slice|count[2] is 5",
            via_array_slice(array, NULL, SHAPE(1, 1, 5), NULL, &view));
    refused(VIA_ERROR_INDEX, "via_array_slice|count[2] is 2",
            via_array_slice(array, SHAPE(0, 0, 3), SHAPE(1, 1, 2), NULL, &view));
    refused(VIA_ERROR_INDEX, "via_array_slice|count[1] is 3",
            via_array_slice(array, SHAPE(0, 1, 0), SHAPE(1, 3, 1), SHAPE(1, -1, 1), &view));
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_array_slice|step[0] is 0",
            via_array_slice(array, NULL, NULL, SHAPE(0, 1, 1), &view));
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_array_slice|step[2] is -9223372036854775808",
            via_array_slice(array, NULL, NULL, SHAPE(1, 1, INT64_MIN), &view));
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_array_slice|count[0] is -1",
            via_array_slice(array, NULL, SHAPE(-1, 1, 1), NULL, &view));
    assert_null(view);
    via_array_release(array);
}

static void an_array_without_axes_or_elements_has_nothing_to_select(void **state) {
    (void)state;
    via_array *single = wrap_plain(numbers, VIA_INT32, 0, NULL, NULL);
    via_array *empty = wrap_plain(numbers, VIA_INT32, 2, SHAPE(3, 0), NULL);
    via_array *view = NULL;
    refused(VIA_ERROR_INDEX, "axis is 0; expected an array with dimensions", via_array_select(single, 0, 0, &view));
    refused(VIA_ERROR_INDEX, "index is 0 along axis 1, which has no elements", via_array_select(empty, -1, 0, &view));
    assert_null(view);
    via_array_release(empty);
    via_array_release(single);
}

static void slice_takes_steps_of_any_length(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_slice(array, SHAPE(1, 1, 1), NULL, SHAPE(INT64_MAX, INT64_MIN + 1, INT64_MAX), &view));
    assert_shape(view, 3, SHAPE(1, 1, 1));
    assert_elements(view, VALUES(17));
    via_array_release(array);
}

static void select_drops_the_axis_and_counts_from_either_end(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_select(array, 1, 2, &view));
    assert_shape(view, 2, SHAPE(2, 4));
    assert_elements(view, VALUES(8, 9, 10, 11, 20, 21, 22, 23));
    ok(via_array_select(array, -1, -4, &view));
    assert_shape(view, 2, SHAPE(2, 3));
    assert_elements(view, VALUES(0, 4, 8, 12, 16, 20));
    refused(VIA_ERROR_INDEX, "via_array_select|index is 4", via_array_select(array, 2, 4, &view));
    refused(VIA_ERROR_INDEX, "via_array_select|index is -5", via_array_select(array, 2, -5, &view));
    refused(VIA_ERROR_INDEX, "via_array_select|index", via_array_select(array, 2, INT64_MIN, &view));
    refused(VIA_ERROR_INDEX, "via_array_select|axis is 3", via_array_select(array, 3, 0, &view));
    refused(VIA_ERROR_INDEX, "via_array_select|axis is -4", via_array_select(array, -4, 0, &view));
    refused(VIA_ERROR_INDEX, "via_array_select|axis", via_array_select(array, INT_MIN, 0, &view));
    via_array_release(array);
}

static void permute_puts_axes_in_any_order_and_reverses_by_default(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_permute(array, AXES(2, 0, 1), &view));
    assert_layout(view, 3, SHAPE(4, 2, 3), SHAPE(4, 48, 16));
    via_array_release(view);
    ok(via_array_permute(array, AXES(-1, -3, -2), &view));
    assert_layout(view, 3, SHAPE(4, 2, 3), SHAPE(4, 48, 16));
    via_array_release(view);
    ok(via_array_permute(array, NULL, &view));
    assert_layout(view, 3, SHAPE(4, 3, 2), SHAPE(4, 16, 48));
    via_array_release(view);
    refused(VIA_ERROR_INDEX, "via_array_permute|axes[2]|0", via_array_permute(array, AXES(0, 1, 0), &view));
    refused(VIA_ERROR_INDEX, "via_array_permute|axes[1]|3", via_array_permute(array, AXES(0, 3, 1), &view));
    refused(VIA_ERROR_INDEX, "via_array_permute|axes[2]|-4", via_array_permute(array, AXES(0, 1, -4), &view));
    via_array_release(array);
}

static void reshape_keeps_the_row_major_order_of_the_elements(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_reshape(array, 4, SHAPE(3, 2, 2, 2), &view));
    assert_layout(view, 4, SHAPE(3, 2, 2, 2), SHAPE(32, 16, 8, 4));
    via_array_release(view);
    ok(via_array_reshape(array, 2, SHAPE(-1, 8), &view));
    assert_shape(view, 2, SHAPE(3, 8));
    via_array_release(view);
    ok(via_array_reshape(array, 5, SHAPE(1, 24, 1, -1, 1), &view));
    assert_shape(view, 5, SHAPE(1, 24, 1, 1, 1));
    via_array_release(view);
    via_array_release(array);
}

static void reshape_splits_and_merges_strided_axes_where_no_copy_is_needed(void **state) {
    (void)state;
    via_array *array = wrap_strided(numbers + 23, VIA_INT32, 2, SHAPE(6, 2), SHAPE(-16, -4));
    via_array *view = NULL;
    ok(via_array_reshape(array, 3, SHAPE(2, 3, 2), &view));
    assert_layout(view, 3, SHAPE(2, 3, 2), SHAPE(-48, -16, -4));
    via_array *back = NULL;
    ok(via_array_reshape(view, 2, SHAPE(6, 2), &back));
    assert_layout(back, 2, SHAPE(6, 2), SHAPE(-16, -4));
    via_array_release(back);
    refused(VIA_ERROR_NEEDS_COPY, "via_array_reshape|copy", via_array_reshape(view, 1, SHAPE(12), &back));
    refused(VIA_ERROR_NEEDS_COPY, "via_array_reshape|copy", via_array_reshape(view, 2, SHAPE(3, 4), &back));
    via_array_release(view);
    via_array_release(array);
}

static void reshape_refuses_other_sizes(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    refused(VIA_ERROR_SHAPE, "via_array_reshape|25|24", via_array_reshape(array, 1, SHAPE(25), &view));
    refused(VIA_ERROR_SHAPE, "via_array_reshape|shape[1] is -1", via_array_reshape(array, 2, SHAPE(-1, -1), &view));
    refused(VIA_ERROR_SHAPE, "via_array_reshape|shape[0] is -2", via_array_reshape(array, 1, SHAPE(-2), &view));
    refused(VIA_ERROR_SHAPE, "via_array_reshape|shape[0] is -1|5", via_array_reshape(array, 2, SHAPE(-1, 5), &view));
    refused(VIA_ERROR_SHAPE, "via_array_reshape|shape[0] is -1", via_array_reshape(array, 2, SHAPE(-1, 0), &view));
    refused(VIA_ERROR_SHAPE, "via_array_reshape|1|24", via_array_reshape(array, 0, NULL, &view));
    refused(VIA_ERROR_SHAPE, "via_array_reshape|ndim is 65", via_array_reshape(array, 65, SHAPE(24), &view));
    refused(VIA_ERROR_SHAPE, "via_array_reshape|ndim is -1", via_array_reshape(array, -1, SHAPE(24), &view));
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_array_reshape|shape is NULL", via_array_reshape(array, 1, NULL, &view));
    refused(VIA_ERROR_OVERFLOW, "via_array_reshape|shape",
            via_array_reshape(array, 2, SHAPE(INT64_C(1) << 32, INT64_C(1) << 32), &view));
    via_array_release(array);
}

static void reshape_of_nothing_is_free(void **state) {
    (void)state;
    via_array *array = wrap_plain(NULL, VIA_FLOAT64, 2, SHAPE(0, 3), NULL);
    via_array *view = NULL;
    ok(via_array_reshape(array, 3, SHAPE(7, 0, 5), &view));
    assert_shape(view, 3, SHAPE(7, 0, 5));
    via_array_release(view);
    ok(via_array_reshape(array, 2, SHAPE(-1, 5), &view));
    assert_shape(view, 2, SHAPE(0, 5));
    via_array_release(view);
    refused(VIA_ERROR_OVERFLOW, "via_array_reshape|shape",
            via_array_reshape(array, 2, SHAPE(INT64_C(1) << 62, 0), &view));
    via_array_release(array);
}

static void broadcast_repeats_by_strides_of_0_and_is_read_only(void **state) {
    (void)state;
    via_array *array = wrap_plain(numbers, VIA_INT32, 2, SHAPE(3, 1), NULL);
    via_array *view = NULL;
    ok(via_array_broadcast(array, 3, SHAPE(2, 3, 4), &view));
    assert_layout(view, 3, SHAPE(2, 3, 4), SHAPE(0, 4, 0));
    assert_int_equal(via_array_flags(view), VIA_ARRAY_READ_ONLY);
    via_array_release(view);
    ok(via_array_broadcast(array, 2, SHAPE(3, 0), &view));
    assert_int_equal(via_array_size(view), 0);
    via_array_release(view);
    refused(VIA_ERROR_SHAPE, "via_array_broadcast|shape[0] is 2|3", via_array_broadcast(array, 2, SHAPE(2, 4), &view));
    refused(VIA_ERROR_SHAPE, "via_array_broadcast|ndim is 1|2", via_array_broadcast(array, 1, SHAPE(3), &view));
    refused(VIA_ERROR_SHAPE, "via_array_broadcast|shape[1] is -1", via_array_broadcast(array, 2, SHAPE(3, -1), &view));
    refused(VIA_ERROR_SHAPE, "via_array_broadcast|ndim is 65", via_array_broadcast(array, 65, SHAPE(3), &view));
    refused(VIA_ERROR_OVERFLOW, "via_array_broadcast|shape",
            via_array_broadcast(array, 3, SHAPE(INT64_C(1) << 40, 3, INT64_C(1) << 40), &view));
    via_array_release(array);
}

static void broadcast_to_its_own_shape_is_the_array_read_only(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_broadcast(array, 3, SHAPE(2, 3, 4), &view));
    assert_layout(view, 3, SHAPE(2, 3, 4), SHAPE(48, 16, 4));
    assert_int_equal(via_array_flags(view), VIA_ARRAY_READ_ONLY);
    via_array_release(view);
    via_array_release(array);
}

static void squeeze_drops_axes_of_one(void **state) {
    (void)state;
    via_array *array = wrap_plain(numbers, VIA_INT32, 4, SHAPE(1, 6, 1, 4), NULL);
    via_array *view = NULL;
    ok(via_array_squeeze(array, 0, NULL, &view));
    assert_layout(view, 2, SHAPE(6, 4), SHAPE(16, 4));
    via_array_release(view);
    ok(via_array_squeeze(array, 1, AXES(-2), &view));
    assert_layout(view, 3, SHAPE(1, 6, 4), SHAPE(96, 16, 4));
    via_array_release(view);
    ok(via_array_squeeze(array, 0, AXES(0), &view));
    assert_shape(view, 4, SHAPE(1, 6, 1, 4));
    via_array_release(view);
    refused(VIA_ERROR_SHAPE, "via_array_squeeze|axes[0] is 1|6", via_array_squeeze(array, 1, AXES(1), &view));
    refused(VIA_ERROR_INDEX, "via_array_squeeze|axes[1]|4", via_array_squeeze(array, 2, AXES(0, 4), &view));
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_array_squeeze|count is -1", via_array_squeeze(array, -1, AXES(0), &view));
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_array_squeeze|count is 1|axes", via_array_squeeze(array, 1, NULL, &view));
    refused(VIA_ERROR_SHAPE, "count is 65; expected at most", via_array_squeeze(array, 65, AXES(0), &view));
    via_array_release(array);
}

static void expand_adds_an_axis_of_one_anywhere(void **state) {
    (void)state;
    via_array *array = wrap_plain(numbers, VIA_INT32, 2, SHAPE(3, 4), NULL);
    const struct {
        int32_t axis;
        int64_t shape[3];
    } cases[] = {{0, {1, 3, 4}}, {1, {3, 1, 4}}, {2, {3, 4, 1}}, {-1, {3, 4, 1}}, {-3, {1, 3, 4}}};
    via_array *view = NULL;
    for (int32_t i = 0; i < LENGTH(cases); ++i) {
        ok(via_array_expand(array, cases[i].axis, &view));
        assert_shape(view, 3, cases[i].shape);
        assert_int_equal(via_array_is_contiguous(view, VIA_ORDER_ROW_MAJOR), 1);
        via_array_release(view);
    }
    refused(VIA_ERROR_INDEX, "via_array_expand|axis is 3", via_array_expand(array, 3, &view));
    refused(VIA_ERROR_INDEX, "via_array_expand|axis is -4", via_array_expand(array, -4, &view));
    via_array_release(array);
}

static void reinterpret_sees_the_same_bytes_as_other_elements(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_reinterpret(array, VIA_FLOAT32, &view));
    assert_layout(view, 3, SHAPE(2, 3, 4), SHAPE(48, 16, 4));
    assert_int_equal(via_array_dtype(view), VIA_FLOAT32);
    via_array_release(view);
    ok(via_array_reinterpret(array, VIA_UINT8, &view));
    assert_layout(view, 3, SHAPE(2, 3, 16), SHAPE(48, 16, 1));
    via_array_release(view);
    ok(via_array_reinterpret(array, VIA_COMPLEX128, &view));
    assert_layout(view, 3, SHAPE(2, 3, 1), SHAPE(48, 16, 16));
    via_array_release(view);
    ok(via_array_reinterpret(array, VIA_INT4, &view));
    assert_shape(view, 3, SHAPE(2, 3, 32));
    assert_numbers(via_array_strides(view), SHAPE(96, 32, 1), 3);
    via_array *back = NULL;
    ok(via_array_reinterpret(view, VIA_INT32, &back));
    assert_layout(back, 3, SHAPE(2, 3, 4), SHAPE(48, 16, 4));
    via_array_release(back);
    via_array_release(view);
    via_array_release(array);
}

static void reinterpret_refuses_what_does_not_divide_or_has_gaps(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    refused(VIA_ERROR_SHAPE, "via_array_reinterpret|4|record12",
            via_array_reinterpret(array, via_dtype_record(12), &view));
    refused(VIA_ERROR_DTYPE, "via_array_reinterpret|dtype|0x00000007", via_array_reinterpret(array, 7, &view));
    via_array *odd = wrap_plain(numbers, VIA_INT32, 2, SHAPE(2, 3), NULL);
    refused(VIA_ERROR_SHAPE, "via_array_reinterpret|3|uint64", via_array_reinterpret(odd, VIA_UINT64, &view));
    via_array_release(odd);
    via_array *column = NULL;
    ok(via_array_permute(array, NULL, &column));
    refused(VIA_ERROR_NEEDS_COPY, "via_array_reinterpret|last axis", via_array_reinterpret(column, VIA_INT8, &view));
    ok(via_array_reinterpret(column, VIA_FLOAT32, &view));
    via_array_release(view);
    via_array_release(column);
    via_array_release(array);
}

static void reinterpret_of_no_dimensions_keeps_the_size(void **state) {
    (void)state;
    via_array *array = wrap_plain(numbers, VIA_INT32, 0, NULL, NULL);
    via_array *view = NULL;
    ok(via_array_reinterpret(array, VIA_FLOAT32, &view));
    via_array_release(view);
    refused(VIA_ERROR_SHAPE, "via_array_reinterpret|64", via_array_reinterpret(array, VIA_INT64, &view));
    via_array_release(array);
}

static void reinterpret_does_not_ask_for_strides_of_axes_of_one(void **state) {
    (void)state;
    via_array *array = NULL;
    ok(via_wrap(numbers, VIA_INT4, 2, SHAPE(1, 4), SHAPE(3, 1), VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
    via_array *view = NULL;
    ok(via_array_reinterpret(array, VIA_UINT8, &view));
    assert_shape(view, 2, SHAPE(1, 2));
    via_array_release(view);
    via_array_release(array);
}

typedef struct particle {
    double mass;
    int32_t id;
    float position[3];
} particle;

static void a_field_of_a_record_is_a_view(void **state) {
    (void)state;
    particle particles[3] = {{1, 10, {0, 1, 2}}, {2, 20, {3, 4, 5}}, {3, 30, {6, 7, 8}}};
    via_array *array = wrap_plain(particles, via_dtype_record(sizeof(particle)), 1, SHAPE(3), NULL);
    via_array *id = NULL;
    via_array *position = NULL;
    ok(via_array_field(array, offsetof(particle, id), VIA_INT32, 0, NULL, &id));
    ok(via_array_field(array, offsetof(particle, position), VIA_FLOAT32, 1, SHAPE(3), &position));
    via_array_release(array);
    assert_ptr_equal(via_array_data(id), &particles[0].id);
    assert_layout(position, 2, SHAPE(3, 3), SHAPE(sizeof(particle), 4));
    via_array *last = NULL;
    ok(via_array_slice(position, SHAPE(2, 1), SHAPE(1, 1), NULL, &last));
    assert_ptr_equal(via_array_data(last), &particles[2].position[1]);
    via_array_release(last);
    via_array_release(position);
    assert_elements(id, VALUES(10, 20, 30));
}

static void the_halves_of_a_complex_are_fields(void **state) {
    (void)state;
    double memory[4] = {1, 2, 3, 4};
    via_array *array = wrap_plain(memory, VIA_COMPLEX128, 1, SHAPE(2), NULL);
    via_array *imaginary = NULL;
    ok(via_array_field(array, 8, VIA_FLOAT64, 0, NULL, &imaginary));
    assert_ptr_equal(via_array_data(imaginary), memory + 1);
    assert_numbers(via_array_strides(imaginary), SHAPE(2), 1);
    via_array_release(imaginary);
    via_array_release(array);
}

static void a_field_must_lie_inside_the_element(void **state) {
    (void)state;
    char memory[64];
    via_array *array = wrap_plain(memory, via_dtype_record(12), 1, SHAPE(3), NULL);
    via_array *view = NULL;
    refused(VIA_ERROR_INDEX, "via_array_field|byte_offset is 8|12",
            via_array_field(array, 8, VIA_FLOAT64, 0, NULL, &view));
    refused(VIA_ERROR_INDEX, "via_array_field|byte_offset is -4",
            via_array_field(array, -4, VIA_FLOAT32, 0, NULL, &view));
    refused(VIA_ERROR_INDEX, "via_array_field|byte_offset is 4|3 elements",
            via_array_field(array, 4, VIA_FLOAT32, 1, SHAPE(3), &view));
    refused(VIA_ERROR_INDEX, "via_array_field|byte_offset",
            via_array_field(array, INT64_MAX, VIA_INT8, 0, NULL, &view));
    refused(VIA_ERROR_SHAPE, "via_array_field|shape[0] is -1",
            via_array_field(array, 0, VIA_INT8, 1, SHAPE(-1), &view));
    refused(VIA_ERROR_DTYPE, "via_array_field|dtype|0x00000000", via_array_field(array, 0, 0, 0, NULL, &view));
    refused(VIA_ERROR_DTYPE, "via_array_field|int4", via_array_field(array, 0, VIA_INT4, 1, SHAPE(2), &view));
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_array_field|shape is NULL",
            via_array_field(array, 0, VIA_INT8, 1, NULL, &view));
    via_array_release(array);
}

static void a_view_that_would_start_inside_a_byte_needs_a_copy(void **state) {
    (void)state;
    via_array *array = wrap_plain(numbers, VIA_INT4, 1, SHAPE(8), NULL);
    via_array *view = NULL;
    refused(VIA_ERROR_NEEDS_COPY, "via_array_slice|int4", via_array_slice(array, SHAPE(3), NULL, NULL, &view));
    refused(VIA_ERROR_NEEDS_COPY, "via_array_select|int4", via_array_select(array, 0, 5, &view));
    ok(via_array_slice(array, SHAPE(2), NULL, SHAPE(2), &view));
    assert_ptr_equal(via_array_data(view), (char *)numbers + 1);
    assert_shape(view, 1, SHAPE(3));
    via_array_release(view);
    via_array_release(array);
}

static void a_view_as_read_only_is_the_same_but_for_writing(void **state) {
    (void)state;
    via_array *array = cube();
    via_array *view = NULL;
    ok(via_array_as_read_only(array, &view));
    assert_layout(view, 3, SHAPE(2, 3, 4), SHAPE(48, 16, 4));
    assert_int_equal(via_array_flags(view), VIA_ARRAY_READ_ONLY);
    assert_int_equal(via_array_flags(array), 0);
    via_array_release(array);
    via_array_release(view);
}

static void no_view_of_a_read_only_array_is_writable(void **state) {
    (void)state;
    via_array *array = NULL;
    ok(via_wrap(numbers, VIA_COMPLEX64, 2, SHAPE(3, 1), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_READ_ONLY, NULL, NULL,
                &array));
    via_array *views[10] = {NULL};
    ok(via_array_slice(array, NULL, NULL, NULL, &views[0]));
    ok(via_array_select(array, 0, 0, &views[1]));
    ok(via_array_permute(array, NULL, &views[2]));
    ok(via_array_reshape(array, 1, SHAPE(3), &views[3]));
    ok(via_array_broadcast(array, 2, SHAPE(3, 2), &views[4]));
    ok(via_array_squeeze(array, 0, NULL, &views[5]));
    ok(via_array_expand(array, 0, &views[6]));
    ok(via_array_reinterpret(array, VIA_FLOAT64, &views[7]));
    ok(via_array_field(array, 4, VIA_FLOAT32, 0, NULL, &views[8]));
    ok(via_array_as_read_only(array, &views[9]));
    for (int32_t i = 0; i < LENGTH(views); ++i) {
        assert_int_equal(via_array_flags(views[i]) & VIA_ARRAY_READ_ONLY, VIA_ARRAY_READ_ONLY);
        via_array_release(views[i]);
    }
    via_array_release(array);
}

static void alignment_is_judged_for_each_view(void **state) {
    (void)state;
    _Alignas(8) char memory[64];
    via_array *array = wrap_plain(memory, via_dtype_record(12), 1, SHAPE(4), NULL);
    via_array *view = NULL;
    ok(via_array_field(array, 4, VIA_FLOAT64, 0, NULL, &view));
    assert_int_equal(via_array_flags(view), VIA_ARRAY_MISALIGNED);
    via_array *half = NULL;
    ok(via_array_reinterpret(view, VIA_INT64, &half));
    assert_int_equal(via_array_flags(half), VIA_ARRAY_MISALIGNED);
    via_array_release(half);
    ok(via_array_field(view, 4, VIA_INT32, 0, NULL, &half));
    assert_int_equal(via_array_flags(half), 0);
    via_array_release(half);
    via_array_release(view);
    via_array_release(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(slice_takes_count_elements_from_start_on_in_steps),
        TEST(slice_takes_as_many_as_there_are_if_not_reported),
        TEST(slice_of_nothing_is_a_view_too),
        TEST(slice_of_no_dimensions_is_the_array),
        TEST(slice_refuses_what_does_not_exist),
        TEST(an_array_without_axes_or_elements_has_nothing_to_select),
        TEST(slice_takes_steps_of_any_length),
        TEST(select_drops_the_axis_and_counts_from_either_end),
        TEST(permute_puts_axes_in_any_order_and_reverses_by_default),
        TEST(reshape_keeps_the_row_major_order_of_the_elements),
        TEST(reshape_splits_and_merges_strided_axes_where_no_copy_is_needed),
        TEST(reshape_refuses_other_sizes),
        TEST(reshape_of_nothing_is_free),
        TEST(broadcast_repeats_by_strides_of_0_and_is_read_only),
        TEST(broadcast_to_its_own_shape_is_the_array_read_only),
        TEST(squeeze_drops_axes_of_one),
        TEST(expand_adds_an_axis_of_one_anywhere),
        TEST(reinterpret_sees_the_same_bytes_as_other_elements),
        TEST(reinterpret_refuses_what_does_not_divide_or_has_gaps),
        TEST(reinterpret_of_no_dimensions_keeps_the_size),
        TEST(reinterpret_does_not_ask_for_strides_of_axes_of_one),
        TEST(a_field_of_a_record_is_a_view),
        TEST(the_halves_of_a_complex_are_fields),
        TEST(a_field_must_lie_inside_the_element),
        TEST(a_view_that_would_start_inside_a_byte_needs_a_copy),
        TEST(a_view_as_read_only_is_the_same_but_for_writing),
        TEST(no_view_of_a_read_only_array_is_writable),
        TEST(alignment_is_judged_for_each_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
