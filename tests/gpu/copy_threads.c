/* Copies of every kind from many threads at once. */
#include "pending_copy.h"

enum { threads = 8, rounds = 12, bytes = 300000 };

typedef struct worker {
    pair first;  /* pageable to device */
    pair second; /* what it brought, back to pinned */
    via_stream *stream;
    CUstream native;
    via_array *shared;
    int32_t number;
    pthread_t thread;
    int32_t wrong;
} worker;

static via_status round_trip(worker *self, int32_t round) {
    via_task *task = NULL;
    via_status status = VIA_OK;
    switch ((self->number + round) % 3) {
        case 0:
            status = via_copy(self->first.dst.array, self->first.src.array);
            return status != VIA_OK ? status : via_copy(self->second.dst.array, self->first.dst.array);
        case 1:
            status = via_copy_async(self->first.dst.array, self->first.src.array, self->stream);
            status =
                status != VIA_OK ? status : via_copy_async(self->second.dst.array, self->first.dst.array, self->stream);
            return status != VIA_OK ? status : via_stream_synchronize(self->stream);
        default:
            status = via_copy_submit(self->first.dst.array, self->first.src.array, self->stream, &task);
            if (status == VIA_OK) {
                status = via_copy(self->second.dst.array, self->first.dst.array);
                via_task_release(task);
            }
            return status;
    }
}

static void *work(void *context) {
    worker *self = context;
    for (int32_t round = 0; round < rounds && self->wrong == 0; ++round) {
        const unsigned seed = (unsigned)(self->number * rounds + round);
        fill_pattern(self->first.src.data, bytes, seed);
        memset(self->second.dst.data, 0, bytes);
        char *expected = malloc(bytes);
        fill_pattern(expected, bytes, seed);
        const via_status status = round_trip(self, round);
        self->wrong |= status != VIA_OK;
        self->wrong |= (memcmp(self->second.dst.data, expected, bytes) != 0) << 1;
        free(expected);
        /* One source for all. */
        self->wrong |= (via_copy_async(self->second.src.array, self->shared, self->stream) != VIA_OK) << 2;
    }
    return NULL;
}

static void threads_copy_in_all_directions_at_once(void **state) {
    (void)state;
    static worker workers[threads];
    block shared = new_block(DEVICE, bytes, NULL);
    write_block(&shared, 9);
    for (int32_t i = 0; i < threads; ++i) {
        worker *self = &workers[i];
        *self = (worker){.number = i, .shared = shared.array};
        self->first = new_pair(DEVICE, PAGEABLE, bytes);
        self->second = new_pair(PINNED, DEVICE, bytes);
        self->native = new_stream();
        self->stream = wrap_native(self->native, 0);
    }
    for (int32_t i = 0; i < threads; ++i) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int32_t i = 0; i < threads; ++i) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].wrong, 0);
        finish(workers[i].native);
        assert_block(&workers[i].second.src, 9);
        end_pair(&workers[i].first);
        end_pair(&workers[i].second);
    }
    end_block(&shared);
}

/* More threads than the library has buffers for such copies, each with the legacy stream and one of its own. */
enum { small_threads = 24, small_rounds = 60, most_small_bytes = 160 << 10 };

typedef struct reader {
    via_array *device;
    via_stream *stream;
    unsigned seed;
    pthread_t thread;
    int32_t wrong;
} reader;

static via_status read_slice(reader *self, char *room, int64_t offset, int64_t count, int in_order) {
    via_array *slice = NULL;
    via_array *host = wrap_bytes(room, count, VIA_DEVICE_CPU, 0, NULL);
    via_status status = via_array_slice(self->device, &offset, &count, NULL, &slice);
    if (status == VIA_OK) {
        status = in_order ? via_copy_async(host, slice, self->stream) : via_copy(host, slice);
    }
    via_array_release(slice);
    via_array_release(host);
    return status;
}

