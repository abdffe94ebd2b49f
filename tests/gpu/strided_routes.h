/* The ways there are to copy, each checked against the naive copy. */
#ifndef VIADUCT_TESTS_GPU_STRIDED_WAYS_H
#define VIADUCT_TESTS_GPU_STRIDED_WAYS_H

#include "strided_support.h"

static inline void copy_and_wait(via_array *dst, via_array *src, CUstream native) {
    (void)native;
    ok(via_copy(dst, src));
}

static inline void copy_on_stream(via_array *dst, via_array *src, CUstream native) {
    ok(via_copy_async(dst, src, wrap_native(native, 0)));
    finish(native);
}

static inline void copy_as_task(via_array *dst, via_array *src, CUstream native) {
    via_task *task = NULL;
    ok(via_copy_submit(dst, src, wrap_native(native, 0), &task));
    ok(via_task_wait(task));
    via_task_release(task);
}

static inline void copy_as_batch(via_array *dst, via_array *src, CUstream native) {
    ok(via_copy_batch(1, &dst, &src, wrap_native(native, 0)));
    finish(native);
}

static inline void copy_as_graph(via_array *dst, via_array *src, CUstream native) {
    ok(via_cuda_warmup(0));
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_copy_async(dst, src, wrap_native(native, 0)));
    CUgraphExec exec = instantiate(end_capture(native));
    launch(exec, native);
    put_away(exec);
}

static void (*const ways[])(via_array *, via_array *, CUstream) = {copy_and_wait, copy_on_stream, copy_as_task,
                                                                   copy_as_batch, copy_as_graph};

static inline void check_pair(strided_pair *both, int32_t way, CUstream native) {
    char *expected = expect_copy(&both->of, &both->dst, &both->src);
    ways[way](both->dst.array, both->src.array, native);
    if (!holds_bytes(&both->dst, expected)) {
        fail_msg("%s to %s, %s", place_names[both->src.memory.where], place_names[both->dst.memory.where],
                 explain(both->dst.array, both->src.array));
    }
    free(expected);
}

static inline void check_layouts(place to, place from, const shape *of, const layout *dst, const layout *src,
                                 int32_t way, CUstream native) {
    strided_pair both = new_strided_pair(to, from, of, dst, src);
    check_pair(&both, way, native);
    end_strided_pair(&both);
}

static inline void check_random_copy(const place *where, int64_t item, int64_t most_elements, int32_t way,
                                     CUstream native) {
    const shape of = random_shape(item, most_elements);
    const layout dst = random_layout(&of, 0);
    const layout src = random_layout(&of, 1);
    if (place_exists(where[0]) && place_exists(where[1])) {
        check_layouts(where[0], where[1], &of, &dst, &src, way, native);
    }
}

static const int64_t items[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 24, 32, 40, 64, 100};

static inline int64_t random_item(void) { return items[random_between(0, LENGTH(items) - 1)]; }

#endif
