/* via_copy_submit: truly behind the caller, after the stream's work so far, before its later work only if joined. */
#include "pending_copy.h"

static const place pairs[][2] = {
    {DEVICE, PINNED},    {PINNED, DEVICE},   {DEVICE, DEVICE}, {DEVICE, PAGEABLE},   {PAGEABLE, DEVICE},
    {MANAGED, PAGEABLE}, {PINNED, PAGEABLE}, {PINNED, PINNED}, {DEVICE, REGISTERED},
};

static int task_ended(via_task *task) {
    int32_t done = 0;
    ok(via_task_poll(task, &done));
    return done;
}

static via_task *submit(const pair *both, via_stream *stream) {
    via_task *task = NULL;
    ok(via_copy_submit(both->dst.array, both->src.array, stream, &task));
    assert_non_null(task);
    return task;
}

static void end_task(via_task *task) {
    ok(via_task_wait(task));
    via_task_release(task);
}

static void submit_after_a_stream(place dst, place src, int64_t count) {
    pair both = new_pair(dst, src, count);
    CUstream native = new_stream();
    hold(native);
    keep_busy(native);
    via_task *task = submit(&both, wrap_native(native, 0));
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    assert_false(task_ended(task));
    assert_block(&both.dst, 2);
    release(native);
    end_task(task);
    assert_block(&both.dst, 1);
    release_block(&both.dst);
    release_block(&both.src);
}

static void a_task_starts_after_the_streams_work_so_far(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        submit_after_a_stream(pairs[i][0], pairs[i][1], 5000);
        if (QUICK_OR(i % 3 == 0, 1)) {
            submit_after_a_stream(pairs[i][0], pairs[i][1], 24 << 20);
        }
    }
}

static void a_task_is_not_held_up_by_later_work(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    via_task *task = submit(&both, stream);
    hold(native);
    keep_busy(native);
    end_task(task);
    assert_false(is_done(native));
    release(native);
    finish(native);
    assert_block(&both.dst, 1);
    end_pair(&both);
}

/* The task waits for `writer`; the stream it was submitted with is free. */
static void later_work_of_the_stream_waits_only_if_it_is_joined(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream writer = new_stream();
    CUstream native = new_stream();
    hold(writer);
    keep_busy(writer);
    ok(via_array_set_ready(both.src.array, wrap_native(writer, 0)));
    via_task *task = submit(&both, wrap_native(native, 0));
    keep_busy(native);
    finish(native);
    assert_false(task_ended(task));
    release(writer);
    char *seen = pinned_memory(5000);
    ok(via_task_join(task, wrap_native(native, 0)));
    cu_ok(cu(cuMemcpyDtoHAsync)(seen, number_of(both.dst.data), 5000, native));
    finish(native);
    assert_pattern(seen, 5000, 1);
    end_task(task);
    end_pair(&both);
}

static void without_a_stream_a_task_waits_for_its_arrays_only(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    hold(NULL);
    keep_busy(NULL);
    end_task(submit(&both, NULL));
    assert_block(&both.dst, 1);
    refill_pair(&both);
    via_task *task = submit(&both, via_stream_legacy());
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    assert_false(task_ended(task));
    release(NULL);
    end_task(task);
    assert_block(&both.dst, 1);
    end_pair(&both);
}

static void a_task_waits_until_its_arrays_are_ready(void **state) {
    (void)state;
    for (int32_t i = 0; i < 2 * LENGTH(pairs); ++i) {
        pair both = new_pair(pairs[i / 2][0], pairs[i / 2][1], 5000);
        const block *pending = i % 2 == 0 ? &both.src : &both.dst;
        CUstream writer = new_stream();
        hold(writer);
        if (pending->where != PAGEABLE) {
            write_behind(pending, 3, writer);
        }
        keep_busy(writer);
        ok(via_array_set_ready(pending->array, wrap_native(writer, 0)));
        via_task *task = submit(&both, NULL);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        assert_false(task_ended(task));
        release(writer);
        end_task(task);
        assert_block(&both.dst, i % 2 == 0 && pending->where != PAGEABLE ? 3 : 1);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static void readers_wait_for_the_task(void **state) {
    (void)state;
    static const place places[] = {DEVICE, PINNED, PAGEABLE};
    for (int32_t i = 0; i < LENGTH(places); ++i) {
        pair both = new_pair(places[i], PAGEABLE, 5000);
        block last = new_block(PAGEABLE, 5000, NULL);
        write_block(&last, 5);
        CUstream native = new_stream();
        hold(native);
        keep_busy(native);
        via_task *task = submit(&both, wrap_native(native, 0));
        behind reader = {.dst = last.array, .src = both.dst.array, .call = call_copy};
        start_behind(&reader);
        assert_waits(&reader);
        release(native);
        end_behind(&reader);
        assert_block(&last, 1);
        end_task(task);
        release_block(&last);
        release_block(&both.dst);
        release_block(&both.src);
    }
}

static void tasks_on_one_array_run_one_after_the_other(void **state) {
    (void)state;
    pair first = new_pair(DEVICE, PAGEABLE, 300000);
    block last = new_block(PAGEABLE, 300000, NULL);
    for (int i = 0; i < 50; ++i) {
        refill_pair(&first);
        write_block(&last, 5);
        via_task *to = submit(&first, NULL);
        via_task *from = NULL;
        ok(via_copy_submit(last.array, first.dst.array, NULL, &from));
        end_task(from);
        end_task(to);
        assert_block(&last, 1);
    }
    end_block(&last);
    end_pair(&first);
}

static void both_arrays_are_held_by_the_task(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        atomic_int released = 0;
        pair both = new_blank_pair(pairs[i][0], pairs[i][1], 5000, &released);
        CUstream native = new_stream();
        via_task *task = NULL;
        hold(native);
        keep_busy(native);
        ok(via_copy_submit(both.dst.array, both.src.array, wrap_native(native, 0), &task));
        release_block(&both.dst);
        release_block(&both.src);
        via_task_release(task);
        assert_int_equal(atomic_load(&released), 0);
        release(native);
        await_count(&released, 2);
    }
}

static void a_task_cancelled_before_its_turn_touches_nothing(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        pair both = new_pair(pairs[i][0], pairs[i][1], 5000);
        CUstream native = new_stream();
        hold(native);
        keep_busy(native);
        via_task *task = submit(&both, wrap_native(native, 0));
        ok(via_task_cancel(task));
        refused(VIA_ERROR_CANCELLED, "cancelled", via_task_wait(task));
        release(native);
        finish(native);
        assert_block(&both.dst, 2);
        via_task_release(task);
        end_pair(&both);
    }
}

