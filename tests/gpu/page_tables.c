/* Devices that walk the host's page tables, as on Grace Hopper: copies of pageable memory go straight. Skipped
 * elsewhere. */
#include "strided_routes.h"

static int walks_page_tables(void) {
    int walks = 0;
    cu_ok(cu(cuDeviceGetAttribute)(&walks, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0));
    return walks;
}

static const place reached[][2] = {{DEVICE, PAGEABLE}, {PAGEABLE, DEVICE}};
static const char words[] = "straight: the device walks the host's page tables";
enum { mebibyte = 1 << 20, most_ways = LENGTH(ways) - 1 }; /* pageable memory cannot be captured */

static int64_t staged_bytes(void) {
    via_stats_info stats = VIA_STATS_INFO_INIT;
    ok(via_stats(&stats));
    return stats.staged_bytes;
}

static void check_adjacent_copies(void) {
    static const int64_t sizes[] = {1, 4096, 100000, mebibyte, 3 * mebibyte + 5, 40 * mebibyte};
    for (int32_t i = 0; i < LENGTH(sizes); ++i) {
        note("%lld bytes", (long long)sizes[i]);
        const CUdeviceptr device = device_memory(sizes[i]);
        char *there = pageable_memory(sizes[i]);
        char *back = pageable_memory(sizes[i]);
        fill_pattern(there, sizes[i], 1);
        ok(via_memcpy((void *)(uintptr_t)device, there, sizes[i], NULL));
        memset(there, 0, sizes[i]); /* it has been read */
        assert_device_pattern(device, sizes[i], 1);
        ok(via_memcpy(back, (const void *)(uintptr_t)device, sizes[i], NULL));
        assert_pattern(back, sizes[i], 1);
        put_away_memory(device);
        put_away(there);
        put_away(back);
    }
}

static void nothing_is_staged_apart(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    check_adjacent_copies();
    assert_int_equal(staged_bytes(), 0);
}

static void adjacent_copies_of_any_size_are_not_staged(void **state) {
    (void)state;
    APART(nothing_is_staged_apart);
}

static void a_random_strided_copy_equals_a_naive_one(void **state) {
    (void)state;
    CUstream native = new_stream();
    for (int32_t i = 0; i < REPEATS(300); ++i) {
        check_random_copy(reached[i % 2], random_item(), 4000, i / 2 % most_ways, native);
    }
}

static void check_transposed_apart(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    CUstream native = new_stream();
    for (int32_t i = 0; i < LENGTH(reached) * most_ways; ++i) {
        strided_pair both = new_transposed_pair(reached[i % 2][0], reached[i % 2][1], 700, 900, 8);
        assert_explained(both.dst.array, both.src.array, words);
        check_pair(&both, i / 2, native);
        end_strided_pair(&both);
    }
    assert_int_equal(staged_bytes(), 0);
}

static void large_transposes_are_not_staged(void **state) {
    (void)state;
    APART(check_transposed_apart);
}

static void pageable_memory_is_left_alone_once_a_call_has_returned(void **state) {
    (void)state;
    CUstream native = new_stream();
    strided_pair both = new_transposed_pair(DEVICE, PAGEABLE, 300, 400, 4);
    char *expected = expect_copy(&both.of, &both.dst, &both.src);
    ok(via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    memset(both.src.memory.memory, 0, (size_t)both.src.memory.count);
    finish(native);
    assert_true(holds_bytes(&both.dst, expected));
    free(expected);
    end_strided_pair(&both);
}

static void the_device_says_so(void **state) {
    (void)state;
    via_device_properties found = VIA_DEVICE_PROPERTIES_INIT;
    ok(via_device_info(VIA_DEVICE_CUDA, 0, &found));
    assert_true(holds_words(found.routes, "on, by the host's page tables"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(adjacent_copies_of_any_size_are_not_staged),
        GPU_TEST(a_random_strided_copy_equals_a_naive_one),
        GPU_TEST(large_transposes_are_not_staged),
        GPU_TEST(pageable_memory_is_left_alone_once_a_call_has_returned),
        GPU_TEST(the_device_says_so),
    };
    return driver_is_there() && walks_page_tables() ? run_kernel_tests(tests) : 77;
}
