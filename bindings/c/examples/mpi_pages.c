/*
 * Two ranks exchange pages of a cache and a window of columns, on a GPU where there is one. Each packs what it sends
 * into one pinned buffer, sends that as bytes, and unpacks it: MPI sees adjacent host memory only. An MPI datatype
 * of device memory would cost Open MPI one copy for each adjacent piece.
 *
 * mpiexec -n 2 mpi_pages
 */
#include <mpi.h>
#include <stdio.h>

#include "viaduct/viaduct.h"

enum { PAGES = 16, TOKENS = 8, WIDTH = 32, SENT = 4, COLUMN = 5, COLUMNS = 3, TAG_PAGES = 1, TAG_COLUMNS = 2 };

static const int32_t kFrom[SENT] = {5, 2, 11, 7}; /* pages of rank 0 */
static const int32_t kTo[SENT] = {0, 9, 3, 12};   /* and where rank 1 puts them */

static int rank;
static via_memory *cache_memory;  /* of a device, or NULL: the host */
static via_memory *packed_memory; /* pinned, or NULL: the host */

static void check(via_status status) {
    if (status != VIA_OK) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, via_status_name(status), via_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void find_memory(void) {
    int32_t devices = 0;
    if (via_device_count(VIA_DEVICE_CUDA, &devices) == VIA_OK && devices > 0) {
        check(via_memory_create(VIA_MEMORY_DEVICE, rank % devices, &cache_memory));
        check(via_memory_create(VIA_MEMORY_PINNED, rank % devices, &packed_memory));
    }
}

static via_array *index_of(const int32_t *pages) {
    const int64_t count = SENT;
    via_array *index = NULL;
    check(
        via_wrap((void *)pages, VIA_INT32, 1, &count, NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_READ_ONLY, NULL, NULL, &index));
    return index;
}

/* The bytes of a dense array in host memory, complete when this is called. */
static void send(via_array *packed, int tag) {
    MPI_Send(via_array_data(packed), (int)via_array_nbytes(packed), MPI_BYTE, 1, tag, MPI_COMM_WORLD);
}

static void receive(via_array *packed, int tag) {
    MPI_Recv(via_array_data(packed), (int)via_array_nbytes(packed), MPI_BYTE, 0, tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void exchange_pages(via_array *cache) {
    const int64_t shape[] = {SENT, TOKENS, WIDTH};
    via_array *packed = NULL;
    via_array *index = index_of(rank == 0 ? kFrom : kTo);
    check(via_empty(packed_memory, VIA_FLOAT32, 3, shape, NULL, &packed));
    if (rank == 0) {
        check(via_copy_indexed(packed, NULL, cache, index, 0, NULL, NULL));
        send(packed, TAG_PAGES);
    } else {
        receive(packed, TAG_PAGES);
        check(via_copy_indexed(cache, index, packed, NULL, 0, NULL, NULL));
    }
    via_array_release(packed);
    via_array_release(index);
}

/* A few columns of every token of every page. */
static void exchange_columns(via_array *cache) {
    const int64_t start[] = {0, 0, COLUMN};
    const int64_t count[] = {PAGES, TOKENS, COLUMNS};
    via_array *columns = NULL;
    via_array *packed = NULL;
    check(via_array_slice(cache, start, count, NULL, &columns));
    check(via_empty(packed_memory, VIA_FLOAT32, 3, count, NULL, &packed));
    if (rank == 0) {
        check(via_copy(packed, columns));
        send(packed, TAG_COLUMNS);
    } else {
        receive(packed, TAG_COLUMNS);
        check(via_copy(columns, packed));
    }
    via_array_release(packed);
    via_array_release(columns);
}

/* The number of an element in the cache of rank 0; the other's is full of -1. */
static float number_of(int page, int token, int column) { return (float)((page * TOKENS + token) * WIDTH + column); }

static void fill(via_array *cache, float *content) {
    for (int i = 0; i < PAGES * TOKENS * WIDTH; ++i) {
        content[i] = rank == 0 ? (float)i : -1;
    }
    via_array *host = NULL;
    check(via_wrap(content, VIA_FLOAT32, 3, via_array_shape(cache), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &host));
    check(via_copy(cache, host));
    via_array_release(host);
}

static float expected(int page, int token, int column) {
    if (column >= COLUMN && column < COLUMN + COLUMNS) {
        return number_of(page, token, column);
    }
    for (int i = 0; i < SENT; ++i) {
        if (kTo[i] == page) {
            return number_of(kFrom[i], token, column);
        }
    }
    return -1;
}

static void report(via_array *cache, float *content) {
    via_array *host = NULL;
    int wrong = 0;
    check(via_wrap(content, VIA_FLOAT32, 3, via_array_shape(cache), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &host));
    check(via_copy(host, cache));
    for (int i = 0; i < PAGES * TOKENS * WIDTH; ++i) {
        wrong += content[i] != expected(i / WIDTH / TOKENS, i / WIDTH % TOKENS, i % WIDTH);
    }
    printf("rank 1: %d pages and %d columns have arrived, %d elements are wrong\n", SENT, COLUMNS, wrong);
    via_array_release(host);
}

int main(int argc, char **argv) {
    static float content[PAGES * TOKENS * WIDTH];
    const int64_t shape[] = {PAGES, TOKENS, WIDTH};
    via_array *cache = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    find_memory();
    check(via_empty(cache_memory, VIA_FLOAT32, 3, shape, NULL, &cache));
    fill(cache, content);
    if (rank < 2) {
        exchange_pages(cache);
        exchange_columns(cache);
    }
    if (rank == 1) {
        report(cache, content);
    }
    via_array_release(cache);
    via_memory_release(cache_memory);
    via_memory_release(packed_memory);
    MPI_Finalize();
    return 0;
}
