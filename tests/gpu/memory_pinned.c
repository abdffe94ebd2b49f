/* Pinned memory that is large: mapped and registered by the library, which is faster than the driver's allocator. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../capi/child.h"
#include "memory_support.h"

enum { large = (8 << 20) + 4321 };

static via_array *make_pinned(int64_t count) {
    via_memory *memory = make(VIA_MEMORY_PINNED, 0);
    via_array *array = make_bytes(memory, count, NULL);
    via_memory_release(memory);
    return array;
}

static CUdeviceptr address_of(via_array *array) { return (CUdeviceptr)(uintptr_t)via_array_data(array); }

/* Whether the process has memory there; the address need not be one of a page. */
static int is_mapped(const void *address) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return msync((void *)((uintptr_t)address / page * page), page, MS_ASYNC) == 0;
}

static int64_t registrations(void) { return on_fake_driver() ? fake(fake_live)(FAKE_HOST_REGISTRATIONS) : 0; }

static void a_large_block_is_pinned_memory_like_any_other(void **state) {
    (void)state;
    const int64_t before = registrations();
    via_array *array = make_pinned(large);
    char *bytes = via_array_data(array);
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    ok(via_pointer_query(bytes + large - 1, &info));
    assert_int_equal(info.device_type, VIA_DEVICE_CUDA_HOST);
    assert_ptr_equal(info.base_address, bytes);
    assert_int_equal(info.nbytes, large);
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CUDA_HOST);
    assert_int_equal((uintptr_t)bytes % (2 << 20), 0);
    assert_int_equal(stats_now().pinned_bytes, large);
    assert_int_equal(registrations(), on_fake_driver() ? before + 1 : 0);
    fill_pattern(bytes, large, 5);
    assert_device_pattern(address_of(array), large, 5);
    via_array_release(array);
    assert_int_equal(stats_now().pinned_bytes, 0);
    assert_int_equal(registrations(), before);
    assert_false(is_mapped(bytes));
    assert_false(is_mapped(bytes + large - 1));
}

static void a_large_block_begins_as_zeros_and_is_copied_in_stream_order(void **state) {
    (void)state;
    CUstream stream = new_stream();
    via_stream *handle = wrap_native(stream, 0);
    const CUdeviceptr device = device_memory(large);
    via_array *array = make_pinned(large);
    via_array *source = wrap_device(device, large, NULL);
    assert_bytes(via_array_data(array), large, 0);
    write_pattern(device, large, 6);
    hold(stream);
    ok(via_copy_async(array, source, handle));
    assert_bytes(via_array_data(array), large, 0);
    release(stream);
    finish(stream);
    assert_pattern(via_array_data(array), large, 6);
    via_array_release(array);
    via_array_release(source);
}

/* Kept until the copy that writes it has run, though nobody owns it any more. */
static void a_large_block_outlives_the_copies_to_it(void **state) {
    (void)state;
    CUstream stream = new_stream();
    via_array *array = make_pinned(large);
    const CUdeviceptr device = device_memory(large);
    const char *bytes = via_array_data(array);
    hold(stream);
    cu_ok(cu(cuMemcpyDtoHAsync)(via_array_data(array), device, large, stream));
    ok(via_array_record_stream(array, wrap_native(stream, 0)));
    via_array_release(array);
    assert_true(is_mapped(bytes));
    assert_int_equal(stats_now().pinned_bytes, large);
    release(stream);
    assert_true(eventually(no_bytes_counted, NULL));
    assert_false(is_mapped(bytes));
}

static void where_nothing_can_be_registered_the_driver_allocates(void **state) {
    (void)state;
    steer();
    const int64_t before = registrations();
    refused(VIA_ERROR_INVALID_ARGUMENT, "array is NULL", via_array_synchronize(NULL));
    fake(fake_fail_at)("cuMemHostRegister", 1, CUDA_ERROR_NOT_SUPPORTED);
    via_array *array = make_pinned(large);
    fake(fake_clear_faults)();
    assert_int_equal(registrations(), before);
    assert_int_equal(fake(fake_live)(FAKE_PINNED_ALLOCATIONS), 1);
    assert_true(holds_words(via_last_error(), "array is NULL"));
    fill_pattern(via_array_data(array), large, 5);
    assert_device_pattern(address_of(array), large, 5);
    via_array_release(array);
    assert_int_equal(fake(fake_live)(FAKE_PINNED_ALLOCATIONS), 0);
}

