/* Copies that take a third array: rows by index, and elements that are converted. */
#include "matrices.h"

/* Rows by index, the last first; the numbers of rows lie on the host or on a device. */
enum { INDEXED_ROWS = 40 };
static place numbers_place;
static int64_t *numbers;

static void prepare_indexed(place dst, place src, place of_numbers) {
    int64_t backwards[INDEXED_ROWS];
    prepare_matrix(dst, src, INDEXED_ROWS, 16, 0);
    for (int64_t i = 0; i < INDEXED_ROWS; ++i) {
        backwards[i] = INDEXED_ROWS - 1 - i;
    }
    numbers_place = of_numbers;
    numbers = (int64_t *)(void *)place_memory(of_numbers, sizeof backwards);
    write_at(numbers, backwards, sizeof backwards);
}

static void prepare_indexed_on_host(void) { prepare_indexed(PAGEABLE, PAGEABLE, PAGEABLE); }
static void prepare_indexed_on_device(void) { prepare_indexed(DEVICE, DEVICE, PAGEABLE); }
static void prepare_indexed_by_device(void) { prepare_indexed(DEVICE, DEVICE, DEVICE); }
static void prepare_indexed_pinned(void) { prepare_indexed(DEVICE, PINNED, PAGEABLE); }
static void prepare_indexed_to_device(void) { prepare_indexed(DEVICE, PAGEABLE, DEVICE); }
static void prepare_indexed_to_host(void) { prepare_indexed(PAGEABLE, DEVICE, PAGEABLE); }
static void prepare_indexed_to_peer(void) { prepare_indexed(OTHER_DEVICE, DEVICE, PAGEABLE); }

static via_status export_index(const two *both, via_array **out_index) {
    (void)both;
    via_array *bytes = NULL;
    via_status status = VIA_OK;
    THEN(export(numbers, INDEXED_ROWS * (int64_t)sizeof *numbers, place_type(numbers_place), 0, &bytes));
    THEN(via_array_reinterpret(bytes, VIA_INT64, out_index));
    via_array_release(bytes);
    return status;
}

/*
 * Runs `call` with the two matrices and a third array, on a stream or on none, and waits for it. The third array is
 * made of the two, or of none.
 */
static via_status run_with_third(via_status (*make_third)(const two *, via_array **),
                                 via_status (*call)(const two *, via_array *, via_stream *), int on_stream) {
    via_status status = VIA_OK;
    two both = {NULL, NULL};
    via_array *third = NULL;
    via_stream *stream = NULL;
    if (on_stream) THEN(via_stream_wrap(native, 0, &stream));
    THEN(export_two(&both));
    THEN(make_third(&both, &third));
    THEN(call(&both, third, stream));
    if (on_stream) THEN(via_stream_synchronize(stream));
    HOLDS(has_arrived());
    via_array_release(third);
    release_two(&both);
    via_stream_release(stream);
    return status;
}

static via_status wait_for(via_task *task) {
    via_status status = VIA_OK;
    THEN(via_task_wait(task));
    via_task_release(task);
    return status;
}

static via_status copy_indexed(const two *both, via_array *index, via_stream *stream) {
    via_status status = VIA_OK;
    THEN(via_copy_indexed(both->dst, index, both->src, index, 0, NULL, stream));
    return status;
}

static via_status submit_indexed(const two *both, via_array *index, via_stream *stream) {
    via_status status = VIA_OK;
    via_task *task = NULL;
    THEN(via_copy_indexed_submit(both->dst, index, both->src, index, 0, NULL, stream, &task));
    THEN(wait_for(task));
    return status;
}

static via_status run_indexed_batch(const two *both, via_array *index, via_stream *stream) {
    via_status status = VIA_OK;
    via_batch *batch = NULL;
    THEN(via_batch_create(&batch));
    THEN(via_batch_add_indexed(batch, both->dst, index, both->src, index, 0, NULL));
    THEN(via_batch_run(batch, stream));
    THEN(via_batch_run(batch, stream));
    THEN(via_stream_synchronize(stream));
    via_batch_release(batch);
    return status;
}

static via_status copy_by_index_now(void) { return run_with_third(export_index, copy_indexed, 0); }
static via_status copy_by_index_on_a_stream(void) { return run_with_third(export_index, copy_indexed, 1); }
static via_status copy_by_index_as_a_task(void) { return run_with_third(export_index, submit_indexed, 0); }
static via_status copy_by_index_in_a_batch(void) { return run_with_third(export_index, run_indexed_batch, 1); }

/* Integers become unsigned ones of the same bits, so that every byte arrives. */
static const via_convert_options unsafely = {
    (int32_t)sizeof(via_convert_options), VIA_CASTING_UNSAFE, 0, 0, NULL, NULL, 0, 0, 0};

