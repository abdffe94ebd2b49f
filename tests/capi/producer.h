/* A producer of DLPack tensors that can be made to break any rule, and knows whether its deleter has run. */
#ifndef VIADUCT_TESTS_PRODUCER_H
#define VIADUCT_TESTS_PRODUCER_H

#include <dlpack/dlpack.h>

#include "support.h"

typedef struct producer {
    DLManagedTensorVersioned tensor;
    DLManagedTensor legacy; /* the same tensor in the form before 1.0 */
    int64_t shape[VIA_MAX_NDIM + 1];
    int64_t strides[VIA_MAX_NDIM + 1];
    _Alignas(64) char memory[512];
    atomic_int deleted;
} producer;

static inline void delete_versioned(DLManagedTensorVersioned *self) {
    atomic_fetch_add(&((producer *)self->manager_ctx)->deleted, 1);
}

static inline void delete_legacy(DLManagedTensor *self) {
    atomic_fetch_add(&((producer *)self->manager_ctx)->deleted, 1);
}

static inline DLDataType dl_dtype(int32_t dtype) {
    return (DLDataType){(uint8_t)(dtype & 0xFF), (uint8_t)(dtype >> 8 & 0xFF), (uint16_t)(dtype >> 16)};
}

/* A well-behaved float32 (2, 3) of DLPack 1.3 in host memory, row-major. */
static inline void produce(producer *made) {
    memset(made, 0, sizeof *made);
    made->shape[0] = 2;
    made->shape[1] = 3;
    made->strides[0] = 3;
    made->strides[1] = 1;
    for (int32_t i = 0; i < LENGTH(made->memory); ++i) {
        made->memory[i] = (char)i;
    }
    made->tensor.version = (DLPackVersion){1, 3};
    made->tensor.manager_ctx = made;
    made->tensor.deleter = delete_versioned;
    made->tensor.dl_tensor = (DLTensor){.data = made->memory,
                                        .device = {kDLCPU, 0},
                                        .ndim = 2,
                                        .dtype = dl_dtype(VIA_FLOAT32),
                                        .shape = made->shape,
                                        .strides = made->strides};
    made->legacy.manager_ctx = made;
    made->legacy.deleter = delete_legacy;
}

/* Changes a tensor that is fine, before it is offered. */
typedef void (*change_fn)(producer *made);

static inline void produce_changed(producer *made, change_fn change) {
    produce(made);
    if (change != NULL) {
        change(made);
    }
    made->legacy.dl_tensor = made->tensor.dl_tensor;
}

#endif
