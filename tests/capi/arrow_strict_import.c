/* Arrow's C device interface, in: columns of all forms, and those that break the rules. */
#include "arrow_column.h"

static void a_column_is_consumed_and_released_once_at_the_end(void **state) {
    (void)state;
    column made;
    make_column(&made, 6, 0, NULL);
    via_array *array = NULL;
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_null(made.schema[0].release);
    assert_null(made.offered.array.release);
    assert_ptr_equal(via_array_data(array), made.values);
    assert_layout(array, 1, SHAPE(6), SHAPE(4));
    via_array *view = NULL;
    ok(via_array_slice(array, SHAPE(2), NULL, NULL, &view));
    via_array_release(array);
    assert_int_equal(made.schemas_released + made.columns_released, 0);
    via_array_release(view);
    assert_int_equal(made.schemas_released, 1);
    assert_int_equal(made.columns_released, 1);
}

static void what_arrow_exports_is_read_only(void **state) {
    (void)state;
    column made;
    make_column(&made, 6, 0, NULL);
    via_array *array = NULL;
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_int_equal(via_array_flags(array), VIA_ARRAY_READ_ONLY);
    refused(VIA_ERROR_READ_ONLY, "via_fill", via_fill(array, NULL, NULL));
    via_array_release(array);
}

static void a_slice_starts_at_its_offset(void **state) {
    (void)state;
    column made;
    make_column(&made, 5, 0, NULL);
    made.offered.array.offset = 7;
    via_array *array = NULL;
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_ptr_equal(via_array_data(array), made.values + 7);
    assert_shape(array, 1, SHAPE(5));
    via_array_release(array);
}

static void nested_fixed_size_lists_are_axes(void **state) {
    (void)state;
    column made;
    make_column(&made, 2, 2, SHAPE(3, 4));
    via_array *array = NULL;
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_layout(array, 3, SHAPE(2, 3, 4), SHAPE(48, 16, 4));
    assert_ptr_equal(via_array_data(array), made.values);
    via_array_release(array);
}

static void offsets_of_every_level_add_up(void **state) {
    (void)state;
    column made;
    make_column(&made, 6, 2, SHAPE(3, 2));
    made.offered.array.offset = 1; /* rows of 6 values */
    made.offered.array.length = 2;
    made.inner[1].offset = 2; /* lists of 2 values */
    made.inner[1].length = 12;
    made.inner[2].offset = 5; /* values */
    via_array *array = NULL;
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_shape(array, 3, SHAPE(2, 3, 2));
    assert_ptr_equal(via_array_data(array), made.values + 6 + 4 + 5);
    via_array_release(array);
}

static void lists_of_nothing_are_no_elements(void **state) {
    (void)state;
    column made;
    make_column(&made, 4, 1, SHAPE(0));
    made.buffers[1][1] = NULL;
    via_array *array = NULL;
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_shape(array, 2, SHAPE(4, 0));
    via_array_release(array);
}

