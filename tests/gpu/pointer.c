/* What an address points to: via_pointer_query. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>

#include "mapping.h"

static void *at(CUdeviceptr address) { return (void *)(uintptr_t)address; }

static via_pointer_info query(const void *address) {
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    ok(via_pointer_query(address, &info));
    return info;
}

static void assert_place(const void *address, int32_t device_type, int32_t device_id, const void *base,
                         int64_t nbytes) {
    const via_pointer_info info = query(address);
    assert_int_equal(info.device_type, device_type);
    assert_int_equal(info.device_id, device_id);
    assert_ptr_equal(info.base_address, base);
    assert_int_equal(info.nbytes, nbytes);
    assert_int_equal(info.read_only, 0);
}

static void assert_unknown(const void *address) {
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    info.device_id = 77;
    refused(VIA_ERROR_POINTER, "via_pointer_query|address", via_pointer_query(address, &info));
    assert_int_equal(info.device_id, 77);
}

static void device_memory_is_reported_with_its_allocation(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(1000);
    assert_place(at(memory), VIA_DEVICE_CUDA, 0, at(memory), 1000);
    assert_place(at(memory + 999), VIA_DEVICE_CUDA, 0, at(memory), 1000);
}

static void memory_of_another_device_is_reported_with_its_number(void **state) {
    (void)state;
    need_two_devices();
    const CUdeviceptr memory = device_memory_on(1, 64);
    assert_place(at(memory + 10), VIA_DEVICE_CUDA, 1, at(memory), 64);
    cu_ok(cu(cuCtxSetCurrent)(NULL));
    assert_place(at(memory + 10), VIA_DEVICE_CUDA, 1, at(memory), 64);
}

static void freed_memory_is_no_memory(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(8 << 20);
    put_away_memory(memory);
    assert_unknown(at(memory));
}

static void a_made_up_address_is_no_memory(void **state) {
    (void)state;
    assert_unknown(NULL);
    assert_unknown((void *)64);
    assert_unknown((void *)(uintptr_t)0x7f00dead00000000u);
}

static void pinned_memory_is_distinguished_from_pageable(void **state) {
    (void)state;
    char *pinned = pinned_memory(1000);
    assert_place(pinned, VIA_DEVICE_CUDA_HOST, 0, pinned, 1000);
    assert_place(pinned + 999, VIA_DEVICE_CUDA_HOST, 0, pinned, 1000);
    char *pageable = pageable_memory(4096);
    assert_int_equal(query(pageable).device_type, VIA_DEVICE_CPU);
    assert_int_equal(query(state).device_type, VIA_DEVICE_CPU);
}

static void registration_is_asked_to_the_byte(void **state) {
    (void)state;
    char *pages = pageable_memory(8192);
    cu_ok(cu(cuMemHostRegister)(pages + 100, 1000, 0));
    assert_place(pages + 100, VIA_DEVICE_CUDA_HOST, 0, pages + 100, 1000);
    assert_place(pages + 1099, VIA_DEVICE_CUDA_HOST, 0, pages + 100, 1000);
    assert_int_equal(query(pages + 99).device_type, VIA_DEVICE_CPU);
    assert_int_equal(query(pages + 1100).device_type, VIA_DEVICE_CPU);
    cu_ok(cu(cuMemHostUnregister)(pages + 100));
    assert_int_equal(query(pages + 100).device_type, VIA_DEVICE_CPU);
}

static void registered_pages_that_became_read_only_are_reported(void **state) {
    (void)state;
    char *pages = registered_memory(8192);
    assert_int_equal(query(pages).read_only, 0);
    assert_int_equal(mprotect(pages, 8192, PROT_READ), 0);
    const via_pointer_info info = query(pages);
    assert_int_equal(info.device_type, VIA_DEVICE_CUDA_HOST);
    assert_int_equal(info.read_only, 1);
    assert_int_equal(mprotect(pages, 8192, PROT_READ | PROT_WRITE), 0);
}

static void managed_memory_is_neither_device_nor_host(void **state) {
    (void)state;
    const CUdeviceptr memory = managed_memory(1000);
    assert_place(at(memory + 5), VIA_DEVICE_CUDA_MANAGED, 0, at(memory), 1000);
}

static void pool_memory_is_that_of_its_device(void **state) {
    (void)state;
    CUstream stream = new_stream();
    CUdeviceptr memory = 0;
    cu_ok(cu(cuMemAllocAsync)(&memory, 1000, stream));
    assert_place(at(memory), VIA_DEVICE_CUDA, 0, at(memory), 1000);
    cu_ok(cu(cuMemFreeAsync)(memory, stream));
    finish(stream);
}

static void a_mapping_is_reported_and_not_what_was_reserved(void **state) {
    (void)state;
    mapping range = reserve(3);
    map_piece(&range, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    const CUdeviceptr piece = piece_of(&range, 1);
    assert_place(at(piece + 7), VIA_DEVICE_CUDA, 0, at(piece), (int64_t)range.unit);
    assert_unknown(at(range.base));
    assert_unknown(at(piece_of(&range, 2)));
    unreserve(&range);
}

static void a_mapping_that_may_only_be_read_is_reported(void **state) {
    (void)state;
    steer(); /* not every driver grants reading alone */
    mapping range = reserve(1);
    map_piece(&range, 0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    assert_int_equal(query(at(range.base)).read_only, 1);
    unreserve(&range);
}

