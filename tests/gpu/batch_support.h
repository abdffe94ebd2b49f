/* Batches of arrays of any layout that lie in few allocations, and what their destinations will hold. */
#ifndef VIADUCT_TESTS_GPU_BATCH_SUPPORT_H
#define VIADUCT_TESTS_GPU_BATCH_SUPPORT_H

#include "pending_copy.h"
#include "strided_support.h"

/* Memory of one place that arrays are carved from, one behind the other, and the bytes that it holds or will hold. */
typedef struct arena {
    place where;
    char *memory;
    char *mirror;
    int64_t bytes;
    int64_t used;
} arena;

static inline arena arena_on(place where, char *memory, int64_t bytes, unsigned seed) {
    arena made = {where, memory, malloc((size_t)bytes), bytes, 0};
    assert_non_null(made.mirror);
    fill_pattern(made.mirror, (size_t)bytes, seed);
    write_device(number_of(made.memory), made.mirror, (size_t)bytes);
    return made;
}

static inline arena new_arena(place where, int64_t bytes, unsigned seed) {
    return arena_on(where, place_memory(where, (size_t)bytes), bytes, seed);
}

static inline void end_arena(arena *gone) {
    free(gone->mirror);
    put_away(gone->memory);
}

static inline void refill_arena(arena *again, unsigned seed) {
    fill_pattern(again->mirror, (size_t)again->bytes, seed);
    write_device(number_of(again->memory), again->mirror, (size_t)again->bytes);
}

static inline int arena_holds_mirror(const arena *at) {
    char *found = malloc((size_t)at->bytes);
    assert_non_null(found);
    read_device(found, number_of(at->memory), (size_t)at->bytes);
    const int same = memcmp(found, at->mirror, (size_t)at->bytes) == 0;
    free(found);
    return same;
}

/* The offset of the first element, `shift` bytes behind what has been carved; -1 if there is no room. */
static inline int64_t carve(arena *from, const layout *at, int64_t shift) {
    const int64_t first = from->used + shift - at->low;
    if (first + at->high > from->bytes) {
        return -1;
    }
    from->used = first + at->high;
    return first;
}

static inline via_array *array_in(const arena *in, const shape *of, const layout *at, int64_t first) {
    via_array *array = NULL;
    ok(via_wrap(in->memory + first, dtype_of(of->item), of->ndim, of->extents, at->strides, place_type(in->where),
                in->where == OTHER_DEVICE ? 1 : 0, VIA_WRAP_BYTE_STRIDES, NULL, NULL, &array));
    return array;
}

/* Copies between arenas of all places. */
enum { most_entries = 2000 };

typedef struct entry {
    shape of;
    layout to;
    layout from;
    place dst;
    place src;
    int64_t dst_first;
    int64_t src_first;
} entry;

typedef struct bundle {
    arena dsts[PLACES];
    arena srcs[PLACES];
    entry entries[most_entries];
    via_array *dst_arrays[most_entries];
    via_array *src_arrays[most_entries];
    int32_t count;
} bundle;

static inline bundle *new_bundle(int64_t bytes) {
    bundle *made = calloc(1, sizeof *made);
    assert_non_null(made);
    for (place where = PAGEABLE; where < PLACES; ++where) {
        if (place_exists(where)) {
            made->dsts[where] = new_arena(where, bytes, 2);
            made->srcs[where] = new_arena(where, bytes, 3);
        }
    }
    return made;
}

static inline void assert_arena(const bundle *of, place where) {
    if (!arena_holds_mirror(&of->dsts[where])) {
        fail_msg("the destinations in %s memory are not what they should be", place_names[where]);
    }
}

/* What no copy goes to is looked at once: nothing has been written there. */
static inline void end_bundle(bundle *gone) {
    for (int32_t i = 0; i < gone->count; ++i) {
        via_array_release(gone->dst_arrays[i]);
        via_array_release(gone->src_arrays[i]);
    }
    for (place where = PAGEABLE; where < PLACES; ++where) {
        if (place_exists(where)) {
            if (gone->dsts[where].used == 0) {
                assert_arena(gone, where);
            }
            end_arena(&gone->dsts[where]);
            end_arena(&gone->srcs[where]);
        }
    }
    free(gone);
}

/* 0 if there is no room left. */
static inline int add_entry(bundle *to, entry given, int64_t dst_shift, int64_t src_shift) {
    given.dst_first = carve(&to->dsts[given.dst], &given.to, dst_shift);
    given.src_first = carve(&to->srcs[given.src], &given.from, src_shift);
    if (given.dst_first < 0 || given.src_first < 0 || to->count == most_entries) {
        return 0;
    }
    to->dst_arrays[to->count] = array_in(&to->dsts[given.dst], &given.of, &given.to, given.dst_first);
    to->src_arrays[to->count] = array_in(&to->srcs[given.src], &given.of, &given.from, given.src_first);
    to->entries[to->count++] = given;
    return 1;
}

static inline entry entry_of_bytes(place dst, place src, int64_t bytes) {
    const shape of = {1, 1, {bytes}};
    const layout at = dense_layout(&of, NULL);
    return (entry){of, at, at, dst, src, 0, 0};
}

static inline int add_bytes(bundle *to, place dst, place src, int64_t bytes) {
    return add_entry(to, entry_of_bytes(dst, src, bytes), random_between(0, 40), random_between(0, 40));
}

/* Other sources, and what the destinations will hold once they have been copied. */
static inline void expect_copies(bundle *of, unsigned seed) {
    for (place where = PAGEABLE; where < PLACES; ++where) {
        if (of->srcs[where].used > 0) {
            refill_arena(&of->srcs[where], seed + (unsigned)where);
        }
    }
    for (int32_t i = 0; i < of->count; ++i) {
        const entry *one = &of->entries[i];
        copy_naively(&one->of, &one->to, of->dsts[one->dst].mirror + one->dst_first, &one->from,
                     of->srcs[one->src].mirror + one->src_first);
    }
}

static inline void assert_copied(const bundle *of) {
    for (place where = PAGEABLE; where < PLACES; ++where) {
        if (of->dsts[where].used > 0) {
            assert_arena(of, where);
        }
    }
}

static inline via_batch *batch_of_bundle(const bundle *of) {
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    for (int32_t i = 0; i < of->count; ++i) {
        ok(via_batch_add(batch, of->dst_arrays[i], of->src_arrays[i]));
    }
    return batch;
}

#endif