static void as_many_lists_nest_as_there_may_be_dimensions(void **state) {
    (void)state;
    int64_t ones[MOST_LEVELS];
    for (int32_t i = 0; i < MOST_LEVELS; ++i) {
        ones[i] = 1;
    }
    column made;
    make_column(&made, 2, VIA_MAX_NDIM - 1, ones);
    via_array *array = NULL;
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_int_equal(via_array_ndim(array), VIA_MAX_NDIM);
    via_array_release(array);
    make_column(&made, 2, VIA_MAX_NDIM, ones);
    refused(VIA_ERROR_SHAPE, "via_from_arrow_device|63",
            via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_int_equal(made.schemas_released + made.columns_released, 0);
}

/* -- nulls --------------------------------------------------------------------------------------------------------- */

typedef struct validity {
    int32_t level;
    int64_t null_count;
    unsigned char bitmap[2];
    int with_bitmap;
    int64_t offset;
    int64_t length;
    int taken;
} validity;

static const validity validities[] = {
    {0, 0, {0x00, 0x00}, 1, 0, 4, 1},  /* said to have none: the bitmap is not read */
    {0, -1, {0xFF, 0xFF}, 1, 0, 4, 1}, /* not counted, and none */
    {0, -1, {0x0F, 0x00}, 1, 0, 4, 1}, /* nulls behind the end */
    {0, -1, {0xFC, 0xFF}, 1, 2, 4, 1}, /* nulls before the slice */
    {0, -1, {0xFF, 0x01}, 1, 5, 4, 1}, /* bits of two bytes */
    {0, -1, {0, 0}, 0, 0, 4, 1},       /* no bitmap */
    {0, -1, {0xFE, 0xFF}, 1, 0, 4, 0}, /* the first is null */
    {0, -1, {0xF7, 0xFF}, 1, 0, 4, 0}, /* the last is null */
    {0, -1, {0xFF, 0xFE}, 1, 5, 4, 0}, /* the first of the second byte is null */
    {0, 2, {0xFF, 0xFF}, 1, 0, 4, 0},  /* said to have some */
    {0, 2, {0, 0}, 0, 0, 4, 0},        /* said to have some, with nothing to say which */
    {0, -2, {0xFF, 0xFF}, 1, 0, 4, 0}, /* no number of nulls */
    {1, -1, {0xFF, 0xFF}, 1, 0, 4, 1}, /* of the values in lists */
    {1, -1, {0xEF, 0xFF}, 1, 0, 4, 0}, {1, 3, {0xFF, 0xFF}, 1, 0, 4, 0},
};

static void a_column_is_taken_only_if_it_has_no_nulls(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(validities); ++i) {
        const validity *row = &validities[i];
        column made;
        make_column(&made, row->length, row->level, SHAPE(2));
        struct ArrowArray *array = level_of(&made, row->level);
        array->null_count = row->null_count;
        array->offset = row->offset;
        array->buffers[0] = row->with_bitmap ? row->bitmap : NULL;
        via_array *taken = NULL;
        if (row->taken) {
            ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &taken));
            via_array_release(taken);
        } else {
            refused(VIA_ERROR_EXCHANGE, "via_from_arrow_device|null",
                    via_from_arrow_device(&made.schema[0], &made.offered, NULL, &taken));
        }
        assert_int_equal(made.columns_released, row->taken);
    }
}

/* -- what is refused ----------------------------------------------------------------------------------------------- */

