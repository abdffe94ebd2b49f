/*
 * A map over a file that need not fit in memory: stream_blocks IN.npy OUT.npy doubles every float32 of IN. While one
 * block is worked on the next ones are read, and the results of the last are written, by tasks of the library; three
 * buffers are all the memory that it takes, however large the file is. For buffers on a GPU make them of
 * via_memory_create(VIA_MEMORY_DEVICE, 0, &memory), queue the work on a stream, and hand that to the two submits.
 */
#include <stdio.h>
#include <stdlib.h>

#include "viaduct/viaduct.h"

enum { BUFFERS = 3, BLOCK_BYTES = 8 << 20, ELEMENT_BYTES = 4 };

/* A buffer, and what is under way with it: at most one of the two tasks. */
typedef struct buffer {
    via_array *array; /* all of it */
    via_array *part;  /* as much as the block has */
    via_task *task;
} buffer;

typedef struct stream {
    via_file *in;
    via_file *out;
    int64_t count; /* elements in all */
    int64_t block; /* elements in a block */
    buffer buffers[BUFFERS];
} stream;

static void check(via_status status) {
    if (status != VIA_OK) {
        fprintf(stderr, "%s: %s\n", via_status_name(status), via_last_error());
        exit(1);
    }
}

static int64_t blocks_of(const stream *all) { return (all->count + all->block - 1) / all->block; }

static buffer *buffer_of(stream *all, int64_t number) { return &all->buffers[number % BUFFERS]; }

/* Waits for what is under way with the buffer. */
static void settle(buffer *one) {
    if (one->task != NULL) {
        check(via_task_wait(one->task));
        via_task_release(one->task);
        one->task = NULL;
    }
}

static void start_read(stream *all, int64_t number) {
    if (number >= blocks_of(all)) {
        return;
    }
    buffer *one = buffer_of(all, number);
    settle(one); /* its last result has been written */
    via_array_release(one->part);
    const int64_t first = number * all->block;
    const int64_t length = all->count - first < all->block ? all->count - first : all->block;
    check(via_array_slice(one->array, NULL, &length, NULL, &one->part));
    check(via_file_read_submit(all->in, first * ELEMENT_BYTES, one->part, NULL, &one->task));
}

static void start_write(stream *all, int64_t number) {
    buffer *one = buffer_of(all, number);
    check(via_file_write_submit(all->out, number * all->block * ELEMENT_BYTES, one->part, NULL, &one->task));
}

static void work(via_array *part) {
    float *values = via_array_data(part);
    for (int64_t i = 0; i < via_array_size(part); ++i) {
        values[i] *= 2;
    }
}

static void open_files(stream *all, const char *from, const char *to) {
    via_file_properties found = VIA_FILE_PROPERTIES_INIT;
    via_file_options options = VIA_FILE_OPTIONS_INIT;
    options.as_bytes = 1; /* blocks are of so many elements, whatever the rows are */
    check(via_file_open(from, &options, &all->in));
    check(via_file_info(all->in, &found));
    if (found.dtype != VIA_FLOAT32 || found.byte_order != VIA_BYTE_ORDER_NATIVE) {
        fprintf(stderr, "%s is no .npy file of float32 in this machine's byte order\n", from);
        exit(1);
    }
    options.column_major = found.column_major;
    check(via_file_create(to, found.dtype, found.ndim, found.shape, &options, &all->out));
    all->count = 1;
    for (int i = 0; i < found.ndim; ++i) {
        all->count *= found.shape[i];
    }
    all->block = BLOCK_BYTES / ELEMENT_BYTES;
    for (int i = 0; i < BUFFERS; ++i) {
        check(via_empty(NULL, VIA_FLOAT32, 1, &all->block, NULL, &all->buffers[i].array));
    }
}

/* While a block is worked on, the next one is being read and the one before written. */
static void run(stream *all) {
    start_read(all, 0);
    for (int64_t number = 0; number < blocks_of(all); ++number) {
        start_read(all, number + 1);
        settle(buffer_of(all, number)); /* it has arrived */
        work(buffer_of(all, number)->part);
        start_write(all, number);
        fprintf(stderr, "\r%lld of %lld blocks", (long long)number + 1, (long long)blocks_of(all));
    }
    fprintf(stderr, "\n");
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s IN.npy OUT.npy\n", argv[0]);
        return 2;
    }
    stream all = {0};
    check(via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR));
    open_files(&all, argv[1], argv[2]);
    run(&all);
    for (int i = 0; i < BUFFERS; ++i) {
        settle(&all.buffers[i]);
        via_array_release(all.buffers[i].part);
        via_array_release(all.buffers[i].array);
    }
    via_file_release(all.in);
    via_file_release(all.out);
    return 0;
}
