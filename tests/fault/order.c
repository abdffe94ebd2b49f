/* Streams, events, and what arrays have to do with them. */
#include "mapping.h"
#include "scenario.h"

enum { BYTES = 4096 };

static unsigned char bytes[BYTES];
static char *there;
static char *on_other; /* on the other device */
static CUstream native;
static CUevent event;

static void prepare_order(void) {
    on_other = (char *)(uintptr_t)device_memory_on(1, BYTES);
    there = (char *)(uintptr_t)device_memory(BYTES);
    native = new_stream();
    event = new_event();
}

/* The thread holds its current stream until it gets another. */
static void finish_streams(void) {
    const via_status status = via_stream_set_current(0, NULL);
    (void)status;
}

static via_status use_streams(void) {
    via_status status = VIA_OK;
    via_stream *stream = NULL;
    via_stream *foreign = NULL;
    via_stream *current = NULL;
    via_event *marker = NULL;
    via_event *other = NULL;
    int32_t done = 0;
    THEN(via_stream_create(0, &stream));
    THEN(via_stream_wrap(native, -1, &foreign));
    THEN(via_event_create(0, &marker));
    THEN(via_event_wrap(event, 0, &other));
    THEN(via_event_record(marker, stream));
    THEN(via_stream_wait(foreign, marker));
    THEN(via_event_record(other, foreign));
    THEN(via_event_query(other, &done));
    THEN(via_event_synchronize(other));
    THEN(via_stream_query(stream, &done));
    THEN(via_stream_synchronize(foreign));
    HOLDS(via_stream_handle(foreign) == native && via_event_handle(other) == event);
    HOLDS(via_stream_device_id(stream) == 0);
    THEN(via_stream_set_current(0, stream));
    THEN(via_stream_current(0, &current));
    HOLDS(current == stream);
    via_stream_release(current);
    via_stream_retain(stream);
    via_stream_release(stream);
    via_stream_release(stream);
    via_stream_release(foreign);
    via_event_retain(marker);
    via_event_release(marker);
    via_event_release(marker);
    via_event_release(other);
    return status;
}

static via_status record_uses(void) {
    via_status status = VIA_OK;
    via_stream *stream = NULL;
    via_array *array = NULL;
    THEN(via_stream_create(0, &stream));
    THEN(export(there, BYTES, VIA_DEVICE_CUDA, 0, &array));
    THEN(via_fill(array, NULL, stream));
    THEN(via_array_record_stream(array, stream));
    THEN(via_array_record_stream(array, via_stream_legacy()));
    THEN(via_array_record_stream(array, via_stream_per_thread()));
    THEN(via_array_set_ready(array, stream));
    (void)via_array_is_ready(array);
    THEN(via_array_synchronize(array));
    THEN(via_array_record_stream(array, stream));
    via_array_release(array);
    via_stream_release(stream);
    return status;
}

/* The release has to wait, and comes from a thread of the library. */
static via_status release_after_a_stream(void) {
    via_status status = VIA_OK;
    via_stream *stream = NULL;
    via_array *array = NULL;
    THEN(via_stream_create(0, &stream));
    if (stream != NULL) {
        fake(fake_stream_delay)(via_stream_handle(stream), 300);
    }
    THEN(export(bytes, BYTES, VIA_DEVICE_CPU, 0, &array));
    for (int i = 0; i < 12; ++i) {
        THEN(via_array_record_stream(array, stream));
    }
    via_array_release(array);
    via_stream_release(stream);
    return status;
}

static via_status look_for_a_device(void) {
    via_status status = VIA_OK;
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    via_array *array = NULL;
    THEN(via_device_info(VIA_DEVICE_CUDA, 0, &properties));
    THEN(via_pointer_query(there, &info));
    THEN(export(there, BYTES, VIA_DEVICE_ANY, 0, &array));
    HOLDS(via_array_device_type(array) == VIA_DEVICE_CUDA && info.nbytes == BYTES);
    via_array_release(array);
    return status;
}

static mapping mapped;

static void prepare_mapping(void) {
    mapped = reserve(2);
    map_piece(&mapped, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    map_piece(&mapped, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static void finish_mapping(void) { unreserve(&mapped); }

/* Over the border between two mappings. */
static via_status wrap_mapped_memory(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    THEN(export((char *)(uintptr_t)piece_of(&mapped, 1) - 64, 128, VIA_DEVICE_CUDA, 0, &array));
    via_array_release(array);
    return status;
}

static via_status warm_up(void) {
    via_status status = VIA_OK;
    THEN(via_cuda_warmup(0));
    return status;
}

static CUgraph graph;

/* The graph holds what it uses, until it is destroyed. */
static via_status capture_a_copy(void) {
    via_status status = VIA_OK;
    via_stream *stream = NULL;
    via_array *dst = NULL;
    via_array *src = NULL;
    via_array *far = NULL;
    THEN(via_stream_wrap(native, 0, &stream));
    THEN(export(on_other, BYTES / 2, VIA_DEVICE_CUDA, 1, &far));
    THEN(export(there, BYTES / 2, VIA_DEVICE_CUDA, 0, &dst));
    THEN(export(there + BYTES / 2, BYTES / 2, VIA_DEVICE_CUDA, 0, &src));
    fake(fake_spare_thread)(1);
    cu_ok(cu(cuStreamBeginCapture)(native, CU_STREAM_CAPTURE_MODE_RELAXED));
    fake(fake_spare_thread)(0);
    THEN(via_copy_async(dst, src, stream));
    THEN(via_copy_async(far, src, stream));
    THEN(via_fill(src, NULL, stream));
    THEN(via_array_record_stream(src, stream));
    THEN(via_array_set_ready(dst, stream));
    fake(fake_spare_thread)(1);
    graph = NULL;
    cu(cuStreamEndCapture)(native, &graph);
    if (graph != NULL) {
        cu(cuGraphDestroy)(graph);
    }
    fake(fake_spare_thread)(0);
    via_array_release(dst);
    via_array_release(src);
    via_array_release(far);
    via_stream_release(stream);
    return status;
}

const scenario order_scenarios[] = {
    {"a device is looked for", look_for_a_device, prepare_order, NULL, 1, 0, 0},
    {"mapped memory is wrapped", wrap_mapped_memory, prepare_mapping, finish_mapping, 0, 0, 0},
    {"a device is warmed up", warm_up, NULL, NULL, 1, 0, 0},
    {"streams and events are used", use_streams, prepare_order, finish_streams, 1, 0, 0},
    {"uses of an array are recorded", record_uses, prepare_order, NULL, 0, 0, 0},
    {"a release waits for a stream", release_after_a_stream, NULL, NULL, 1, 0, 0},
    {"copies are captured", capture_a_copy, prepare_order, NULL, 0, 0, 1},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
