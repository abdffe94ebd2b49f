/* Tasks that copy between two host arrays, of bytes that repeat after a prime number of them. */
#ifndef VIADUCT_TESTS_TASK_SUPPORT_H
#define VIADUCT_TESTS_TASK_SUPPORT_H

#include <unistd.h>

#include "support.h"

/* Large enough to be seen on the way. */
enum { LARGE = 16 << 20, SMALL = 1 << 12 };

static inline via_task *submit(via_array *dst, via_array *src, via_stream *stream) {
    via_task *task = NULL;
    ok(via_copy_submit(dst, src, stream, &task));
    assert_non_null(task);
    return task;
}

static inline void wait_and_release(via_task *task) {
    ok(via_task_wait(task));
    via_task_release(task);
}

/* Two blocks of memory and their arrays; the bytes of the first repeat after a prime number of them. */
typedef struct pair {
    unsigned char *from;
    unsigned char *to;
    via_array *src;
    via_array *dst;
    int64_t size;
    atomic_int released;
} pair;

static inline void make_pair(pair *made, int64_t size) {
    memset(made, 0, sizeof *made);
    made->size = size;
    made->from = malloc((size_t)size);
    made->to = calloc((size_t)size, 1);
    enum { PERIOD = 65521 };
    for (int64_t i = 0; i < size && i < PERIOD; ++i) {
        made->from[i] = (unsigned char)(i * 7 + (i >> 8));
    }
    for (int64_t i = PERIOD; i < size; i += PERIOD) {
        memcpy(made->from + i, made->from, (size_t)(size - i < PERIOD ? size - i : PERIOD));
    }
    made->src = wrap_plain(made->from, VIA_UINT8, 1, SHAPE(size), &made->released);
    made->dst = wrap_plain(made->to, VIA_UINT8, 1, SHAPE(size), &made->released);
}

static inline void release_arrays(pair *made) {
    via_array_release(made->src);
    via_array_release(made->dst);
}

static inline void expect_copied(const pair *made) { assert_memory_equal(made->to, made->from, (size_t)made->size); }

/* The arrays are gone, with whatever was still waited for. */
static inline void end_pair(pair *made) {
    for (int32_t i = 0; i < 10000 && made->released != 2; ++i) {
        usleep(1000);
    }
    assert_int_equal(made->released, 2);
    free(made->from);
    free(made->to);
}

#endif
