/* Memory: who can touch what, and what becomes of it. */
#include <sys/mman.h>

#include "support.h"

enum { PATTERN = 0xCD };

static void host_code_cannot_touch_device_memory(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(8192);
    assert_int_equal(host_can_read((const void *)memory), 0);
    assert_int_equal(host_can_read((const void *)(memory + 8191)), 0);
    assert_int_equal(host_can_read(pinned_memory(64)), 1);
}

static void device_memory_has_nothing_on_either_side(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(4096);
    unsigned char byte;
    assert_int_equal(fake(fake_device_read)(memory - 1, &byte, 1), 0);
    assert_int_equal(fake(fake_device_read)(memory + 4096, &byte, 1), 0);
    assert_int_equal(fake(fake_device_read)(memory + 4095, &byte, 2), 0);
}

static void new_memory_holds_a_pattern_and_not_zeros(void **state) {
    (void)state;
    assert_int_equal(byte_at(device_memory(64)), PATTERN);
    assert_int_equal((unsigned char)pinned_memory(64)[63], PATTERN);
    CUdeviceptr managed = 0;
    ok(cu(cuMemAllocManaged)(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    assert_int_equal(*(unsigned char *)managed, PATTERN);
}

static void tests_read_and_write_device_memory_behind_the_drivers_back(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(64);
    char found[4] = {0};
    assert_int_equal(fake(fake_device_write)(memory + 60, "abcd", 4), 1);
    assert_int_equal(fake(fake_device_read)(memory + 60, found, 4), 1);
    assert_memory_equal(found, "abcd", 4);
    assert_int_equal(fake(fake_device_write)(memory + 61, "abcd", 4), 0);
}

static void copies_really_copy(void **state) {
    (void)state;
    char there[100], back[100] = {0};
    for (int i = 0; i < 100; ++i) {
        there[i] = (char)i;
    }
    const CUdeviceptr a = device_memory(100), b = device_memory(100);
    ok(cu(cuMemcpyHtoD)(a, there, 100));
    ok(cu(cuMemcpyDtoD)(b, a, 100));
    ok(cu(cuMemcpyDtoH)(back, b, 100));
    assert_memory_equal(there, back, 100);
}

static void rectangles_leave_the_gaps_alone(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(40);
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = "abcdef";
    copy.srcPitch = 3;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = memory;
    copy.dstPitch = 10;
    copy.dstXInBytes = 2;
    copy.dstY = 1;
    copy.WidthInBytes = 3;
    copy.Height = 2;
    ok(cu(cuMemcpy2D)(&copy));
    ok(cu(cuCtxSynchronize)());
    assert_int_equal(byte_at(memory + 11), PATTERN);
    assert_int_equal(byte_at(memory + 12), 'a');
    assert_int_equal(byte_at(memory + 15), PATTERN);
    assert_int_equal(byte_at(memory + 24), 'f');
}

static void solids_are_copied_plane_by_plane(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(64);
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = "abcdefgh";
    copy.srcPitch = 2;
    copy.srcHeight = 2;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = memory;
    copy.dstPitch = 4;
    copy.dstHeight = 4;
    copy.WidthInBytes = copy.Height = copy.Depth = 2;
    ok(cu(cuMemcpy3D)(&copy));
    ok(cu(cuCtxSynchronize)());
    assert_int_equal(byte_at(memory + 4), 'c');
    assert_int_equal(byte_at(memory + 16), 'e');
    assert_int_equal(byte_at(memory + 21), 'h');
    assert_int_equal(byte_at(memory + 2), PATTERN);
}

static void memsets_fill_units_and_rows(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(64);
    ok(cu(cuMemsetD32)(memory, 0x04030201, 2));
    ok(cu(cuMemsetD2D16)(memory + 16, 8, 0x0605, 2, 2));
    ok(cu(cuCtxSynchronize)());
    assert_int_equal(byte_at(memory + 7), 4);
    assert_int_equal(byte_at(memory + 8), PATTERN);
    assert_int_equal(byte_at(memory + 19), 6);
    assert_int_equal(byte_at(memory + 20), PATTERN);
    assert_int_equal(byte_at(memory + 24), 5);
}

static void a_batch_copies_all_of_its_entries(void **state) {
    (void)state;
    CUdeviceptr to[2] = {device_memory(8), device_memory(8)};
    CUdeviceptr from[2] = {device_memory(8), (CUdeviceptr)pinned_memory(8)};
    size_t sizes[2] = {8, 4}, first = 0;
    CUmemcpyAttributes attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    const CUstream stream = new_stream();
    fake(fake_device_write)(from[0], "abcdefgh", 8);
    fake(fake_device_write)(from[1], "ijklmnop", 8);
    ok(cu(cuMemcpyBatchAsync)(to, from, sizes, 2, &attributes, &first, 1, stream));
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(to[0] + 7), 'h');
    assert_int_equal(byte_at(to[1] + 3), 'l');
    assert_int_equal(byte_at(to[1] + 4), PATTERN);
}

static void freed_addresses_are_never_given_again(void **state) {
    (void)state;
    const CUdeviceptr first = device_memory(4096);
    ok(cu(cuMemFree)(first));
    for (int i = 0; i < 100; ++i) {
        const CUdeviceptr next = device_memory(4096);
        assert_true(next != first);
        ok(cu(cuMemFree)(next));
    }
    assert_int_equal(host_can_read((const void *)first), 0);
}

static void naming_freed_memory_is_refused_and_counted(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(64);
    ok(cu(cuMemFree)(memory));
    refused(CUDA_ERROR_INVALID_VALUE, cu(cuMemsetD8)(memory, 0, 64));
    assert_int_equal(fake(fake_misused)(FAKE_USE_AFTER_FREE), 1);
    refused(CUDA_ERROR_INVALID_VALUE, cu(cuMemFree)(memory));
    assert_int_equal(fake(fake_misused)(FAKE_DOUBLE_FREE), 1);
}

static void work_on_memory_freed_before_it_ran_poisons_the_process(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    fake(fake_set)(FAKE_FREE_WAITS, 0);
    fake(fake_stream_hold)(stream);
    ok(cu(cuMemsetD8Async)(memory, 0, 64, stream));
    ok(cu(cuMemFree)(memory));
    fake(fake_stream_release)(stream);
    refused(CUDA_ERROR_ILLEGAL_ADDRESS, cu(cuStreamSynchronize)(stream));
    assert_int_equal(fake(fake_misused)(FAKE_USE_AFTER_FREE), 1);
    CUdeviceptr more = 0;
    refused(CUDA_ERROR_ILLEGAL_ADDRESS, cu(cuMemAlloc)(&more, 64));
}

static void freeing_waits_for_the_device(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    fake(fake_stream_delay)(stream, 20000);
    ok(cu(cuMemsetD8Async)(memory, 0, 64, stream));
    ok(cu(cuMemFree)(memory));
    assert_int_equal(fake(fake_stream_pending)(stream), 0);
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

static void pool_memory_lives_in_stream_order(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    CUdeviceptr memory = 0;
    ok(cu(cuMemAllocAsync)(&memory, 64, stream));
    ok(cu(cuMemsetD8Async)(memory, 7, 64, stream));
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory), 7);
    ok(cu(cuMemFreeAsync)(memory, stream));
    refused(CUDA_ERROR_INVALID_VALUE, cu(cuMemFreeAsync)(memory, stream));
    assert_int_equal(fake(fake_misused)(FAKE_DOUBLE_FREE), 1);
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(fake(fake_live)(FAKE_POOL_ALLOCATIONS), 0);
}

