/* A little of everything, in which nothing may fail. */
#include "scenario.h"

#include <dlpack/dlpack.h>

static void host_is_healthy(void) {
    double from[6] = {1, 2, 3, 4, 5, 6};
    double to[6] = {0};
    atomic_int released = 0;
    via_array *src = wrap_plain(from, VIA_FLOAT64, 2, SHAPE(2, 3), &released);
    via_array *dst = wrap_plain(to, VIA_FLOAT64, 2, SHAPE(3, 2), &released);
    via_array *transposed = NULL;
    via_array *taken = NULL;
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_array_permute(src, NULL, &transposed));
    ok(via_copy(dst, transposed));
    ok(via_to_dlpack(dst, NULL, NULL, &tensor));
    ok(via_from_dlpack(tensor, NULL, NULL, &taken));
    assert_memory_equal(via_array_data(taken), ((const double[]){1, 4, 2, 5, 3, 6}), sizeof to);
    via_array_release(taken);
    via_array_release(transposed);
    via_array_release(src);
    via_array_release(dst);
    assert_int_equal(released, 2);
}

/* To the device by one way and back by another. */
static void device_is_healthy(void) {
    enum { COUNT = 256 };
    unsigned char from[COUNT];
    unsigned char to[COUNT] = {0};
    fill_pattern(from, COUNT, 7);
    via_memory *memory = NULL;
    via_array *there = NULL;
    via_stream *stream = NULL;
    via_task *task = NULL;
    atomic_int released = 0;
    via_array *src = wrap_bytes(from, COUNT, VIA_DEVICE_CPU, 0, &released);
    via_array *dst = wrap_bytes(to, COUNT, VIA_DEVICE_CPU, 0, &released);
    ok(via_memory_create(VIA_MEMORY_DEVICE, 0, &memory));
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(COUNT), NULL, &there));
    ok(via_stream_create(0, &stream));
    ok(via_copy_async(there, src, stream));
    ok(via_copy_submit(dst, there, stream, &task));
    ok(via_task_wait(task));
    assert_pattern(to, COUNT, 7);
    via_task_release(task);
    via_array_release(src);
    via_array_release(dst);
    via_array_release(there);
    via_memory_release(memory);
    await_count(&released, 2);
    ok(via_stream_synchronize(stream));
    via_stream_release(stream);
}

void stay_healthy(int with_device) {
    host_is_healthy();
    if (with_device) {
        device_is_healthy();
    }
}