static void *read_in_pieces(void *context) {
    reader *self = context;
    char *room = malloc(most_small_bytes);
    char *expected = malloc(most_small_bytes);
    fill_pattern(expected, most_small_bytes, self->seed);
    for (int64_t round = 0; round < small_rounds && self->wrong == 0; ++round) {
        const int64_t offset = round * 31;
        const int64_t count = round % 4 == 0 ? most_small_bytes - offset : 1 + (round * 977) % 9000;
        memset(room, 0, most_small_bytes);
        self->wrong |= read_slice(self, room, offset, count, round % 2 != 0) != VIA_OK;
        self->wrong |= (memcmp(room, expected + offset, (size_t)count) != 0) << 1;
    }
    free(room);
    free(expected);
    return NULL;
}

static void threads_read_small_pieces_into_pageable_memory(void **state) {
    (void)state;
    static reader readers[small_threads];
    for (int32_t i = 0; i < small_threads; ++i) {
        const CUdeviceptr memory = device_memory(most_small_bytes);
        write_pattern(memory, most_small_bytes, (unsigned)i);
        readers[i] = (reader){.device = wrap_device(memory, most_small_bytes, NULL), .seed = (unsigned)i};
        readers[i].stream = wrap_native(new_stream(), 0);
    }
    for (int32_t i = 0; i < small_threads; ++i) {
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_in_pieces, &readers[i]), 0);
    }
    for (int32_t i = 0; i < small_threads; ++i) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].wrong, 0);
        via_array_release(readers[i].device);
    }
}

/* Two threads write halves of one array, each on its own stream. */
enum { half_bytes = 500, write_rounds = 60 };

typedef struct half_writer {
    via_array *dst;
    via_array *src;
    CUstream native;
    via_stream *stream;
    pthread_barrier_t *start;
    via_status status;
    pthread_t thread;
} half_writer;

static void *write_half(void *context) {
    half_writer *self = context;
    pthread_barrier_wait(self->start);
    self->status = via_copy_async(self->dst, self->src, self->stream);
    return NULL;
}

static void write_both(half_writer *writers) {
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; ++i) {
        writers[i].start = &start;
        hold(writers[i].native);
        keep_busy(writers[i].native);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_half, &writers[i]), 0);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(writers[i].thread, NULL);
        ok(writers[i].status);
    }
    pthread_barrier_destroy(&start);
}

static void a_reader_waits_for_all_threads_that_write_at_once(void **state) {
    (void)state;
    ok(via_cuda_warmup(0)); /* loading kernels waits for streams */
    pair whole = new_pair(DEVICE, DEVICE, 2 * half_bytes);
    block seen = new_block(PINNED, 2 * half_bytes, NULL);
    half_writer writers[2];
    for (int64_t i = 0; i < 2; ++i) {
        const int64_t first = i * half_bytes;
        writers[i] = (half_writer){.native = new_stream()};
        writers[i].stream = wrap_native(writers[i].native, 0);
        ok(via_array_slice(whole.dst.array, &first, SHAPE(half_bytes), NULL, &writers[i].dst));
        ok(via_array_slice(whole.src.array, &first, SHAPE(half_bytes), NULL, &writers[i].src));
    }
    for (unsigned round = 0; round < write_rounds; ++round) {
        via_task *task = NULL;
        write_block(&whole.src, 100 + round);
        write_both(writers);
        ok(via_copy_submit(seen.array, whole.dst.array, NULL, &task));
        release(writers[round % 2].native);
        assert_true(is_undone(task));
        release(writers[(round + 1) % 2].native);
        ok(via_task_wait(task));
        via_task_release(task);
        assert_block(&whole.dst, 100 + round);
        char expected[2 * half_bytes];
        fill_pattern(expected, sizeof expected, 100 + round);
        assert_memory_equal(seen.data, expected, sizeof expected);
    }
    for (int i = 0; i < 2; ++i) {
        via_array_release(writers[i].dst);
        via_array_release(writers[i].src);
    }
    end_block(&seen);
    end_pair(&whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(threads_copy_in_all_directions_at_once),
        GPU_TEST(threads_read_small_pieces_into_pageable_memory),
        GPU_TEST(a_reader_waits_for_all_threads_that_write_at_once),
    };
    return run_gpu_tests(tests);
}