static void pool_memory_used_before_its_allocation_ran_is_caught(void **state) {
    (void)state;
    const CUstream stream = new_stream(), other = new_stream();
    CUdeviceptr memory = 0;
    fake(fake_stream_hold)(stream);
    ok(cu(cuMemAllocAsync)(&memory, 64, stream));
    ok(cu(cuMemsetD8Async)(memory, 7, 64, other));
    refused(CUDA_ERROR_ILLEGAL_ADDRESS, cu(cuStreamSynchronize)(other));
    assert_int_equal(fake(fake_misused)(FAKE_USE_BEFORE_ALLOC), 1);
    fake(fake_stream_release)(stream);
}

static void *map_bytes(size_t bytes) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Linux gives those again that were given last; QEMU goes on to the next. */
static int addresses_are_given_again(size_t bytes) {
    void *first = map_bytes(bytes);
    assert_int_equal(munmap(first, bytes), 0);
    void *second = map_bytes(bytes);
    assert_int_equal(munmap(second, bytes), 0);
    return first == second;
}

static void locked_memory_that_is_unmapped_is_caught(void **state) {
    (void)state;
    const size_t bytes = 16 << 20;
    if (!addresses_are_given_again(bytes)) {
        skip();
    }
    void *memory = map_bytes(bytes);
    ok(cu(cuMemHostRegister)(memory, bytes, 0));
    assert_int_equal(munmap(memory, bytes), 0);
    CUdeviceptr device = 0;
    for (int turn = 0; turn < 64 && fake(fake_misused)(FAKE_UNMAPPED_WHILE_LOCKED) == 0; ++turn) {
        ok(cu(cuMemAlloc)(&device, 1 << 20));
    }
    assert_int_equal(fake(fake_misused)(FAKE_UNMAPPED_WHILE_LOCKED), 1);
}

