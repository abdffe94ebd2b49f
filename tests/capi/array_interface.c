/* NumPy's __array_interface__ and the __cuda_array_interface__ as one flat struct. */
#include "support.h"

static via_array_interface describe(via_array *array) {
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    ok(via_to_array_interface(array, &description));
    assert_int_equal(description.version, 3);
    assert_int_equal(description.has_stream, 0);
    return description;
}

static void a_description_reports_the_memory(void **state) {
    (void)state;
    double values[6];
    via_array *array = wrap_plain(values, VIA_FLOAT64, 2, SHAPE(2, 3), NULL);
    via_array_interface description = describe(array);
    assert_int_equal(description.struct_size, (int32_t)sizeof description);
    assert_ptr_equal(description.address, values);
    assert_int_equal(description.ndim, 2);
    assert_numbers(description.shape, SHAPE(2, 3), 2);
    assert_int_equal(description.has_strides, 0);
    assert_int_equal(description.read_only, 0);
    assert_string_equal(description.typestr, "<f8");
    via_array_release(array);
}

static void strides_are_reported_in_bytes_where_they_are_not_row_major(void **state) {
    (void)state;
    int32_t values[12];
    via_array *array = wrap_strided(values + 11, VIA_INT32, 2, SHAPE(3, 2), SHAPE(-16, -8));
    via_array_interface description = describe(array);
    assert_int_equal(description.has_strides, 1);
    assert_numbers(description.strides, SHAPE(-16, -8), 2);
    assert_ptr_equal(description.address, values + 11);
    via_array_release(array);
}

static void read_only_is_reported_and_taken(void **state) {
    (void)state;
    int32_t values[12];
    via_array *array = NULL;
    ok(via_wrap(values, VIA_INT32, 1, SHAPE(12), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_READ_ONLY, NULL, NULL, &array));
    via_array_interface description = describe(array);
    assert_int_equal(description.read_only, 1);
    via_array *back = NULL;
    ok(via_from_array_interface(&description, NULL, NULL, &back));
    assert_int_equal(via_array_flags(back), VIA_ARRAY_READ_ONLY);
    via_array_release(back);
    via_array_release(array);
}

static void no_elements_have_no_address(void **state) {
    (void)state;
    int32_t values[12];
    via_array *array = wrap_plain(values, VIA_INT32, 2, SHAPE(0, 12), NULL);
    via_array_interface description = describe(array);
    assert_null(description.address);
    via_array *back = NULL;
    ok(via_from_array_interface(&description, NULL, NULL, &back));
    assert_shape(back, 2, SHAPE(0, 12));
    via_array_release(back);
    via_array_release(array);
}

typedef struct named {
    int32_t dtype;
    const char *typestr;
} named;

static const named typestrs[] = {
    {VIA_INT8, "|i1"},
    {VIA_INT16, "<i2"},
    {VIA_INT32, "<i4"},
    {VIA_INT64, "<i8"},
    {VIA_UINT8, "|u1"},
    {VIA_UINT16, "<u2"},
    {VIA_UINT32, "<u4"},
    {VIA_UINT64, "<u8"},
    {VIA_FLOAT16, "<f2"},
    {VIA_FLOAT32, "<f4"},
    {VIA_FLOAT64, "<f8"},
    {VIA_COMPLEX64, "<c8"},
    {VIA_COMPLEX128, "<c16"},
    {VIA_BOOL, "|b1"},
    {-1, "|V1"},
    {-12, "|V12"},
    {-(1 << 30), "|V1073741824"},
};

static int has_typestr(int32_t dtype) {
    for (int32_t i = 0; i < LENGTH(typestrs); ++i) {
        if (typestrs[i].dtype == dtype) {
            return 1;
        }
    }
    return 0;
}

static void every_dtype_with_a_typestr_makes_the_round_trip(void **state) {
    (void)state;
    static char memory[64];
    for (int32_t i = 0; i < LENGTH(typestrs); ++i) {
        via_array *array = wrap_plain(memory, typestrs[i].dtype, 0, NULL, NULL);
        via_array_interface description = describe(array);
        assert_string_equal(description.typestr, typestrs[i].typestr);
        via_array *back = NULL;
        ok(via_from_array_interface(&description, NULL, NULL, &back));
        assert_int_equal(via_array_dtype(back), typestrs[i].dtype);
        assert_ptr_equal(via_array_data(back), memory);
        via_array_release(back);
        via_array_release(array);
    }
}

