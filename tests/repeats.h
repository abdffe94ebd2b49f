/*
 * How often tests repeat themselves with other random input. A fifth serves under a sanitizer, where each turn takes
 * several times as long, and in the quick tests, which set VIADUCT_QUICK_TESTS. `./dev test --all` runs the whole
 * count.
 */
#ifndef VIADUCT_TESTS_REPEATS_H
#define VIADUCT_TESTS_REPEATS_H

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPEATS(count) (((count) + 4) / 5)
#else
#define REPEATS(count) (getenv("VIADUCT_QUICK_TESTS") != NULL ? ((count) + 4) / 5 : (count))
#endif

/* How many calls on the next one is that fails, in tests that fail each in turn: ThreadSanitizer looks for no leak. */
#if defined(__SANITIZE_THREAD__)
enum { next_fault = 5 };
#else
enum { next_fault = 1 };
#endif

#endif
