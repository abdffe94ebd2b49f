/* Two matrices to copy between, wherever they are. */
#ifndef VIADUCT_TESTS_FAULT_MATRICES_H
#define VIADUCT_TESTS_FAULT_MATRICES_H

#include "../gpu/copy_support.h"
#include "scenario.h"

/* A matrix of 4-byte elements on either side. */
static place to_place;
static place from_place;
static int64_t rows;
static int64_t columns;
static int transposed; /* the source lies column by column */
static int32_t *to;
static int32_t *from;
static CUstream native;

static inline int64_t bytes_of_matrix(void) { return rows * columns * 4; }

/* Either is memory of the driver's, or the host's own. */
static inline void write_at(void *address, const void *given, int64_t bytes) {
    if (!fake(fake_device_write)((uint64_t)(uintptr_t)address, given, (size_t)bytes)) {
        memcpy(address, given, (size_t)bytes);
    }
}

static inline void read_at(void *out, const void *address, int64_t bytes) {
    if (!fake(fake_device_read)((uint64_t)(uintptr_t)address, out, (size_t)bytes)) {
        memcpy(out, address, (size_t)bytes);
    }
}

static inline void prepare_matrix(place dst, place src, int64_t height, int64_t width, int lies_transposed) {
    to_place = dst;
    from_place = src;
    rows = height;
    columns = width;
    transposed = lies_transposed;
    to = (int32_t *)(void *)place_memory(dst, (size_t)bytes_of_matrix());
    from = (int32_t *)(void *)place_memory(src, (size_t)bytes_of_matrix());
    native = new_stream();
    int32_t *numbers = malloc((size_t)bytes_of_matrix());
    for (int64_t i = 0; i < rows * columns; ++i) {
        numbers[i] = (int32_t)i;
    }
    write_at(from, numbers, bytes_of_matrix());
    memset(numbers, 0x55, (size_t)bytes_of_matrix());
    write_at(to, numbers, bytes_of_matrix());
    free(numbers);
}

static inline int has_arrived(void) {
    int32_t *found = malloc((size_t)bytes_of_matrix());
    read_at(found, to, bytes_of_matrix());
    int right = 1;
    for (int64_t i = 0; i < rows && right; ++i) {
        for (int64_t j = 0; j < columns && right; ++j) {
            right = found[i * columns + j] == (int32_t)(transposed ? j * rows + i : i * columns + j);
        }
    }
    free(found);
    return right;
}

static inline via_status export_matrix(int32_t *address, place where, int lies_transposed, via_array **out_array) {
    owner *who = new_owner(address, bytes_of_matrix());
    const int64_t *strides = lies_transposed ? SHAPE(1, rows) : NULL;
    const via_status status =
        look_at_status(via_wrap(address, VIA_INT32, 2, SHAPE(rows, columns), strides, place_type(where),
                                where == OTHER_DEVICE, 0, report_owner, who, out_array),
                       "via_wrap(...)");
    who->exported = status == VIA_OK;
    return status;
}

typedef struct two {
    via_array *dst;
    via_array *src;
} two;

static inline via_status export_two(two *out) {
    via_status status = VIA_OK;
    THEN(export_matrix(to, to_place, 0, &out->dst));
    THEN(export_matrix(from, from_place, transposed, &out->src));
    return status;
}

static inline void release_two(two *gone) {
    via_array_release(gone->dst);
    via_array_release(gone->src);
}

#define PREPARE(name, dst, src, height, width, lies_transposed) \
    static inline void prepare_##name(void) { prepare_matrix((dst), (src), (height), (width), (lies_transposed)); }

PREPARE(host, PAGEABLE, PAGEABLE, 300, 1200, 0)
PREPARE(host_transposed, PAGEABLE, PAGEABLE, 300, 1200, 1)
PREPARE(staged_to_device, DEVICE, PAGEABLE, 1, 5 << 17, 0)
PREPARE(within_device, DEVICE, DEVICE, 1, 1250, 0)
PREPARE(transposed_to_device, DEVICE, PINNED, 200, 300, 1)
PREPARE(transposed_to_host, PAGEABLE, DEVICE, 200, 300, 1)
PREPARE(transposed_to_peer, OTHER_DEVICE, DEVICE, 20, 30, 1)

#endif
