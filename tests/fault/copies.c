/* Copies by every route: where the memory is, how it lies, and who waits for it. */
#include "matrices.h"

static via_status copy_and_return_when_done(void) {
    via_status status = VIA_OK;
    two both = {NULL, NULL};
    THEN(export_two(&both));
    THEN(via_copy(both.dst, both.src));
    HOLDS(has_arrived());
    release_two(&both);
    return status;
}

static via_status copy_on_a_stream(void) {
    via_status status = VIA_OK;
    two both = {NULL, NULL};
    via_stream *stream = NULL;
    fake(fake_stream_delay)(native, 5);
    THEN(via_stream_wrap(native, 0, &stream));
    THEN(export_two(&both));
    THEN(via_copy_async(both.dst, both.src, stream));
    THEN(via_stream_synchronize(stream));
    HOLDS(has_arrived());
    release_two(&both);
    via_stream_release(stream);
    return status;
}

/* Nobody waits: the owners are reported when it has run. */
static via_status copy_and_release(void) {
    via_status status = VIA_OK;
    two both = {NULL, NULL};
    via_stream *stream = NULL;
    fake(fake_stream_delay)(native, 5);
    THEN(via_stream_wrap(native, 0, &stream));
    THEN(export_two(&both));
    THEN(via_copy_async(both.dst, both.src, stream));
    release_two(&both);
    via_stream_release(stream);
    return status;
}

static void note_end(int32_t status, const char *text, void *context) {
    if ((status == VIA_OK) != (*text == '\0')) {
        complain("a task ended with %s and the text \"%s\"", via_status_name(status), text);
    }
    report_owner(context);
}

static via_status copy_as_a_task(void) {
    via_status status = VIA_OK;
    two both = {NULL, NULL};
    via_stream *stream = NULL;
    via_task *task = NULL;
    int64_t done = 0;
    int64_t total = 0;
    int32_t ended = 0;
    owner *listener = new_owner(NULL, 0);
    THEN(via_stream_wrap(native, 0, &stream));
    THEN(export_two(&both));
    THEN(via_copy_submit(both.dst, both.src, stream, &task));
    THEN(via_task_on_complete(task, note_end, listener));
    listener->exported = status == VIA_OK;
    THEN(via_task_join(task, stream));
    THEN(via_task_poll(task, &ended));
    THEN(via_task_progress(task, &done, &total));
    THEN(via_task_wait(task));
    HOLDS(has_arrived());
    via_task_release(task);
    release_two(&both);
    via_stream_release(stream);
    return status;
}