static void released_schema(column *made) { made->schema[0].release = NULL; }
static void released_column(column *made) { made->offered.array.release = NULL; }
static void no_format(column *made) { made->schema[0].format = NULL; }
static void empty_format(column *made) { made->schema[1].format = ""; }
static void text_format(column *made) { made->schema[1].format = "u"; }
static void bool_format(column *made) { made->schema[1].format = "b"; }
static void null_format(column *made) { made->schema[1].format = "n"; }
static void struct_format(column *made) { made->schema[0].format = "+s"; }
static void long_format(column *made) { made->schema[1].format = "ii"; }
static void list_format(column *made) { made->schema[0].format = "+l"; }
static void no_list_size(column *made) { made->schema[0].format = "+w:"; }
static void negative_list_size(column *made) { made->schema[0].format = "+w:-3"; }
static void odd_list_size(column *made) { made->schema[0].format = "+w:3x"; }
static void huge_list_size(column *made) { made->schema[0].format = "+w:99999999999999999999"; }
static void wide_list_size(column *made) { made->schema[0].format = "+w:2147483648"; }
static void no_record_size(column *made) { made->schema[1].format = "w:0"; }
static void huge_record_size(column *made) { made->schema[1].format = "w:1073741825"; }
static void dictionary(column *made) { made->schema[1].dictionary = &made->schema[2]; }
static void column_dictionary(column *made) { made->inner[1].dictionary = &made->inner[2]; }
static void negative_length(column *made) { made->offered.array.length = -1; }
static void negative_offset(column *made) { made->offered.array.offset = -1; }
static void child_offset_negative(column *made) { made->inner[1].offset = -2; }
static void offset_past_int64(column *made) { made->offered.array.offset = INT64_MAX; }
static void no_child(column *made) { made->offered.array.n_children = 0; }
static void no_schema_child(column *made) { made->schema[0].n_children = 0; }
static void two_children(column *made) { made->offered.array.n_children = 2; }
static void null_child(column *made) { made->inner_child[0] = NULL; }
static void null_schema_child(column *made) { made->schema_child[0] = NULL; }
static void null_children(column *made) { made->offered.array.children = NULL; }
static void null_schema_children(column *made) { made->schema[0].children = NULL; }
static void short_child(column *made) { made->inner[1].length = 11; }
static void no_buffers(column *made) { made->inner[1].n_buffers = 0; }
static void one_buffer(column *made) { made->inner[1].n_buffers = 1; }
static void three_buffers(column *made) { made->inner[1].n_buffers = 3; }
static void null_buffers(column *made) { made->inner[1].buffers = NULL; }
static void no_data(column *made) { made->buffers[1][1] = NULL; }
static void child_released(column *made) { made->inner[1].release = NULL; }
static void on_rocm(column *made) { made->offered.device_type = 10; }
static void on_nothing(column *made) { made->offered.device_type = 0; }
static void on_cuda(column *made) {
    made->offered.device_type = VIA_DEVICE_CUDA;
    made->offered.device_id = 0;
}
static void on_no_device(column *made) {
    made->offered.device_type = VIA_DEVICE_CUDA;
    made->offered.device_id = -1;
}
static void pinned(column *made) { made->offered.device_type = VIA_DEVICE_CUDA_HOST; }
static void managed(column *made) { made->offered.device_type = VIA_DEVICE_CUDA_MANAGED; }

static void offset_past_the_address_space(column *made) {
    made->inner[1].offset = INT64_MAX / 2;
    made->inner[1].length = 12;
}

static void product_past_int64(column *made) {
    made->offered.array.length = INT64_MAX / 2;
    made->inner[1].length = INT64_MAX;
}

typedef struct refusal {
    void (*change)(column *made);
    via_status status;
    const char *words;
} refusal;

