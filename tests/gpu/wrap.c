/* Wrapping memory that CUDA knows: what is named is looked up, and what is wrong is refused by name. */
#include "mapping.h"

static void *at(CUdeviceptr address) { return (void *)(uintptr_t)address; }

/* Wraps bytes from `address` on, `stride` apart. */
static via_status wrap_at(const void *address, int64_t count, int64_t stride, int32_t device_type, int32_t device_id,
                          int32_t flags, via_array **out_array) {
    return via_wrap((void *)(uintptr_t)address, VIA_UINT8, 1, &count, &stride, device_type, device_id, flags, NULL,
                    NULL, out_array);
}

static void takes(const void *address, int64_t count, int64_t stride, int32_t device_type, int32_t device_id,
                  int32_t flags) {
    via_array *array = NULL;
    ok(wrap_at(address, count, stride, device_type, device_id, flags, &array));
    assert_ptr_equal(via_array_data(array), address);
    via_array_release(array);
}

/* Refused, without a call of the release callback; taken, unchecked, all the same. */
static void refuses(via_status status, const char *words, const void *address, int64_t count, int64_t stride,
                    int32_t device_type, int32_t device_id) {
    atomic_int released = 0;
    via_array *array = (via_array *)&released;
    refused(status, words,
            via_wrap((void *)(uintptr_t)address, VIA_UINT8, 1, &count, &stride, device_type, device_id, 0,
                     count_release, &released, &array));
    assert_null(array);
    assert_int_equal(released, 0);
    takes(address, count, stride, device_type, device_id, VIA_WRAP_UNCHECKED);
}

static void memory_named_rightly_is_taken(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(1000);
    takes(at(memory), 1000, 1, VIA_DEVICE_CUDA, 0, 0);
    takes(at(memory + 10), 990, 1, VIA_DEVICE_CUDA, 0, VIA_WRAP_READ_ONLY);
    takes(pinned_memory(64), 64, 1, VIA_DEVICE_CUDA_HOST, 0, 0);
    takes(registered_memory(64), 64, 1, VIA_DEVICE_CUDA_HOST, 0, 0);
    takes(at(managed_memory(64)), 64, 1, VIA_DEVICE_CUDA_MANAGED, 0, 0);
}

static void a_borrowed_memory_of_device_memory_ends_once(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *array = NULL;
    ok(via_wrap(at(device_memory(64)), VIA_UINT8, 1, SHAPE(64), NULL, VIA_DEVICE_CUDA, 0, 0, count_release, &released,
                &array));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CUDA);
    assert_int_equal(via_array_device_id(array), 0);
    assert_ptr_equal(via_array_context(array, count_release), &released);
    via_array_release(array);
    assert_int_equal(released, 1);
}

static void detected(const void *address, int32_t device_type, int32_t device_id) {
    via_array *array = NULL;
    ok(wrap_at(address, 64, 1, VIA_DEVICE_ANY, 0, 0, &array));
    assert_int_equal(via_array_device_type(array), device_type);
    assert_int_equal(via_array_device_id(array), device_id);
    via_array_release(array);
    ok(wrap_at(address, 64, 1, 99, -3, VIA_WRAP_DETECT, &array));
    assert_int_equal(via_array_device_type(array), device_type);
    assert_int_equal(via_array_device_id(array), device_id);
    via_array_release(array);
}

static void every_kind_of_memory_is_detected(void **state) {
    (void)state;
    detected(at(device_memory(64)), VIA_DEVICE_CUDA, 0);
    detected(pinned_memory(64), VIA_DEVICE_CUDA_HOST, 0);
    detected(registered_memory(64), VIA_DEVICE_CUDA_HOST, 0);
    detected(at(managed_memory(64)), VIA_DEVICE_CUDA_MANAGED, 0);
    detected(pageable_memory(64), VIA_DEVICE_CPU, 0);
    if (device_count() > 1) {
        detected(at(device_memory_on(1, 64)), VIA_DEVICE_CUDA, 1);
    }
}

static void detection_refuses_what_ends_too_early(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(64);
    via_array *array = NULL;
    refused(VIA_ERROR_POINTER, "via_wrap|address|0 to 65|0 to 64",
            wrap_at(at(memory), 65, 1, VIA_DEVICE_ANY, 0, 0, &array));
    put_away_memory(memory);
    refused(VIA_ERROR_POINTER, "via_wrap|cannot be read", wrap_at(at(memory), 64, 1, VIA_DEVICE_ANY, 0, 0, &array));
}

