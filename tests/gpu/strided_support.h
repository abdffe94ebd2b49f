/* Arrays of random layouts on any memory, and a naive copy between them to compare with. */
#ifndef VIADUCT_TESTS_GPU_STRIDED_SUPPORT_H
#define VIADUCT_TESTS_GPU_STRIDED_SUPPORT_H

#include "copy_support.h"

enum { most_axes = 8 };

/* The same numbers everywhere, so that a failure can be had again. */
static uint64_t random_state = 88172645463325252;

static inline int64_t random_between(int64_t low, int64_t high) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return low + (int64_t)(random_state % (uint64_t)(high - low + 1));
}

static inline int one_in(int64_t chances) { return random_between(1, chances) == 1; }

typedef struct shape {
    int32_t ndim;
    int64_t item; /* bytes of an element */
    int64_t extents[most_axes];
} shape;

static inline int64_t elements_of(const shape *of) {
    int64_t count = 1;
    for (int32_t i = 0; i < of->ndim; ++i) {
        count *= of->extents[i];
    }
    return count;
}

static inline shape random_shape(int64_t item, int64_t most_elements) {
    shape made = {(int32_t)random_between(1, 6), item, {0}};
    int64_t count = 1;
    for (int32_t i = 0; i < made.ndim; ++i) {
        const int64_t room = most_elements / count > 1 ? most_elements / count : 1;
        made.extents[i] = one_in(6) ? 1 : random_between(1, room < 70 ? room : 70);
        count *= made.extents[i];
    }
    return made;
}

/* Strides in bytes, and what they span on either side of the first element. */
typedef struct layout {
    int64_t strides[most_axes];
    int64_t low;
    int64_t high;
} layout;

static inline void measure(const shape *of, layout *made) {
    made->low = 0;
    made->high = of->item;
    for (int32_t i = 0; i < of->ndim; ++i) {
        const int64_t reach = (of->extents[i] - 1) * made->strides[i];
        *(reach < 0 ? &made->low : &made->high) += reach;
    }
}

static inline void shuffle(int32_t *order, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
        order[i] = count - 1 - i;
        const int32_t other = (int32_t)random_between(0, i);
        const int32_t kept = order[other];
        order[other] = order[i];
        order[i] = kept;
    }
}

/* Axes in any order, some backwards, some with gaps that need not be whole elements; of a source some stand still. */
static inline layout random_layout(const shape *of, int is_source) {
    layout made = {{0}, 0, 0};
    int32_t order[most_axes];
    shuffle(order, of->ndim);
    int64_t unit = of->item + (one_in(4) ? random_between(1, 2 * of->item) : 0);
    for (int32_t i = 0; i < of->ndim; ++i) {
        const int32_t axis = order[i];
        const int still = is_source && one_in(6);
        made.strides[axis] = still ? 0 : one_in(4) ? -unit : unit;
        unit = still ? unit : unit * of->extents[axis] + (one_in(4) ? random_between(1, 3 * of->item) : 0);
    }
    measure(of, &made);
    return made;
}

/* Row-major, with the axes in this order, the last the innermost; nullptr: as they are. */
static inline layout dense_layout(const shape *of, const int32_t *order) {
    layout made = {{0}, 0, 0};
    int64_t unit = of->item;
    for (int32_t i = of->ndim - 1; i >= 0; --i) {
        const int32_t axis = order != NULL ? order[i] : i;
        made.strides[axis] = unit;
        unit *= of->extents[axis];
    }
    measure(of, &made);
    return made;
}

/* An array in memory of its own with guards around it, which begins `shift` bytes off. */
typedef struct strided {
    block memory;
    char *first;
    layout at;
    via_array *array;
} strided;

static inline int32_t dtype_of(int64_t item) { return item == 1 ? VIA_UINT8 : via_dtype_record((int32_t)item); }

static inline via_array *wrap_layout(void *first, const shape *of, const layout *at, place where) {
    via_array *array = NULL;
    ok(via_wrap(first, dtype_of(of->item), of->ndim, of->extents, at->strides, place_type(where),
                where == OTHER_DEVICE ? 1 : 0, VIA_WRAP_BYTE_STRIDES, NULL, NULL, &array));
    return array;
}

static inline strided new_strided(place where, const shape *of, const layout *at, int64_t shift) {
    strided made = {new_block(where, at->high - at->low + shift, NULL), NULL, *at, NULL};
    made.first = made.memory.data + shift - at->low;
    made.array = wrap_layout(made.first, of, at, where);
    return made;
}

static inline void end_strided(strided *gone) {
    via_array_release(gone->array);
    end_block(&gone->memory);
}

static inline char *bytes_of(const strided *from) {
    const size_t whole = (size_t)from->memory.count + 2 * guard_bytes;
    char *bytes = malloc(whole);
    assert_non_null(bytes);
    read_device(bytes, number_of(from->memory.memory), whole);
    return bytes;
}

static inline void copy_naively(const shape *of, const layout *to, char *dst, const layout *from, const char *src) {
    const int64_t count = elements_of(of);
    for (int64_t number = 0; number < count; ++number) {
        int64_t rest = number, dst_offset = 0, src_offset = 0;
        for (int32_t i = of->ndim - 1; i >= 0; --i) {
            dst_offset += rest % of->extents[i] * to->strides[i];
            src_offset += rest % of->extents[i] * from->strides[i];
            rest /= of->extents[i];
        }
        memcpy(dst + dst_offset, src + src_offset, (size_t)of->item);
    }
}

/* What dst's memory, guards included, will be once src has been copied; freed by the caller. */
static inline char *expect_copy(const shape *of, const strided *dst, const strided *src) {
    char *expected = bytes_of(dst);
    char *given = bytes_of(src);
    copy_naively(of, &dst->at, expected + (dst->first - dst->memory.memory), &src->at,
                 given + (src->first - src->memory.memory));
    free(given);
    return expected;
}

static inline int holds_bytes(const strided *at, const char *expected) {
    char *found = bytes_of(at);
    const int same = memcmp(found, expected, (size_t)at->memory.count + 2 * guard_bytes) == 0;
    free(found);
    return same;
}

/* Two arrays of one shape with different content. */
typedef struct strided_pair {
    shape of;
    strided dst;
    strided src;
} strided_pair;

static inline strided_pair new_strided_pair(place to, place from, const shape *of, const layout *dst,
                                            const layout *src) {
    strided_pair made = {*of, new_strided(to, of, dst, one_in(2) ? random_between(0, 40) : 0),
                         new_strided(from, of, src, one_in(2) ? random_between(0, 40) : 0)};
    write_block(&made.src.memory, (unsigned)random_between(3, 1000));
    write_block(&made.dst.memory, 2);
    return made;
}

/* Transposed: element (i, j) of dst is (i, j) of src, whose columns are adjacent. */
static inline strided_pair new_transposed_pair(place to, place from, int64_t rows, int64_t columns, int64_t item) {
    const shape of = {2, item, {rows, columns}};
    const layout dst = dense_layout(&of, NULL);
    const layout src = dense_layout(&of, AXES(1, 0));
    return new_strided_pair(to, from, &of, &dst, &src);
}

/* The arrays alone; their memory goes at the end of the test. */
static inline void release_strided_pair(strided_pair *gone) {
    via_array_release(gone->dst.array);
    via_array_release(gone->src.array);
    release_block(&gone->dst.memory);
    release_block(&gone->src.memory);
}

static inline void end_strided_pair(strided_pair *gone) {
    end_strided(&gone->dst);
    end_strided(&gone->src);
}

#endif