static const refusal refusals[] = {
    {released_schema, VIA_ERROR_EXCHANGE, "schema is released"},
    {released_column, VIA_ERROR_EXCHANGE, "column is released"},
    {no_format, VIA_ERROR_EXCHANGE, "schema.format is NULL"},
    {empty_format, VIA_ERROR_DTYPE, "schema.format is \"\""},
    {text_format, VIA_ERROR_DTYPE, "schema.format is \"u\""},
    {bool_format, VIA_ERROR_DTYPE, "schema.format is \"b\""},
    {null_format, VIA_ERROR_DTYPE, "schema.format is \"n\""},
    {struct_format, VIA_ERROR_DTYPE, "schema.format is \"+s\""},
    {long_format, VIA_ERROR_DTYPE, "schema.format is \"ii\""},
    {list_format, VIA_ERROR_DTYPE, "schema.format is \"+l\""},
    {no_list_size, VIA_ERROR_DTYPE, "schema.format is \"+w:\""},
    {negative_list_size, VIA_ERROR_DTYPE, "schema.format is \"+w:-3\""},
    {odd_list_size, VIA_ERROR_DTYPE, "schema.format is \"+w:3x\""},
    {huge_list_size, VIA_ERROR_DTYPE, "schema.format is \"+w:99999999999999999999\""},
    {wide_list_size, VIA_ERROR_DTYPE, "schema.format is \"+w:2147483648\""},
    {no_record_size, VIA_ERROR_DTYPE, "schema.format is \"w:0\""},
    {huge_record_size, VIA_ERROR_DTYPE, "schema.format is \"w:1073741825\""},
    {dictionary, VIA_ERROR_EXCHANGE, "dictionary"},
    {column_dictionary, VIA_ERROR_EXCHANGE, "dictionary"},
    {negative_length, VIA_ERROR_EXCHANGE, "length is -1"},
    {negative_offset, VIA_ERROR_EXCHANGE, "offset -1"},
    {child_offset_negative, VIA_ERROR_EXCHANGE, "offset -2"},
    {offset_past_int64, VIA_ERROR_EXCHANGE, "offset 9223372036854775807; expected 0 or more, and a sum below 2^63"},
    {no_child, VIA_ERROR_EXCHANGE, "column.n_children is 0"},
    {no_schema_child, VIA_ERROR_EXCHANGE, "schema.n_children 0"},
    {two_children, VIA_ERROR_EXCHANGE, "column.n_children is 2"},
    {null_child, VIA_ERROR_EXCHANGE, "children"},
    {null_schema_child, VIA_ERROR_EXCHANGE, "children"},
    {null_children, VIA_ERROR_EXCHANGE, "children"},
    {null_schema_children, VIA_ERROR_EXCHANGE, "children"},
    {short_child, VIA_ERROR_EXCHANGE, "child is 11; expected 12"},
    {no_buffers, VIA_ERROR_EXCHANGE, "n_buffers is 0"},
    {one_buffer, VIA_ERROR_EXCHANGE, "n_buffers is 1"},
    {three_buffers, VIA_ERROR_EXCHANGE, "n_buffers is 3"},
    {null_buffers, VIA_ERROR_EXCHANGE, "buffers is NULL"},
    {no_data, VIA_ERROR_EXCHANGE, "buffers[1] is NULL"},
    {child_released, VIA_ERROR_EXCHANGE, "released"},
    {on_rocm, VIA_ERROR_DEVICE, "device_type is 10"},
    {on_nothing, VIA_ERROR_DEVICE, "device_type is 0"},
    {on_no_device, VIA_ERROR_DEVICE, "device_id is -1"},
    {on_cuda, VIA_ERROR_UNSUPPORTED, "device_type is VIA_DEVICE_CUDA"},
    {pinned, VIA_ERROR_UNSUPPORTED, "device_type is VIA_DEVICE_CUDA_HOST"},
    {managed, VIA_ERROR_UNSUPPORTED, "device_type is VIA_DEVICE_CUDA_MANAGED"},
    {offset_past_the_address_space, VIA_ERROR_OVERFLOW, "offset"},
    {product_past_int64, VIA_ERROR_OVERFLOW, "list sizes"},
};

static void a_hostile_column_is_refused_by_name_and_stays_the_producers(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(refusals); ++i) {
        column made;
        make_column(&made, 4, 1, SHAPE(3));
        refusals[i].change(&made);
        column before = made;
        via_array *array = (via_array *)&made;
        refused(refusals[i].status, refusals[i].words,
                via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
        assert_non_null(strstr(via_last_error(), "via_from_arrow_device: "));
        assert_null(array);
        assert_memory_equal(&made, &before, sizeof made);
        via_arrow_release(&made.schema[0], &made.offered);
        assert_int_equal(made.schemas_released, before.schema[0].release != NULL);
        assert_int_equal(made.columns_released, before.offered.array.release != NULL);
    }
}

static void a_stream_is_refused_for_host_memory(void **state) {
    (void)state;
    column made;
    make_column(&made, 4, 0, NULL);
    via_array *array = NULL;
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_from_arrow_device|stream",
            via_from_arrow_device(&made.schema[0], &made.offered, via_stream_legacy(), &array));
    assert_int_equal(made.schemas_released + made.columns_released, 0);
}

/* -- metadata ------------------------------------------------------------------------------------------------------ */

typedef struct described {
    const char *name;
    const char *json;
    int32_t ndim;
    int64_t shape[4];
} described;