/* Addresses that the driver still takes for locked pages are nobody else's. */
static void a_large_block_that_the_driver_does_not_released_stays_mapped(void **state) {
    (void)state;
    steer();
    const int64_t before = registrations();
    via_array *array = make_pinned(large);
    const char *bytes = via_array_data(array);
    fake(fake_fail_at)("cuMemHostUnregister", -1, CUDA_ERROR_UNKNOWN);
    via_array_release(array);
    fake(fake_clear_faults)();
    assert_int_equal(registrations(), before + 1);
    assert_true(is_mapped(bytes) && is_mapped(bytes + large - 1));
    assert_true(no_bytes_counted(NULL));
    cu_ok(cu(cuMemHostUnregister)((void *)(uintptr_t)bytes));
    assert_int_equal(munmap((void *)(uintptr_t)bytes, large), 0);
}

static void a_small_block_and_one_too_large_are_the_drivers(void **state) {
    (void)state;
    steer();
    const int64_t before = registrations();
    const int64_t too_large = sysconf(_SC_PHYS_PAGES) * INT64_C(4096) * 2;
    via_array *array = make_pinned(1 << 20);
    assert_int_equal(registrations(), before);
    assert_int_equal(fake(fake_live)(FAKE_PINNED_ALLOCATIONS), 1);
    via_array_release(array);
    via_memory *memory = make(VIA_MEMORY_PINNED, 0);
    fake(fake_fail_at)("cuMemHostAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
    refused(VIA_ERROR_OUT_OF_MEMORY, "via_empty|cuMemHostAlloc|CUDA_ERROR_OUT_OF_MEMORY",
            via_empty(memory, VIA_UINT8, 1, &too_large, NULL, &array));
    fake(fake_clear_faults)();
    via_memory_release(memory);
}

static void CUDA_CB release_array(void *array) { via_array_release(array); }

static void a_large_block_released_inside_a_callback_is_freed_elsewhere(void **state) {
    (void)state;
    CUstream stream = new_stream();
    const int64_t before = registrations();
    via_array *array = make_pinned(large);
    const char *bytes = via_array_data(array);
    cu_ok(cu(cuLaunchHostFunc)(stream, release_array, array));
    finish(stream);
    assert_true(eventually(no_bytes_counted, NULL));
    assert_false(is_mapped(bytes));
    assert_int_equal(registrations(), before);
}

static void a_capture_survives_a_large_block(void **state) {
    (void)state;
    CUstream stream = new_stream();
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    via_array_release(make_pinned(large));
    assert_int_equal(capture_status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(stream);
}

static void a_thread_without_context_has_a_large_block(void **state) {
    (void)state;
    CUcontext current = primary(0);
    cu_ok(cu(cuCtxSetCurrent)(NULL));
    via_array_release(make_pinned(large));
    cu_ok(cu(cuCtxGetCurrent)(&current));
    assert_null(current);
}

/* The registration goes with its context, and only the mapping is left to be undone. */
static void a_large_block_of_a_destroyed_context_is_released(void **state) {
    (void)state;
    skip_where_all_must_be_freed();
    CUcontext own = new_context();
    via_array *array = make_pinned(large);
    const char *bytes = via_array_data(array);
    cu_ok(cu(cuCtxDestroy)(own));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    fill_pattern(via_array_data(array), large, 1);
    via_array_release(array);
    assert_false(is_mapped(bytes));
    assert_int_equal(stats_now().pinned_bytes, 0);
}

static void reset_under_a_large_block(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    via_array *array = make_pinned(large);
    const char *bytes = via_array_data(array);
    assert_int_equal(registrations(), on_fake_driver());
    cu_ok(cu(cuDevicePrimaryCtxReset)(0));
    via_array_release(array);
    assert_false(is_mapped(bytes));
    via_array_release(make_pinned(large));
    assert_true(no_bytes_counted(NULL));
    assert_int_equal(on_fake_driver() ? fake(fake_misuse_total)() : 0, 0);
}

static void a_large_block_of_a_context_that_was_reset_is_released_and_a_new_one_is_had(void **state) {
    (void)state;
    skip_where_all_must_be_freed();
    APART(reset_under_a_large_block);
}

/* In the child nothing of cmocka's may be used. What the child maps where the block is in its parent, it keeps. */
static int release_in_child(via_array *array, char *bytes) {
    if (is_mapped(bytes)) {
        return 1;
    }
    void *own = mmap(bytes, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (own != bytes) {
        return 2;
    }
    bytes[0] = 7;
    via_array_release(array);
    return is_mapped(bytes) && bytes[0] == 7 && stats_now().pinned_bytes == 0 ? 0 : 3;
}

static void fork_next_to_a_large_block(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    via_array *array = make_pinned(large);
    char *bytes = via_array_data(array);
    fill_pattern(bytes, large, 5);
    const pid_t pid = fork_child();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(release_in_child(array, bytes));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_device_pattern(address_of(array), large, 5);
    via_array_release(array);
    assert_false(is_mapped(bytes));
}

/* Whether the system keeps pages from a child that are marked for that. QEMU does not hand the mark on. */
static int pages_are_kept_from_children(void) {
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED && madvise(page, 4096, MADV_DONTFORK) == 0);
    const pid_t pid = fork_child();
    if (pid == 0) {
        _exit(is_mapped(page));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    munmap(page, 4096);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void a_forked_child_has_no_part_in_a_large_block(void **state) {
    (void)state;
    if (!pages_are_kept_from_children()) {
        skip();
    }
    APART(fork_next_to_a_large_block);
}

static void allocate_with_every_call_failing(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    via_memory *memory = make(VIA_MEMORY_PINNED, 0);
    via_array_release(make_bytes(memory, large, NULL));
    int64_t injected = 0;
    for (int64_t n = 1; n == 1 || injected > 0; ++n) {
        const int64_t count = large;
        const int64_t before = fake(fake_faults_injected)();
        via_array *array = NULL;
        fake(fake_fail_at)(NULL, n, CUDA_ERROR_UNKNOWN);
        const via_status status = via_empty(memory, VIA_UINT8, 1, &count, NULL, &array);
        fake(fake_clear_faults)();
        injected = fake(fake_faults_injected)() - before;
        assert_true((status == VIA_OK) == (array != NULL));
        via_array_release(array);
        assert_int_equal(registrations() + fake(fake_live)(FAKE_PINNED_ALLOCATIONS), 0);
        assert_true(no_bytes_counted(NULL));
    }
    via_memory_release(memory);
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

static void a_large_block_leaks_nothing_whichever_call_fails(void **state) {
    (void)state;
    steer();
    APART(allocate_with_every_call_failing);
}

static void *churn(void *context) {
    (void)context;
    for (int turn = 0; turn < 8; ++turn) {
        via_array *array = make_pinned(large + 4096 * turn);
        memset(via_array_data(array), turn, large);
        via_array_release(array);
    }
    return NULL;
}

static void many_threads_have_large_blocks_at_once(void **state) {
    (void)state;
    pthread_t threads[4];
    for (int32_t i = 0; i < LENGTH(threads); ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, NULL), 0);
    }
    for (int32_t i = 0; i < LENGTH(threads); ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_true(no_bytes_counted(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_large_block_is_pinned_memory_like_any_other),
        GPU_TEST(a_large_block_begins_as_zeros_and_is_copied_in_stream_order),
        GPU_TEST(a_large_block_outlives_the_copies_to_it),
        GPU_TEST(where_nothing_can_be_registered_the_driver_allocates),
        GPU_TEST(a_large_block_that_the_driver_does_not_released_stays_mapped),
        GPU_TEST(a_small_block_and_one_too_large_are_the_drivers),
        GPU_TEST(a_large_block_released_inside_a_callback_is_freed_elsewhere),
        GPU_TEST(a_capture_survives_a_large_block),
        GPU_TEST(a_thread_without_context_has_a_large_block),
        GPU_TEST(a_large_block_of_a_destroyed_context_is_released),
        GPU_TEST(a_large_block_of_a_context_that_was_reset_is_released_and_a_new_one_is_had),
        GPU_TEST(a_forked_child_has_no_part_in_a_large_block),
        GPU_TEST(a_large_block_leaks_nothing_whichever_call_fails),
        GPU_TEST(many_threads_have_large_blocks_at_once),
    };
    return run_gpu_tests(tests);
}
