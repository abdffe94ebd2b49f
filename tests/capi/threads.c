/* Many threads on one array. Run under ThreadSanitizer too. */
#include <pthread.h>

#include "arrow_column.h"
#include "producer.h"

enum { THREADS = 8, ROUNDS = 400, VALUES = 24 };

typedef struct shared {
    via_array *array;
    atomic_int released;
    atomic_int failures;
    pthread_barrier_t start;
} shared;

typedef struct worker {
    shared *common;
    int32_t number;
} worker;

/* Inside a thread cmocka cannot jump: failures are counted, and asserted after the join. */
static void expect(shared *common, int holds) {
    if (!holds) {
        atomic_fetch_add(&common->failures, 1);
    }
}

static void run_threads(shared *common, void *(*body)(void *context)) {
    pthread_t threads[THREADS];
    worker workers[THREADS];
    assert_int_equal(pthread_barrier_init(&common->start, NULL, THREADS), 0);
    for (int32_t i = 0; i < THREADS; ++i) {
        workers[i] = (worker){common, i};
        assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
    }
    for (int32_t i = 0; i < THREADS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    pthread_barrier_destroy(&common->start);
    assert_int_equal(common->failures, 0);
}

static float memory[VALUES];

static void share(shared *common) {
    memset(common, 0, sizeof *common);
    common->array = wrap_plain(memory, VIA_FLOAT32, 3, SHAPE(2, 3, 4), &common->released);
}

static void *retain_and_release(void *context) {
    shared *common = ((worker *)context)->common;
    pthread_barrier_wait(&common->start);
    for (int32_t i = 0; i < ROUNDS; ++i) {
        via_array_retain(common->array);
        expect(common, via_array_size(common->array) == VALUES);
        via_array_release(common->array);
    }
    via_array_release(common->array);
    return NULL;
}

static void the_last_of_many_threads_releases_once(void **state) {
    (void)state;
    for (int32_t round = 0; round < 20; ++round) {
        shared common;
        share(&common);
        for (int32_t i = 1; i < THREADS; ++i) {
            via_array_retain(common.array);
        }
        run_threads(&common, retain_and_release);
        assert_int_equal(common.released, 1);
    }
}

static void *view_views(void *context) {
    shared *common = ((worker *)context)->common;
    pthread_barrier_wait(&common->start);
    for (int32_t i = 0; i < ROUNDS; ++i) {
        via_array *slice = NULL;
        via_array *reversed = NULL;
        expect(common, via_array_slice(common->array, SHAPE(0, i % 3, 0), NULL, NULL, &slice) == VIA_OK);
        expect(common, via_array_permute(slice, NULL, &reversed) == VIA_OK);
        via_array_release(slice);
        expect(common, via_array_shape(reversed)[1] == 3 - i % 3);
        via_array_release(reversed);
    }
    via_array_release(common->array);
    return NULL;
}

static void views_are_made_and_dropped_by_many_threads(void **state) {
    (void)state;
    shared common;
    share(&common);
    for (int32_t i = 1; i < THREADS; ++i) {
        via_array_retain(common.array);
    }
    run_threads(&common, view_views);
    assert_int_equal(common.released, 1);
}

static void *export_and_take(void *context) {
    worker *self = context;
    shared *common = self->common;
    pthread_barrier_wait(&common->start);
    for (int32_t i = 0; i < ROUNDS; ++i) {
        DLManagedTensorVersioned *tensor = NULL;
        DLManagedTensor *legacy = NULL;
        via_array *back = NULL;
        expect(common, via_to_dlpack(common->array, NULL, NULL, &tensor) == VIA_OK);
        expect(common, via_to_dlpack_legacy(common->array, NULL, NULL, &legacy) == VIA_OK);
        expect(common, via_from_dlpack(tensor, NULL, NULL, &back) == VIA_OK);
        expect(common, via_array_data(back) == memory);
        via_array_release(back);
        via_dlpack_delete_legacy(legacy);
    }
    via_array_release(common->array);
    return NULL;
}

static void tensors_are_exported_and_taken_by_many_threads(void **state) {
    (void)state;
    shared common;
    share(&common);
    for (int32_t i = 1; i < THREADS; ++i) {
        via_array_retain(common.array);
    }
    run_threads(&common, export_and_take);
    assert_int_equal(common.released, 1);
}

/* Each thread exports columns and releases those of its neighbour. */
static struct ArrowSchema schemas[THREADS];
static struct ArrowDeviceArray columns[THREADS];

static void *export_columns(void *context) {
    worker *self = context;
    shared *common = self->common;
    for (int32_t i = 0; i < 50; ++i) {
        pthread_barrier_wait(&common->start);
        expect(common, via_to_arrow_device(common->array, &schemas[self->number], &columns[self->number]) == VIA_OK);
        pthread_barrier_wait(&common->start);
        const int32_t neighbour = (self->number + 1) % THREADS;
        via_arrow_release(&schemas[neighbour], &columns[neighbour]);
    }
    via_array_release(common->array);
    return NULL;
}

static void columns_are_released_by_other_threads_than_made_them(void **state) {
    (void)state;
    shared common;
    share(&common);
    for (int32_t i = 1; i < THREADS; ++i) {
        via_array_retain(common.array);
    }
    run_threads(&common, export_columns);
    assert_int_equal(common.released, 1);
}

/* A parent and its children, each released by a thread of its own. */
static struct ArrowArray child_column;

static void *release_child(void *context) {
    shared *common = ((worker *)context)->common;
    pthread_barrier_wait(&common->start);
    if (((worker *)context)->number == 0) {
        child_column.release(&child_column);
    } else if (((worker *)context)->number == 1) {
        via_arrow_release(&schemas[0], &columns[0]);
    }
    return NULL;
}

static void a_parent_and_its_child_may_end_on_two_threads_at_once(void **state) {
    (void)state;
    for (int32_t round = 0; round < 30; ++round) {
        shared common;
        share(&common);
        ok(via_to_arrow_device(common.array, &schemas[0], &columns[0]));
        via_array_release(common.array);
        child_column = *columns[0].array.children[0];
        columns[0].array.children[0]->release = NULL;
        run_threads(&common, release_child);
        assert_int_equal(common.released, 1);
    }
}

static void *fail_and_look(void *context) {
    worker *self = context;
    shared *common = self->common;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "axis is %d;", 1000 + self->number);
    pthread_barrier_wait(&common->start);
    for (int32_t i = 0; i < ROUNDS; ++i) {
        via_array *view = common->array;
        expect(common, via_array_select(common->array, 1000 + self->number, 0, &view) == VIA_ERROR_INDEX);
        expect(common, view == NULL && strstr(via_last_error(), wanted) != NULL);
    }
    return NULL;
}

