/* Tasks that a device has a part in: joins, callbacks, failures, releases and forks. The order of copies as such is the
 * subject of copy_submit.c. */
#include "../capi/child.h"
#include "pending_copy.h"

#include <sys/wait.h>
#include <unistd.h>

static via_task *submit(const pair *both, via_stream *stream) {
    via_task *task = NULL;
    ok(via_copy_submit(both->dst.array, both->src.array, stream, &task));
    return task;
}

static int has_ended(via_task *task) {
    int32_t done = 0;
    ok(via_task_poll(task, &done));
    return done;
}

static void end_task(via_task *task) {
    ok(via_task_wait(task));
    via_task_release(task);
}

static void progress_is_whole_once_the_device_has_done_it(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    hold(native);
    keep_busy(native);
    via_task *task = submit(&both, wrap_native(native, 0));
    int64_t done = -1;
    int64_t total = -1;
    ok(via_task_progress(task, &done, &total));
    assert_int_equal(done, 0);
    assert_int_equal(total, 5000);
    release(native);
    ok(via_task_wait(task));
    ok(via_task_progress(task, &done, &total));
    assert_int_equal(done, 5000);
    via_task_release(task);
    end_pair(&both);
}

typedef struct reported {
    atomic_int times;
    int32_t status;
    via_status wait_inside;
    via_task *other;
} reported;

static void report(int32_t status, const char *text, void *context) {
    reported *heard = context;
    (void)text;
    heard->status = status;
    heard->wait_inside = heard->other != NULL ? via_task_wait(heard->other) : VIA_OK;
    atomic_fetch_add(&heard->times, 1);
}

static void the_callback_comes_after_the_device(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    reported heard = {.status = -1};
    hold(native);
    keep_busy(native);
    via_task *task = submit(&both, wrap_native(native, 0));
    ok(via_task_on_complete(task, report, &heard));
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    assert_int_equal(heard.times, 0);
    release(native);
    await_count(&heard.times, 1);
    assert_int_equal(heard.status, VIA_OK);
    assert_true(has_ended(task));
    assert_block(&both.dst, 1);
    end_task(task);
    end_pair(&both);
}

static void a_callback_may_not_wait_for_a_task_that_a_stream_holds_up(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    pair other = new_pair(PAGEABLE, PAGEABLE, 5000);
    CUstream native = new_stream();
    hold(native);
    keep_busy(native);
    reported heard = {.status = -1, .other = submit(&both, wrap_native(native, 0))};
    via_task *task = submit(&other, NULL);
    ok(via_task_on_complete(task, report, &heard));
    await_count(&heard.times, 1);
    assert_int_equal(heard.wait_inside, VIA_ERROR_WOULD_DEADLOCK);
    release(native);
    end_task(heard.other);
    end_task(task);
    end_pair(&both);
    end_pair(&other);
}

/* A stream that is joined to a task cancelled before its turn still comes after what the task was to come after. */
static void what_joins_a_cancelled_task_is_reported(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream held = new_stream();
    CUstream later = new_stream();
    hold(held);
    keep_busy(held);
    via_task *task = submit(&both, wrap_native(held, 0));
    ok(via_task_cancel(task));
    refused(VIA_ERROR_CANCELLED, "via_task_join|cancelled", via_task_join(task, wrap_native(later, 0)));
    release(held);
    finish(later);
    via_task_release(task);
    assert_block(&both.dst, 2);
    end_pair(&both);
}

static void a_finished_task_joins_without_a_wait(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    via_task *task = submit(&both, NULL);
    ok(via_task_wait(task));
    hold(native);
    ok(via_task_join(task, wrap_native(native, 0)));
    ok(via_task_join(task, NULL));
    ok(via_task_join(task, via_stream_per_thread()));
    release(native);
    via_task_release(task);
    end_pair(&both);
}