static void a_thread_without_context_may_ask(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(64);
    mapping range = reserve(1);
    map_piece(&range, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    cu_ok(cu(cuCtxSetCurrent)(NULL));
    assert_place(at(memory), VIA_DEVICE_CUDA, 0, at(memory), 64);
    assert_place(at(range.base), VIA_DEVICE_CUDA, 0, at(range.base), (int64_t)range.unit);
    CUcontext current = NULL;
    cu_ok(cu(cuCtxGetCurrent)(&current));
    assert_null(current);
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    unreserve(&range);
}

static void asking_does_not_disturb_a_capture(void **state) {
    (void)state;
    CUstream stream = new_blocking_stream();
    const CUdeviceptr memory = device_memory(64);
    mapping range = reserve(1);
    map_piece(&range, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(query(at(memory)).device_type, VIA_DEVICE_CUDA);
    assert_int_equal(query(at(range.base)).device_type, VIA_DEVICE_CUDA);
    assert_int_equal(query(state).device_type, VIA_DEVICE_CPU);
    assert_int_equal(capture_status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(stream);
    unreserve(&range);
}

static void with_a_driver_that_fails(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUdeviceptr memory = device_memory(64);
    const void *const addresses[] = {at(memory), pinned_memory(64), at(managed_memory(64)), &memory, NULL};
    assert_int_equal(query(at(memory)).device_type, VIA_DEVICE_CUDA);
    fake(fake_fail_at)("cuPointerGetAttributes", -1, CUDA_ERROR_NOT_PERMITTED);
    for (int i = 0; i < LENGTH(addresses); ++i) {
        via_pointer_info info = VIA_POINTER_INFO_INIT;
        info.device_id = 77;
        refused(VIA_ERROR_CUDA, "via_pointer_query|cuPointerGetAttributes|CUDA_ERROR_NOT_PERMITTED",
                via_pointer_query(addresses[i], &info));
        assert_int_equal(info.device_id, 77);
    }
    fake(fake_clear_faults)();
    fake(fake_fail_at)("cuPointerGetAttributes", -1, CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(query(&memory).device_type, VIA_DEVICE_CPU);
    assert_unknown(NULL);
    fake(fake_clear_faults)();
    fake(fake_poison)(CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_place(at(memory), VIA_DEVICE_CUDA, 0, at(memory), 64);
}

static void no_memory_is_the_hosts_while_the_driver_cannot_be_asked(void **state) {
    (void)state;
    steer();
    APART(with_a_driver_that_fails);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(device_memory_is_reported_with_its_allocation),
        GPU_TEST(memory_of_another_device_is_reported_with_its_number),
        GPU_TEST(freed_memory_is_no_memory),
        GPU_TEST(a_made_up_address_is_no_memory),
        GPU_TEST(pinned_memory_is_distinguished_from_pageable),
        GPU_TEST(registration_is_asked_to_the_byte),
        GPU_TEST(registered_pages_that_became_read_only_are_reported),
        GPU_TEST(managed_memory_is_neither_device_nor_host),
        GPU_TEST(pool_memory_is_that_of_its_device),
        GPU_TEST(a_mapping_is_reported_and_not_what_was_reserved),
        GPU_TEST(a_mapping_that_may_only_be_read_is_reported),
        GPU_TEST(a_thread_without_context_may_ask),
        GPU_TEST(asking_does_not_disturb_a_capture),
        GPU_TEST(no_memory_is_the_hosts_while_the_driver_cannot_be_asked),
    };
    return run_gpu_tests(tests);
}
