/* What the tests of files to and from devices have in common. */
#ifndef VIADUCT_TESTS_GPU_FILE_SUPPORT_H
#define VIADUCT_TESTS_GPU_FILE_SUPPORT_H

#include "pending_copy.h"

#include "../capi/file_support.h"

enum { SMALL = 5000, LARGE = 24 << 20, ODD = 777 };

static inline void put_pattern(const char *name, int64_t before, int64_t count, unsigned seed) {
    char *bytes = calloc(1, (size_t)(before + count));
    assert_non_null(bytes);
    fill_pattern(bytes + before, (size_t)count, seed);
    put_file(name, bytes, (size_t)(before + count));
    free(bytes);
}

static inline int end_gpu_file_tests(void **state) {
    const int status = end_gpu_tests(state);
    return remove_scratch(state) == 0 ? status : -1;
}

/* The tests of a program that makes files. */
#define run_gpu_file_tests(tests) \
    (driver_is_there() ? cmocka_run_group_tests(tests, make_scratch, end_gpu_file_tests) : 77)

#endif
