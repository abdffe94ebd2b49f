/*
 * The disk alone, for bench_files.py: threads that read or write pieces of a file past the page cache, each waiting for
 * its own. What is timed is the disk's, whoever asks it.
 */
#define _GNU_SOURCE /* O_DIRECT */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_THREADS = 256, BLOCK = 4096, HUGE_PAGE = 2 << 20 };

typedef struct moves {
    int file;
    int writes;
    int huge;
    int64_t piece;
    int64_t first;
    int64_t step;
    int64_t count;
    atomic_llong next;
    atomic_int error;
} moves;

static char *new_buffer(int64_t bytes, int huge) {
    char *buffer = aligned_alloc(huge ? HUGE_PAGE : BLOCK, (size_t)bytes);
    if (buffer != NULL && huge) {
        (void)madvise(buffer, (size_t)bytes, MADV_HUGEPAGE);
    }
    return buffer;
}

static void *work(void *given) {
    moves *all = given;
    char *buffer = new_buffer(all->piece, all->huge);
    if (buffer == NULL) {
        atomic_store(&all->error, ENOMEM);
        return NULL;
    }
    memset(buffer, 1, (size_t)all->piece);
    for (long long i = atomic_fetch_add(&all->next, 1); i < all->count; i = atomic_fetch_add(&all->next, 1)) {
        const off_t at = all->first + i * all->step;
        const ssize_t moved = all->writes ? pwrite(all->file, buffer, (size_t)all->piece, at)
                                          : pread(all->file, buffer, (size_t)all->piece, at);
        if (moved != all->piece) {
            atomic_store(&all->error, moved < 0 ? errno : EIO);
            break;
        }
    }
    free(buffer);
    return NULL;
}

static void run(moves *all, int threads) {
    pthread_t started[MOST_THREADS];
    int count = 0;
    while (count < threads && pthread_create(&started[count], NULL, work, all) == 0) {
        count++;
    }
    work(all);
    for (int i = 0; i < count; ++i) {
        pthread_join(started[i], NULL);
    }
}

/* `count` pieces, `step` bytes apart, so many at a time; written ones are made durable. `huge`: through buffers of huge
 * pages, which they fill. Returns 0 or an errno. */
int32_t move_direct(const char *path, int32_t writes, int32_t depth, int32_t huge, int64_t piece, int64_t first,
                    int64_t step, int64_t count) {
    moves all = {.writes = writes, .huge = huge, .piece = piece, .first = first, .step = step, .count = count};
    all.file = open(path, (writes ? O_RDWR : O_RDONLY) | O_DIRECT);
    if (all.file < 0 || depth < 1 || depth > MOST_THREADS) {
        return all.file < 0 ? errno : EINVAL;
    }
    run(&all, depth - 1);
    if (writes && fsync(all.file) != 0) {
        atomic_store(&all.error, errno);
    }
    close(all.file);
    return atomic_load(&all.error);
}
