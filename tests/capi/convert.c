/* Conversions: the values that they make, and what they leave alone. */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#include <math.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "support.h"

static void numbers_keep_their_values_where_the_type_has_them(void **state) {
    (void)state;
    uint8_t bytes[6] = {0, 1, 2, 127, 128, 255};
    float floats[7] = {9, 9, 9, 9, 9, 9, 9};
    via_array *src = wrap_plain(bytes, VIA_UINT8, 2, SHAPE(2, 3), NULL);
    via_array *dst = wrap_plain(floats, VIA_FLOAT32, 2, SHAPE(2, 3), NULL);
    ok(via_convert(dst, src, NULL, NULL));
    for (int32_t i = 0; i < 6; ++i) {
        assert_true(floats[i] == (float)bytes[i]);
    }
    assert_true(floats[6] == 9);
    via_array_release(dst);
    via_array_release(src);
}

static void floats_are_cut_to_integers_and_stop_at_the_limits(void **state) {
    (void)state;
    double doubles[6] = {2.9, -2.9, 300, -300, NAN, -0.5};
    int8_t whole[6];
    const via_convert_options unsafe = {.struct_size = (int32_t)sizeof unsafe, .casting = VIA_CASTING_UNSAFE};
    via_array *src = wrap_plain(doubles, VIA_FLOAT64, 1, SHAPE(6), NULL);
    via_array *dst = wrap_plain(whole, VIA_INT8, 1, SHAPE(6), NULL);
    ok(via_convert(dst, src, &unsafe, NULL));
    const int8_t wanted[6] = {2, -2, 127, -128, 0, 0};
    assert_memory_equal(whole, wanted, sizeof wanted);
    via_array_release(dst);
    via_array_release(src);
}

/* float16: 65519 is the last number that rounds to the greatest. */
static void floats_are_rounded_once_to_the_nearest(void **state) {
    (void)state;
    double doubles[5] = {1, 1.00048828125, 1.000488281250001, 65519, 65520};
    uint16_t halves[5];
    via_array *src = wrap_plain(doubles, VIA_FLOAT64, 1, SHAPE(5), NULL);
    via_array *dst = wrap_plain(halves, VIA_FLOAT16, 1, SHAPE(5), NULL);
    ok(via_convert(dst, src, NULL, NULL));
    const uint16_t wanted[5] = {0x3C00, 0x3C00, 0x3C01, 0x7BFF, 0x7C00};
    assert_memory_equal(halves, wanted, sizeof wanted);
    via_array_release(dst);
    via_array_release(src);
}

/* Pixels of three channels, interleaved, become planes of floats. */
static void pixels_become_scaled_planes(void **state) {
    (void)state;
    enum { PIXELS = 40 };
    uint8_t pixels[PIXELS][3];
    float planes[3][PIXELS];
    float scales[3] = {2, 0.5F, -1};
    float offsets[3] = {1, -1, 0};
    for (int32_t i = 0; i < PIXELS * 3; ++i) {
        pixels[i / 3][i % 3] = (uint8_t)(i * 7);
    }
    const via_convert_options options = {
        .struct_size = (int32_t)sizeof options, .scale = scales, .offset = offsets, .scale_count = 3, .scale_axis = -2};
    via_array *src = wrap_strided(pixels, VIA_UINT8, 2, SHAPE(3, PIXELS), SHAPE(1, 3));
    via_array *dst = wrap_plain(planes, VIA_FLOAT32, 2, SHAPE(3, PIXELS), NULL);
    ok(via_convert(dst, src, &options, NULL));
    for (int32_t i = 0; i < PIXELS; ++i) {
        for (int32_t channel = 0; channel < 3; ++channel) {
            assert_true(planes[channel][i] == (float)pixels[i][channel] * scales[channel] + offsets[channel]);
        }
    }
    via_array_release(dst);
    via_array_release(src);
}

/* A product and a sum that one rounding would make 2^-24 of. */
static void a_scale_and_an_offset_round_twice(void **state) {
    (void)state;
    float number[1] = {1 + 0x1p-12F};
    float result[1];
    float scale = 1 + 0x1p-12F;
    float offset = -(1 + 0x1p-11F);
    const via_convert_options options = {
        .struct_size = (int32_t)sizeof options, .scale = &scale, .offset = &offset, .scale_count = 1};
    via_array *src = wrap_plain(number, VIA_FLOAT32, 1, SHAPE(1), NULL);
    via_array *dst = wrap_plain(result, VIA_FLOAT32, 1, SHAPE(1), NULL);
    ok(via_convert(dst, src, &options, NULL));
    assert_true(result[0] == 0);
    via_array_release(dst);
    via_array_release(src);
}

