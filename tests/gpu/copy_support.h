/* What the tests of copies have in common: memory of every kind, as arrays of bytes between guards. */
#ifndef VIADUCT_TESTS_GPU_COPY_SUPPORT_H
#define VIADUCT_TESTS_GPU_COPY_SUPPORT_H

#include "support.h"

/* Where memory is. Registered memory is called the host's, as memory that somebody else has registered would be. */
typedef enum place { PAGEABLE, REGISTERED, PINNED, MANAGED, DEVICE, OTHER_DEVICE, PLACES } place;

static const char *const place_names[PLACES] = {"pageable", "registered", "pinned", "managed", "device", "other"};

static inline int32_t place_type(place where) {
    return where == PAGEABLE || where == REGISTERED ? VIA_DEVICE_CPU
           : where == PINNED                        ? VIA_DEVICE_CUDA_HOST
           : where == MANAGED                       ? VIA_DEVICE_CUDA_MANAGED
                                                    : VIA_DEVICE_CUDA;
}

static inline int place_exists(place where) { return where != OTHER_DEVICE || device_count() > 1; }

static inline int is_host_place(place where) { return where <= PINNED; }

static inline char *place_memory(place where, size_t bytes) {
    switch (where) {
        case PAGEABLE:
            return pageable_memory(bytes);
        case REGISTERED:
            return registered_memory(bytes);
        case PINNED:
            return pinned_memory(bytes);
        case MANAGED:
            return (char *)(uintptr_t)managed_memory(bytes);
        default:
            return (char *)(uintptr_t)device_memory_on(where == OTHER_DEVICE ? 1 : 0, bytes);
    }
}

/* `count` bytes of memory with a guard before and behind, and an array on them. */
enum { guard_bytes = 96 };

typedef struct block {
    place where;
    char *memory;
    char *data;
    int64_t count;
    via_array *array;
} block;

static inline CUdeviceptr number_of(const void *address) { return (CUdeviceptr)(uintptr_t)address; }

static inline via_array *wrap_block(const block *at, atomic_int *released) {
    return wrap_bytes(at->data, at->count, place_type(at->where), at->where == OTHER_DEVICE ? 1 : 0, released);
}

static inline block new_block(place where, int64_t count, atomic_int *released) {
    note("%s memory, %lld bytes", place_names[where], (long long)count);
    block made = {where, place_memory(where, (size_t)count + 2 * guard_bytes), NULL, count, NULL};
    made.data = made.memory + guard_bytes;
    made.array = wrap_block(&made, released);
    return made;
}

/* Releases the array alone; the memory goes at the end of the test, or with end_block. */
static inline void release_block(block *gone) {
    via_array_release(gone->array);
    gone->array = NULL;
}

static inline void end_block(block *gone) {
    release_block(gone);
    put_away(gone->memory);
}

/* The whole memory, guards included. */
static inline void write_block(const block *to, unsigned seed) {
    const size_t whole = (size_t)to->count + 2 * guard_bytes;
    char *bytes = malloc(whole);
    assert_non_null(bytes);
    memset(bytes, 0xEE, whole);
    fill_pattern(bytes + guard_bytes, (size_t)to->count, seed);
    write_device(number_of(to->memory), bytes, whole);
    free(bytes);
}

static inline int block_holds(const block *at, unsigned seed) {
    const size_t whole = (size_t)at->count + 2 * guard_bytes;
    char *found = malloc(whole);
    char *expected = malloc(whole);
    assert_true(found != NULL && expected != NULL);
    memset(expected, 0xEE, whole);
    fill_pattern(expected + guard_bytes, (size_t)at->count, seed);
    read_device(found, number_of(at->memory), whole);
    const int same = memcmp(found, expected, whole) == 0;
    free(found);
    free(expected);
    return same;
}

#define assert_block(at, seed) assert_true(block_holds((at), (seed)))

/* A pair of blocks of one size: the source with the pattern of seed 1, the destination with that of seed 2. */
typedef struct pair {
    block dst;
    block src;
} pair;

static inline void refill_pair(const pair *both) {
    write_block(&both->src, 1);
    write_block(&both->dst, 2);
}

/* Whatever is in the memory. */
static inline pair new_blank_pair(place dst, place src, int64_t count, atomic_int *released) {
    const pair made = {new_block(dst, count, released), new_block(src, count, released)};
    note("%s <- %s, %lld bytes", place_names[dst], place_names[src], (long long)count);
    return made;
}

static inline pair new_pair(place dst, place src, int64_t count) {
    const pair made = new_blank_pair(dst, src, count, NULL);
    refill_pair(&made);
    return made;
}

static inline void end_pair(pair *gone) {
    end_block(&gone->dst);
    end_block(&gone->src);
}

/* Calls visit with every pair of places that there is. */
static inline void for_each_pair(void (*visit)(place dst, place src)) {
    for (place dst = PAGEABLE; dst < PLACES; ++dst) {
        for (place src = PAGEABLE; src < PLACES; ++src) {
            if (place_exists(dst) && place_exists(src)) {
                visit(dst, src);
            }
        }
    }
}

/* The legacy streams of all devices: which of them is meant by NULL, the arrays decide. */
static inline void finish_legacy(void) {
    for (int device = 0; device < (device_count() > 1 ? 2 : 1); ++device) {
        CUcontext popped = NULL;
        cu_ok(cu(cuCtxPushCurrent)(primary(device)));
        finish(CU_STREAM_LEGACY);
        cu_ok(cu(cuCtxPopCurrent)(&popped));
    }
}

/* What is said to be done with a copy. */
static inline const char *explain(via_array *dst, via_array *src) {
    static char text[1024];
    int64_t length = 0;
    ok(via_copy_explain(dst, src, sizeof text, text, &length));
    return text;
}

/* Between the primary contexts of two devices, both ways; skips where they cannot reach each other. */
static inline void switch_peer_access(int on) {
    if (!can_reach(0, 1) || !can_reach(1, 0)) {
        skip();
    }
    for (int device = 0; device < 2; ++device) {
        CUcontext popped = NULL;
        CUcontext peer = primary(1 - device);
        cu_ok(cu(cuCtxPushCurrent)(primary(device)));
        cu_ok(on ? cu(cuCtxEnablePeerAccess)(peer, 0) : cu(cuCtxDisablePeerAccess)(peer));
        cu_ok(cu(cuCtxPopCurrent)(&popped));
    }
}

#define assert_explained(dst, src, words) assert_true(holds_words(explain((dst), (src)), (words)))

#endif