static void adjacent_mappings_are_one_memory_to_work_on(void **state) {
    (void)state;
    CUmemAllocationProp properties;
    memset(&properties, 0, sizeof properties);
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t unit = 0;
    ok(cu(cuMemGetAllocationGranularity)(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUdeviceptr base = 0;
    ok(cu(cuMemAddressReserve)(&base, 2 * unit, 0, 0, 0));
    CUmemAccessDesc access;
    memset(&access, 0, sizeof access);
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    for (size_t i = 0; i < 2; ++i) {
        CUmemGenericAllocationHandle handle = 0;
        ok(cu(cuMemCreate)(&handle, unit, &properties, 0));
        ok(cu(cuMemMap)(base + i * unit, unit, 0, handle, 0));
        ok(cu(cuMemRelease)(handle));
    }
    ok(cu(cuMemSetAccess)(base, 2 * unit, &access, 1));
    ok(cu(cuMemsetD8)(base + unit - 2, 9, 4));
    ok(cu(cuCtxSynchronize)());
    assert_int_equal(byte_at(base + unit - 1), 9);
    assert_int_equal(byte_at(base + unit), 9);
    size_t size = 0;
    CUdeviceptr start = 0;
    ok(cu(cuMemGetAddressRange)(&start, &size, base + unit));
    assert_true(start == base + unit && size == unit);
    ok(cu(cuMemUnmap)(base, 2 * unit));
    ok(cu(cuMemAddressFree)(base, 2 * unit));
    assert_int_equal(
        fake(fake_live)(FAKE_MAPPINGS) + fake(fake_live)(FAKE_RESERVATIONS) + fake(fake_live)(FAKE_PHYSICAL_HANDLES),
        0);
}

static void a_device_runs_out_of_memory(void **state) {
    (void)state;
    fake(fake_set)(FAKE_DEVICE_MEMORY, 1 << 20);
    const CUdeviceptr most = device_memory(1 << 20);
    CUdeviceptr more = 0;
    refused(CUDA_ERROR_OUT_OF_MEMORY, cu(cuMemAlloc)(&more, 1));
    assert_int_equal(fake(fake_device_used)(0), 1 << 20);
    ok(cu(cuMemFree)(most));
    ok(cu(cuMemAlloc)(&more, 1));
}

static void registering_marks_exactly_the_bytes_given(void **state) {
    (void)state;
    char *memory = malloc(1000);
    unsigned int type = 0;
    ok(cu(cuMemHostRegister)(memory + 10, 100, 0));
    ok(cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)memory + 109));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    refused(CUDA_ERROR_INVALID_VALUE,
            cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)memory + 110));
    ok(cu(cuMemHostUnregister)(memory + 10));
    free(memory);
}

static void destroying_a_context_ends_its_memory(void **state) {
    (void)state;
    CUcontext context = NULL;
    ok(cu(cuCtxCreate)(&context, NULL, 0, 0));
    const CUdeviceptr memory = device_memory(64);
    const CUevent event = new_event();
    ok(cu(cuCtxDestroy)(context));
    refused(CUDA_ERROR_INVALID_VALUE, cu(cuMemsetD8)(memory, 0, 64));
    refused(CUDA_ERROR_INVALID_HANDLE, cu(cuEventQuery)(event));
    assert_int_equal(fake(fake_misused)(FAKE_EVENT_AFTER_DESTROY), 1);
    assert_int_equal(fake(fake_live)(FAKE_DEVICE_ALLOCATIONS) + fake(fake_live)(FAKE_EVENTS), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(host_code_cannot_touch_device_memory),
        TEST(device_memory_has_nothing_on_either_side),
        TEST(new_memory_holds_a_pattern_and_not_zeros),
        TEST(tests_read_and_write_device_memory_behind_the_drivers_back),
        TEST(copies_really_copy),
        TEST(rectangles_leave_the_gaps_alone),
        TEST(solids_are_copied_plane_by_plane),
        TEST(memsets_fill_units_and_rows),
        TEST(a_batch_copies_all_of_its_entries),
        TEST(freed_addresses_are_never_given_again),
        TEST(naming_freed_memory_is_refused_and_counted),
        TEST(work_on_memory_freed_before_it_ran_poisons_the_process),
        TEST(freeing_waits_for_the_device),
        TEST(pool_memory_lives_in_stream_order),
        TEST(pool_memory_used_before_its_allocation_ran_is_caught),
        TEST(adjacent_mappings_are_one_memory_to_work_on),
        TEST(a_device_runs_out_of_memory),
        TEST(locked_memory_that_is_unmapped_is_caught),
        TEST(registering_marks_exactly_the_bytes_given),
        TEST(destroying_a_context_ends_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