static void a_dtype_without_typestr_is_refused_by_name_and_the_struct_left_alone(void **state) {
    (void)state;
    char memory[64];
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        if (has_typestr(every_dtype[i].dtype)) {
            continue;
        }
        via_array *array = wrap_plain(memory, every_dtype[i].dtype, 1, SHAPE(2), NULL);
        via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
        description.ndim = 42;
        refused(VIA_ERROR_EXCHANGE, "via_to_array_interface", via_to_array_interface(array, &description));
        assert_non_null(strstr(via_last_error(), every_dtype[i].name));
        assert_int_equal(description.ndim, 42);
        via_array_release(array);
    }
    via_array *lanes = wrap_plain(memory, WITH_LANES(VIA_FLOAT32, 4), 1, SHAPE(2), NULL);
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    refused(VIA_ERROR_EXCHANGE, "via_to_array_interface|float32x4", via_to_array_interface(lanes, &description));
    via_array_release(lanes);
}

static via_array_interface floats(void *address) {
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    description.version = 3;
    description.ndim = 1;
    description.shape[0] = 4;
    description.address = address;
    strcpy(description.typestr, "<f4");
    return description;
}

static void what_is_described_is_wrapped_and_released_once(void **state) {
    (void)state;
    float values[4];
    atomic_int released = 0;
    via_array_interface description = floats(values);
    via_array *array = NULL;
    ok(via_from_array_interface(&description, count_release, &released, &array));
    memset(&description, 0xFF, sizeof description);
    assert_shape(array, 1, SHAPE(4));
    assert_ptr_equal(via_array_context(array, count_release), &released);
    via_array_release(array);
    assert_int_equal(released, 1);
}

static void strides_described_in_bytes_are_kept_whatever_they_are(void **state) {
    (void)state;
    char memory[64];
    via_array_interface description = floats(memory + 33);
    description.has_strides = 1;
    description.strides[0] = -7;
    via_array *array = NULL;
    ok(via_from_array_interface(&description, NULL, NULL, &array));
    assert_numbers(via_array_byte_strides(array), SHAPE(-7), 1);
    assert_int_equal(via_array_flags(array), VIA_ARRAY_MISALIGNED);
    via_array_release(array);
}

static void assert_description_refused(const via_array_interface *description, via_status status, const char *words) {
    atomic_int released = 0;
    via_array *array = (via_array *)&released;
    refused(status, words, via_from_array_interface(description, count_release, &released, &array));
    assert_null(array);
    assert_int_equal(released, 0);
}

static void a_typestr_that_is_none_is_refused(void **state) {
    (void)state;
    const char *none[] = {"",
                          "<",
                          "f4",
                          "<f",
                          "<f3",
                          "<c4",
                          "<f0",
                          "<f-4",
                          "<f+4",
                          "<f 4",
                          "=f4",
                          "<g4",
                          "<f4 ",
                          "<f4x",
                          "<i16",
                          "<b2",
                          "<O8",
                          "<M8",
                          "<S4",
                          "<U4",
                          "|V0",
                          "<f1",
                          "<f12",
                          "<f16",
                          "|f16",
                          "<c32",
                          "<c2",
                          "<i99999999999",
                          "|V1073741825",
                          "V12",
                          "<V",
                          "< 4f",
                          "<\xff"
                          "4"};
    float values[4];
    for (int32_t i = 0; i < LENGTH(none); ++i) {
        via_array_interface description = floats(values);
        strcpy(description.typestr, none[i]);
        assert_description_refused(&description, VIA_ERROR_DTYPE, "via_from_array_interface|description.typestr");
    }
}