static void nothing_is_detected_while_the_driver_cannot_be_asked(void **state) {
    (void)state;
    steer();
    const void *const addresses[] = {at(device_memory(64)), pinned_memory(64), at(managed_memory(64)),
                                     pageable_memory(64)};
    fake(fake_fail_at)("cuPointerGetAttributes", -1, CUDA_ERROR_NOT_PERMITTED);
    for (int i = 0; i < LENGTH(addresses); ++i) {
        via_array *array = NULL;
        refused(VIA_ERROR_CUDA, "via_wrap|CUDA_ERROR_NOT_PERMITTED",
                wrap_at(addresses[i], 64, 1, VIA_DEVICE_ANY, 0, 0, &array));
        refused(VIA_ERROR_CUDA, "via_wrap|CUDA_ERROR_NOT_PERMITTED",
                wrap_at(addresses[i], 64, 1, 0, 0, VIA_WRAP_DETECT | VIA_WRAP_UNCHECKED, &array));
        assert_null(array);
    }
    takes(addresses[3], 64, 1, VIA_DEVICE_CPU, 0, 0);
    fake(fake_clear_faults)();
    detected(addresses[1], VIA_DEVICE_CUDA_HOST, 0);
}

static void an_array_past_the_end_is_refused(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(1000);
    refuses(VIA_ERROR_POINTER, "via_wrap|address is 0x|0 to 1001|0 to 1000", at(memory), 1001, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_POINTER, "0 to 991|-10 to 990", at(memory + 10), 991, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_POINTER, "0 to 1002", at(memory), 144, 7, VIA_DEVICE_CUDA, 0);
    takes(at(memory), 143, 7, VIA_DEVICE_CUDA, 0, 0);
    char *pinned = pinned_memory(100);
    refuses(VIA_ERROR_POINTER, "0 to 101", pinned, 101, 1, VIA_DEVICE_CUDA_HOST, 0);
    refuses(VIA_ERROR_POINTER, "0 to 101", at(managed_memory(100)), 101, 1, VIA_DEVICE_CUDA_MANAGED, 0);
}

static void negative_strides_must_not_reach_below_the_start(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(1000);
    takes(at(memory + 99), 100, -1, VIA_DEVICE_CUDA, 0, 0);
    takes(at(memory + 999), 334, -3, VIA_DEVICE_CUDA, 0, 0);
    refuses(VIA_ERROR_POINTER, "-100 to 1|-99 to 901", at(memory + 99), 101, -1, VIA_DEVICE_CUDA, 0);
}

static void a_made_up_or_freed_address_is_refused(void **state) {
    (void)state;
    refuses(VIA_ERROR_POINTER, "address is 0x40|does not know|device memory", (void *)64, 8, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_POINTER, "does not know|managed", (void *)64, 8, 1, VIA_DEVICE_CUDA_MANAGED, 0);
    const CUdeviceptr memory = device_memory(8 << 20);
    put_away_memory(memory);
    refuses(VIA_ERROR_POINTER, "does not know|freed", at(memory), 8, 1, VIA_DEVICE_CUDA, 0);
}

static void host_memory_is_refused_as_a_devices(void **state) {
    (void)state;
    char *pageable = pageable_memory(64);
    memset(pageable, 0, 64);
    refuses(VIA_ERROR_POINTER, "ordinary host memory|device memory", pageable, 64, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_POINTER, "ordinary host memory|pinned memory", pageable, 64, 1, VIA_DEVICE_CUDA_HOST, 0);
    refuses(VIA_ERROR_POINTER, "ordinary host memory|managed", pageable, 64, 1, VIA_DEVICE_CUDA_MANAGED, 0);
}

static void another_kind_of_memory_is_refused(void **state) {
    (void)state;
    const CUdeviceptr device = device_memory(64);
    char *pinned = pinned_memory(64);
    const CUdeviceptr managed = managed_memory(64);
    refuses(VIA_ERROR_DEVICE, "is device memory (VIA_DEVICE_CUDA)|expected pinned memory (VIA_DEVICE_CUDA_HOST)",
            at(device), 64, 1, VIA_DEVICE_CUDA_HOST, 0);
    refuses(VIA_ERROR_DEVICE, "is device memory|expected managed", at(device), 64, 1, VIA_DEVICE_CUDA_MANAGED, 0);
    refuses(VIA_ERROR_DEVICE, "is pinned memory|expected device", pinned, 64, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_DEVICE,
            "is pinned memory (VIA_DEVICE_CUDA_HOST)|expected managed memory (VIA_DEVICE_CUDA_MANAGED)", pinned, 64, 1,
            VIA_DEVICE_CUDA_MANAGED, 0);
    refuses(VIA_ERROR_DEVICE, "is managed memory|expected pinned", at(managed), 64, 1, VIA_DEVICE_CUDA_HOST, 0);
}