static void every_thread_sees_its_own_error(void **state) {
    (void)state;
    shared common;
    share(&common);
    run_threads(&common, fail_and_look);
    via_array_release(common.array);
}

static void *make_and_count(void *context) {
    worker *self = context;
    shared *common = self->common;
    pthread_barrier_wait(&common->start);
    for (int32_t i = 0; i < ROUNDS; ++i) {
        via_array *array = NULL;
        expect(common, via_empty(NULL, VIA_UINT8, 1, SHAPE(1 + self->number), NULL, &array) == VIA_OK);
        via_stats_info stats = VIA_STATS_INFO_INIT;
        expect(common, via_stats(&stats) == VIA_OK);
        expect(common, stats.live_arrays >= 1 && stats.host_bytes >= 1 + self->number);
        via_array_release(array);
    }
    return NULL;
}

static void counters_go_back_to_where_they_were(void **state) {
    (void)state;
    shared common;
    share(&common);
    run_threads(&common, make_and_count);
    via_array_release(common.array);
}

/* Arrays made by one thread and released by the next, which reuses the counters of the first. */
static void *make_for_another(void *context) {
    ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(100), NULL, context));
    return NULL;
}

static void *release_of_another(void *context) {
    via_array_release(*(via_array **)context);
    return NULL;
}

static void counters_outlive_the_threads_that_counted(void **state) {
    const via_stats_info *before = *state;
    for (int32_t i = 0; i < 20; ++i) {
        pthread_t thread;
        via_array *array = NULL;
        assert_int_equal(pthread_create(&thread, NULL, make_for_another, &array), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(stats_now().host_bytes, before->host_bytes + 100);
        assert_int_equal(pthread_create(&thread, NULL, release_of_another, &array), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(stats_now().host_bytes, before->host_bytes);
    }
}

/* Threads whose last release comes from a destructor of their own thread-specific data. */
static pthread_key_t late_key;

static void release_late(void *array) { via_array_release(array); }

static void *leave_it_to_the_end(void *context) {
    shared *common = ((worker *)context)->common;
    pthread_barrier_wait(&common->start);
    via_array_retain(common->array);
    expect(common, pthread_setspecific(late_key, common->array) == 0);
    via_array *view = NULL;
    expect(common, via_array_permute(common->array, NULL, &view) == VIA_OK);
    via_array_release(view);
    return NULL;
}

static void a_thread_may_release_while_it_ends(void **state) {
    (void)state;
    assert_int_equal(pthread_key_create(&late_key, release_late), 0);
    shared common;
    share(&common);
    run_threads(&common, leave_it_to_the_end);
    assert_int_equal(common.released, 0);
    via_array_release(common.array);
    assert_int_equal(common.released, 1);
    assert_int_equal(pthread_key_delete(late_key), 0);
}

static void *copy_and_set_threads(void *context) {
    worker *self = context;
    shared *common = self->common;
    static float results[THREADS][VALUES];
    via_array *dst = NULL;
    expect(common, via_wrap(results[self->number], VIA_FLOAT32, 3, SHAPE(2, 3, 4), NULL, VIA_DEVICE_CPU, 0, 0, NULL,
                            NULL, &dst) == VIA_OK);
    pthread_barrier_wait(&common->start);
    for (int32_t i = 0; i < ROUNDS; ++i) {
        expect(common, via_set_num_threads(1 + i % 4) == VIA_OK);
        expect(common, via_copy(dst, common->array) == VIA_OK);
        expect(common, memcmp(results[self->number], memory, sizeof memory) == 0);
    }
    via_array_release(dst);
    return NULL;
}

static void one_source_is_copied_by_many_threads(void **state) {
    (void)state;
    shared common;
    share(&common);
    run_threads(&common, copy_and_set_threads);
    via_array_release(common.array);
    ok(via_set_num_threads(0));
}

int main(void) {
    for (int32_t i = 0; i < VALUES; ++i) {
        memory[i] = (float)i;
    }
    const struct CMUnitTest tests[] = {
        TEST(the_last_of_many_threads_releases_once),
        TEST(views_are_made_and_dropped_by_many_threads),
        TEST(tensors_are_exported_and_taken_by_many_threads),
        TEST(columns_are_released_by_other_threads_than_made_them),
        TEST(a_parent_and_its_child_may_end_on_two_threads_at_once),
        TEST(every_thread_sees_its_own_error),
        TEST(counters_go_back_to_where_they_were),
        TEST(counters_outlive_the_threads_that_counted),
        TEST(a_thread_may_release_while_it_ends),
        TEST(one_source_is_copied_by_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
