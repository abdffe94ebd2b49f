/* What the tests of memory that the driver gives have in common. */
#ifndef VIADUCT_TESTS_GPU_MEMORY_SUPPORT_H
#define VIADUCT_TESTS_GPU_MEMORY_SUPPORT_H

#include "support.h"

static inline via_memory *make(int32_t kind, int32_t device_id) {
    via_memory *memory = NULL;
    ok(via_memory_create(kind, device_id, &memory));
    assert_non_null(memory);
    return memory;
}

static inline via_array *make_bytes(via_memory *memory, int64_t count, via_stream *stream) {
    via_array *array = NULL;
    ok(via_empty(memory, VIA_UINT8, 1, &count, stream, &array));
    assert_non_null(array);
    return array;
}

static inline int no_bytes_counted(void *context) {
    (void)context;
    const via_stats_info stats = stats_now();
    return stats.device_bytes == 0 && stats.pinned_bytes == 0 && stats.managed_bytes == 0;
}

/* Of which only the fake driver knows whether they are still there. */
static inline int64_t pool_blocks(void) { return on_fake_driver() ? fake(fake_live)(FAKE_POOL_ALLOCATIONS) : 1; }

static inline int has_pool_blocks(void *count) { return !on_fake_driver() || pool_blocks() == *(int64_t *)count; }

/* Stream-ordered memory is gone a moment after it was released. */
static inline int end_memory_test(void **state) {
    return eventually(has_pool_blocks, &(int64_t){0}) ? end_gpu_test(state) : -1;
}

#define MEMORY_TEST(function) cmocka_unit_test_setup_teardown(function, begin_gpu_test, end_memory_test)

#endif