static void releases_behind_a_task_are_counted_until_it_ends(void **state) {
    (void)state;
    atomic_int released = 0;
    block dst = new_block(DEVICE, 5000, &released);
    block src = new_block(PINNED, 5000, &released);
    CUstream native = new_stream();
    hold(native);
    keep_busy(native);
    via_stream *stream = wrap_native(native, 0);
    ok(via_copy_async(dst.array, src.array, stream));
    release_block(&dst);
    release_block(&src);
    assert_int_equal(stats_now().pending_releases, 2);
    assert_int_equal(stats_now().live_storages, 2);
    assert_int_equal(released, 0);
    release(native);
    await_count(&released, 2);
    finish(native);
}

static void a_failing_driver_is_what_the_task_reports(void **state) {
    (void)state;
    steer();
    pair both = new_pair(DEVICE, DEVICE, 5000);
    char before[256];
    for (int32_t late = 0; late < 2; ++late) {
        CUstream native = new_stream();
        via_task *task = NULL;
        refused(VIA_ERROR_INVALID_ARGUMENT, "task is NULL", via_task_wait(NULL));
        snprintf(before, sizeof before, "%s", via_last_error());
        if (late) {
            hold(native);
            keep_busy(native);
        }
        fake(fake_fail_at)("cuMemcpyDtoDAsync", 1, CUDA_ERROR_LAUNCH_FAILED);
        fake(fake_fail_at)("cuMemcpyAsync", 1, CUDA_ERROR_LAUNCH_FAILED);
        task = submit(&both, wrap_native(native, 0));
        assert_string_equal(via_last_error(), before);
        if (late) {
            release(native);
        }
        for (int32_t i = 0; i < 2; ++i) {
            refused(VIA_ERROR_CUDA, "via_task_wait: |CUDA_ERROR_LAUNCH_FAILED", via_task_wait(task));
            assert_int_equal(via_last_error_code(), CUDA_ERROR_LAUNCH_FAILED);
        }
        refused(VIA_ERROR_CUDA, "via_task_join|CUDA_ERROR_LAUNCH_FAILED", via_task_join(task, wrap_native(native, 0)));
        via_task_release(task);
        fake(fake_clear_faults)();
    }
    end_pair(&both);
}

static void use_tasks_of_the_parent(via_task *running, via_task *ended) {
    int32_t done = 0;
    CHECK(via_task_poll(running, &done) == VIA_OK && done == 1);
    CHECK(via_task_wait(running) == VIA_ERROR_FORKED);
    CHECK(strstr(via_last_error(), "forked") != NULL);
    CHECK(via_task_join(running, via_stream_legacy()) == VIA_ERROR_FORKED);
    CHECK(via_task_cancel(running) == VIA_OK);
    CHECK(via_task_wait(ended) == VIA_OK);
    via_task_release(running);
    via_task_release(ended);
}

static inline void use_a_task_of_the_childs_own(void) {
    static char bytes[2][1000];
    via_array *dst = NULL;
    via_array *src = NULL;
    via_task *task = NULL;
    memset(bytes[1], 7, sizeof bytes[1]);
    CHECK(via_wrap(bytes[0], VIA_INT8, 1, SHAPE(1000), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &dst) == VIA_OK);
    CHECK(via_wrap(bytes[1], VIA_INT8, 1, SHAPE(1000), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &src) == VIA_OK);
    CHECK(via_copy_submit(dst, src, NULL, &task) == VIA_OK);
    CHECK(via_task_wait(task) == VIA_OK);
    CHECK(memcmp(bytes[0], bytes[1], 1000) == 0);
}

static void fork_amid_tasks(void) {
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    pair both = new_pair(DEVICE, PINNED, 5000);
    pair other = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    hold(native);
    keep_busy(native);
    via_task *running = submit(&both, wrap_native(native, 0));
    via_task *ended = submit(&other, NULL);
    ok(via_task_wait(ended));
    const pid_t pid = fork_child();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(20);
        use_tasks_of_the_parent(running, ended);
#if !defined(__SANITIZE_THREAD__) /* it allows no threads there */
        use_a_task_of_the_childs_own();
#endif
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    release(native);
    end_task(running);
    via_task_release(ended);
    assert_block(&both.dst, 1);
    release_block(&both.dst);
    release_block(&both.src);
    release_block(&other.dst);
    release_block(&other.src);
}

