/* Last writes: who waits for an array's content, and for what. */
#include "support.h"

#include <pthread.h>
#include <time.h>

static void *release_soon(void *stream) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    release(stream);
    return NULL;
}

/* Lets a held stream go from another thread, while this one waits for it. */
static pthread_t soon(CUstream stream) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, release_soon, stream), 0);
    return thread;
}

/* An export to a consumer on the stream, given back at once: what is left of it is the wait. */
static void export_to(via_array *array, via_stream *stream) {
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, stream, &tensor));
    via_dlpack_delete(tensor);
}

/* An array of device memory whose content the stream is still writing. */
static via_array *written_by(CUstream stream) {
    const CUdeviceptr memory = device_memory(64);
    via_array *array = wrap_device(memory, 64, NULL);
    hold(stream);
    cu_ok(cu(cuMemsetD8Async)(memory, 1, 64, stream));
    ok(via_array_set_ready(array, wrap_native(stream, 0)));
    return array;
}

static void an_export_makes_the_consumers_stream_wait_for_the_content(void **state) {
    (void)state;
    CUstream producer = new_stream();
    CUstream consumer = new_stream();
    via_array *array = written_by(producer);
    export_to(array, wrap_native(consumer, 0));
    assert_false(is_done(consumer));
    release(producer);
    finish(consumer);
    assert_device_bytes((CUdeviceptr)(uintptr_t)via_array_data(array), 64, 1);
    via_array_release(array);
}

static void none_means_the_legacy_stream(void **state) {
    (void)state;
    CUstream producer = new_stream();
    via_array *array = written_by(producer);
    export_to(array, NULL);
    assert_false(is_done(NULL));
    release(producer);
    finish(NULL);
    via_array_release(array);
}

static void no_sync_waits_for_nothing(void **state) {
    (void)state;
    CUstream producer = new_stream();
    CUstream consumer = new_stream();
    via_array *array = written_by(producer);
    export_to(array, via_stream_no_sync());
    assert_true(is_done(consumer) && is_done(NULL));
    release(producer);
    via_array_release(array);
}

static void content_that_is_there_is_not_waited_for(void **state) {
    (void)state;
    CUstream producer = new_stream();
    CUstream consumer = new_stream();
    via_array *array = written_by(producer);
    release(producer);
    finish(producer);
    hold(consumer);
    const int64_t before = on_fake_driver() ? fake(fake_call_count)("cuStreamWaitEvent") : 0;
    export_to(array, wrap_native(consumer, 0));
    if (on_fake_driver()) {
        assert_int_equal(fake(fake_call_count)("cuStreamWaitEvent"), before);
    }
    release(consumer);
    via_array_release(array);
}

static void use_is_not_ready(void **state) {
    (void)state;
    CUstream user = new_stream();
    CUstream consumer = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    hold(user);
    ok(via_array_record_stream(array, wrap_native(user, 0)));
    export_to(array, wrap_native(consumer, 0));
    assert_true(is_done(consumer));
    release(user);
    via_array_release(array);
}

static void the_point_is_marked_now_and_the_stream_is_not_kept(void **state) {
    (void)state;
    CUstream producer = new_stream();
    CUstream consumer = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    ok(via_array_set_ready(array, wrap_native(producer, 0)));
    ok(via_array_record_stream(array, wrap_native(producer, 0)));
    finish(producer);
    hold(producer);
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, producer));
    export_to(array, wrap_native(consumer, 0));
    finish(consumer);
    assert_false(is_done(producer));
    via_array_release(array);
    release(producer);
}

static void the_newest_fence_is_the_one_waited_for(void **state) {
    (void)state;
    CUstream first = new_stream();
    CUstream second = new_stream();
    CUstream consumer = new_stream();
    via_array *array = written_by(first);
    ok(via_array_set_ready(array, wrap_native(second, 0)));
    export_to(array, wrap_native(consumer, 0));
    finish(consumer);
    assert_false(is_done(first));
    release(first);
    via_array_release(array);
}

static void views_wait_as_their_parent_does(void **state) {
    (void)state;
    CUstream producer = new_stream();
    CUstream consumer = new_stream();
    via_array *array = written_by(producer);
    via_array *view = NULL;
    ok(via_array_slice(array, SHAPE(8), SHAPE(16), NULL, &view));
    via_array_release(array);
    export_to(view, wrap_native(consumer, 0));
    assert_false(is_done(consumer));
    release(producer);
    finish(consumer);
    via_array_release(view);
}

static void an_import_is_ready_after_the_streams_work_so_far(void **state) {
    (void)state;
    CUstream producer = new_stream();
    CUstream consumer = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, via_stream_no_sync(), &tensor));
    hold(producer);
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, producer));
    via_array *imported = NULL;
    ok(via_from_dlpack(tensor, NULL, wrap_native(producer, 0), &imported));
    export_to(imported, wrap_native(consumer, 0));
    assert_false(is_done(consumer));
    release(producer);
    finish(consumer);
    via_array_release(imported);
    via_array_release(array);
}

static void an_import_without_a_stream_is_ready(void **state) {
    (void)state;
    CUstream producer = new_stream();
    CUstream consumer = new_stream();
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, via_stream_no_sync(), &tensor));
    hold(producer);
    via_array *imported = NULL;
    ok(via_from_dlpack(tensor, NULL, via_stream_no_sync(), &imported));
    export_to(imported, wrap_native(consumer, 0));
    assert_true(is_done(consumer));
    release(producer);
    via_array_release(imported);
    via_array_release(array);
}