static void managed_memory_may_be_called_a_devices(void **state) {
    (void)state;
    takes(at(managed_memory(64)), 64, 1, VIA_DEVICE_CUDA, 0, 0);
}

static void memory_of_another_device_is_refused(void **state) {
    (void)state;
    need_two_devices();
    const CUdeviceptr memory = device_memory_on(1, 64);
    refuses(VIA_ERROR_DEVICE, "memory of device 1|device 0", at(memory), 64, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_DEVICE, "memory of device 0|device 1", at(device_memory(64)), 64, 1, VIA_DEVICE_CUDA, 1);
    takes(at(memory), 64, 1, VIA_DEVICE_CUDA, 1, 0);
}

static void a_device_that_there_is_not_is_refused_unchecked_too(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(64);
    via_array *array = NULL;
    const int32_t none[] = {-1, device_count(), INT32_MAX, INT32_MIN};
    for (int32_t i = 0; i < LENGTH(none); ++i) {
        refused(VIA_ERROR_DEVICE, "via_wrap|device_id",
                wrap_at(at(memory), 64, 1, VIA_DEVICE_CUDA, none[i], VIA_WRAP_UNCHECKED, &array));
    }
    refused(VIA_ERROR_DEVICE, "device_id is 1|expected 0",
            wrap_at(at(memory), 64, 1, VIA_DEVICE_CUDA_HOST, 1, VIA_WRAP_UNCHECKED, &array));
    refused(VIA_ERROR_DEVICE, "device_id is 1|expected 0",
            wrap_at(at(memory), 64, 1, VIA_DEVICE_CUDA_MANAGED, 1, 0, &array));
    refused(VIA_ERROR_DEVICE, "device_type is 99", wrap_at(at(memory), 64, 1, 99, 0, VIA_WRAP_UNCHECKED, &array));
}

static void an_array_without_elements_is_not_looked_up(void **state) {
    (void)state;
    takes((void *)64, 0, 1, VIA_DEVICE_CUDA, 0, 0);
    takes(NULL, 0, 1, VIA_DEVICE_CUDA_MANAGED, 0, 0);
    via_array *array = NULL;
    ok(wrap_at((void *)64, 0, 1, VIA_DEVICE_ANY, 0, 0, &array));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CPU);
    via_array_release(array);
}

static void host_memory_is_taken_on_trust_whatever_it_is(void **state) {
    (void)state;
    takes(pinned_memory(64), 64, 1, VIA_DEVICE_CPU, 0, 0);
    takes(at(managed_memory(64)), 64, 1, VIA_DEVICE_CPU, 0, 0);
    takes((void *)4096, 64, 1, VIA_DEVICE_CPU, 0, 0);
}

