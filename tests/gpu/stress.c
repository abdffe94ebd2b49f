/* Sixteen threads at everything, in memory of the host and of a device. Run under ThreadSanitizer too. */
#include "../capi/stress.h"

#include "support.h"

enum { STREAMS = 4 };

static pool device = {.most_axes = 6}; /* device, pinned and pool memory */
static via_stream *streams[STREAMS];
static via_memory *memories[3];

static via_stream *any_stream(worker *self) { return streams[roll(self, STREAMS)]; }

static void put_exported(worker *self, via_array *array) { put_in(self, &device, array); }

static void make_exported(worker *self) {
    const unsigned char byte = (unsigned char)(1 + roll(self, 255));
    via_array *array = NULL;
    if (must(via_empty(memories[roll(self, 3)], VIA_UINT8, 2, SHAPE(SIDE, SIDE), NULL, &array) == VIA_OK)) {
        must(via_fill(array, &byte, NULL) == VIA_OK);
        put_exported(self, array);
    }
}

static void record_use(worker *self) {
    via_array *array = take(device.arrays, self);
    if (array != NULL) {
        must(via_array_record_stream(array, any_stream(self)) == VIA_OK);
        put_exported(self, array);
    }
}

static void view_exported(worker *self) { view_in(self, &device); }
static void export_exported(worker *self) { export_in(self, &device, any_stream(self)); }
static void import_exported(worker *self) { import_in(self, &device, any_stream(self)); }
static void fetch_exported(worker *self) { copy_in(self, &device); }
static void submit_exported(worker *self) { submit_in(self, &device, any_stream(self)); }

/* The copy takes the place of the array while it is still under way. */
static void copy_behind(worker *self) {
    via_array *array = take(device.arrays, self);
    via_array *copy = NULL;
    if (array == NULL) {
        return;
    }
    if (must(via_empty(memories[0], VIA_UINT8, via_array_ndim(array), via_array_shape(array), NULL, &copy) == VIA_OK) &&
        must(via_copy_async(copy, array, any_stream(self)) == VIA_OK)) {
        put_exported(self, copy);
    }
    self->copies++;
    via_array_release(array);
}

static void order_streams(worker *self) {
    via_event *marker = NULL;
    int32_t done = 0;
    if (must(via_event_create(0, &marker) == VIA_OK)) {
        must(via_event_record(marker, any_stream(self)) == VIA_OK);
        must(via_stream_wait(any_stream(self), marker) == VIA_OK);
        must(via_event_query(marker, &done) == VIA_OK);
    }
    via_event_release(marker);
}

static void make_a_stream(worker *self) {
    via_stream *stream = NULL;
    via_array *array = take(device.arrays, self);
    if (must(via_stream_create(0, &stream) == VIA_OK) && array != NULL) {
        must(via_array_record_stream(array, stream) == VIA_OK);
    }
    via_stream_release(stream);
    if (array != NULL) {
        put_exported(self, array);
    }
}

#define DEVICE_ACTIONS                                                                                   \
    {make_exported, 6}, {view_exported, 2}, {record_use, 3}, {export_exported, 2}, {import_exported, 2}, \
        {fetch_exported, 2}, {copy_behind, 2}, {submit_exported, 1}, {order_streams, 1}, {make_a_stream, 1}

static const action actions[] = {HOST_ACTIONS, DEVICE_ACTIONS};
static const action actions_until_exit[] = {{wrap_one, 2}, {copy_one, 1}, {meet_a_task, 1}, DEVICE_ACTIONS};

static void begin(void) {
    const int32_t kinds[] = {VIA_MEMORY_DEVICE, VIA_MEMORY_PINNED, VIA_MEMORY_DEVICE_POOL};
    for (int i = 0; i < STREAMS; ++i) {
        expect(via_stream_create(0, &streams[i]) == VIA_OK);
    }
    for (int i = 0; i < LENGTH(kinds); ++i) {
        expect(via_memory_create(kinds[i], 0, &memories[i]) == VIA_OK);
    }
}

static void end(void) {
    for (int i = 0; i < SLOTS; ++i) {
        empty_place(&device, i);
    }
    for (int i = 0; i < STREAMS; ++i) {
        ok(via_stream_synchronize(streams[i]));
        via_stream_release(streams[i]);
    }
    for (int i = 0; i < 3; ++i) {
        via_memory_release(memories[i]);
    }
}

static void exit_with_device_arrays(void) {
    begin();
    exit_in_the_middle(actions_until_exit, LENGTH(actions_until_exit));
}

static void *load_kernels(void *unused) {
    (void)unused;
    (void)!via_cuda_warmup(0); /* fails once the process is exiting */
    return NULL;
}

/* Pauses for anything up to what loading takes. */
static void exit_while_kernels_load(void) {
    pthread_t loader;
    via_stream *stream = NULL;
    if (on_fake_driver()) {
        fake(fake_set)(FAKE_LOAD_TIME, 50);
    }
    expect(via_stream_create(0, &stream) == VIA_OK);
    expect(pthread_create(&loader, NULL, load_kernels, NULL) == 0);
    expect(pthread_detach(loader) == 0);
    usleep((useconds_t)getpid() * 7919u % 40000u);
    exit(0);
}

static const scene scenes[] = {SCENE(exit_with_device_arrays), SCENE(exit_while_kernels_load)};

static int nothing_is_left(void *context) {
    const via_stats_info stats = stats_now();
    return stats.live_storages == *(int64_t *)context && stats.pending_releases == 0;
}

static void whatever_threads_do_at_once_each_owner_is_reported_once(void **state) {
    (void)state;
    need_kernels();
    int64_t storages = stats_now().live_storages;
    begin();
    stress("device", actions, LENGTH(actions), 2);
    end();
    assert_true(eventually(nothing_is_left, &storages));
    cu_ok(cu(cuCtxSynchronize)()); /* pool memory goes back in the order of streams */
}

static void a_program_may_end_while_its_threads_are_at_it(void **state) {
    (void)state;
    need_kernels();
    skip_where_all_must_be_freed();
    expect_exits("exit_with_device_arrays");
}

static void a_program_may_end_while_its_kernels_are_loaded(void **state) {
    (void)state;
    need_kernels();
    skip_where_all_must_be_freed();
    expect_exits("exit_while_kernels_load");
}

int main(int count, char **arguments) {
    if (count > 1) {
        return play_named(count, arguments, scenes, LENGTH(scenes)) == 0 ? 0 : 2;
    }
    const struct CMUnitTest tests[] = {
        GPU_TEST(whatever_threads_do_at_once_each_owner_is_reported_once),
        GPU_TEST(a_program_may_end_while_its_threads_are_at_it),
        GPU_TEST(a_program_may_end_while_its_kernels_are_loaded),
    };
    return run_gpu_tests(tests);
}