static void count_completion(int32_t status, const char *text, void *context) {
    if (status == VIA_OK && text[0] == '\0') {
        atomic_fetch_add((atomic_int *)context, 1);
    }
}

static void completion_is_reported_once(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        atomic_int reported = 0;
        pair both = new_pair(pairs[i][0], pairs[i][1], 3 << 20);
        via_task *task = submit(&both, NULL);
        ok(via_task_on_complete(task, count_completion, &reported));
        await_count(&reported, 1);
        end_task(task);
        assert_int_equal(atomic_load(&reported), 1);
        assert_block(&both.dst, 1);
        end_pair(&both);
    }
}

static void a_task_cannot_wait_for_a_captured_stream(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    via_task *task = NULL;
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, "captured",
            via_copy_submit(both.dst.array, both.src.array, wrap_native(native, 0), &task));
    assert_null(task);
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(node_count(end_capture(native)), 0);
    assert_block(&both.dst, 2);
    end_pair(&both);
}

static void without_a_driver(void) {
    static char bytes[2][100];
    via_array *dst = wrap_bytes(bytes[0], 100, VIA_DEVICE_CPU, 0, NULL);
    via_array *src = wrap_bytes(bytes[1], 100, VIA_DEVICE_CPU, 0, NULL);
    via_task *task = NULL;
    fill_pattern(bytes[1], 100, 1);
    ok(via_copy_submit(dst, src, NULL, &task));
    ok(via_task_wait(task));
    assert_pattern(bytes[0], 100, 1);
    refused(VIA_ERROR_UNSUPPORTED,
            "stream is NULL, the legacy stream; expected a usable CUDA driver: ", via_task_join(task, NULL));
    via_task_release(task);
    ok(via_copy_submit(dst, src, via_stream_legacy(), &task));
    ok(via_task_wait(task));
    via_task_release(task);
    memset(bytes[0], 0, 100);
    ok(via_copy_async(dst, src, NULL));
    assert_pattern(bytes[0], 100, 1);
    refused(VIA_ERROR_UNSUPPORTED, "a stream needs CUDA", via_copy_async(dst, src, via_stream_legacy()));
    refused(VIA_ERROR_UNSUPPORTED, "a stream needs CUDA", via_memcpy(bytes[0], bytes[1], 100, via_stream_legacy()));
    refused(VIA_ERROR_UNSUPPORTED, "a stream needs CUDA", via_fill(dst, NULL, via_stream_legacy()));
    ok(via_memcpy(bytes[0], bytes[1], 100, NULL));
    ok(via_copy(dst, src));
    via_array_release(dst);
    via_array_release(src);
}

static void copies_of_the_hosts_memory_are_tasks_without_a_driver_too(void **state) {
    (void)state;
    run_apart(without_a_driver, (const char *const[]){"VIADUCT_LIBCUDA=/nowhere/libcuda.so", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_task_starts_after_the_streams_work_so_far),
        GPU_TEST(a_task_is_not_held_up_by_later_work),
        GPU_TEST(later_work_of_the_stream_waits_only_if_it_is_joined),
        GPU_TEST(without_a_stream_a_task_waits_for_its_arrays_only),
        GPU_TEST(a_task_waits_until_its_arrays_are_ready),
        GPU_TEST(readers_wait_for_the_task),
        GPU_TEST(tasks_on_one_array_run_one_after_the_other),
        GPU_TEST(both_arrays_are_held_by_the_task),
        GPU_TEST(a_task_cancelled_before_its_turn_touches_nothing),
        GPU_TEST(completion_is_reported_once),
        GPU_TEST(a_task_cannot_wait_for_a_captured_stream),
        GPU_TEST(copies_of_the_hosts_memory_are_tasks_without_a_driver_too),
    };
    return run_gpu_tests(tests);
}
