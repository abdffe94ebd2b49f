/* Copies by every route: where the memory is, how it lies, and who waits for it. */
#include "../gpu/copy_support.h"
#include "scenario.h"

/* A matrix of 4-byte elements on either side. */
static place to_place;
static place from_place;
static int64_t rows;
static int64_t columns;
static int transposed; /* the source lies column by column */
static int32_t *to;
static int32_t *from;
static CUstream native;

static int64_t bytes_of_matrix(void) { return rows * columns * 4; }

/* Either is memory of the driver's, or the host's own. */
static void write_at(void *address, const void *given, int64_t bytes) {
    if (!fake(fake_device_write)((uint64_t)(uintptr_t)address, given, (size_t)bytes)) {
        memcpy(address, given, (size_t)bytes);
    }
}

static void read_at(void *out, const void *address, int64_t bytes) {
    if (!fake(fake_device_read)((uint64_t)(uintptr_t)address, out, (size_t)bytes)) {
        memcpy(out, address, (size_t)bytes);
    }
}

static void prepare_matrix(place dst, place src, int64_t height, int64_t width, int lies_transposed) {
    to_place = dst;
    from_place = src;
    rows = height;
    columns = width;
    transposed = lies_transposed;
    to = (int32_t *)(void *)place_memory(dst, (size_t)bytes_of_matrix());
    from = (int32_t *)(void *)place_memory(src, (size_t)bytes_of_matrix());
    native = new_stream();
    int32_t *numbers = malloc((size_t)bytes_of_matrix());
    for (int64_t i = 0; i < rows * columns; ++i) {
        numbers[i] = (int32_t)i;
    }
    write_at(from, numbers, bytes_of_matrix());
    memset(numbers, 0x55, (size_t)bytes_of_matrix());
    write_at(to, numbers, bytes_of_matrix());
    free(numbers);
}

static int has_arrived(void) {
    int32_t *found = malloc((size_t)bytes_of_matrix());
    read_at(found, to, bytes_of_matrix());
    int right = 1;
    for (int64_t i = 0; i < rows && right; ++i) {
        for (int64_t j = 0; j < columns && right; ++j) {
            right = found[i * columns + j] == (int32_t)(transposed ? j * rows + i : i * columns + j);
        }
    }
    free(found);
    return right;
}

static via_status export_matrix(int32_t *address, place where, int lies_transposed, via_array **out_array) {
    owner *who = new_owner(address, bytes_of_matrix());
    const int64_t *strides = lies_transposed ? SHAPE(1, rows) : NULL;
    const via_status status =
        look_at_status(via_wrap(address, VIA_INT32, 2, SHAPE(rows, columns), strides, place_type(where),
                                where == OTHER_DEVICE, 0, report_owner, who, out_array),
                       "via_wrap(...)");
    who->exported = status == VIA_OK;
    return status;
}

typedef struct two {
    via_array *dst;
    via_array *src;
} two;

static via_status export_two(two *out) {
    via_status status = VIA_OK;
    THEN(export_matrix(to, to_place, 0, &out->dst));
    THEN(export_matrix(from, from_place, transposed, &out->src));
    return status;
}

static void release_two(two *gone) {
    via_array_release(gone->dst);
    via_array_release(gone->src);
}

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

#define PREPARE(name, dst, src, height, width, lies_transposed) \
    static void prepare_##name(void) { prepare_matrix((dst), (src), (height), (width), (lies_transposed)); }

/* A row of the list for each way to copy. */
#define EACH_WAY(words, name, apart)                                                          \
    {words, copy_and_return_when_done, prepare_##name, NULL, (apart), 0, 0},                  \
        {words ", on a stream", copy_on_a_stream, prepare_##name, NULL, 0, 0, 0},             \
        {words ", and the arrays released", copy_and_release, prepare_##name, NULL, 0, 0, 0}, \
        {words ", as a task", copy_as_a_task, prepare_##name, NULL, (apart), 0, 0}

PREPARE(host, PAGEABLE, PAGEABLE, 300, 1200, 0)
PREPARE(host_transposed, PAGEABLE, PAGEABLE, 300, 1200, 1)
PREPARE(to_device, DEVICE, PINNED, 1, 1250, 0)
PREPARE(to_host, PINNED, DEVICE, 1, 1250, 0)
PREPARE(pageable_to_device, DEVICE, PAGEABLE, 1, 1250, 0)
PREPARE(device_to_pageable, PAGEABLE, DEVICE, 1, 1250, 0)
PREPARE(staged_to_device, DEVICE, PAGEABLE, 1, 5 << 17, 0)
PREPARE(staged_to_host, PAGEABLE, DEVICE, 1, 5 << 17, 0)
PREPARE(within_device, DEVICE, DEVICE, 1, 1250, 0)
PREPARE(transposed_within_device, DEVICE, DEVICE, 40, 50, 1)
PREPARE(transposed_to_device, DEVICE, PINNED, 200, 300, 1)
PREPARE(transposed_to_host, PAGEABLE, DEVICE, 200, 300, 1)
PREPARE(between_pinned, PINNED, PINNED, 1, 1250, 0)
PREPARE(managed, MANAGED, PINNED, 1, 1250, 0)
PREPARE(registered, DEVICE, REGISTERED, 1, 1250, 0)
PREPARE(to_peer, OTHER_DEVICE, DEVICE, 1, 1250, 0)
PREPARE(transposed_to_peer, OTHER_DEVICE, DEVICE, 20, 30, 1)

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