static const described descriptions[] = {
    {"arrow.fixed_shape_tensor", "{\"shape\":[2,3]}", 3, {4, 2, 3}},
    {"arrow.fixed_shape_tensor", "{ \"shape\" : [ 3 , 2 ] }", 3, {4, 3, 2}},
    {"arrow.fixed_shape_tensor", "{\"dim_names\":[\"a\",\"b\",\"c\"],\"shape\":[1,2,3]}", 4, {4, 1, 2, 3}},
    {"arrow.fixed_shape_tensor", "{\"shape\":[6]}", 2, {4, 6}},
    {"arrow.fixed_shape_tensor", "{\"shape\":[2,3],\"permutation\":[0,1]}", 3, {4, 2, 3}},
    {"arrow.fixed_shape_tensor", "{\"shape\":[2,3],\"permutation\":null,\"dim_names\":null}", 3, {4, 2, 3}},
    {"arrow.fixed_shape_tensor", "{\"a\":[{\"b\":-1.5e+3},true,\"\\ud83d\\ude00\"],\"sh\\u0061pe\":[6]}", 2, {4, 6}},
    {"arrow.fixed_shape_tensor", "\n{\t\"shape\"\r: [ 6 ] } ", 2, {4, 6}},
    {"arrow.other", "{\"shape\":[2,3]}", 2, {4, 6}}, /* not ours to read */
    {"arrow.other", "{\"shape\"", 2, {4, 6}},
};

static void a_tensor_shape_is_taken(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(descriptions); ++i) {
        column made;
        make_column(&made, 4, 1, SHAPE(6));
        char metadata[256];
        made.schema[0].metadata = tensor_metadata(descriptions[i].name, descriptions[i].json, metadata);
        via_array *array = NULL;
        ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
        assert_shape(array, descriptions[i].ndim, descriptions[i].shape);
        assert_true(via_array_is_contiguous(array, VIA_ORDER_ROW_MAJOR));
        via_array_release(array);
    }
}

/* The shape is that of the memory; the axes of the tensor are a permutation of its. */
static void a_permutation_turns_the_axes_of_the_tensors(void **state) {
    (void)state;
    static const struct {
        const char *json;
        int64_t shape[4];
        int64_t strides[4];
    } permuted[] = {
        {"{\"shape\":[2,3,4],\"permutation\":[2,0,1]}", {2, 4, 2, 3}, {24, 1, 12, 4}},
        {"{\"permutation\":[0,2,1],\"dim_names\":[\"C\",\"H\",\"W\"],\"shape\":[2,3,4]}", {2, 2, 4, 3}, {24, 12, 1, 4}},
        {"{\"shape\":[24,1,1],\"permutation\":[1,2,0]}", {2, 1, 1, 24}, {24, 1, 1, 1}},
    };
    for (int32_t i = 0; i < LENGTH(permuted); ++i) {
        column made;
        make_column(&made, 2, 1, SHAPE(24));
        char metadata[256];
        made.schema[0].metadata = tensor_metadata("arrow.fixed_shape_tensor", permuted[i].json, metadata);
        via_array *array = NULL;
        ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
        assert_shape(array, 4, permuted[i].shape);
        assert_numbers(via_array_strides(array), permuted[i].strides, 4);
        assert_ptr_equal(via_array_data(array), made.values);
        via_array_release(array);
    }
}

