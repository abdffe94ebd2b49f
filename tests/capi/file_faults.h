/* System calls that fail, or do half of what they were asked for, and files to see that with. For one file of a
 * program: what is defined here is called in the place of the system's own. */
#ifndef VIADUCT_TESTS_FILE_FAULTS_H
#define VIADUCT_TESTS_FILE_FAULTS_H

#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "file_support.h"

enum { LARGE = 5 << 20 };

/* What the next calls of the library's do, in the place of the system's own. */
static struct {
    int32_t short_by;     /* moves less than was asked for: one part in so many */
    int32_t interrupt;    /* every so many calls nothing but EINTR */
    int32_t fail_at;      /* calls from this number on fail, counted from 1 */
    int32_t error;        /* with this */
    int32_t refuse_block; /* direct transfers: EINVAL */
    atomic_int calls;
} fault;

static inline int is_direct(int file) { return (fcntl(file, F_GETFL) & O_DIRECT) != 0; }

/* 0, or the error that the call has. */
static inline int error_of_call(int file) {
    const int32_t number = atomic_fetch_add(&fault.calls, 1) + 1;
    if (fault.refuse_block && is_direct(file)) {
        return EINVAL;
    }
    if (fault.fail_at != 0 && number >= fault.fail_at) {
        return fault.error;
    }
    return fault.interrupt != 0 && number % fault.interrupt == 0 ? EINTR : 0;
}

static inline size_t length_of_call(size_t count) {
    return fault.short_by > 1 && count >= (size_t)fault.short_by ? count / (size_t)fault.short_by : count;
}

ssize_t pread(int file, void *memory, size_t count, off_t offset) {
    const int error = error_of_call(file);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_pread64, file, memory, length_of_call(count), offset);
}

ssize_t preadv(int file, const struct iovec *parts, int count, off_t offset) {
    const int error = error_of_call(file);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_preadv, file, parts, (int)length_of_call((size_t)count), offset, (off_t)0);
}

ssize_t pwrite(int file, const void *memory, size_t count, off_t offset) {
    const int error = error_of_call(file);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_pwrite64, file, memory, length_of_call(count), offset);
}

/* How blocks were asked for, and how files were cut, since the last look. */
static struct {
    int32_t reservations;
    int64_t first; /* of the last one */
    int64_t nbytes;
    int32_t writes_before; /* it */
    int32_t error;         /* of the next ones */
    int32_t emptied;
    int32_t flush_at;    /* the flush with this number fails, counted from 1 */
    int32_t cut_error;   /* of the next files that are cut */
    int32_t flags_error; /* of the next questions for a descriptor's flags */
} asked;

int fallocate(int file, int mode, off_t offset, off_t nbytes) {
    asked.reservations++;
    asked.first = offset;
    asked.nbytes = nbytes;
    asked.writes_before = atomic_load(&fault.calls);
    if (asked.error != 0) {
        errno = asked.error;
        return -1;
    }
    return (int)syscall(SYS_fallocate, file, mode, offset, nbytes);
}

int ftruncate(int file, off_t nbytes) {
    asked.emptied += nbytes == 0;
    if (asked.cut_error != 0) {
        errno = asked.cut_error;
        return -1;
    }
    return (int)syscall(SYS_ftruncate, file, nbytes);
}

int fsync(int file) {
    if (asked.flush_at > 0 && --asked.flush_at == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, file);
}

int fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    const long argument = va_arg(arguments, long);
    va_end(arguments);
    if (command == F_GETFL && asked.flags_error != 0) {
        errno = asked.flags_error;
        return -1;
    }
    return (int)syscall(SYS_fcntl, file, command, argument);
}

static inline void no_faults(void) {
    memset(&asked, 0, sizeof asked);
    memset(&fault, 0, sizeof fault);
    ok(via_set_num_threads(0));
}

/* From the call with this number on, counted from now. */
static inline void fail_from(int32_t number, int32_t error) {
    atomic_store(&fault.calls, 0);
    fault.fail_at = number;
    fault.error = error;
}

static inline uint8_t *pattern(uint8_t seed) {
    uint8_t *bytes = malloc(LARGE);
    assert_non_null(bytes);
    for (int32_t i = 0; i < LARGE; ++i) {
        bytes[i] = (uint8_t)(i * 31 + i / 253 + seed);
    }
    return bytes;
}

/* A file of LARGE bytes in the folder, and an array of as many, both with a pattern of their own. */
typedef struct pair {
    uint8_t *old;
    uint8_t *bytes;
    via_array *array;
} pair;

static inline pair make_pair(const char *name) {
    pair made = {pattern(1), pattern(2), NULL};
    put_file(name, made.old, LARGE);
    made.array = wrap_plain(made.bytes, VIA_UINT8, 1, SHAPE(LARGE), NULL);
    return made;
}

static inline void end_pair(pair *made) {
    no_faults();
    via_array_release(made->array);
    free(made->old);
    free(made->bytes);
}

static inline void assert_holds(const char *name, const uint8_t *bytes) {
    uint8_t *found = malloc(LARGE + 1);
    assert_int_equal(get_file(name, found, LARGE + 1), LARGE);
    assert_memory_equal(found, bytes, LARGE);
    free(found);
}

#endif
