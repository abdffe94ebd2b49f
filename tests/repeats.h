/*
 * How often tests repeat themselves with other random input. `./dev test --all` runs the whole count in the release
 * build. A fifth serves under a sanitizer, where each turn takes several times as long. VIADUCT_REPEATS_ONE_IN says
 * what part serves elsewhere: ./dev test takes one in 25, the tests under QEMU take one in 5.
 */
#ifndef VIADUCT_TESTS_REPEATS_H
#define VIADUCT_TESTS_REPEATS_H

#include <stdlib.h>

static inline int repeats_one_in(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 5;
#else
    const char *given = getenv("VIADUCT_REPEATS_ONE_IN");
    return given != NULL && atoi(given) > 0 ? atoi(given) : 1;
#endif
}

#define REPEATS(count) (((count) + repeats_one_in() - 1) / repeats_one_in())

/* What ./dev test takes of a list or a size that is not random, and what all other runs take. */
#define QUICK_OR(few, all) (getenv("VIADUCT_QUICK_TESTS") != NULL ? (few) : (all))

/* How many calls on the next one is that fails, in tests that fail each in turn: ThreadSanitizer looks for no leak. */
#if defined(__SANITIZE_THREAD__)
enum { next_fault = 5 };
#else
enum { next_fault = 1 };
#endif

#endif
