/* Many copies as one: in stream order, or as a task. */
#include "pending_copy.h"

enum { COPIES = 6 };

static const place places[COPIES][2] = {
    {DEVICE, PINNED}, {PINNED, DEVICE}, {DEVICE, DEVICE}, {DEVICE, PAGEABLE}, {PAGEABLE, DEVICE}, {PAGEABLE, PAGEABLE},
};

/* Sizes that are staged, and such as are not. */
static int64_t size_of(int32_t i) { return i % 2 == 0 ? 3000 + i : (3 << 20) + i; }

static void make_pairs(pair *made) {
    for (int32_t i = 0; i < COPIES; ++i) {
        made[i] = new_pair(places[i][0], places[i][1], size_of(i));
    }
}

static via_batch *batch_of(pair *pairs) {
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    for (int32_t i = 0; i < COPIES; ++i) {
        ok(via_batch_add(batch, pairs[i].dst.array, pairs[i].src.array));
    }
    return batch;
}

static void expect_copied(pair *pairs) {
    for (int32_t i = 0; i < COPIES; ++i) {
        assert_block(&pairs[i].dst, 1);
        refill_pair(&pairs[i]);
    }
}

static void end_pairs(pair *pairs) {
    for (int32_t i = 0; i < COPIES; ++i) {
        end_pair(&pairs[i]);
    }
}

static void a_batch_runs_in_stream_order_and_again(void **state) {
    (void)state;
    pair pairs[COPIES];
    make_pairs(pairs);
    via_batch *batch = batch_of(pairs);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int32_t round = 0; round < 3; ++round) {
        ok(via_batch_run(batch, stream));
        finish(native);
        expect_copied(pairs);
    }
    via_batch_release(batch);
    end_pairs(pairs);
}

static void pairs_run_in_stream_order_without_a_batch(void **state) {
    (void)state;
    pair pairs[COPIES];
    via_array *dsts[COPIES];
    via_array *srcs[COPIES];
    make_pairs(pairs);
    for (int32_t i = 0; i < COPIES; ++i) {
        dsts[i] = pairs[i].dst.array;
        srcs[i] = pairs[i].src.array;
    }
    CUstream native = new_stream();
    ok(via_copy_batch(COPIES, dsts, srcs, wrap_native(native, 0)));
    finish(native);
    expect_copied(pairs);
    end_pairs(pairs);
}

static void a_batch_is_a_task_that_comes_after_the_streams_work(void **state) {
    (void)state;
    pair pairs[COPIES];
    make_pairs(pairs);
    via_batch *batch = batch_of(pairs);
    for (int32_t round = 0; round < 2; ++round) {
        CUstream native = new_stream();
        via_task *task = NULL;
        int32_t done = 7;
        hold(native);
        keep_busy(native);
        ok(via_batch_submit(batch, wrap_native(native, 0), &task));
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        ok(via_task_poll(task, &done));
        assert_int_equal(done, 0);
        for (int32_t i = 0; i < COPIES; ++i) {
            assert_block(&pairs[i].dst, 2);
        }
        release(native);
        ok(via_task_wait(task));
        int64_t moved = 0;
        int64_t total = -1;
        ok(via_task_progress(task, &moved, &total));
        assert_int_equal(moved, total);
        via_task_release(task);
        expect_copied(pairs);
    }
    via_batch_release(batch);
    end_pairs(pairs);
}

static void a_batch_waits_for_every_array(void **state) {
    (void)state;
    pair pairs[COPIES];
    make_pairs(pairs);
    via_batch *batch = batch_of(pairs);
    for (int32_t i = 0; i < 3; ++i) {
        CUstream writer = new_stream();
        via_task *task = NULL;
        int32_t done = 7;
        hold(writer);
        write_behind(&pairs[i].src, 1, writer);
        ok(via_array_set_ready(pairs[i].src.array, wrap_native(writer, 0)));
        ok(via_batch_submit(batch, NULL, &task));
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        ok(via_task_poll(task, &done));
        assert_int_equal(done, 0);
        release(writer);
        ok(via_task_wait(task));
        via_task_release(task);
        expect_copied(pairs);
    }
    via_batch_release(batch);
    end_pairs(pairs);
}

static void a_batch_and_its_tasks_hold_the_arrays(void **state) {
    (void)state;
    atomic_int released = 0;
    block dst = new_block(DEVICE, 5000, &released);
    block src = new_block(PINNED, 5000, &released);
    write_block(&src, 1);
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    ok(via_batch_add(batch, dst.array, src.array));
    release_block(&dst);
    release_block(&src);
    CUstream native = new_stream();
    via_task *task = NULL;
    hold(native);
    keep_busy(native);
    ok(via_batch_submit(batch, wrap_native(native, 0), &task));
    via_batch_release(batch);
    via_task_release(task);
    assert_int_equal(released, 0);
    release(native);
    await_count(&released, 2);
}

