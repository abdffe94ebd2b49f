/* Which pages of a test's files are in the page cache. Included after _GNU_SOURCE, for O_DIRECT. */
#ifndef VIADUCT_TESTS_PAGE_CACHE_H
#define VIADUCT_TESTS_PAGE_CACHE_H

#include <sys/mman.h>

#include "file_support.h"

/* Forgets the file's pages, so that the next read is one of the disk. */
static inline void evict(const char *name) {
    const int file = open(path_of(name), O_RDONLY);
    assert_true(file >= 0);
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

static inline int64_t cached_pages(const char *name) {
    const int file = open(path_of(name), O_RDONLY);
    struct stat about;
    assert_int_equal(fstat(file, &about), 0);
    const size_t nbytes = (size_t)about.st_size;
    void *pages = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, file, 0);
    unsigned char *found = calloc(1, nbytes / 4096 + 1);
    assert_true(pages != MAP_FAILED && found != NULL);
    assert_int_equal(mincore(pages, nbytes, found), 0);
    int64_t there = 0;
    for (size_t i = 0; i < nbytes / 4096 + 1; ++i) {
        there += found[i] & 1;
    }
    free(found);
    munmap(pages, nbytes);
    close(file);
    return there;
}

/*
 * Whether the system says that the file has no direct transfers; the library then tries none. QEMU 7.2 says so of every
 * file: it hands on that the kernel has answered, but not the answer.
 */
static inline int is_said_to_be_indirect(int file) {
#ifdef STATX_DIOALIGN
    struct statx about = {0};
    return statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) == 0 && (about.stx_mask & STATX_DIOALIGN) != 0 &&
           about.stx_dio_offset_align == 0;
#else
    (void)file;
    return 0;
#endif
}

/* Where direct transfers can be had, and pages be dropped. */
static inline int may_pass_the_cache(const char *name) {
    const int file = open(path_of(name), O_RDONLY | O_DIRECT);
    void *block = aligned_alloc(4096, 4096);
    const int may = file >= 0 && !is_said_to_be_indirect(file) && read(file, block, 4096) == 4096;
    free(block);
    close(file);
    evict(name);
    return may && cached_pages(name) == 0;
}

#endif
