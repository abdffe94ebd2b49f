/* Arrow's C device interface, out: columns and tensors. */
#include "arrow_column.h"

static void a_row_of_numbers_is_a_plain_column(void **state) {
    (void)state;
    int32_t values[6];
    via_array *array = wrap_plain(values, VIA_INT32, 1, SHAPE(6), NULL);
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    via_array_release(array);
    assert_string_equal(schema.format, "i");
    assert_int_equal(schema.flags, 0);
    assert_int_equal(schema.n_children, 0);
    assert_null(schema.dictionary);
    assert_int_equal(exported.array.length, 6);
    assert_int_equal(exported.array.null_count, 0);
    assert_int_equal(exported.array.offset, 0);
    assert_int_equal(exported.array.n_buffers, 2);
    assert_null(exported.array.buffers[0]);
    assert_ptr_equal(exported.array.buffers[1], values);
    assert_int_equal(exported.device_type, VIA_DEVICE_CPU);
    assert_int_equal(exported.device_id, -1);
    assert_null(exported.sync_event);
    assert_int_equal(exported.reserved[0] | exported.reserved[1] | exported.reserved[2], 0);
    via_arrow_release(&schema, &exported);
}

typedef struct formatted {
    int32_t dtype;
    const char *format;
} formatted;

static const formatted formats[] = {
    {VIA_INT8, "c"},
    {VIA_UINT8, "C"},
    {VIA_INT16, "s"},
    {VIA_UINT16, "S"},
    {VIA_INT32, "i"},
    {VIA_UINT32, "I"},
    {VIA_INT64, "l"},
    {VIA_UINT64, "L"},
    {VIA_FLOAT16, "e"},
    {VIA_FLOAT32, "f"},
    {VIA_FLOAT64, "g"},
    {-12, "w:12"},
    {-(1 << 30), "w:1073741824"},
};

static void every_dtype_with_an_arrow_type_makes_the_round_trip(void **state) {
    (void)state;
    static double memory[8];
    for (int32_t i = 0; i < LENGTH(formats); ++i) {
        via_array *array = wrap_plain(memory, formats[i].dtype, 1, SHAPE(1), NULL);
        struct ArrowSchema schema;
        struct ArrowDeviceArray exported;
        ok(via_to_arrow_device(array, &schema, &exported));
        assert_string_equal(schema.format, formats[i].format);
        via_array *back = NULL;
        ok(via_from_arrow_device(&schema, &exported, NULL, &back));
        assert_null(schema.release);
        assert_null(exported.array.release);
        assert_int_equal(via_array_dtype(back), formats[i].dtype);
        assert_ptr_equal(via_array_data(back), memory);
        assert_int_equal(via_array_flags(back), VIA_ARRAY_READ_ONLY);
        via_array_release(array);
        via_array_release(back);
    }
}

static int has_format(int32_t dtype) {
    for (int32_t i = 0; i < LENGTH(formats); ++i) {
        if (formats[i].dtype == dtype) {
            return 1;
        }
    }
    return 0;
}

static void a_dtype_without_arrow_type_is_refused_by_name(void **state) {
    (void)state;
    char memory[64];
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        if (has_format(every_dtype[i].dtype)) {
            continue;
        }
        via_array *array = wrap_plain(memory, every_dtype[i].dtype, 1, SHAPE(2), NULL);
        struct ArrowSchema schema;
        struct ArrowDeviceArray exported;
        refused(VIA_ERROR_EXCHANGE, "via_to_arrow_device", via_to_arrow_device(array, &schema, &exported));
        assert_non_null(strstr(via_last_error(), every_dtype[i].name));
        via_array_release(array);
    }
}

static void structs_of_a_refused_export_may_be_released(void **state) {
    (void)state;
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    memset(&schema, 0xFF, sizeof schema);
    memset(&exported, 0xFF, sizeof exported);
    int32_t values[12];
    via_array *array = wrap_strided(values, VIA_INT32, 1, SHAPE(6), SHAPE(8));
    refused(VIA_ERROR_NEEDS_COPY, "via_to_arrow_device|row-major", via_to_arrow_device(array, &schema, &exported));
    via_arrow_release(&schema, &exported);
    via_array_release(array);
    array = wrap_plain(values, VIA_INT32, 0, NULL, NULL);
    refused(VIA_ERROR_EXCHANGE, "via_to_arrow_device|ndim is 0", via_to_arrow_device(array, &schema, &exported));
    via_arrow_release(&schema, &exported);
    via_array_release(array);
}

