/* Batches of copies between host arrays: they need no device. */
#include "task_support.h"

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
    ok(via_copy_batch(0, NULL, NULL, NULL));
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

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_batch_copies_every_entry_as_often_as_it_is_submitted),
        TEST(a_batch_may_be_added_to_and_released_while_its_task_runs),
        TEST(an_empty_batch_runs_and_ends),
        TEST(arrays_of_the_host_are_copied_without_a_stream_and_without_cuda),
        TEST(a_batch_of_the_host_runs_without_a_stream_and_without_cuda),
        TEST(an_entry_is_checked_when_it_is_added),
        TEST(a_refused_copy_of_many_is_named_by_its_number_and_none_is_touched),
        TEST(a_cancelled_batch_stops_between_its_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