static void tensors_without_values_have_their_axes_too(void **state) {
    (void)state;
    column made;
    make_column(&made, 3, 1, SHAPE(0));
    char metadata[256];
    made.schema[0].metadata =
        tensor_metadata("arrow.fixed_shape_tensor", "{\"shape\":[2,0,5],\"permutation\":[2,1,0]}", metadata);
    via_array *array = NULL;
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_shape(array, 4, SHAPE(3, 5, 0, 2));
    via_array_release(array);
    make_column(&made, 3, 1, SHAPE(0));
    made.schema[0].metadata = tensor_metadata(
        "arrow.fixed_shape_tensor", "{\"shape\":[4294967296,4294967296,0],\"permutation\":[2,1,0]}", metadata);
    refused(VIA_ERROR_OVERFLOW, "2^63 - 1", via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    make_column(&made, 3, 1, SHAPE(1));
    made.schema[0].metadata = tensor_metadata("arrow.fixed_shape_tensor", "{\"shape\":[]}", metadata);
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_shape(array, 1, SHAPE(3));
    via_array_release(array);
}

typedef struct lie {
    const char *json;
    const char *words;
} lie;

static const lie lies[] = {
    {"{\"shape\":[2,4]}", "list size of the column is 6"},
    {"{\"shape\":[0,6]}", "list size of the column is 6"},
    {"{\"shape\":[]}", "list size of the column is 6"},
    {"{\"shape\":[2147483647,2147483647,2147483647]}", "list size of the column is 6"},
    {"{\"shape\":[4294967296,4294967296,6]}", "list size of the column is 6"},
    {"{\"shape\":[2,-3]}", "`-3]}` at byte 12|a list of extents"},
    {"{\"shape\":[2,3", "a list of extents"},
    {"{\"shape\":[2,3]", "'}'"},
    {"{\"shape\":[,]}", "a list of extents"},
    {"{\"shape\":[6,]}", "a list of extents"},
    {"{\"shape\":[06]}", "a list of extents"},
    {"{\"shape\":[6.0]}", "a list of extents"},
    {"{\"shape\":[6e0]}", "a list of extents"},
    {"{\"shape\":[\"6\"]}", "a list of extents"},
    {"{\"shape\":{}}", "a list of extents"},
    {"{\"shape\":null}", "a list of extents"},
    {"{\"shape\":[9223372036854775808]}", "a list of extents"},
    {"{\"shape\":[6]} x", "`x` at byte 14|nothing more"},
    {"{\"shape\":[6],\"shape\":[6]}", "each name once"},
    {"{\"shape\":[6],\"sh\\u0061pe\":[6]}", "each name once"},
    {"{\"shape\":[6],}", "a name in quotes"},
    {"{shape:[6]}", "a name in quotes"},
    {"{'shape':[6]}", "a name in quotes"},
    {"{\"shape\" [6]}", "':'"},
    {"[6]", "'{'"},
    {"{}", "\"shape\" before it"},
    {"", "'{'"},
    {"{\"Shape\":[6]}", "\"shape\" before it"},
    {"{\"x\":{\"shape\":[6]}}", "\"shape\" before it"},
    {"{\"note\":\"\\\"shape\\\":[6]\"}", "\"shape\" before it"},
    {"{\"shape\":[2,3],\"permutation\":[0]}", "each axis once"},
    {"{\"shape\":[2,3],\"permutation\":[0,0]}", "each axis once"},
    {"{\"shape\":[2,3],\"permutation\":[1,2]}", "each axis once"},
    {"{\"shape\":[2,3],\"permutation\":[0,1,2]}", "each axis once"},
    {"{\"shape\":[2,3],\"permutation\":[0,-1]}", "a list of axes"},
    {"{\"shape\":[2,3],\"permutation\":[0,64]}", "a list of axes"},
    {"{\"shape\":[2,3],\"permutation\":\"10\"}", "a list of axes"},
    {"{\"shape\":[2,3],\"dim_names\":[\"a\"]}", "as many names"},
    {"{\"shape\":[2,3],\"dim_names\":[\"a\",1]}", "a list of names"},
    {"{\"shape\":[2,3],\"dim_names\":[\"a\",\"\\ud800\"]}", "a list of names"},
    {"{\"shape\":[6],\"x\":nul}", "a value"},
    {"{\"shape\":[6],\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}", "a value"},
};

static void tensor_metadata_that_is_not_what_it_must_be_is_refused(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(lies); ++i) {
        column made;
        make_column(&made, 4, 1, SHAPE(6));
        char metadata[256];
        made.schema[0].metadata = tensor_metadata("arrow.fixed_shape_tensor", lies[i].json, metadata);
        via_array *array = NULL;
        const via_status status = via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array);
        if (status != VIA_ERROR_EXCHANGE || !holds_words(via_last_error(), lies[i].words)) {
            print_error("%s\n  answered %s: %s\n  expected %s\n", lies[i].json, via_status_name(status),
                        via_last_error(), lies[i].words);
            _fail(__FILE__, __LINE__);
        }
        assert_int_equal(made.schemas_released + made.columns_released, 0);
    }
}

