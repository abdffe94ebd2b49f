/* The caller's own allocators of CUDA memory, with the stream that orders them. */
#include "support.h"

/* An allocator by the driver that remembers what it was asked. */
typedef struct allocator {
    int allocs;
    atomic_int frees; /* also by a thread of the library */
    atomic_int releases;
    void *alloc_stream;
    void *free_stream;
    void *freed;
    void *wrong; /* given instead of memory, if not NULL */
    int pinned;
} allocator;

static int32_t own_alloc(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    allocator *own = context;
    CUdeviceptr memory = 0;
    own->allocs++;
    own->alloc_stream = stream;
    assert_true(alignment == 64);
    if (own->wrong != NULL) {
        *out_address = own->wrong;
        return 0;
    }
    if (own->pinned) {
        return (int32_t)cu(cuMemHostAlloc)(out_address, (size_t)nbytes, CU_MEMHOSTALLOC_PORTABLE);
    }
    const CUresult result = cu(cuMemAlloc)(&memory, (size_t)nbytes);
    *out_address = (void *)(uintptr_t)memory;
    return (int32_t)result;
}

static void own_free(void *address, int64_t nbytes, void *stream, void *context) {
    allocator *own = context;
    assert_true(nbytes > 0);
    own->free_stream = stream;
    own->freed = address;
    own->frees++;
    if (own->wrong == NULL) {
        if (own->pinned) {
            cu(cuMemFreeHost)(address);
        } else {
            cu(cuMemFree)((CUdeviceptr)(uintptr_t)address);
        }
    }
}

static void own_release(void *context) { ((allocator *)context)->releases++; }

static via_memory *make_own(allocator *own, int32_t device_type) {
    via_memory *memory = NULL;
    ok(via_memory_create_custom(device_type, 0, own_alloc, own, own_free, own, own_release, own, &memory));
    assert_int_equal(via_memory_device_type(memory), device_type);
    return memory;
}

static void own_memory_is_asked_and_given_back_to(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = make_own(&own, VIA_DEVICE_CUDA);
    via_array *array = NULL;
    ok(via_empty(memory, VIA_FLOAT32, 1, SHAPE(16), NULL, &array));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CUDA);
    void *data = via_array_data(array);
    via_memory_release(memory);
    assert_int_equal(own.frees + own.releases, 0);
    via_array_release(array);
    assert_int_equal(own.frees, 1);
    assert_ptr_equal(own.freed, data);
    assert_int_equal(own.releases, 1);
    assert_null(own.alloc_stream);
    assert_null(own.free_stream);
    assert_int_equal(stats_now().device_bytes, 0);
}

static void own_pinned_memory_is_pinned_memory(void **state) {
    (void)state;
    allocator own = {.pinned = 1};
    via_memory *memory = make_own(&own, VIA_DEVICE_CUDA_HOST);
    via_array *array = NULL;
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(100), NULL, &array));
    memset(via_array_data(array), 1, 100);
    via_array_release(array);
    via_memory_release(memory);
    assert_int_equal(own.frees, 1);
}

static void nothing_is_asked_for_no_elements(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = make_own(&own, VIA_DEVICE_CUDA);
    via_array *array = NULL;
    ok(via_empty(memory, VIA_FLOAT32, 1, SHAPE(0), NULL, &array));
    via_array_release(array);
    via_memory_release(memory);
    assert_int_equal(own.allocs + own.frees, 0);
    assert_int_equal(own.releases, 1);
}

static void the_streams_handle_is_passed_on(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = make_own(&own, VIA_DEVICE_CUDA);
    via_stream *stream = NULL;
    ok(via_stream_create(0, &stream));
    void *native = via_stream_handle(stream);
    via_array *array = NULL;
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(64), stream, &array));
    assert_ptr_equal(own.alloc_stream, native);
    via_stream_release(stream);
    via_array_release(array);
    await_count(&own.frees, 1);
    assert_ptr_equal(own.free_stream, native);
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(64), via_stream_legacy(), &array));
    assert_ptr_equal(own.alloc_stream, CU_STREAM_LEGACY);
    via_array_release(array);
    await_count(&own.frees, 2);
    assert_ptr_equal(own.free_stream, CU_STREAM_LEGACY);
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(64), via_stream_no_sync(), &array));
    assert_null(own.alloc_stream);
    via_array_release(array);
    assert_null(own.free_stream);
    via_memory_release(memory);
    await_count(&own.releases, 1);
}

/* A stream that somebody else owns may be gone by then. */
static void a_foreign_stream_is_not_named_when_freeing(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = make_own(&own, VIA_DEVICE_CUDA);
    CUstream native = new_stream();
    via_array *array = NULL;
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(64), wrap_native(native, 0), &array));
    assert_ptr_equal(own.alloc_stream, native);
    finish(native);
    via_array_release(array);
    await_count(&own.frees, 1);
    assert_null(own.free_stream);
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(64), via_stream_per_thread(), &array));
    assert_ptr_equal(own.alloc_stream, CU_STREAM_PER_THREAD);
    cu_ok(cu(cuStreamSynchronize)(CU_STREAM_PER_THREAD));
    via_array_release(array);
    await_count(&own.frees, 2);
    assert_null(own.free_stream);
    via_memory_release(memory);
    await_count(&own.releases, 1);
}

