/*
 * How often tests repeat themselves with other random input. Under a sanitizer a fifth of it serves: each turn takes
 * several times as long there, and what it finds on a path it finds in one turn. The release build has the whole count.
 */
#ifndef VIADUCT_TESTS_REPEATS_H
#define VIADUCT_TESTS_REPEATS_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPEATS(count) (((count) + 4) / 5)
#else
#define REPEATS(count) (count)
#endif

/* How many calls on the next one is that fails, in tests that fail each in turn: ThreadSanitizer looks for no leak. */
#if defined(__SANITIZE_THREAD__)
enum { next_fault = 5 };
#else
enum { next_fault = 1 };
#endif

#endif
