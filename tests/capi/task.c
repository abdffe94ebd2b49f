/* Tasks and batches between host arrays: they need no device. */
#include <pthread.h>
#include <unistd.h>

#include "support.h"

/* Large enough to be seen on the way. */
enum { LARGE = 16 << 20, SMALL = 1 << 12 };

static via_task *submit(via_array *dst, via_array *src, via_stream *stream) {
    via_task *task = NULL;
    ok(via_copy_submit(dst, src, stream, &task));
    assert_non_null(task);
    return task;
}

static void wait_and_release(via_task *task) {
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

static void make_pair(pair *made, int64_t size) {
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

static void release_arrays(pair *made) {
    via_array_release(made->src);
    via_array_release(made->dst);
}

static void expect_copied(const pair *made) { assert_memory_equal(made->to, made->from, (size_t)made->size); }

/* The arrays are gone, with whatever was still waited for. */
static void end_pair(pair *made) {
    for (int32_t i = 0; i < 10000 && made->released != 2; ++i) {
        usleep(1000);
    }
    assert_int_equal(made->released, 2);
    free(made->from);
    free(made->to);
}

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

/* ------------------------------------------------------------------------------------------------ batches */

enum { ENTRIES = 100 };

static void add_all(via_batch *batch, pair *pairs, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
        make_pair(&pairs[i], 64 + i);
        ok(via_batch_add(batch, pairs[i].dst, pairs[i].src));
        release_arrays(&pairs[i]);
    }
}

static via_task *submit_batch(via_batch *batch) {
    via_task *task = NULL;
    ok(via_batch_submit(batch, NULL, &task));
    assert_non_null(task);
    return task;
}

static void a_batch_copies_every_entry_as_often_as_it_is_submitted(void **state) {
    (void)state;
    static pair pairs[ENTRIES];
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    assert_int_equal(via_batch_size(batch), 0);
    add_all(batch, pairs, ENTRIES);
    assert_int_equal(via_batch_size(batch), ENTRIES);
    for (int32_t round = 0; round < 3; ++round) {
        for (int32_t i = 0; i < ENTRIES; ++i) {
            memset(pairs[i].to, 0, (size_t)pairs[i].size);
        }
        via_task *task = submit_batch(batch);
        ok(via_task_wait(task));
        int64_t done = 0;
        int64_t total = 0;
        ok(via_task_progress(task, &done, &total));
        assert_int_equal(total, ENTRIES * 64 + ENTRIES * (ENTRIES - 1) / 2);
        assert_int_equal(done, total);
        via_task_release(task);
        for (int32_t i = 0; i < ENTRIES; ++i) {
            expect_copied(&pairs[i]);
            assert_int_equal(pairs[i].released, 0);
        }
    }
    via_batch_release(batch);
    for (int32_t i = 0; i < ENTRIES; ++i) {
        end_pair(&pairs[i]);
    }
}

static void a_batch_may_be_added_to_and_released_while_its_task_runs(void **state) {
    (void)state;
    static pair pairs[ENTRIES];
    pair large;
    make_pair(&large, LARGE);
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    via_batch_retain(batch);
    ok(via_batch_add(batch, large.dst, large.src));
    release_arrays(&large);
    via_task *task = submit_batch(batch);
    add_all(batch, pairs, ENTRIES);
    via_batch_release(batch);
    via_batch_release(batch);
    ok(via_task_wait(task));
    expect_copied(&large);
    int64_t done = 0;
    int64_t total = 0;
    ok(via_task_progress(task, &done, &total));
    assert_int_equal(total, LARGE);
    via_task_release(task);
    end_pair(&large);
    for (int32_t i = 0; i < ENTRIES; ++i) {
        end_pair(&pairs[i]);
        assert_int_equal(pairs[i].released, 2);
    }
}

static void an_empty_batch_runs_and_ends(void **state) {
    (void)state;
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    ok(via_batch_run(batch, via_stream_legacy()));
    wait_and_release(submit_batch(batch));
    via_batch_release(batch);
    ok(via_copy_batch(0, &(via_array *){NULL}, &(via_array *){NULL}, NULL));
}

/* One, several, strided ones and one without elements, each after the task that writes its source. */
static void arrays_of_the_host_are_copied_without_a_stream_and_without_cuda(void **state) {
    (void)state;
    enum { ROWS = 64, COLUMNS = SMALL / ROWS };
    pair made;
    pair behind;
    unsigned char third[SMALL] = {0};
    unsigned char transposed[SMALL] = {0};
    make_pair(&made, SMALL);
    make_pair(&behind, LARGE);
    via_array *copy = wrap_plain(third, VIA_UINT8, 1, SHAPE(SMALL), NULL);
    via_array *rows = wrap_plain(transposed, VIA_UINT8, 2, SHAPE(COLUMNS, ROWS), NULL);
    via_array *columns = wrap_strided(made.from, VIA_UINT8, 2, SHAPE(COLUMNS, ROWS), SHAPE(1, COLUMNS));
    via_array *none = wrap_plain(third, VIA_UINT8, 1, SHAPE(0), NULL);
    via_array *large = NULL;
    ok(via_copy_async(made.dst, made.src, NULL));
    expect_copied(&made);
    ok(via_copy_async(none, none, NULL));
    ok(via_copy_async(rows, columns, NULL));
    assert_int_equal(transposed[1], made.from[COLUMNS]);
    memset(made.to, 0, SMALL);
    ok(via_copy_batch(1, &made.dst, &made.src, NULL));
    expect_copied(&made);
    memset(made.to, 0, SMALL);
    ok(via_copy_batch(3, (via_array *[]){made.dst, none, copy}, (via_array *[]){made.src, none, made.src}, NULL));
    expect_copied(&made);
    assert_memory_equal(third, made.from, SMALL);
    ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(LARGE), NULL, &large));
    via_task *task = submit(behind.dst, behind.src, NULL);
    ok(via_copy_async(large, behind.dst, NULL));
    assert_memory_equal(via_array_data(large), behind.from, LARGE);
    wait_and_release(task);
    via_array_release(large);
    via_array_release(none);
    via_array_release(columns);
    via_array_release(rows);
    via_array_release(copy);
    release_arrays(&made);
    release_arrays(&behind);
    end_pair(&made);
    end_pair(&behind);
}

