/* The pattern that tests fill memory with, and look for. */
#include "support.h"

static unsigned char pattern_byte(size_t i, unsigned seed) {
    const uint64_t mixed = (i + 1 + (uint64_t)seed * 0x9E3779B9u) * 0x9E3779B97F4A7C15u;
    return (unsigned char)(mixed >> 56);
}

enum { chunk_bytes = 4096 };

/* A part of a pattern. ThreadSanitizer need not follow it byte by byte: what is done with a chunk, it sees. */
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize_thread))
#endif
static size_t make_chunk(unsigned char *chunk, size_t first, size_t end, unsigned seed) {
    const size_t count = end - first < chunk_bytes ? end - first : chunk_bytes;
    for (size_t i = 0; i < count; ++i) {
        chunk[i] = pattern_byte(first + i, seed);
    }
    return count;
}

void fill_pattern(void *bytes, size_t count, unsigned seed) {
    unsigned char chunk[chunk_bytes];
    for (size_t done = 0; done < count;) {
        const size_t made = make_chunk(chunk, done, count, seed);
        memcpy((unsigned char *)bytes + done, chunk, made);
        done += made;
    }
}

static void tell_difference(const unsigned char *at, size_t first, size_t count, unsigned seed) {
    size_t i = first;
    while (at[i] == pattern_byte(i, seed)) {
        ++i;
    }
    fail_msg("byte %zu of %zu is %#x; expected %#x of pattern %u", i, count, at[i], pattern_byte(i, seed), seed);
}

void assert_pattern(const void *bytes, size_t count, unsigned seed) {
    unsigned char chunk[chunk_bytes];
    for (size_t done = 0; done < count;) {
        const size_t made = make_chunk(chunk, done, count, seed);
        if (memcmp((const unsigned char *)bytes + done, chunk, made) != 0) {
            tell_difference(bytes, done, count, seed);
        }
        done += made;
    }
}

void assert_bytes(const void *bytes, size_t count, unsigned char value) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; ++i) {
        if (at[i] != value) {
            fail_msg("byte %zu of %zu is %#x; expected %#x", i, count, at[i], value);
        }
    }
}
