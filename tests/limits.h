/* Limits that tests set for themselves. QEMU, which runs the programs of another processor, hands some of them on to
 * nobody. */
#ifndef VIADUCT_TESTS_LIMITS_H
#define VIADUCT_TESTS_LIMITS_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Whether the address space of a process can be limited: whether there is none left once it is. */
static inline int can_limit_memory(void) {
    const size_t nbytes = (size_t)64 << 20;
    struct rlimit before;
    getrlimit(RLIMIT_AS, &before);
    struct rlimit less = before;
    less.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_AS, &less);
    void *memory = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    setrlimit(RLIMIT_AS, &before);
    if (memory != MAP_FAILED) {
        munmap(memory, nbytes);
    }
    return memory == MAP_FAILED;
}

#endif