static void tensors_are_one_list_and_no_nested_ones(void **state) {
    (void)state;
    char metadata[256];
    tensor_metadata("arrow.fixed_shape_tensor", "{\"shape\":[2,3]}", metadata);
    via_array *array = NULL;
    column made;
    make_column(&made, 2, 2, SHAPE(2, 3));
    made.schema[0].metadata = metadata;
    refused(VIA_ERROR_EXCHANGE, "2 levels of lists; expected 1",
            via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    make_column(&made, 6, 0, NULL);
    made.schema[0].metadata = metadata;
    refused(VIA_ERROR_EXCHANGE, "0 levels of lists; expected 1",
            via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
}

static void a_tensor_shape_never_reaches_past_its_list(void **state) {
    (void)state;
    column made;
    make_column(&made, 1, 1, SHAPE(INT64_C(1) << 32));
    char metadata[256];
    made.schema[0].metadata = tensor_metadata("arrow.fixed_shape_tensor", "{\"shape\":[65536,65536,7]}", metadata);
    via_array *array = NULL;
    refused(VIA_ERROR_DTYPE, "via_from_arrow_device|4294967296",
            via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    make_column(&made, 1, 1, SHAPE(INT32_MAX));
    made.schema[0].metadata = tensor_metadata("arrow.fixed_shape_tensor", "{\"shape\":[2147483647,2,1]}", metadata);
    refused(VIA_ERROR_EXCHANGE, "list size of the column is 2147483647",
            via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
}

static void metadata_with_odd_counts_is_as_good_as_none(void **state) {
    (void)state;
    const int32_t counts[] = {0, -1, INT32_MIN};
    for (int32_t i = 0; i < LENGTH(counts); ++i) {
        column made;
        make_column(&made, 4, 1, SHAPE(6));
        made.schema[0].metadata = (const char *)&counts[i];
        via_array *array = NULL;
        ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
        assert_shape(array, 2, SHAPE(4, 6));
        via_array_release(array);
    }
}

static void misaligned_values_are_flagged(void **state) {
    (void)state;
    column made;
    make_column(&made, 4, 0, NULL);
    made.buffers[0][1] = (char *)made.values + 1;
    via_array *array = NULL;
    ok(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array));
    assert_int_equal(via_array_flags(array), VIA_ARRAY_READ_ONLY | VIA_ARRAY_MISALIGNED);
    via_array_release(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_column_is_consumed_and_released_once_at_the_end),
        TEST(what_arrow_exports_is_read_only),
        TEST(a_slice_starts_at_its_offset),
        TEST(nested_fixed_size_lists_are_axes),
        TEST(offsets_of_every_level_add_up),
        TEST(lists_of_nothing_are_no_elements),
        TEST(as_many_lists_nest_as_there_may_be_dimensions),
        TEST(a_column_is_taken_only_if_it_has_no_nulls),
        TEST(a_hostile_column_is_refused_by_name_and_stays_the_producers),
        TEST(a_stream_is_refused_for_host_memory),
        TEST(a_tensor_shape_is_taken),
        TEST(a_permutation_turns_the_axes_of_the_tensors),
        TEST(tensors_without_values_have_their_axes_too),
        TEST(tensor_metadata_that_is_not_what_it_must_be_is_refused),
        TEST(tensors_are_one_list_and_no_nested_ones),
        TEST(a_tensor_shape_never_reaches_past_its_list),
        TEST(metadata_with_odd_counts_is_as_good_as_none),
        TEST(misaligned_values_are_flagged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
