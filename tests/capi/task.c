/* Tasks between host arrays: they need no device. */
#include <pthread.h>

#include "task_support.h"

static void a_copy_runs_as_a_task_after_no_stream_and_after_any_shared_one(void **state) {
    (void)state;
    via_stream *streams[] = {NULL, via_stream_legacy(), via_stream_per_thread(), via_stream_no_sync()};
    for (int32_t i = 0; i < LENGTH(streams); ++i) {
        pair made;
        make_pair(&made, SMALL);
        via_task *task = submit(made.dst, made.src, streams[i]);
        ok(via_task_wait(task));
        expect_copied(&made);
        int32_t done = 0;
        ok(via_task_poll(task, &done));
        assert_int_equal(done, 1);
        via_task_release(task);
        release_arrays(&made);
        end_pair(&made);
    }
}

static void a_strided_copy_is_a_task_too(void **state) {
    (void)state;
    int32_t from[6] = {0, 1, 2, 3, 4, 5};
    int32_t to[6] = {0};
    via_array *rows = wrap_plain(from, VIA_INT32, 2, SHAPE(2, 3), NULL);
    via_array *columns = NULL;
    ok(via_array_permute(rows, NULL, &columns));
    via_array *dst = wrap_plain(to, VIA_INT32, 2, SHAPE(3, 2), NULL);
    wait_and_release(submit(dst, columns, NULL));
    const int32_t expected[6] = {0, 3, 1, 4, 2, 5};
    assert_memory_equal(to, expected, sizeof to);
    via_array_release(dst);
    via_array_release(columns);
    via_array_release(rows);
}

static void an_empty_copy_ends(void **state) {
    (void)state;
    via_array *src = wrap_plain(NULL, VIA_INT32, 2, SHAPE(0, 3), NULL);
    via_array *dst = wrap_plain(NULL, VIA_INT32, 2, SHAPE(0, 3), NULL);
    via_task *task = submit(dst, src, NULL);
    ok(via_task_wait(task));
    int64_t done = -1;
    int64_t total = -1;
    ok(via_task_progress(task, &done, &total));
    assert_int_equal(done, 0);
    assert_int_equal(total, 0);
    via_task_release(task);
    via_array_release(src);
    via_array_release(dst);
}

static void progress_grows_up_to_the_total(void **state) {
    (void)state;
    pair made;
    make_pair(&made, LARGE);
    via_task *task = submit(made.dst, made.src, NULL);
    int64_t before = 0;
    int32_t ended = 0;
    while (!ended) {
        int64_t done = -1;
        int64_t total = -1;
        ok(via_task_poll(task, &ended));
        ok(via_task_progress(task, &done, &total));
        assert_int_equal(total, LARGE);
        assert_true(done >= before && done <= total);
        assert_true(!ended || done == total);
        before = done;
    }
    wait_and_release(task);
    expect_copied(&made);
    release_arrays(&made);
    end_pair(&made);
}

static void a_task_holds_its_arrays_and_releases_before_it_ends(void **state) {
    (void)state;
    pair made;
    make_pair(&made, LARGE);
    via_task *task = submit(made.dst, made.src, NULL);
    release_arrays(&made);
    ok(via_task_wait(task));
    assert_int_equal(made.released, 2);
    expect_copied(&made);
    via_task_release(task);
    end_pair(&made);
}

static void a_released_task_runs_on(void **state) {
    (void)state;
    pair made;
    make_pair(&made, LARGE);
    via_task_release(submit(made.dst, made.src, NULL));
    release_arrays(&made);
    for (int32_t i = 0; i < 10000 && made.released != 2; ++i) {
        usleep(1000);
    }
    expect_copied(&made);
    end_pair(&made);
}

static void whoever_reads_or_writes_the_arrays_comes_after_the_task(void **state) {
    (void)state;
    pair made;
    make_pair(&made, LARGE);
    unsigned char *bytes = malloc(LARGE);
    via_array *other = wrap_plain(bytes, VIA_UINT8, 1, SHAPE(LARGE), NULL);
    via_task *first = submit(made.dst, made.src, NULL);
    via_task *second = submit(other, made.dst, NULL);
    ok(via_task_wait(second));
    assert_memory_equal(bytes, made.from, LARGE);
    memset(bytes, 0, LARGE);
    via_task *third = submit(made.dst, made.src, NULL);
    ok(via_copy(other, made.dst));
    assert_memory_equal(bytes, made.from, LARGE);
    wait_and_release(third);
    wait_and_release(first);
    via_task_release(second);
    via_array_release(other);
    free(bytes);
    release_arrays(&made);
    end_pair(&made);
}

