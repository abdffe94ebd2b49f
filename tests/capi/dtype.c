/* Element types: their numbers, names and sizes. */
#include <limits.h>

#include "support.h"

static void assert_named(int32_t dtype, const char *expected) {
    char name[32];
    ok(via_dtype_name(dtype, sizeof name, name));
    assert_string_equal(name, expected);
    int32_t found = 0;
    ok(via_dtype_from_name(name, &found));
    assert_int_equal(found, dtype);
}

static void every_dtype_goes_to_its_name_and_back(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        assert_named(every_dtype[i].dtype, every_dtype[i].name);
    }
}

static void every_dtype_with_lanes_goes_to_its_name_and_back(void **state) {
    (void)state;
    const int32_t lanes[] = {2, 3, 4, 16, 255, 256, 32767};
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        for (int32_t j = 0; j < LENGTH(lanes); ++j) {
            char expected[32];
            snprintf(expected, sizeof expected, "%sx%d", every_dtype[i].name, lanes[j]);
            const int32_t dtype = WITH_LANES(every_dtype[i].dtype, lanes[j]);
            assert_named(dtype, expected);
            assert_int_equal(via_dtype_bits(dtype), (int64_t)every_dtype[i].bits * lanes[j]);
        }
    }
}

static void every_dtype_is_valid_and_has_its_bits(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        assert_int_equal(via_dtype_is_valid(every_dtype[i].dtype), 1);
        assert_int_equal(via_dtype_bits(every_dtype[i].dtype), every_dtype[i].bits);
    }
}

static void a_record_has_as_many_bytes_as_it_says(void **state) {
    (void)state;
    const int64_t sizes[] = {1, 12, 24, 4097, 1 << 30};
    for (int32_t i = 0; i < LENGTH(sizes); ++i) {
        const int32_t dtype = via_dtype_record(sizes[i]);
        assert_int_equal(dtype, -sizes[i]);
        assert_int_equal(via_dtype_is_valid(dtype), 1);
        assert_int_equal(via_dtype_bits(dtype), 8 * sizes[i]);
    }
    assert_named(via_dtype_record(12), "record12");
    assert_named(via_dtype_record(1 << 30), "record1073741824");
}

static void a_size_that_no_record_has_is_no_dtype(void **state) {
    (void)state;
    const int64_t sizes[] = {0, -1, (1 << 30) + 1, INT64_C(1) << 32, (INT64_C(1) << 32) + 4, INT64_MAX, INT64_MIN};
    for (int32_t i = 0; i < LENGTH(sizes); ++i) {
        assert_int_equal(via_dtype_record(sizes[i]), 0);
    }
}

static const int32_t no_dtypes[] = {
    0,                    /* no lanes, no bits */
    1,                    /* a device type, mistaken for one */
    32,                   /* bits alone */
    SCALAR(0, 7),         /* no integer has 7 bits */
    SCALAR(0, 0),         /* nor 0 */
    SCALAR(0, 128),       /* nor 128 */
    SCALAR(2, 8),         /* narrow floats have codes of their own */
    SCALAR(4, 32),        /* bfloat has 16 bits */
    SCALAR(5, 16),        /* half of which would be 8-bit floats */
    SCALAR(6, 1),         /* a bool is a byte */
    SCALAR(7, 16),        /* a float8 of 16 bits */
    SCALAR(15, 8),        /* a float6 of 8 */
    SCALAR(17, 8),        /* a float4 of 8 */
    SCALAR(18, 8),        /* the first code after DLPack 1.3 */
    SCALAR(255, 8),       /* the last code there can be */
    VIA_FLOAT32 & 0xFFFF, /* no lanes */
    -((1 << 30) + 1),     /* a record too large */
    INT_MIN,
};

static void a_number_that_is_no_dtype_is_reported(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(no_dtypes); ++i) {
        char name[32] = "x";
        assert_int_equal(via_dtype_is_valid(no_dtypes[i]), 0);
        assert_int_equal(via_dtype_bits(no_dtypes[i]), 0);
        refused(VIA_ERROR_DTYPE, "via_dtype_name|dtype", via_dtype_name(no_dtypes[i], sizeof name, name));
        assert_string_equal(name, "");
    }
}

static void a_name_that_is_none_is_reported(void **state) {
    (void)state;
    const char *names[] = {"",
                           " ",
                           "float",
                           "float32 ",
                           "Float32",
                           "float32x",
                           "float32x0",
                           "float32x1",
                           "float32x32768",
                           "float32x-2",
                           "float32x2.0",
                           "float32x02",
                           "record",
                           "record0",
                           "record-1",
                           "record01",
                           "record1073741825",
                           "record99999999999999999999",
                           "record12x2",
                           "int3",
                           "i4",
                           "<f4",
                           "float8",
                           "bool8",
                           "float32x99999999999999999999"};
    for (int32_t i = 0; i < LENGTH(names); ++i) {
        int32_t dtype = 77;
        refused(VIA_ERROR_DTYPE, "via_dtype_from_name|name", via_dtype_from_name(names[i], &dtype));
        assert_int_equal(dtype, 0);
    }
}

static void a_name_is_written_whole_or_not_at_all(void **state) {
    (void)state;
    char name[16];
    memset(name, 'x', sizeof name);
    ok(via_dtype_name(VIA_FLOAT32, 8, name));
    assert_string_equal(name, "float32");
    assert_int_equal(name[8], 'x');
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_dtype_name|capacity is 7|8", via_dtype_name(VIA_FLOAT32, 7, name));
    assert_string_equal(name, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_dtype_goes_to_its_name_and_back), TEST(every_dtype_with_lanes_goes_to_its_name_and_back),
        TEST(every_dtype_is_valid_and_has_its_bits), TEST(a_record_has_as_many_bytes_as_it_says),
        TEST(a_size_that_no_record_has_is_no_dtype), TEST(a_number_that_is_no_dtype_is_reported),
        TEST(a_name_that_is_none_is_reported),       TEST(a_name_is_written_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