static void numbers_in_the_other_byte_order_are_swapped(void **state) {
    (void)state;
    uint8_t bytes[8] = {0x12, 0x34, 0xFF, 0xFE, 0x00, 0x01, 0x80, 0x00};
    int32_t numbers[4];
    const via_convert_options big = {.struct_size = (int32_t)sizeof big, .byte_order = VIA_BYTE_ORDER_BIG};
    via_array *src = wrap_plain(bytes, VIA_INT16, 1, SHAPE(4), NULL);
    via_array *dst = wrap_plain(numbers, VIA_INT32, 1, SHAPE(4), NULL);
    ok(via_convert(dst, src, &big, NULL));
    const int32_t wanted[4] = {0x1234, -2, 1, -32768};
    assert_memory_equal(numbers, wanted, sizeof wanted);
    via_array_release(dst);
    via_array_release(src);
}

static void a_float8_overflows_to_nan_or_to_its_largest_number(void **state) {
    (void)state;
    float floats[3] = {448, 1000, -1000};
    uint8_t codes[3];
    via_array *src = wrap_plain(floats, VIA_FLOAT32, 1, SHAPE(3), NULL);
    via_array *dst = wrap_plain(codes, VIA_FLOAT8_E4M3FN, 1, SHAPE(3), NULL);
    ok(via_convert(dst, src, NULL, NULL));
    const uint8_t overflowed[3] = {0x7E, 0x7F, 0xFF};
    assert_memory_equal(codes, overflowed, sizeof overflowed);
    const via_convert_options largest = {.struct_size = (int32_t)sizeof largest, .overflow = VIA_OVERFLOW_SATURATE};
    ok(via_convert(dst, src, &largest, NULL));
    const uint8_t saturated[3] = {0x7E, 0x7E, 0xFE};
    assert_memory_equal(codes, saturated, sizeof saturated);
    via_array_release(dst);
    via_array_release(src);
}

/* int4x2 takes a whole byte, of which neither lane is one. */
static void convert_for(int32_t dst_dtype, void *to, int32_t src_dtype, void *from, int64_t count) {
    const via_convert_options unsafe = {.struct_size = (int32_t)sizeof unsafe, .casting = VIA_CASTING_UNSAFE};
    via_array *src = wrap_plain(from, src_dtype, 1, SHAPE(count), NULL);
    via_array *dst = wrap_plain(to, dst_dtype, 1, SHAPE(count), NULL);
    ok(via_convert(dst, src, &unsafe, NULL));
    via_array_release(dst);
    via_array_release(src);
}

static void the_programs_rounding_is_of_no_account(void **state) {
    (void)state;
    double doubles[2] = {1 + 0x1p-40, -1 - 0x1p-40};
    int32_t whole[2] = {16777217, -16777217};
    float floats[4];
    uint8_t code;
    assert_int_equal(fesetround(FE_UPWARD), 0);
    convert_for(VIA_FLOAT32, floats, VIA_FLOAT64, doubles, 2);
    convert_for(VIA_FLOAT32, floats + 2, VIA_INT32, whole, 2);
    convert_for(VIA_FLOAT8_E4M3FN, &code, VIA_FLOAT64, &(double){0x1p-10 + 0x1p-30}, 1);
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    const float wanted[4] = {1, -1, 16777216, -16777216};
    assert_memory_equal(floats, wanted, sizeof wanted);
    assert_int_equal(code, 1);
}

/* As programs do that were linked with -ffast-math. */
static void subnormal_numbers_stay_where_the_program_flushes_them(void **state) {
    (void)state;
#if defined(__x86_64__)
    double doubles[2] = {0x1p-130, 0x1p-1060};
    float floats[1];
    double widened[1];
    uint8_t truths[2];
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);  // flush to zero, and denormals are zeros
    convert_for(VIA_FLOAT32, floats, VIA_FLOAT64, doubles, 1);
    convert_for(VIA_FLOAT64, widened, VIA_FLOAT32, floats, 1);
    convert_for(VIA_BOOL, truths, VIA_FLOAT64, doubles, 2);
    assert_int_equal(_mm_getcsr() & 0x8040, 0x8040);
    _mm_setcsr(before);
    assert_memory_equal(widened, doubles, sizeof widened);
    assert_memory_equal(truths, ((uint8_t[2]){1, 1}), 2);