static void adjacent_mappings_carry_one_array(void **state) {
    (void)state;
    mapping range = reserve(4);
    for (int i = 0; i < 3; ++i) {
        map_piece(&range, i, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
    const int64_t unit = (int64_t)range.unit;
    takes(at(range.base), 3 * unit, 1, VIA_DEVICE_CUDA, 0, 0);
    takes(at(range.base + 5), 3 * unit - 5, 1, VIA_DEVICE_CUDA, 0, 0);
    takes(at(range.base + 3 * range.unit - 1), 3 * unit, -1, VIA_DEVICE_CUDA, 0, 0);
    refuses(VIA_ERROR_POINTER, "mapped", at(range.base), 3 * unit + 1, 1, VIA_DEVICE_CUDA, 0);
    unmap_piece(&range, 1);
    refuses(VIA_ERROR_POINTER, "mapped", at(range.base), 3 * unit, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_POINTER, "mapped", at(range.base), unit + 1, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_POINTER, "mapped", at(piece_of(&range, 2)), 2, -1, VIA_DEVICE_CUDA, 0);
    takes(at(range.base), unit, 1, VIA_DEVICE_CUDA, 0, 0);
    takes(at(piece_of(&range, 2)), unit, 1, VIA_DEVICE_CUDA, 0, 0);
    unreserve(&range);
}

static void a_mapping_without_access_is_refused(void **state) {
    (void)state;
    mapping range = reserve(3);
    map_piece(&range, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    map_piece(&range, 1, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    map_piece(&range, 2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    const int64_t unit = (int64_t)range.unit;
    takes(at(range.base), unit, 1, VIA_DEVICE_CUDA, 0, 0);
    refuses(VIA_ERROR_POINTER, "no access", at(piece_of(&range, 1)), 8, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_POINTER, "no access", at(range.base), unit + 1, 1, VIA_DEVICE_CUDA, 0);
    refuses(VIA_ERROR_POINTER, "no access", at(range.base), 3 * unit, 1, VIA_DEVICE_CUDA, 0);
    unreserve(&range);
}

static void a_mapping_that_may_only_be_read_makes_no_writable_array(void **state) {
    (void)state;
    steer(); /* not every driver grants reading alone */
    mapping range = reserve(3);
    map_piece(&range, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    map_piece(&range, 1, CU_MEM_ACCESS_FLAGS_PROT_READ);
    map_piece(&range, 2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    const struct {
        CUdeviceptr first;
        int64_t count;
    } parts[] = {{piece_of(&range, 1), 64}, {range.base, 3 * (int64_t)range.unit}};
    for (int32_t i = 0; i < LENGTH(parts); ++i) {
        const void *first = at(parts[i].first);
        via_array *array = NULL;
        refuses(VIA_ERROR_READ_ONLY, "may only read|read-only array", first, parts[i].count, 1, VIA_DEVICE_CUDA, 0);
        refused(VIA_ERROR_READ_ONLY, "via_wrap", wrap_at(first, parts[i].count, 1, VIA_DEVICE_ANY, 0, 0, &array));
        takes(first, parts[i].count, 1, VIA_DEVICE_CUDA, 0, VIA_WRAP_READ_ONLY);
    }
    unreserve(&range);
}

static void a_check_is_one_question(void **state) {
    (void)state;
    steer();
    const CUdeviceptr memory = device_memory(64);
    takes(at(memory), 64, 1, VIA_DEVICE_CUDA, 0, 0);
    const int64_t before = fake(fake_call_count)(NULL);
    takes(at(memory), 64, 1, VIA_DEVICE_CUDA, 0, 0);
    assert_int_equal(fake(fake_call_count)(NULL) - before, 1);
    takes(at(memory), 64, 1, VIA_DEVICE_CUDA, 0, VIA_WRAP_UNCHECKED);
    takes(state, 8, 1, VIA_DEVICE_CPU, 0, 0);
    takes((void *)64, 0, 1, VIA_DEVICE_CUDA, 0, 0);
    assert_int_equal(fake(fake_call_count)(NULL) - before, 1);
}

static void on_a_machine_that_reaches_pageable_memory(void) {
    fake(fake_set_attribute)(0, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 1);
    char *pageable = pageable_memory(64);
    pageable[0] = 1;
    refuses(VIA_ERROR_POINTER, "ordinary host memory|VIA_WRAP_UNCHECKED", pageable, 64, 1, VIA_DEVICE_CUDA, 0);
}

static void pageable_memory_that_a_device_reaches_is_still_the_hosts(void **state) {
    (void)state;
    steer();
    APART(on_a_machine_that_reaches_pageable_memory);
}

static void at_every_failing_call(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    mapping range = reserve(2);
    map_piece(&range, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    map_piece(&range, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    takes(at(range.base), 8, 1, VIA_DEVICE_CUDA, 0, 0);
    int failures = 0;
    for (int64_t n = 1;; ++n) {
        const via_stats_info before = stats_now();
        const int64_t injected = fake(fake_faults_injected)();
        atomic_int released = 0;
        via_array *array = NULL;
        fake(fake_fail_at)(NULL, n, CUDA_ERROR_UNKNOWN);
        const via_status status = via_wrap(at(range.base), VIA_UINT8, 1, SHAPE((int64_t)range.unit + 1), NULL,
                                           VIA_DEVICE_CUDA, 0, 0, count_release, &released, &array);
        const int met = fake(fake_faults_injected)() > injected;
        fake(fake_clear_faults)();
        assert_true((status == VIA_OK) == (array != NULL));
        assert_int_equal(released, 0);
        via_array_release(array);
        assert_int_equal(released, array != NULL);
        failures += status != VIA_OK;
        const via_stats_info after = stats_now();
        assert_true(same_stats(&before, &after));
        if (!met) {
            break;
        }
    }
    assert_true(failures >= 3);
}

static void a_driver_that_fails_meanwhile_refuses_the_wrap_and_leaks_nothing(void **state) {
    (void)state;
    steer();
    APART(at_every_failing_call);
}

static unsigned next_random(unsigned *seed) { return *seed = *seed * 1664525u + 1013904223u; }

enum { model_blocks = 12 };

typedef struct block {
    CUdeviceptr base;
    int64_t nbytes;
} block;

/* Whether the model says that an array fits: all of its bytes in one block. */
static int fits(const block *blocks, CUdeviceptr address, int64_t low, int64_t high) {
    for (int i = 0; i < model_blocks; ++i) {
        const int64_t before = (int64_t)(address - blocks[i].base);
        if (address >= blocks[i].base && before < blocks[i].nbytes) {
            return before + low >= 0 && before + high <= blocks[i].nbytes;
        }
    }
    return 0;
}

static void any_shape_anywhere_is_taken_exactly_if_it_lies_in_one_allocation(void **state) {
    (void)state;
    block blocks[model_blocks];
    unsigned seed = 20240611;
    for (int i = 0; i < model_blocks; ++i) {
        blocks[i].nbytes = 1 + next_random(&seed) / 16 % 3000;
        blocks[i].base = device_memory((size_t)blocks[i].nbytes);
    }
    int taken = 0;
    const int turns = 20000;
    for (int turn = 0; turn < turns; ++turn) {
        const block *aim = &blocks[next_random(&seed) / 16 % model_blocks];
        const CUdeviceptr address = aim->base + next_random(&seed) / 16 % (unsigned)(aim->nbytes + aim->nbytes / 8 + 1);
        const int64_t shape[2] = {1 + next_random(&seed) / 16 % 30, 1 + next_random(&seed) / 16 % 30};
        const int64_t strides[2] = {(int64_t)(next_random(&seed) / 16 % 61) - 30,
                                    (int64_t)(next_random(&seed) / 16 % 61) - 30};
        int64_t low = 0;
        int64_t high = 1;
        for (int i = 0; i < 2; ++i) {
            const int64_t reach = (shape[i] - 1) * strides[i];
            low += reach < 0 ? reach : 0;
            high += reach > 0 ? reach : 0;
        }
        via_array *array = NULL;
        const via_status status =
            via_wrap(at(address), VIA_UINT8, 2, shape, strides, VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &array);
        const int expected = fits(blocks, address, low, high);
        if ((status == VIA_OK) != expected || (!expected && status != VIA_ERROR_POINTER)) {
            fail_msg("turn %d: bytes %lld to %lld answered %s (%s); expected %s", turn, (long long)low, (long long)high,
                     via_status_name(status), via_last_error(), expected ? "an array" : "none");
        }
        taken += expected;
        via_array_release(array);
    }
    assert_int_in_range(taken, turns / 10, turns - turns / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(memory_named_rightly_is_taken),
        GPU_TEST(a_borrowed_memory_of_device_memory_ends_once),
        GPU_TEST(every_kind_of_memory_is_detected),
        GPU_TEST(detection_refuses_what_ends_too_early),
        GPU_TEST(nothing_is_detected_while_the_driver_cannot_be_asked),
        GPU_TEST(an_array_past_the_end_is_refused),
        GPU_TEST(negative_strides_must_not_reach_below_the_start),
        GPU_TEST(a_made_up_or_freed_address_is_refused),
        GPU_TEST(host_memory_is_refused_as_a_devices),
        GPU_TEST(another_kind_of_memory_is_refused),
        GPU_TEST(managed_memory_may_be_called_a_devices),
        GPU_TEST(memory_of_another_device_is_refused),
        GPU_TEST(a_device_that_there_is_not_is_refused_unchecked_too),
        GPU_TEST(an_array_without_elements_is_not_looked_up),
        GPU_TEST(host_memory_is_taken_on_trust_whatever_it_is),
        GPU_TEST(adjacent_mappings_carry_one_array),
        GPU_TEST(a_mapping_without_access_is_refused),
        GPU_TEST(a_mapping_that_may_only_be_read_makes_no_writable_array),
        GPU_TEST(a_check_is_one_question),
        GPU_TEST(pageable_memory_that_a_device_reaches_is_still_the_hosts),
        GPU_TEST(a_driver_that_fails_meanwhile_refuses_the_wrap_and_leaks_nothing),
        GPU_TEST(any_shape_anywhere_is_taken_exactly_if_it_lies_in_one_allocation),
    };
    return run_gpu_tests(tests);
}