static void memory_of_a_stream_is_ready_only_behind_its_work(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = make_own(&own, VIA_DEVICE_CUDA);
    CUstream native = new_stream();
    via_array *array = NULL;
    hold(native);
    const CUdeviceptr other = device_memory(64);
    cu_ok(cu(cuMemsetD8Async)(other, 1, 64, native));
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(64), wrap_native(native, 0), &array));
    via_array_release(array);
    assert_int_equal(own.frees, 0);
    assert_int_equal(stats_now().pending_releases, 1);
    release(native);
    await_count(&own.frees, 1);
    via_memory_release(memory);
    await_count(&own.releases, 1);
}

static void an_address_that_is_not_what_was_promised_is_given_back(void **state) {
    (void)state;
    static char ordinary[64];
    allocator own = {.wrong = ordinary};
    via_memory *memory = make_own(&own, VIA_DEVICE_CUDA);
    via_array *array = NULL;
    refused(VIA_ERROR_POINTER, "via_empty|the allocator's address|ordinary host memory",
            via_empty(memory, VIA_UINT8, 1, SHAPE(64), NULL, &array));
    assert_null(array);
    assert_int_equal(own.frees, 1);
    assert_ptr_equal(own.freed, ordinary);
    own.wrong = (void *)(uintptr_t)device_memory(32);
    refused(VIA_ERROR_POINTER, "the allocator's address|0 to 64|0 to 32",
            via_empty(memory, VIA_UINT8, 1, SHAPE(64), NULL, &array));
    own.wrong = pinned_memory(64);
    refused(VIA_ERROR_DEVICE, "the allocator's address|pinned",
            via_empty(memory, VIA_UINT8, 1, SHAPE(64), NULL, &array));
    assert_int_equal(own.frees, 3);
    via_memory_release(memory);
    assert_int_equal(own.releases, 1);
}

static int32_t failing_alloc(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    (void)nbytes, (void)alignment, (void)stream, (void)context, (void)out_address;
    return 12;
}

static void an_allocator_that_fails_is_reported_with_its_number(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = NULL;
    ok(via_memory_create_custom(VIA_DEVICE_CUDA, 0, failing_alloc, &own, own_free, &own, own_release, &own, &memory));
    via_array *array = NULL;
    refused(VIA_ERROR_CALLBACK, "via_empty|12|64 bytes", via_empty(memory, VIA_UINT8, 1, SHAPE(64), NULL, &array));
    assert_int_equal(own.frees, 0);
    via_memory_release(memory);
    assert_int_equal(own.releases, 1);
}

static void a_device_that_there_is_not_is_refused(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = NULL;
    refused(VIA_ERROR_DEVICE, "via_memory_create_custom|device_id",
            via_memory_create_custom(VIA_DEVICE_CUDA, device_count(), own_alloc, &own, own_free, &own, own_release,
                                     &own, &memory));
    refused(
        VIA_ERROR_DEVICE, "device_id is 1|expected 0",
        via_memory_create_custom(VIA_DEVICE_CUDA_HOST, 1, own_alloc, &own, own_free, &own, own_release, &own, &memory));
    assert_int_equal(own.releases, 0);
}

static void ask_with_every_call_failing(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    allocator own = {.wrong = (void *)(uintptr_t)device_memory(64)};
    via_memory *memory = make_own(&own, VIA_DEVICE_CUDA);
    via_stream *stream = wrap_native(new_stream(), 0);
    int failures = 0;
    for (int64_t n = 1;; ++n) {
        const int64_t injected = fake(fake_faults_injected)();
        const via_stats_info before = stats_now();
        via_array *array = NULL;
        own.allocs = 0;
        own.frees = 0;
        fake(fake_fail_at)(NULL, n, CUDA_ERROR_UNKNOWN);
        const via_status status = via_empty(memory, VIA_UINT8, 1, SHAPE(64), stream, &array);
        const int met = fake(fake_faults_injected)() > injected;
        fake(fake_clear_faults)();
        assert_true((status == VIA_OK) == (array != NULL));
        failures += status != VIA_OK;
        via_array_release(array);
        await_count(&own.frees, own.allocs);
        const via_stats_info after = stats_now();
        assert_true(same_stats(&before, &after));
        if (!met) {
            break;
        }
    }
    assert_true(failures >= 2);
    via_memory_release(memory);
    await_count(&own.releases, 1);
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

static void memory_is_given_back_whichever_call_fails(void **state) {
    (void)state;
    steer();
    APART(ask_with_every_call_failing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(own_memory_is_asked_and_given_back_to),
        GPU_TEST(own_pinned_memory_is_pinned_memory),
        GPU_TEST(nothing_is_asked_for_no_elements),
        GPU_TEST(the_streams_handle_is_passed_on),
        GPU_TEST(a_foreign_stream_is_not_named_when_freeing),
        GPU_TEST(memory_of_a_stream_is_ready_only_behind_its_work),
        GPU_TEST(an_address_that_is_not_what_was_promised_is_given_back),
        GPU_TEST(an_allocator_that_fails_is_reported_with_its_number),
        GPU_TEST(a_device_that_there_is_not_is_refused),
        GPU_TEST(memory_is_given_back_whichever_call_fails),
    };
    return run_gpu_tests(tests);
}