static void a_forked_child_learns_that_the_parents_tasks_are_not_its_own(void **state) {
    (void)state;
    APART(fork_amid_tasks);
}

#if !defined(__SANITIZE_THREAD__) /* it allows no threads in a child */

static void lose_tasks_of_the_parent(via_task *const *tasks, via_array *used, atomic_int *released, reported *heard) {
    via_stats_info stats = VIA_STATS_INFO_INIT;
    via_array_release(used); /* makes the child look for what has ended */
    do {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        CHECK(via_stats(&stats) == VIA_OK);
    } while (stats.pending_tasks > 0);
    for (int i = 0; i < 2; ++i) {
        CHECK(via_task_wait(tasks[i]) == VIA_ERROR_FORKED);
        via_task_release(tasks[i]);
    }
    CHECK(atomic_load(&heard->times) == 0 && atomic_load(released) == 0);
}

static via_task *submit_batch(const pair *both) {
    via_batch *batch = NULL;
    via_task *task = NULL;
    ok(via_batch_create(&batch));
    ok(via_batch_add(batch, both->dst.array, both->src.array));
    ok(via_batch_submit(batch, NULL, &task));
    via_batch_release(batch);
    return task;
}

static void fork_amid_what_a_device_does(void) {
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    atomic_int released = 0;
    reported heard = {.status = -1};
    pair copied = new_blank_pair(DEVICE, DEVICE, 5000, &released);
    pair batched = new_blank_pair(DEVICE, DEVICE, 5000, &released);
    pair other = new_blank_pair(DEVICE, PINNED, 5000, NULL);
    end_task(submit(&other, NULL));
    fake(fake_hold_all)();
    fake(fake_set)(FAKE_HOLD_NEW, 1);
    via_task *tasks[] = {submit(&copied, NULL), submit_batch(&batched)};
    for (int i = 0; i < 2; ++i) {
        assert_false(has_ended(tasks[i]));
        ok(via_task_on_complete(tasks[i], report, &heard));
    }
    release_block(&copied.dst);
    release_block(&copied.src);
    release_block(&batched.dst);
    release_block(&batched.src);
    const pid_t pid = fork_child();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(20);
        lose_tasks_of_the_parent(tasks, other.dst.array, &released, &heard);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(heard.times, 0);
    fake(fake_set)(FAKE_HOLD_NEW, 0);
    fake(fake_release_all)();
    end_task(tasks[0]);
    end_task(tasks[1]);
    await_count(&heard.times, 2);
    await_count(&released, 4);
    release_block(&other.dst);
    release_block(&other.src);
}

static void what_a_device_does_for_the_parent_ends_no_task_in_a_forked_child(void **state) {
    (void)state;
    steer();
    APART(fork_amid_what_a_device_does);
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(progress_is_whole_once_the_device_has_done_it),
        GPU_TEST(the_callback_comes_after_the_device),
        GPU_TEST(a_callback_may_not_wait_for_a_task_that_a_stream_holds_up),
        GPU_TEST(what_joins_a_cancelled_task_is_reported),
        GPU_TEST(a_finished_task_joins_without_a_wait),
        GPU_TEST(releases_behind_a_task_are_counted_until_it_ends),
        GPU_TEST(a_failing_driver_is_what_the_task_reports),
        GPU_TEST(a_forked_child_learns_that_the_parents_tasks_are_not_its_own),
#if !defined(__SANITIZE_THREAD__)
        GPU_TEST(what_a_device_does_for_the_parent_ends_no_task_in_a_forked_child),
#endif
    };
    return run_gpu_tests(tests);
}