static void a_row_longer_than_an_arrow_list_is_refused(void **state) {
    (void)state;
    char memory[8];
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    const int64_t shapes[][3] = {{1, INT64_C(1) << 31, 1}, {1, 1 << 16, 1 << 15}, {0, 1 << 20, INT64_C(1) << 42}};
    for (int32_t i = 0; i < LENGTH(shapes); ++i) {
        via_array *array = wrap_plain(memory, VIA_INT8, 3, shapes[i], NULL);
        refused(VIA_ERROR_OVERFLOW, "via_to_arrow_device|2147483647", via_to_arrow_device(array, &schema, &exported));
        via_array_release(array);
    }
}

/* Whether the metadata has that key with that value. */
static int metadata_holds(const char *metadata, const char *key, const char *value) {
    int32_t pairs = 0;
    memcpy(&pairs, metadata, sizeof pairs);
    metadata += sizeof pairs;
    int matches = 0;
    for (int32_t i = 0; i < 2 * pairs; ++i) {
        int32_t length = 0;
        memcpy(&length, metadata, sizeof length);
        metadata += sizeof length;
        const char *wanted = i % 2 == 0 ? key : value;
        const int same = (size_t)length == strlen(wanted) && memcmp(metadata, wanted, (size_t)length) == 0;
        matches = i % 2 == 0 ? same : matches && same;
        if (i % 2 == 1 && matches) {
            return 1;
        }
        metadata += length;
    }
    return 0;
}

static void more_dimensions_are_a_column_of_fixed_shape_tensors(void **state) {
    (void)state;
    float values[24];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 3, SHAPE(4, 2, 3), NULL);
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    via_array_release(array);
    assert_string_equal(schema.format, "+w:6");
    assert_true(metadata_holds(schema.metadata, "ARROW:extension:name", "arrow.fixed_shape_tensor"));
    assert_true(metadata_holds(schema.metadata, "ARROW:extension:metadata", "{\"shape\":[2,3]}"));
    assert_int_equal(schema.n_children, 1);
    assert_string_equal(schema.children[0]->format, "f");
    assert_int_equal(exported.array.length, 4);
    assert_int_equal(exported.array.n_buffers, 1);
    assert_null(exported.array.buffers[0]);
    assert_int_equal(exported.array.n_children, 1);
    assert_int_equal(exported.array.children[0]->length, 24);
    assert_int_equal(exported.array.children[0]->n_buffers, 2);
    assert_ptr_equal(exported.array.children[0]->buffers[1], values);
    via_arrow_release(&schema, &exported);
}

static void a_tensor_comes_back_with_its_shape(void **state) {
    (void)state;
    double values[24];
    const struct {
        int32_t ndim;
        int64_t shape[4];
    } cases[] = {{2, {4, 6}}, {3, {4, 2, 3}}, {4, {2, 1, 12, 1}}, {4, {0, 2, 3, 4}}, {3, {4, 0, 3}}, {2, {24, 1}}};
    for (int32_t i = 0; i < LENGTH(cases); ++i) {
        via_array *array = wrap_plain(values, VIA_FLOAT64, cases[i].ndim, cases[i].shape, NULL);
        struct ArrowSchema schema;
        struct ArrowDeviceArray exported;
        ok(via_to_arrow_device(array, &schema, &exported));
        via_array_release(array);
        ok(via_from_arrow_device(&schema, &exported, via_stream_no_sync(), &array));
        assert_shape(array, cases[i].ndim, cases[i].shape);
        via_array_release(array);
    }
}

static void a_tensor_of_64_dimensions_comes_back(void **state) {
    (void)state;
    int64_t shape[VIA_MAX_NDIM];
    for (int32_t i = 0; i < VIA_MAX_NDIM; ++i) {
        shape[i] = i < 2 ? 3 : 1;
    }
    int32_t values[9];
    via_array *array = wrap_plain(values, VIA_INT32, VIA_MAX_NDIM, shape, NULL);
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    via_array_release(array);
    ok(via_from_arrow_device(&schema, &exported, NULL, &array));
    assert_shape(array, VIA_MAX_NDIM, shape);
    via_array_release(array);
}

