/*
 * A native library that a Java service hands its frames to: it imports a frame as a DLPack tensor, picks one colour
 * out of it, puts that on the first GPU (in host memory where there is none), and exports the result back.
 */
#include <jni.h>
#include <stddef.h>
#include <stdint.h>

#include "viaduct/viaduct.h"

/* A place on the first device, or in host memory. */
static via_status choose_memory(via_memory **out_memory) {
    int32_t count = 0;
    via_status status = via_device_count(VIA_DEVICE_CUDA, &count);
    if (status != VIA_OK) {
        return status;
    }
    return via_memory_create(count > 0 ? VIA_MEMORY_DEVICE : VIA_MEMORY_HOST, 0, out_memory);
}

/* A dense copy of a strided view; the copy engine and the kernels of the library see to the strides. */
static via_status copy_to_memory(via_array *view, via_array **out_array) {
    via_memory *memory = NULL;
    via_status status = choose_memory(&memory);
    if (status == VIA_OK) {
        status = via_empty(memory, via_array_dtype(view), via_array_ndim(view), via_array_shape(view), NULL, out_array);
    }
    if (status == VIA_OK) {
        status = via_copy(*out_array, view);
    }
    via_memory_release(memory);
    return status;
}

/* Rows by columns by colours becomes rows by columns of one colour. */
static via_status keep_colour(via_array *frame, int64_t colour, struct DLManagedTensorVersioned **out_tensor) {
    via_array *view = NULL;
    via_array *kept = NULL;
    via_status status = via_array_select(frame, 2, colour, &view);
    if (status == VIA_OK) {
        status = copy_to_memory(view, &kept);
    }
    if (status == VIA_OK) {
        status = via_to_dlpack(kept, NULL, NULL, out_tensor);
    }
    via_array_release(kept);
    via_array_release(view);
    return status;
}

/* 0 for failure: via_last_error() of the thread says which, and Java asks for it. */
JNIEXPORT jlong JNICALL Java_example_FrameService_keepColour(JNIEnv *jenv, jclass owner, jlong tensor, jlong colour) {
    struct DLManagedTensorVersioned *taken = (struct DLManagedTensorVersioned *)(intptr_t)tensor;
    struct DLManagedTensorVersioned *kept = NULL;
    via_array *frame = NULL;
    (void)jenv;
    (void)owner;
    if (via_from_dlpack(taken, NULL, NULL, &frame) != VIA_OK) {
        via_dlpack_delete(taken);
        return 0;
    }
    if (keep_colour(frame, colour, &kept) != VIA_OK) {
        kept = NULL;
    }
    via_array_release(frame);
    return (jlong)(intptr_t)kept;
}