static void a_batch_of_the_host_runs_without_a_stream_and_without_cuda(void **state) {
    (void)state;
    enum { PAIRS = 3 };
    pair pairs[PAIRS];
    for (int32_t count = 1; count <= PAIRS; ++count) {
        via_batch *batch = NULL;
        ok(via_batch_create(&batch));
        for (int32_t i = 0; i < count; ++i) {
            make_pair(&pairs[i], SMALL);
            ok(via_batch_add(batch, pairs[i].dst, pairs[i].src));
        }
        for (int32_t turn = 0; turn < 2; ++turn) {
            ok(via_batch_run(batch, NULL));
            for (int32_t i = 0; i < count; ++i) {
                expect_copied(&pairs[i]);
                memset(pairs[i].to, 0, SMALL);
            }
        }
        via_batch_release(batch);
        for (int32_t i = 0; i < count; ++i) {
            release_arrays(&pairs[i]);
            end_pair(&pairs[i]);
        }
    }
}

static void an_entry_is_checked_when_it_is_added(void **state) {
    (void)state;
    pair made;
    make_pair(&made, SMALL);
    via_array *half = NULL;
    ok(via_array_slice(made.src, NULL, SHAPE(SMALL / 2), NULL, &half));
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    refused(VIA_ERROR_SHAPE, "via_batch_add|src", via_batch_add(batch, made.dst, half));
    refused(VIA_ERROR_OVERLAP, "via_batch_add|dst", via_batch_add(batch, made.src, made.src));
    refused(VIA_ERROR_INVALID_ARGUMENT, "dst is NULL", via_batch_add(batch, NULL, made.src));
    refused(VIA_ERROR_INVALID_ARGUMENT, "src is NULL", via_batch_add(batch, made.dst, NULL));
    assert_int_equal(via_batch_size(batch), 0);
    via_batch_release(batch);
    via_array_release(half);
    release_arrays(&made);
    end_pair(&made);
}

static void a_refused_copy_of_many_is_named_by_its_number_and_none_is_touched(void **state) {
    (void)state;
    pair first;
    pair second;
    make_pair(&first, SMALL);
    make_pair(&second, SMALL);
    via_array *dsts[] = {first.dst, second.src};
    via_array *srcs[] = {first.src, second.src};
    if (via_copy_batch(1, dsts, srcs, via_stream_legacy()) == VIA_OK) {
        memset(first.to, 0, SMALL);
    } else {
        refused(VIA_ERROR_UNSUPPORTED, "via_copy_batch|copy 0 of 2|CUDA",
                via_copy_batch(2, dsts, srcs, via_stream_legacy()));
    }
    refused(VIA_ERROR_OVERLAP, "via_copy_batch|copy 1 of 2|dst", via_copy_batch(2, dsts, srcs, NULL));
    assert_int_equal(first.to[1], 0);
    release_arrays(&first);
    release_arrays(&second);
    end_pair(&first);
    end_pair(&second);
}

static void a_cancelled_batch_stops_between_its_copies(void **state) {
    (void)state;
    static pair pairs[8];
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        make_pair(&pairs[i], LARGE / 4);
        ok(via_batch_add(batch, pairs[i].dst, pairs[i].src));
        release_arrays(&pairs[i]);
    }
    via_task *task = submit_batch(batch);
    ok(via_task_cancel(task));
    const via_status status = via_task_wait(task);
    assert_true(status == VIA_ERROR_CANCELLED || status == VIA_OK);
    via_task_release(task);
    via_batch_release(batch);
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        end_pair(&pairs[i]);
    }
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
        TEST(a_batch_copies_every_entry_as_often_as_it_is_submitted),
        TEST(a_batch_may_be_added_to_and_released_while_its_task_runs),
        TEST(an_empty_batch_runs_and_ends),
        TEST(arrays_of_the_host_are_copied_without_a_stream_and_without_cuda),
        TEST(a_batch_of_the_host_runs_without_a_stream_and_without_cuda),
        TEST(an_entry_is_checked_when_it_is_added),
        TEST(a_refused_copy_of_many_is_named_by_its_number_and_none_is_touched),
        TEST(a_cancelled_batch_stops_between_its_copies),
        TEST(a_task_without_a_device_joins_no_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