static void what_cannot_be_copied_is_refused_at_once_and_makes_no_task(void **state) {
    (void)state;
    pair made;
    make_pair(&made, SMALL);
    via_array *read_only = NULL;
    via_array *half = NULL;
    ok(via_array_as_read_only(made.dst, &read_only));
    ok(via_array_slice(made.dst, NULL, SHAPE(SMALL / 2), NULL, &half));
    via_task *task = (via_task *)&made;
    refused(VIA_ERROR_READ_ONLY, "via_copy_submit|dst", via_copy_submit(read_only, made.src, NULL, &task));
    assert_null(task);
    refused(VIA_ERROR_SHAPE, "via_copy_submit|src", via_copy_submit(half, made.src, NULL, &task));
    refused(VIA_ERROR_OVERLAP, "via_copy_submit|dst", via_copy_submit(made.dst, made.dst, NULL, &task));
    refused(VIA_ERROR_INVALID_ARGUMENT, "src is NULL", via_copy_submit(made.dst, NULL, NULL, &task));
    refused(VIA_ERROR_INVALID_ARGUMENT, "out_task is NULL", via_copy_submit(made.dst, made.src, NULL, NULL));
    assert_int_equal(made.to[1], 0);
    via_array_release(read_only);
    via_array_release(half);
    release_arrays(&made);
    end_pair(&made);
}

/* The text of a task that had begun says how much it has moved. */
static void expect_progress_of_the_text(via_task *task) {
    long long moved = 0;
    int64_t done = 0;
    int64_t total = 0;
    ok(via_task_progress(task, &done, &total));
    const char *after = strstr(via_last_error(), "after ");
    assert_int_equal(after == NULL ? 0 : sscanf(after, "after %lld of ", &moved), after == NULL ? 0 : 1);
    assert_int_equal(done, moved);
}

static void a_cancelled_task_says_so_or_has_done_its_work(void **state) {
    (void)state;
    int32_t cancelled = 0;
    for (int32_t i = 0; i < 8; ++i) {
        pair made;
        make_pair(&made, LARGE);
        via_task *task = submit(made.dst, made.src, NULL);
        usleep((useconds_t)(i * 300));
        ok(via_task_cancel(task));
        release_arrays(&made);
        const via_status status = via_task_wait(task);
        if (status == VIA_ERROR_CANCELLED) {
            cancelled++;
            assert_non_null(strstr(via_last_error(), "via_task_wait: "));
            assert_non_null(strstr(via_last_error(), "cancelled"));
            expect_progress_of_the_text(task);
        } else {
            assert_int_equal(status, VIA_OK);
            expect_copied(&made);
        }
        ok(via_task_cancel(task));
        assert_int_equal(via_task_wait(task), status);
        via_task_release(task);
        end_pair(&made);
    }
    assert_true(cancelled > 0);
}

typedef struct heard {
    atomic_int times;
    int32_t status;
    char text[64];
    pthread_t on;
    via_task *task;
    via_task *running;
    via_status wait_here;
    via_status wait_running;
} heard;

static void hear(int32_t status, const char *text, void *context) {
    heard *reported = context;
    reported->status = status;
    snprintf(reported->text, sizeof reported->text, "%s", text);
    reported->on = pthread_self();
    if (reported->task != NULL) {
        reported->wait_here = via_task_wait(reported->task);
        reported->wait_running = via_task_wait(reported->running);
    }
    atomic_fetch_add(&reported->times, 1);
}

static void wait_until_heard(heard *reported) {
    for (int32_t i = 0; i < 10000 && reported->times == 0; ++i) {
        usleep(1000);
    }
    assert_int_equal(reported->times, 1);
}

