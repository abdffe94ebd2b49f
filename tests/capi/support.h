/* What the C tests have in common. Each ends with as many live arrays, storages, exports and bytes as it began with. */
#ifndef VIADUCT_TESTS_SUPPORT_H
#define VIADUCT_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viaduct/viaduct.h"

#define LENGTH(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

/* A shape, strides or axes in place: SHAPE(2, 3). */
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})
#define AXES(...) ((const int32_t[]){__VA_ARGS__})

/* Runs a call that must succeed; its error text otherwise. */
#define ok(call) expect_ok((call), #call, __FILE__, __LINE__)

/* Runs a call that must fail with `status`; each of the words, which '|' separates, must be in the error text. */
#define refused(status, words, call) expect_refused((status), (words), (call), #call, __FILE__, __LINE__)

static inline void expect_ok(via_status status, const char *call, const char *file, int line) {
    if (status != VIA_OK) {
        print_error("%s\n  answered %s: %s\n", call, via_status_name(status), via_last_error());
        _fail(file, line);
    }
}

/* Whether the text holds each of the words that '|' separates. */
static inline int holds_words(const char *text, const char *words) {
    char word[128];
    while (*words != '\0') {
        const size_t length = strcspn(words, "|");
        assert_true(length < sizeof word);
        memcpy(word, words, length);
        word[length] = '\0';
        if (strstr(text, word) == NULL) {
            return 0;
        }
        words += length + (words[length] == '|');
    }
    return 1;
}

static inline void expect_refused(via_status expected, const char *words, via_status status, const char *call,
                                  const char *file, int line) {
    if (status != expected || !holds_words(via_last_error(), words)) {
        print_error("%s\n  answered %s: %s\n  expected %s with the words %s\n", call, via_status_name(status),
                    via_last_error(), via_status_name(expected), words);
        _fail(file, line);
    }
}

static inline via_stats_info stats_now(void) {
    via_stats_info stats = VIA_STATS_INFO_INIT;
    ok(via_stats(&stats));
    return stats;
}

/* 1 if as much is alive as was then; says what differs otherwise. */
static inline int same_stats(const via_stats_info *before, const via_stats_info *after) {
    if (memcmp(before, after, sizeof *before) == 0) {
        return 1;
    }
    print_error("arrays %lld -> %lld, storages %lld -> %lld, exports %lld -> %lld, host bytes %lld -> %lld\n",
                (long long)before->live_arrays, (long long)after->live_arrays, (long long)before->live_storages,
                (long long)after->live_storages, (long long)before->outstanding_exports,
                (long long)after->outstanding_exports, (long long)before->host_bytes, (long long)after->host_bytes);
    return 0;
}

static inline int begin_test(void **state) {
    static via_stats_info before;
    before = stats_now();
    *state = &before;
    return 0;
}

static inline int end_test(void **state) {
    const via_stats_info after = stats_now();
    return same_stats(*state, &after) ? 0 : -1;
}

/* A test that must leave nothing alive. */
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin_test, end_test)

/* A release callback whose context counts its calls. */
static inline void count_release(void *context) { atomic_fetch_add((atomic_int *)context, 1); }

/* A row-major array on host memory; `released` may be NULL. */
static inline via_array *wrap_plain(void *address, int32_t dtype, int32_t ndim, const int64_t *shape,
                                    atomic_int *released) {
    via_array *array = NULL;
    ok(via_wrap(address, dtype, ndim, shape, NULL, VIA_DEVICE_CPU, 0, 0, released != NULL ? count_release : NULL,
                released, &array));
    assert_non_null(array);
    return array;
}

/* The same with strides in bytes. */
static inline via_array *wrap_strided(void *address, int32_t dtype, int32_t ndim, const int64_t *shape,
                                      const int64_t *byte_strides) {
    via_array *array = NULL;
    ok(via_wrap(address, dtype, ndim, shape, byte_strides, VIA_DEVICE_CPU, 0, VIA_WRAP_BYTE_STRIDES, NULL, NULL,
                &array));
    assert_non_null(array);
    return array;
}

static inline void assert_numbers(const int64_t *found, const int64_t *expected, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
        assert_int_equal(found[i], expected[i]);
    }
}