static void a_typestr_of_the_other_byte_order_is_refused(void **state) {
    (void)state;
    char memory[16];
    via_array_interface description = floats(memory);
    strcpy(description.typestr, ">f4");
    assert_description_refused(&description, VIA_ERROR_DTYPE, "description.typestr|>f4|byte order");
    strcpy(description.typestr, "|f4");
    assert_description_refused(&description, VIA_ERROR_DTYPE, "description.typestr||f4");
    via_array *array = NULL;
    strcpy(description.typestr, ">i1"); /* one byte has no order */
    ok(via_from_array_interface(&description, NULL, NULL, &array));
    via_array_release(array);
}

static void a_typestr_that_does_not_end_is_refused(void **state) {
    (void)state;
    float values[4];
    via_array_interface description = floats(values);
    memset(description.typestr, '4', sizeof description.typestr);
    assert_description_refused(&description, VIA_ERROR_DTYPE, "description.typestr");
}

static void fields_out_of_range_are_refused(void **state) {
    (void)state;
    float values[4];
    via_array_interface description = floats(values);
    description.version = 4;
    assert_description_refused(&description, VIA_ERROR_VERSION, "description.version is 4");
    description.version = 1;
    assert_description_refused(&description, VIA_ERROR_VERSION, "description.version is 1");
    description = floats(values);
    description.ndim = 65;
    assert_description_refused(&description, VIA_ERROR_SHAPE, "ndim is 65");
    description.ndim = -1;
    assert_description_refused(&description, VIA_ERROR_SHAPE, "ndim is -1");
    description = floats(values);
    description.shape[0] = -4;
    assert_description_refused(&description, VIA_ERROR_SHAPE, "shape[0] is -4");
    description.shape[0] = INT64_MAX;
    assert_description_refused(&description, VIA_ERROR_OVERFLOW, "shape");
    description = floats(NULL);
    assert_description_refused(&description, VIA_ERROR_INVALID_ARGUMENT, "address is NULL");
    description = floats(values);
    description.struct_size = 0;
    assert_description_refused(&description, VIA_ERROR_INVALID_ARGUMENT, "description.struct_size is 0");
}

static void version_2_is_as_good(void **state) {
    (void)state;
    float values[4];
    via_array_interface description = floats(values);
    description.version = 2;
    via_array *array = NULL;
    ok(via_from_array_interface(&description, NULL, NULL, &array));
    via_array_release(array);
}

static void host_memory_has_no_cuda_description(void **state) {
    (void)state;
    float values[4];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(4), NULL);
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    description.ndim = 42;
    refused(VIA_ERROR_EXCHANGE, "via_to_cuda_array_interface|VIA_DEVICE_CPU",
            via_to_cuda_array_interface(array, NULL, &description));
    assert_int_equal(description.ndim, 42);
    via_array_release(array);
}

static void a_cuda_description_is_refused_where_there_is_no_cuda(void **state) {
    (void)state;
    int32_t count = 0;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    if (count > 0) {
        skip();
    }
    float values[4];
    atomic_int released = 0;
    via_array_interface description = floats(values);
    via_array *array = (via_array *)values;
    refused(VIA_ERROR_UNSUPPORTED, "via_from_cuda_array_interface|CUDA",
            via_from_cuda_array_interface(&description, count_release, &released, &array));
    assert_null(array);
    assert_int_equal(released, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_description_reports_the_memory),
        TEST(strides_are_reported_in_bytes_where_they_are_not_row_major),
        TEST(read_only_is_reported_and_taken),
        TEST(no_elements_have_no_address),
        TEST(every_dtype_with_a_typestr_makes_the_round_trip),
        TEST(a_dtype_without_typestr_is_refused_by_name_and_the_struct_left_alone),
        TEST(what_is_described_is_wrapped_and_released_once),
        TEST(strides_described_in_bytes_are_kept_whatever_they_are),
        TEST(a_typestr_that_is_none_is_refused),
        TEST(a_typestr_of_the_other_byte_order_is_refused),
        TEST(a_typestr_that_does_not_end_is_refused),
        TEST(fields_out_of_range_are_refused),
        TEST(version_2_is_as_good),
        TEST(host_memory_has_no_cuda_description),
        TEST(a_cuda_description_is_refused_where_there_is_no_cuda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