static void memory_that_the_cpu_reads_is_waited_for_on_the_host(void **state) {
    (void)state;
    CUstream producer = new_stream();
    const CUdeviceptr device = device_memory(64);
    char *pinned = pinned_memory(64);
    memset(pinned, 0, 64);
    write_pattern(device, 64, 3);
    via_array *array = wrap_bytes(pinned, 64, VIA_DEVICE_CUDA_HOST, 0, NULL);
    hold(producer);
    cu_ok(cu(cuMemcpyAsync)((CUdeviceptr)(uintptr_t)pinned, device, 64, producer));
    ok(via_array_set_ready(array, wrap_native(producer, 0)));
    const pthread_t other = soon(producer);
    export_to(array, NULL);
    assert_pattern(pinned, 64, 3);
    assert_int_equal(pthread_join(other, NULL), 0);
    via_array_release(array);
}

static void ordinary_host_memory_is_ordered_too(void **state) {
    (void)state;
    CUstream stream = new_stream();
    atomic_int released = 0;
    char values[16] = {0};
    via_array *array = wrap_bytes(values, 16, VIA_DEVICE_CPU, 0, &released);
    hold(stream);
    ok(via_array_record_stream(array, wrap_native(stream, 0)));
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 0);
    release(stream);
    await_count(&released, 1);
}

static void a_legacy_stream_is_that_of_the_arrays_device(void **state) {
    (void)state;
    need_two_devices();
    const CUdeviceptr memory = device_memory_on(1, 64);
    via_array *array = wrap_bytes((void *)(uintptr_t)memory, 64, VIA_DEVICE_CUDA, 1, NULL);
    CUstream consumer = new_stream();
    cu_ok(cu(cuCtxPushCurrent)(primary(1)));
    hold(NULL);
    CUcontext before = NULL;
    cu_ok(cu(cuCtxPopCurrent)(&before));
    ok(via_array_set_ready(array, via_stream_legacy()));
    export_to(array, wrap_native(consumer, 0));
    assert_false(is_done(consumer));
    assert_true(is_done(NULL));
    release(NULL);
    finish(consumer);
    via_array_release(array);
}

static void streams_that_are_none_are_refused(void **state) {
    (void)state;
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    refused(VIA_ERROR_INVALID_ARGUMENT, "stream|no_sync", via_array_record_stream(array, via_stream_no_sync()));
    refused(VIA_ERROR_INVALID_ARGUMENT, "stream|no_sync", via_array_set_ready(array, via_stream_no_sync()));
    refused(VIA_ERROR_INVALID_ARGUMENT, "stream is NULL", via_array_record_stream(array, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "stream is NULL", via_array_set_ready(array, NULL));
    via_array_release(array);
}

static void a_failure_of_the_driver_leaves_the_array_as_it_was(void **state) {
    (void)state;
    steer();
    atomic_int released = 0;
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    via_array *array = wrap_device(device_memory(64), 64, &released);
    hold(native);
    fake(fake_fail_at)("cuEventRecord", 1, CUDA_ERROR_LAUNCH_FAILED);
    refused(VIA_ERROR_CUDA, "via_array_record_stream|cuEventRecord", via_array_record_stream(array, stream));
    fake(fake_fail_at)("cuEventRecord", 1, CUDA_ERROR_LAUNCH_FAILED);
    refused(VIA_ERROR_CUDA, "via_array_set_ready|cuEventRecord", via_array_set_ready(array, stream));
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 1);
    release(native);
}

static void a_copy_that_cannot_be_marked_is_waited_for(void **state) {
    (void)state;
    steer();
    CUstream native = new_stream();
    const CUdeviceptr from = device_memory(64);
    const CUdeviceptr to = device_memory(64);
    via_array *src = wrap_device(from, 64, NULL);
    via_array *dst = wrap_device(to, 64, NULL);
    write_pattern(from, 64, 7);
    fake(fake_stream_delay)(native, 5000);
    fake(fake_fail_at)("cuEventRecord", 1, CUDA_ERROR_OUT_OF_MEMORY);
    ok(via_copy_async(dst, src, wrap_native(native, 0)));
    assert_int_equal(fake(fake_stream_pending)(native), 0);
    assert_device_pattern(to, 64, 7);
    via_array_release(src);
    via_array_release(dst);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(an_export_makes_the_consumers_stream_wait_for_the_content),
        GPU_TEST(none_means_the_legacy_stream),
        GPU_TEST(no_sync_waits_for_nothing),
        GPU_TEST(content_that_is_there_is_not_waited_for),
        GPU_TEST(use_is_not_ready),
        GPU_TEST(the_point_is_marked_now_and_the_stream_is_not_kept),
        GPU_TEST(the_newest_fence_is_the_one_waited_for),
        GPU_TEST(views_wait_as_their_parent_does),
        GPU_TEST(an_import_is_ready_after_the_streams_work_so_far),
        GPU_TEST(an_import_without_a_stream_is_ready),
        GPU_TEST(memory_that_the_cpu_reads_is_waited_for_on_the_host),
        GPU_TEST(ordinary_host_memory_is_ordered_too),
        GPU_TEST(a_legacy_stream_is_that_of_the_arrays_device),
        GPU_TEST(streams_that_are_none_are_refused),
        GPU_TEST(a_failure_of_the_driver_leaves_the_array_as_it_was),
        GPU_TEST(a_copy_that_cannot_be_marked_is_waited_for),
    };
    return run_gpu_tests(tests);
}