static void later_work_of_a_stream_waits_for_a_batch_that_is_joined(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    pair second = new_pair(DEVICE, DEVICE, 5000);
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    ok(via_batch_add(batch, both.dst.array, both.src.array));
    ok(via_batch_add(batch, second.dst.array, second.src.array));
    CUstream native = new_stream();
    via_task *task = NULL;
    ok(via_batch_submit(batch, NULL, &task));
    ok(via_task_join(task, wrap_native(native, 0)));
    char *seen = pinned_memory(5000);
    cu_ok(cu(cuMemcpyDtoHAsync)(seen, number_of(second.dst.data), 5000, native));
    finish(native);
    assert_pattern(seen, 5000, 1);
    ok(via_task_wait(task));
    via_task_release(task);
    via_batch_release(batch);
    end_pair(&both);
    end_pair(&second);
}

static void a_batch_may_reach_two_devices(void **state) {
    (void)state;
    need_two_devices();
    pair first = new_pair(DEVICE, PINNED, 5000);
    pair other = new_pair(OTHER_DEVICE, PINNED, 5000);
    pair across = new_pair(OTHER_DEVICE, DEVICE, 5000);
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    ok(via_batch_add(batch, first.dst.array, first.src.array));
    ok(via_batch_add(batch, other.dst.array, other.src.array));
    ok(via_batch_add(batch, across.dst.array, across.src.array));
    via_task *task = NULL;
    ok(via_batch_submit(batch, via_stream_legacy(), &task));
    ok(via_task_wait(task));
    assert_block(&first.dst, 1);
    assert_block(&other.dst, 1);
    assert_block(&across.dst, 1);
    via_task_release(task);
    via_batch_release(batch);
    end_pair(&first);
    end_pair(&other);
    end_pair(&across);
}

typedef struct failing {
    pair pairs[3];
    via_batch *batch;
} failing;

static failing new_failing(place dst, place src) {
    failing made;
    ok(via_batch_create(&made.batch));
    for (int32_t i = 0; i < 3; ++i) {
        made.pairs[i] = new_pair(dst, src, 5000);
        ok(via_batch_add(made.batch, made.pairs[i].dst.array, made.pairs[i].src.array));
    }
    return made;
}

static void end_failing(failing *gone) {
    via_batch_release(gone->batch);
    for (int32_t i = 0; i < 3; ++i) {
        end_pair(&gone->pairs[i]);
    }
}

static void a_copy_that_fails_is_named_and_what_came_before_it_is_done(void **state) {
    (void)state;
    steer();
    failing each = new_failing(DEVICE, PAGEABLE);
    via_task *task = NULL;
    fake(fake_fail_at)("cuMemcpyHtoDAsync", 2, CUDA_ERROR_INVALID_VALUE);
    ok(via_batch_submit(each.batch, NULL, &task));
    refused(VIA_ERROR_CUDA, "via_task_wait|copy 1 of 3|CUDA_ERROR_INVALID_VALUE", via_task_wait(task));
    fake(fake_clear_faults)();
    assert_block(&each.pairs[0].dst, 1);
    assert_block(&each.pairs[1].dst, 2);
    assert_block(&each.pairs[2].dst, 2);
    via_task_release(task);
    end_failing(&each);
}

static void copies_that_fail_together_are_numbered_and_none_is_done(void **state) {
    (void)state;
    need_kernels();
    steer();
    ok(via_cuda_warmup(0));
    failing all = new_failing(DEVICE, DEVICE);
    via_task *task = NULL;
    fake(fake_fail_at)("cuLaunchKernel", 1, CUDA_ERROR_INVALID_VALUE);
    ok(via_batch_submit(all.batch, NULL, &task));
    refused(VIA_ERROR_CUDA, "3 of 3 copies, done together|cuLaunchKernel", via_task_wait(task));
    fake(fake_fail_at)("cuLaunchKernel", 1, CUDA_ERROR_INVALID_VALUE);
    refused(VIA_ERROR_CUDA, "via_batch_run|3 of 3 copies, done together|cuLaunchKernel",
            via_batch_run(all.batch, via_stream_legacy()));
    fake(fake_clear_faults)();
    for (int32_t i = 0; i < 3; ++i) {
        assert_block(&all.pairs[i].dst, 2);
    }
    ok(via_batch_run(all.batch, via_stream_legacy()));
    finish_legacy();
    for (int32_t i = 0; i < 3; ++i) {
        assert_block(&all.pairs[i].dst, 1);
    }
    via_task_release(task);
    end_failing(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_batch_runs_in_stream_order_and_again),
        GPU_TEST(pairs_run_in_stream_order_without_a_batch),
        GPU_TEST(a_batch_is_a_task_that_comes_after_the_streams_work),
        GPU_TEST(a_batch_waits_for_every_array),
        GPU_TEST(a_batch_and_its_tasks_hold_the_arrays),
        GPU_TEST(later_work_of_a_stream_waits_for_a_batch_that_is_joined),
        GPU_TEST(a_batch_may_reach_two_devices),
        GPU_TEST(a_copy_that_fails_is_named_and_what_came_before_it_is_done),
        GPU_TEST(copies_that_fail_together_are_numbered_and_none_is_done),
    };
    return run_gpu_tests(tests);
}