static inline void assert_shape(via_array *array, int32_t ndim, const int64_t *shape) {
    assert_int_equal(via_array_ndim(array), ndim);
    assert_numbers(via_array_shape(array), shape, ndim);
}

static inline void assert_layout(via_array *array, int32_t ndim, const int64_t *shape, const int64_t *byte_strides) {
    assert_shape(array, ndim, shape);
    assert_non_null(via_array_byte_strides(array));
    assert_numbers(via_array_byte_strides(array), byte_strides, ndim);
}

/* Calls visit with the bytes' offset of every element from via_array_data, in row-major order. */
static inline void visit_elements(via_array *array, void (*visit)(int64_t offset, int64_t number, void *context),
                                  void *context) {
    const int32_t ndim = via_array_ndim(array);
    const int64_t *shape = via_array_shape(array);
    const int64_t *strides = via_array_byte_strides(array);
    const int64_t size = via_array_size(array);
    for (int64_t number = 0; number < size; ++number) {
        int64_t rest = number;
        int64_t offset = 0;
        for (int32_t i = ndim - 1; i >= 0; --i) {
            offset += rest % shape[i] * strides[i];
            rest /= shape[i];
        }
        visit(offset, number, context);
    }
}

/* Every dtype that there is, without lanes, by its name and its bits. */
typedef struct known_dtype {
    const char *name;
    int32_t dtype;
    int32_t bits;
} known_dtype;

#define SCALAR(code, bits) ((code) | (bits) << 8 | 1 << 16)
#define WITH_LANES(dtype, lanes) (((dtype) & 0xFFFF) | (lanes) << 16)

static const known_dtype every_dtype[] = {
    {"int1", SCALAR(0, 1), 1},
    {"int2", SCALAR(0, 2), 2},
    {"int4", VIA_INT4, 4},
    {"int8", VIA_INT8, 8},
    {"int16", VIA_INT16, 16},
    {"int32", VIA_INT32, 32},
    {"int64", VIA_INT64, 64},
    {"uint1", SCALAR(1, 1), 1},
    {"uint2", SCALAR(1, 2), 2},
    {"uint4", VIA_UINT4, 4},
    {"uint8", VIA_UINT8, 8},
    {"uint16", VIA_UINT16, 16},
    {"uint32", VIA_UINT32, 32},
    {"uint64", VIA_UINT64, 64},
    {"float16", VIA_FLOAT16, 16},
    {"float32", VIA_FLOAT32, 32},
    {"float64", VIA_FLOAT64, 64},
    {"float128", SCALAR(2, 128), 128},
    {"opaque8", SCALAR(3, 8), 8},
    {"opaque16", SCALAR(3, 16), 16},
    {"opaque32", SCALAR(3, 32), 32},
    {"opaque64", VIA_OPAQUE64, 64},
    {"opaque128", SCALAR(3, 128), 128},
    {"bfloat16", VIA_BFLOAT16, 16},
    {"complex32", VIA_COMPLEX32, 32},
    {"complex64", VIA_COMPLEX64, 64},
    {"complex128", VIA_COMPLEX128, 128},
    {"bool", VIA_BOOL, 8},
    {"float8_e3m4", VIA_FLOAT8_E3M4, 8},
    {"float8_e4m3", VIA_FLOAT8_E4M3, 8},
    {"float8_e4m3b11fnuz", VIA_FLOAT8_E4M3B11FNUZ, 8},
    {"float8_e4m3fn", VIA_FLOAT8_E4M3FN, 8},
    {"float8_e4m3fnuz", VIA_FLOAT8_E4M3FNUZ, 8},
    {"float8_e5m2", VIA_FLOAT8_E5M2, 8},
    {"float8_e5m2fnuz", VIA_FLOAT8_E5M2FNUZ, 8},
    {"float8_e8m0fnu", VIA_FLOAT8_E8M0FNU, 8},
    {"float6_e2m3fn", VIA_FLOAT6_E2M3FN, 6},
    {"float6_e3m2fn", VIA_FLOAT6_E3M2FN, 6},
    {"float4_e2m1fn", VIA_FLOAT4_E2M1FN, 4},
};

#endif