#else
    skip();
#endif
}

static void floats_that_become_others_raise_no_exception(void **state) {
    (void)state;
    double doubles[3] = {1e300, -1e300, NAN};
    int8_t whole[3];
    float floats[3];
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    convert_for(VIA_INT8, whole, VIA_FLOAT64, doubles, 3);
    convert_for(VIA_FLOAT32, floats, VIA_FLOAT64, doubles, 3);
    fedisableexcept(FE_ALL_EXCEPT);
    assert_memory_equal(whole, ((int8_t[3]){127, -128, 0}), 3);
    assert_true(isinf(floats[0]) && isinf(floats[1]) && isnan(floats[2]));
}

static void lanes_narrower_than_a_byte_are_refused(void **state) {
    (void)state;
    char narrow[8] = {0x21, 0x43, 0x65, 0x07};
    char wide[32] = {1, 2, 3, 4, 5, 6, 7, 8};
    const char kept_narrow[8] = {0x21, 0x43, 0x65, 0x07};
    const char kept_wide[32] = {1, 2, 3, 4, 5, 6, 7, 8};
    const via_convert_options unsafe = {.struct_size = (int32_t)sizeof unsafe, .casting = VIA_CASTING_UNSAFE};
    const int32_t pairs[][2] = {{WITH_LANES(VIA_INT4, 2), WITH_LANES(VIA_INT8, 2)},
                                {WITH_LANES(VIA_INT4, 2), WITH_LANES(VIA_FLOAT32, 2)},
                                {WITH_LANES(VIA_UINT4, 4), WITH_LANES(VIA_UINT16, 4)}};
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        via_array *of_parts = wrap_plain(narrow, pairs[i][0], 1, SHAPE(4), NULL);
        via_array *of_bytes = wrap_plain(wide, pairs[i][1], 1, SHAPE(4), NULL);
        refused(VIA_ERROR_UNSUPPORTED, "src has packed elements", via_convert(of_bytes, of_parts, &unsafe, NULL));
        refused(VIA_ERROR_UNSUPPORTED, "dst has packed elements", via_convert(of_parts, of_bytes, &unsafe, NULL));
        via_array_release(of_parts);
        via_array_release(of_bytes);
    }
    assert_memory_equal(narrow, kept_narrow, sizeof narrow);
    assert_memory_equal(wide, kept_wide, sizeof wide);
}

static void a_task_converts_too(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    static int32_t whole[COUNT];
    static double doubles[COUNT];
    for (int32_t i = 0; i < COUNT; ++i) {
        whole[i] = i - COUNT / 2;
    }
    via_array *src = wrap_plain(whole, VIA_INT32, 1, SHAPE(COUNT), NULL);
    via_array *dst = wrap_plain(doubles, VIA_FLOAT64, 1, SHAPE(COUNT), NULL);
    via_task *task = NULL;
    ok(via_convert_submit(dst, src, NULL, NULL, &task));
    ok(via_task_wait(task));
    for (int32_t i = 0; i < COUNT; ++i) {
        assert_true(doubles[i] == whole[i]);
    }
    via_task_release(task);
    via_array_release(dst);
    via_array_release(src);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(numbers_keep_their_values_where_the_type_has_them),
        TEST(floats_are_cut_to_integers_and_stop_at_the_limits),
        TEST(floats_are_rounded_once_to_the_nearest),
        TEST(pixels_become_scaled_planes),
        TEST(a_scale_and_an_offset_round_twice),
        TEST(numbers_in_the_other_byte_order_are_swapped),
        TEST(a_float8_overflows_to_nan_or_to_its_largest_number),
        TEST(the_programs_rounding_is_of_no_account),
        TEST(subnormal_numbers_stay_where_the_program_flushes_them),
        TEST(floats_that_become_others_raise_no_exception),
        TEST(lanes_narrower_than_a_byte_are_refused),
        TEST(a_task_converts_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
