/* What the library asks of the system in the course of a write that replaces a file, and files of equal bytes. Defines
 * open, pwrite and their like for the program. */
#ifndef VIADUCT_TESTS_FILE_REPLACING_H
#define VIADUCT_TESTS_FILE_REPLACING_H

#include <grp.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "child.h"
#include "file_support.h"

enum { BYTES = 64 << 10, OWNER = 51000, OTHER = 52000, GROUP = 53000 };

static const via_file_options in_place = VIA_FILE_OPTIONS_INIT;
static const via_file_options whole = {.struct_size = (int32_t)sizeof whole, .atomic_write = 1};
static const via_file_options replacing = {
    .struct_size = (int32_t)sizeof replacing, .mode = VIA_MODE_READ_WRITE, .atomic_write = 1};

/* ---- What the library asks of the system in the course of a write. */

static struct {
    void (*visit)(void); /* called before each of these calls, once each */
    int32_t visit_at;    /* at the call with this number only, counted from 1; 0: at none */
    int32_t calls;
    int32_t renames;         /* 1: those are calls too; what comes between the last look and them is nobody's to see */
    void (*at_rename)(void); /* called once, before the next one */
    _Atomic mode_t made;     /* the mode of the last file that was made, as it was then */
    _Atomic mode_t written;  /* of the last file that was written, when it was */
} seen;

static inline void note_call(void) {
    if (seen.visit != NULL && ++seen.calls == seen.visit_at) {
        void (*visit)(void) = seen.visit;
        seen.visit = NULL;
        visit();
    }
}

static inline mode_t mode_of(int file) {
    struct stat found;
    return fstat(file, &found) == 0 ? found.st_mode : 0;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    note_call();
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (file >= 0 && (flags & O_CREAT) != 0) {
        seen.made = mode_of(file);
    }
    return file;
}

ssize_t pwrite(int file, const void *memory, size_t count, off_t offset) {
    note_call();
    seen.written = mode_of(file);
    return syscall(SYS_pwrite64, file, memory, count, offset);
}

ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t count, unsigned flags) {
    note_call();
    seen.written = mode_of(out);
    return syscall(SYS_copy_file_range, in, from, out, to, count, flags);
}

int ftruncate(int file, off_t nbytes) {
    note_call();
    return (int)syscall(SYS_ftruncate, file, nbytes);
}

int fchmod(int file, mode_t mode) {
    note_call();
    return (int)syscall(SYS_fchmod, file, mode);
}

int fsync(int file) {
    note_call();
    return (int)syscall(SYS_fsync, file);
}

int rename(const char *from, const char *to) {
    if (seen.renames) {
        note_call();
    }
    if (seen.at_rename != NULL) {
        void (*visit)(void) = seen.at_rename;
        seen.at_rename = NULL;
        visit();
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- Files of bytes that are all the same. */

static inline void put_bytes(const char *name, int byte) {
    char bytes[BYTES];
    memset(bytes, byte, BYTES);
    put_file(name, bytes, BYTES);
}

/* Whether so many bytes from there on are this one. */
static inline int has_bytes(const char *name, int64_t start, int64_t nbytes, int byte) {
    static char found[BYTES + 1];
    if (get_file(name, found, sizeof found) < (size_t)(start + nbytes)) {
        return 0;
    }
    for (int64_t i = start; i < start + nbytes; ++i) {
        if (found[i] != byte) {
            return 0;
        }
    }
    return 1;
}

static char memory[BYTES];

static inline via_array *array_of(int byte, int64_t nbytes) {
    memset(memory, byte, (size_t)nbytes);
    return wrap_plain(memory, VIA_UINT8, 1, SHAPE(nbytes), NULL);
}

static inline via_status write_bytes(via_file *file, int64_t start, int64_t nbytes, int byte) {
    via_array *array = array_of(byte, nbytes);
    const via_status status = via_file_write(file, start, array, NULL);
    via_array_release(array);
    return status;
}

static inline struct stat look_at(const char *name) {
    struct stat found;
    assert_int_equal(lstat(path_of(name), &found), 0);
    return found;
}

static inline int is_root(void) { return geteuid() == 0; }

/* Runs as another user, in a child; returns what it exits with. */
static inline int as_other_user(const gid_t *groups, int32_t count, void (*body)(void)) {
    const pid_t child = fork_child();
    if (child == 0) {
        CHECK(setgroups((size_t)count, groups) == 0);
        CHECK(setresgid(OTHER, OTHER, OTHER) == 0 && setresuid(OTHER, OTHER, OTHER) == 0);
        body();
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