static void a_callback_is_called_once_whenever_it_was_registered(void **state) {
    (void)state;
    for (int32_t late = 0; late < 2; ++late) {
        pair made;
        make_pair(&made, LARGE);
        heard reported = {.status = -1};
        heard second = {.status = -1};
        via_task *task = submit(made.dst, made.src, NULL);
        if (late) {
            ok(via_task_wait(task));
        }
        ok(via_task_on_complete(task, hear, &reported));
        refused(VIA_ERROR_INVALID_ARGUMENT, "via_task_on_complete|callback", via_task_on_complete(task, hear, &second));
        ok(via_task_wait(task));
        wait_until_heard(&reported);
        assert_int_equal(reported.status, VIA_OK);
        assert_string_equal(reported.text, "");
        assert_true(!late || pthread_equal(reported.on, pthread_self()));
        assert_int_equal(second.times, 0);
        refused(VIA_ERROR_INVALID_ARGUMENT, "complete is NULL", via_task_on_complete(task, NULL, NULL));
        via_task_release(task);
        release_arrays(&made);
        end_pair(&made);
    }
}

static void in_a_callback_only_tasks_that_have_ended_can_be_waited_for(void **state) {
    (void)state;
    pair made;
    make_pair(&made, LARGE);
    pair small;
    make_pair(&small, SMALL);
    heard reported = {.status = -1, .wait_here = VIA_ERROR_INTERNAL};
    reported.task = submit(small.dst, small.src, NULL);
    ok(via_task_wait(reported.task));
    reported.running = submit(made.dst, made.src, NULL);
    assert_int_not_equal(via_array_slice(made.src, NULL, NULL, SHAPE(0), &(via_array *){NULL}), VIA_OK);
    char before[256];
    snprintf(before, sizeof before, "%s", via_last_error());
    ok(via_task_on_complete(reported.task, hear, &reported));
    assert_int_equal(reported.wait_here, VIA_OK);
    assert_true(reported.wait_running == VIA_ERROR_WOULD_DEADLOCK || reported.wait_running == VIA_OK);
    assert_string_equal(via_last_error(), before);
    wait_and_release(reported.running);
    via_task_release(reported.task);
    release_arrays(&made);
    release_arrays(&small);
    end_pair(&made);
    end_pair(&small);
}

static void *wait_there(void *context) {
    const via_status status = via_task_wait(context);
    via_task_release(context);
    return status == VIA_OK ? context : NULL;
}

static void many_threads_may_wait_for_one_task(void **state) {
    (void)state;
    pair made;
    make_pair(&made, LARGE);
    via_task *task = submit(made.dst, made.src, NULL);
    pthread_t threads[6];
    for (int32_t i = 0; i < LENGTH(threads); ++i) {
        via_task_retain(task);
        assert_int_equal(pthread_create(&threads[i], NULL, wait_there, task), 0);
    }
    for (int32_t i = 0; i < LENGTH(threads); ++i) {
        void *found = NULL;
        assert_int_equal(pthread_join(threads[i], &found), 0);
        assert_ptr_equal(found, task);
    }
    expect_copied(&made);
    via_task_release(task);
    release_arrays(&made);
    end_pair(&made);
}

static void a_task_without_a_device_joins_no_stream(void **state) {
    (void)state;
    int32_t devices = 0;
    ok(via_device_count(VIA_DEVICE_CUDA, &devices));
    if (devices > 0) {
        skip();
    }
    pair made;
    make_pair(&made, SMALL);
    via_task *task = submit(made.dst, made.src, NULL);
    refused(VIA_ERROR_UNSUPPORTED, "via_task_join|CUDA", via_task_join(task, via_stream_legacy()));
    wait_and_release(task);
    release_arrays(&made);
    end_pair(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_copy_runs_as_a_task_after_no_stream_and_after_any_shared_one),
        TEST(a_strided_copy_is_a_task_too),
        TEST(an_empty_copy_ends),
        TEST(progress_grows_up_to_the_total),
        TEST(a_task_holds_its_arrays_and_releases_before_it_ends),
        TEST(a_released_task_runs_on),
        TEST(whoever_reads_or_writes_the_arrays_comes_after_the_task),
        TEST(what_cannot_be_copied_is_refused_at_once_and_makes_no_task),
        TEST(a_cancelled_task_says_so_or_has_done_its_work),
        TEST(a_callback_is_called_once_whenever_it_was_registered),
        TEST(in_a_callback_only_tasks_that_have_ended_can_be_waited_for),
        TEST(many_threads_may_wait_for_one_task),
        TEST(a_task_without_a_device_joins_no_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