static via_status reinterpret_dst(const two *both, via_array **out_dst) {
    via_status status = VIA_OK;
    THEN(via_array_reinterpret(both->dst, VIA_UINT32, out_dst));
    return status;
}

static via_status convert(const two *both, via_array *dst, via_stream *stream) {
    via_status status = VIA_OK;
    THEN(via_convert(dst, both->src, &unsafely, stream));
    return status;
}

static via_status explain_and_convert(const two *both, via_array *dst, via_stream *stream) {
    via_status status = VIA_OK;
    char text[1024];
    int64_t length = 0;
    THEN(via_convert_explain(dst, both->src, &unsafely, sizeof text, text, &length));
    THEN(convert(both, dst, stream));
    return status;
}

static via_status submit_conversion(const two *both, via_array *dst, via_stream *stream) {
    via_status status = VIA_OK;
    via_task *task = NULL;
    THEN(via_convert_submit(dst, both->src, &unsafely, stream, &task));
    THEN(wait_for(task));
    return status;
}

static via_status convert_batch(const two *both, via_array *dst, via_stream *stream) {
    via_status status = VIA_OK;
    via_batch *batch = NULL;
    via_task *task = NULL;
    THEN(via_batch_create(&batch));
    THEN(via_batch_add_convert(batch, dst, both->src, &unsafely));
    THEN(via_batch_run(batch, stream));
    THEN(via_batch_submit(batch, stream, &task));
    THEN(wait_for(task));
    via_batch_release(batch);
    return status;
}

static via_status convert_now(void) { return run_with_third(reinterpret_dst, explain_and_convert, 0); }
static via_status convert_on_a_stream(void) { return run_with_third(reinterpret_dst, convert, 1); }
static via_status convert_as_a_task(void) { return run_with_third(reinterpret_dst, submit_conversion, 0); }
static via_status convert_in_a_batch(void) { return run_with_third(reinterpret_dst, convert_batch, 1); }
static via_status convert_in_a_batch_of_host(void) { return run_with_third(reinterpret_dst, convert_batch, 0); }

#define EACH_WAY_CONVERTED(words, name)                                                        \
    {words ", converted", convert_now, prepare_##name, NULL, 0, 0, 0},                         \
        {words ", converted on a stream", convert_on_a_stream, prepare_##name, NULL, 0, 0, 0}, \
        {words ", converted as a task", convert_as_a_task, prepare_##name, NULL, 0, 0, 0},     \
        {words ", converted in a batch", convert_in_a_batch, prepare_##name, NULL, 0, 0, 0}

#define EACH_WAY_BY_INDEX(words, name)                                                              \
    {words " by index", copy_by_index_now, prepare_##name, NULL, 0, 0, 0},                          \
        {words " by index, on a stream", copy_by_index_on_a_stream, prepare_##name, NULL, 0, 0, 0}, \
        {words " by index, as a task", copy_by_index_as_a_task, prepare_##name, NULL, 0, 0, 0},     \
        {words " by index, in a batch", copy_by_index_in_a_batch, prepare_##name, NULL, 0, 0, 0}

const scenario indexed_and_converted_scenarios[] = {
    {"host memory is converted", convert_now, prepare_host, NULL, 0, 0, 0},
    {"host memory is converted to its transpose", convert_now, prepare_host_transposed, NULL, 0, 0, 0},
    {"host memory is converted as a task", convert_as_a_task, prepare_host_transposed, NULL, 0, 0, 0},
    {"host memory is converted in a batch", convert_in_a_batch_of_host, prepare_host, NULL, 0, 0, 0},
    EACH_WAY_CONVERTED("a device's is copied", within_device),
    EACH_WAY_CONVERTED("pinned memory goes transposed to a device", transposed_to_device),
    EACH_WAY_CONVERTED("pageable memory goes to a device", staged_to_device),
    EACH_WAY_CONVERTED("a device's goes transposed to pageable memory", transposed_to_host),
    EACH_WAY_CONVERTED("a device's goes to another", transposed_to_peer),
    {"host rows go by index", copy_by_index_now, prepare_indexed_on_host, NULL, 0, 0, 0},
    {"host rows go by index, as a task", copy_by_index_as_a_task, prepare_indexed_on_host, NULL, 0, 0, 0},
    EACH_WAY_BY_INDEX("a device's rows go", indexed_on_device),
    EACH_WAY_BY_INDEX("a device's rows go by its own numbers,", indexed_by_device),
    EACH_WAY_BY_INDEX("pinned rows go to a device", indexed_pinned),
    EACH_WAY_BY_INDEX("pageable rows go to a device", indexed_to_device),
    EACH_WAY_BY_INDEX("a device's rows go to pageable memory", indexed_to_host),
    EACH_WAY_BY_INDEX("a device's rows go to another", indexed_to_peer),
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