/* A row of the list for each way to copy. */
#define EACH_WAY(words, name, apart)                                                          \
    {words, copy_and_return_when_done, prepare_##name, NULL, (apart), 0, 0},                  \
        {words ", on a stream", copy_on_a_stream, prepare_##name, NULL, 0, 0, 0},             \
        {words ", and the arrays released", copy_and_release, prepare_##name, NULL, 0, 0, 0}, \
        {words ", as a task", copy_as_a_task, prepare_##name, NULL, (apart), 0, 0}

PREPARE(to_device, DEVICE, PINNED, 1, 1250, 0)
PREPARE(to_host, PINNED, DEVICE, 1, 1250, 0)
PREPARE(pageable_to_device, DEVICE, PAGEABLE, 1, 1250, 0)
PREPARE(device_to_pageable, PAGEABLE, DEVICE, 1, 1250, 0)
PREPARE(staged_to_host, PAGEABLE, DEVICE, 1, 5 << 17, 0)
PREPARE(transposed_within_device, DEVICE, DEVICE, 40, 50, 1)
PREPARE(between_pinned, PINNED, PINNED, 1, 1250, 0)
PREPARE(managed, MANAGED, PINNED, 1, 1250, 0)
PREPARE(registered, DEVICE, REGISTERED, 1, 1250, 0)
PREPARE(to_peer, OTHER_DEVICE, DEVICE, 1, 1250, 0)

/* -- pools of two devices ------------------------------------------------------------------------------------------ */

enum { POOLED = 100000 };

static via_status pooled_array(int32_t device_id, via_array **out_array) {
    via_status status = VIA_OK;
    via_memory *memory = NULL;
    THEN(via_memory_create(VIA_MEMORY_DEVICE_POOL, device_id, &memory));
    THEN(via_empty(memory, VIA_UINT8, 1, SHAPE(POOLED), NULL, out_array));
    via_memory_release(memory);
    return status;
}

static via_status copy_between_pools(void) {
    via_status status = VIA_OK;
    two both = {NULL, NULL};
    const uint8_t seven = 7;
    uint8_t found[2] = {0, 0};
    THEN(pooled_array(1, &both.dst));
    THEN(pooled_array(0, &both.src));
    THEN(via_fill(both.src, &seven, NULL));
    THEN(via_copy(both.dst, both.src));
    THEN(via_memcpy(found, (char *)via_array_data(both.dst) + POOLED - 2, 2, NULL));
    THEN(via_stream_synchronize(via_stream_legacy()));
    HOLDS(found[0] == seven && found[1] == seven);
    release_two(&both);
    return status;
}

/* -- many at once, fills, raw addresses --------------------------------------------------------------------------- */

enum { PIECES = 12, FEW = 5, PIECE = 512 };

static int64_t pieces;

static void prepare_so_many(place dst, place src, int64_t count) {
    pieces = count;
    prepare_matrix(dst, src, count, PIECE / 4, 0);
}
static void prepare_pieces(place dst, place src) { prepare_so_many(dst, src, PIECES); }
static void prepare_pieces_of_device(void) { prepare_pieces(DEVICE, DEVICE); }
static void prepare_pieces_of_host(void) { prepare_pieces(PAGEABLE, PAGEABLE); }
static void prepare_pinned_pieces(void) { prepare_pieces(DEVICE, PINNED); }
static void prepare_few_pinned_pieces(void) { prepare_so_many(DEVICE, PINNED, FEW); }
static void prepare_mixed_pieces(void) { prepare_pieces(DEVICE, PAGEABLE); }

static int32_t id_of(place where) { return where == OTHER_DEVICE; }

static via_status export_pieces(via_array **dsts, via_array **srcs) {
    via_status status = VIA_OK;
    for (int64_t i = 0; i < pieces; ++i) {
        THEN(export((char *)to + i * PIECE, PIECE, place_type(to_place), id_of(to_place), &dsts[i]));
        THEN(export((char *)from + i * PIECE, PIECE, place_type(from_place), id_of(from_place), &srcs[i]));
    }
    return status;
}

static void release_pieces(via_array **dsts, via_array **srcs) {
    for (int64_t i = 0; i < pieces; ++i) {
        via_array_release(dsts[i]);
        via_array_release(srcs[i]);
    }
}

static via_status copy_many(void) {
    via_status status = VIA_OK;
    via_array *dsts[PIECES] = {NULL};
    via_array *srcs[PIECES] = {NULL};
    via_stream *stream = NULL;
    THEN(via_stream_wrap(native, 0, &stream));
    THEN(export_pieces(dsts, srcs));
    THEN(via_copy_batch((int32_t)pieces, dsts, srcs, stream));
    THEN(via_stream_synchronize(stream));
    HOLDS(has_arrived());
    release_pieces(dsts, srcs);
    via_stream_release(stream);
    return status;
}

static via_status add_pieces(via_batch *batch, via_array **dsts, via_array **srcs) {
    via_status status = VIA_OK;
    for (int64_t i = 0; i < pieces; ++i) {
        THEN(via_batch_add(batch, dsts[i], srcs[i]));
    }
    return status;
}

static via_status run_a_batch(void) {
    via_status status = VIA_OK;
    via_array *dsts[PIECES] = {NULL};
    via_array *srcs[PIECES] = {NULL};
    via_stream *stream = NULL;
    via_batch *batch = NULL;
    THEN(via_stream_wrap(native, 0, &stream));
    THEN(export_pieces(dsts, srcs));
    THEN(via_batch_create(&batch));
    THEN(add_pieces(batch, dsts, srcs));
    HOLDS(via_batch_size(batch) == pieces);
    release_pieces(dsts, srcs);
    via_batch_retain(batch);
    THEN(via_batch_run(batch, stream));
    THEN(via_batch_run(batch, stream));
    THEN(via_stream_synchronize(stream));
    HOLDS(has_arrived());
    via_batch_release(batch);
    via_batch_release(batch);
    via_stream_release(stream);
    return status;
}

static via_status submit_a_batch(void) {
    via_status status = VIA_OK;
    via_array *dsts[PIECES] = {NULL};
    via_array *srcs[PIECES] = {NULL};
    via_batch *batch = NULL;
    via_task *task = NULL;
    THEN(export_pieces(dsts, srcs));
    THEN(via_batch_create(&batch));
    THEN(add_pieces(batch, dsts, srcs));
    THEN(via_batch_submit(batch, NULL, &task));
    via_batch_release(batch);
    THEN(via_task_wait(task));
    HOLDS(has_arrived());
    via_task_release(task);
    release_pieces(dsts, srcs);
    return status;
}

static void finish_native(void) {
    fake(fake_spare_thread)(1);
    cu(cuStreamSynchronize)(native);
    fake(fake_spare_thread)(0);
}

static via_status copy_raw(void) {
    via_status status = VIA_OK;
    via_stream *stream = NULL;
    two both = {NULL, NULL};
    char text[512];
    int64_t length = 0;
    THEN(via_stream_wrap(native, 0, &stream));
    THEN(export_two(&both));
    THEN(via_copy_explain(both.dst, both.src, sizeof text, text, &length));
    THEN(via_fill(both.dst, NULL, NULL));
    THEN(via_fill(both.dst, "1234", stream));
    THEN(via_memcpy(to, from, bytes_of_matrix(), stream));
    THEN(via_stream_synchronize(stream));
    if (status != VIA_OK) {
        finish_native(); /* nothing holds raw memory for a copy that may be under way still */
    }
    HOLDS(has_arrived());
    THEN(via_fill(both.dst, "1234", NULL));
    THEN(via_memcpy(to, from, bytes_of_matrix(), NULL));
    HOLDS(has_arrived());
    release_two(&both);
    via_stream_release(stream);
    return status;
}

/* Elements of every size that a fill does in another way. */
static via_status fill_with_elements(void) {
    static const int32_t dtypes[] = {VIA_UINT8, VIA_INT16, VIA_INT32, VIA_INT64, VIA_COMPLEX128};
    via_status status = VIA_OK;
    via_stream *stream = NULL;
    via_array *whole = NULL;
    THEN(via_stream_wrap(native, 0, &stream));
    THEN(export(to, bytes_of_matrix(), place_type(to_place), 0, &whole));
    for (int32_t i = 0; i < LENGTH(dtypes) + 2; ++i) {
        via_array *array = NULL;
        THEN(via_array_reinterpret(whole, i < LENGTH(dtypes) ? dtypes[i] : via_dtype_record(i % 2 == 0 ? 3 : 6),
                                   &array));
        THEN(via_fill(array, "0123456789abcdef", stream));
        via_array_release(array);
    }
    THEN(via_stream_synchronize(stream));
    via_array_release(whole);
    via_stream_release(stream);
    return status;
}

/* Long rows with gaps between them, of two and of three dimensions. */
static via_status copy_rows(void) {
    via_status status = VIA_OK;
    via_stream *stream = NULL;
    THEN(via_stream_wrap(native, 0, &stream));
    for (int32_t ndim = 2; ndim <= 3; ++ndim) {
        via_array *whole[2] = {NULL};
        via_array *shaped[2] = {NULL};
        via_array *parts[2] = {NULL};
        const int64_t *shape = ndim == 2 ? SHAPE(4, 8192) : SHAPE(2, 4, 4096);
        const int64_t *part = ndim == 2 ? SHAPE(4, 8000) : SHAPE(2, 3, 4000);
        THEN(export(to, bytes_of_matrix(), place_type(to_place), 0, &whole[0]));
        THEN(export(from, bytes_of_matrix(), place_type(from_place), 0, &whole[1]));
        for (int32_t i = 0; i < 2; ++i) {
            THEN(via_array_reshape(whole[i], ndim, shape, &shaped[i]));
            THEN(via_array_slice(shaped[i], NULL, part, NULL, &parts[i]));
        }
        THEN(via_copy_async(parts[0], parts[1], stream));
        for (int32_t i = 0; i < 2; ++i) {
            via_array_release(parts[i]);
            via_array_release(shaped[i]);
            via_array_release(whole[i]);
        }
    }
    THEN(via_stream_synchronize(stream));
    via_stream_release(stream);
    return status;
}

PREPARE(elements, DEVICE, DEVICE, 1, 768, 0)
PREPARE(rows, DEVICE, PINNED, 1, 8192, 0)
PREPARE(managed_both, MANAGED, MANAGED, 1, 1250, 0)

const scenario copy_scenarios[] = {
    EACH_WAY("host memory is copied", host, 1),
    EACH_WAY("host memory is transposed", host_transposed, 0),
    EACH_WAY("pinned memory goes to a device", to_device, 1),
    EACH_WAY("a device's goes to pinned memory", to_host, 0),
    EACH_WAY("a little pageable memory goes to a device", pageable_to_device, 0),
    EACH_WAY("a little of a device's goes to pageable memory", device_to_pageable, 0),
    EACH_WAY("pageable memory goes to a device", staged_to_device, 1),
    EACH_WAY("a device's goes to pageable memory", staged_to_host, 0),
    EACH_WAY("a device's is copied", within_device, 0),
    EACH_WAY("a device's is transposed", transposed_within_device, 1),
    EACH_WAY("transposed pinned memory goes to a device", transposed_to_device, 1),
    EACH_WAY("a device's goes transposed to pageable memory", transposed_to_host, 0),
    EACH_WAY("managed memory is copied to", managed, 0),
    EACH_WAY("registered memory goes to a device", registered, 0),
    EACH_WAY("a device's goes to another", to_peer, 1),
    EACH_WAY("a device's goes transposed to another", transposed_to_peer, 0),
    {"pool memory of a device goes to another", copy_between_pools, NULL, NULL, 0, 0, 0},
    {"many are copied at once on a device", copy_many, prepare_pieces_of_device, NULL, 1, 0, 0},
    {"many are copied at once to a device", copy_many, prepare_mixed_pieces, NULL, 0, 0, 0},
    {"many are copied at once on the host", copy_many, prepare_pieces_of_host, NULL, 0, 0, 0},
    {"a batch is run on a device", run_a_batch, prepare_pieces_of_device, NULL, 0, 0, 0},
    {"a batch is run to a device", run_a_batch, prepare_mixed_pieces, NULL, 0, 0, 0},
    {"a batch is run from pinned memory", run_a_batch, prepare_pinned_pieces, NULL, 0, 0, 0},
    {"a batch of few is run from pinned memory", run_a_batch, prepare_few_pinned_pieces, NULL, 0, 0, 0},
    {"a batch is submitted on a device", submit_a_batch, prepare_pieces_of_device, NULL, 0, 0, 0},
    {"a batch is submitted to a device", submit_a_batch, prepare_mixed_pieces, NULL, 0, 0, 0},
    {"a batch is submitted on the host", submit_a_batch, prepare_pieces_of_host, NULL, 0, 0, 0},
    {"pinned memory is copied on a stream", copy_on_a_stream, prepare_between_pinned, NULL, 0, 0, 0},
    {"managed memory is copied", copy_on_a_stream, prepare_managed_both, NULL, 0, 0, 0},
    {"rows go to a device", copy_rows, prepare_rows, NULL, 0, 0, 0},
    {"a device is filled with elements of every size", fill_with_elements, prepare_elements, NULL, 0, 0, 0},
    {"raw memory of a device is filled and copied", copy_raw, prepare_within_device, NULL, 0, 0, 0},
    {"raw pinned memory is filled and copied", copy_raw, prepare_to_host, NULL, 0, 0, 0},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