static void the_memory_is_held_until_the_column_is_released(void **state) {
    (void)state;
    float values[24];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT32, 2, SHAPE(4, 6), &released);
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    via_array_release(array);
    schema.release(&schema);
    assert_null(schema.release);
    assert_int_equal(released, 0);
    exported.array.release(&exported.array);
    assert_null(exported.array.release);
    assert_int_equal(released, 1);
}

static void children_moved_out_may_be_released_after_their_parent(void **state) {
    (void)state;
    float values[24];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT32, 2, SHAPE(4, 6), &released);
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    via_array_release(array);
    struct ArrowSchema item_schema = *schema.children[0];
    schema.children[0]->release = NULL;
    struct ArrowArray item = *exported.array.children[0];
    exported.array.children[0]->release = NULL;
    via_arrow_release(&schema, &exported);
    assert_int_equal(released, 0);
    assert_string_equal(item_schema.format, "f");
    assert_ptr_equal(item.buffers[1], values);
    item_schema.release(&item_schema);
    item.release(&item);
    assert_int_equal(released, 1);
}

static void a_parent_whose_children_are_gone_already_is_released_alone(void **state) {
    (void)state;
    float values[24];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT32, 2, SHAPE(4, 6), &released);
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    via_array_release(array);
    exported.array.children[0]->release(exported.array.children[0]);
    schema.children[0]->release(schema.children[0]);
    assert_int_equal(released, 0);
    via_arrow_release(&schema, &exported);
    assert_int_equal(released, 1);
}

static void structs_moved_elsewhere_are_released_from_there(void **state) {
    (void)state;
    float values[24];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT32, 3, SHAPE(4, 2, 3), &released);
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    via_array_release(array);
    struct ArrowSchema moved_schema = schema;
    struct ArrowDeviceArray moved = exported;
    schema.release = NULL;
    exported.array.release = NULL;
    via_arrow_release(&schema, &exported);
    assert_int_equal(released, 0);
    via_arrow_release(&moved_schema, &moved);
    assert_int_equal(released, 1);
}

static void releasing_twice_or_nothing_does_nothing(void **state) {
    (void)state;
    float values[6];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(6), &released);
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    via_array_release(array);
    via_arrow_release(&schema, NULL);
    via_arrow_release(&schema, NULL);
    via_arrow_release(NULL, &exported);
    assert_int_equal(released, 1);
    via_arrow_release(&schema, &exported);
    via_arrow_release(NULL, NULL);
    assert_int_equal(released, 1);
}

static void an_empty_array_is_an_empty_column(void **state) {
    (void)state;
    via_array *array = wrap_plain(NULL, VIA_FLOAT32, 1, SHAPE(0), NULL);
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    assert_int_equal(exported.array.length, 0);
    via_array *back = NULL;
    ok(via_from_arrow_device(&schema, &exported, NULL, &back));
    assert_shape(back, 1, SHAPE(0));
    via_array_release(back);
    via_array_release(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_row_of_numbers_is_a_plain_column),
        TEST(every_dtype_with_an_arrow_type_makes_the_round_trip),
        TEST(a_dtype_without_arrow_type_is_refused_by_name),
        TEST(structs_of_a_refused_export_may_be_released),
        TEST(a_row_longer_than_an_arrow_list_is_refused),
        TEST(more_dimensions_are_a_column_of_fixed_shape_tensors),
        TEST(a_tensor_comes_back_with_its_shape),
        TEST(a_tensor_of_64_dimensions_comes_back),
        TEST(the_memory_is_held_until_the_column_is_released),
        TEST(children_moved_out_may_be_released_after_their_parent),
        TEST(a_parent_whose_children_are_gone_already_is_released_alone),
        TEST(structs_moved_elsewhere_are_released_from_there),
        TEST(releasing_twice_or_nothing_does_nothing),
        TEST(an_empty_array_is_an_empty_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
