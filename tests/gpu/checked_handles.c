/* VIADUCT_CHECK with what needs a driver: streams, events, and memory of a device. */
#include "../capi/scene.h"

#include "support.h"

static void misuse_a_stream(void) {
    via_stream *stream = NULL;
    via_event *marker = NULL;
    int32_t done = 5;
    expect(via_stream_create(0, &stream) == VIA_OK);
    expect(via_event_create(0, &marker) == VIA_OK);
    via_stream_release(stream);
    via_stream_release(stream);
    expect_misuse("via_stream_query: stream is|via_stream", via_stream_query(stream, &done));
    expect(done == 0);
    expect_misuse("via_event_record: stream is|via_stream", via_event_record(marker, stream));
    expect_misuse("via_stream_set_current: stream is", via_stream_set_current(0, stream));
    expect(via_stream_handle(stream) == NULL);
    via_event_release(marker);
}

static void misuse_an_event(void) {
    via_event *marker = NULL;
    expect(via_event_create(0, &marker) == VIA_OK);
    via_event_release(marker);
    via_event_release(marker);
    expect_misuse("via_event_synchronize: marker is|via_event", via_event_synchronize(marker));
    expect_misuse("via_stream_wait: marker is", via_stream_wait(via_stream_legacy(), marker));
    expect(via_event_handle(marker) == NULL);
}

static void misuse_a_memory_of_a_device(void) {
    via_memory *memory = NULL;
    via_array *array = NULL;
    expect(via_memory_create(VIA_MEMORY_DEVICE, 0, &memory) == VIA_OK);
    expect(via_empty(memory, VIA_FLOAT32, 1, SHAPE(8), NULL, &array) == VIA_OK);
    via_memory_release(memory);
    via_memory_release(memory);
    expect_misuse("via_empty: memory is|via_memory", via_empty(memory, VIA_FLOAT32, 1, SHAPE(8), NULL, &array));
    expect(array == NULL);
}

/* The thread's current stream is handed out again and again, and held in between. */
static void do_nothing_wrong(void) {
    via_stream *stream = NULL;
    via_stream *current = NULL;
    via_stream *again = NULL;
    expect(via_stream_create(0, &stream) == VIA_OK);
    expect(via_stream_set_current(0, stream) == VIA_OK);
    via_stream_release(stream);
    for (int32_t i = 0; i < 3; ++i) {
        expect(via_stream_current(0, &current) == VIA_OK);
        expect(via_stream_current(0, &again) == VIA_OK);
        expect(current == stream && again == stream);
        via_stream_release(again);
        expect(via_stream_synchronize(current) == VIA_OK);
        via_stream_release(current);
    }
    expect(via_stream_set_current(0, NULL) == VIA_OK);
    expect(via_stream_current(0, &current) == VIA_OK);
    via_stream_release(current);
    expect(via_stream_synchronize(current) == VIA_OK);
    expect(via_stream_wrap(NULL, 0, &current) == VIA_OK);
    via_stream_release(current);
    expect(via_stream_synchronize(current) == VIA_OK);
}

static void release_a_stream_and_an_event_twice(void) {
    via_stream *stream = NULL;
    via_event *marker = NULL;
    expect(via_stream_create(0, &stream) == VIA_OK);
    expect(via_event_create(0, &marker) == VIA_OK);
    via_stream_release(stream);
    via_stream_release(stream);
    via_event_release(marker);
    via_event_release(marker);
}

static const scene scenes[] = {
    SCENE(misuse_a_stream),
    SCENE(misuse_an_event),
    SCENE(do_nothing_wrong),
    SCENE(misuse_a_memory_of_a_device),
    SCENE(release_a_stream_and_an_event_twice),
};

static void streams_and_events_are_checked_too(void **state) {
    (void)state;
    (void)play_well("misuse_a_stream", "VIADUCT_CHECK=1", "via_stream_release: stream is|via_stream_handle: stream is");
    (void)play_well("misuse_an_event", "VIADUCT_CHECK=1", "via_event_release: marker is|via_event_handle: marker is");
}

static void memory_of_a_device_is_checked_too(void **state) {
    (void)state;
    skip_where_all_must_be_freed();
    (void)play_well("misuse_a_memory_of_a_device", "VIADUCT_CHECK=1",
                    "via_memory_release: memory is|never released: via_array|from via_empty");
}

static void shared_and_current_streams_may_be_used_as_ever(void **state) {
    (void)state;
    const char *settings[] = {NULL, "VIADUCT_CHECK=1"};
    for (int32_t i = 0; i < LENGTH(settings); ++i) {
        const ending found = play_well("do_nothing_wrong", settings[i], "");
        assert_string_equal(found.text, "");
    }
}

static void even_without_the_setting_a_second_release_is_mostly_seen_and_ignored(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#else
    const ending found = play_well("release_a_stream_and_an_event_twice", NULL, "more often than it was retained");
    assert_int_equal(count_of(found.text, "more often"), 2);
#endif
}

int main(int count, char **arguments) {
    if (count > 1) {
        return play_named(count, arguments, scenes, LENGTH(scenes)) == 0 ? 0 : 2;
    }
    const struct CMUnitTest tests[] = {
        GPU_TEST(streams_and_events_are_checked_too),
        GPU_TEST(memory_of_a_device_is_checked_too),
        GPU_TEST(shared_and_current_streams_may_be_used_as_ever),
        GPU_TEST(even_without_the_setting_a_second_release_is_mostly_seen_and_ignored),
    };
    return run_gpu_tests(tests);
}
