/* Arrays that other processes may map, and their descriptions. */
#ifndef VIADUCT_TESTS_IPC_SUPPORT_H
#define VIADUCT_TESTS_IPC_SUPPORT_H

#include <fcntl.h>

#include "support.h"

typedef struct description {
    int64_t length;
    unsigned char bytes[VIA_IPC_MAX_BYTES];
} description;

static inline via_array *shared_array(int32_t dtype, int32_t ndim, const int64_t *shape) {
    via_memory *memory = NULL;
    via_array *array = NULL;
    ok(via_memory_create(VIA_MEMORY_SHARED, 0, &memory));
    ok(via_empty(memory, dtype, ndim, shape, NULL, &array));
    via_memory_release(memory);
    return array;
}

static inline description describe(via_array *array) {
    description made = {0};
    ok(via_array_export_ipc(array, sizeof made.bytes, made.bytes, &made.length));
    assert_int_in_range(made.length, 1, VIA_IPC_MAX_BYTES);
    return made;
}

static inline via_array *imported(const description *given) {
    via_array *array = NULL;
    ok(via_array_import_ipc(given->bytes, given->length, &array));
    return array;
}

static inline int open_descriptors(void) {
    int count = 0;
    for (int i = 0; i < 256; ++i) {
        count += fcntl(i, F_GETFD) != -1;
    }
    return count;
}

/* As whoever means to mislead would: the check of the bytes behind it (FNV-1a) is put right. */
static inline void put_check_right(description *changed) {
    enum { check_at = 8, first = 16 };
    uint64_t sum = 0xcbf29ce484222325;
    for (int64_t i = first; i < changed->length; ++i) {
        sum = (sum ^ changed->bytes[i]) * 0x100000001b3;
    }
    memcpy(changed->bytes + check_at, &sum, sizeof sum);
}

#endif
