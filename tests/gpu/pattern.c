/* The pattern that tests fill memory with, and look for. */
#include "support.h"

static const uint64_t step = 0x9E3779B97F4A7C15u;

static uint64_t pattern_word(size_t i, unsigned seed) { return (i + 1 + (uint64_t)seed * 0x9E3779B9u) * step; }

static unsigned char pattern_byte(size_t i, unsigned seed) { return (unsigned char)(pattern_word(i, seed) >> 56); }

enum { chunk_bytes = 4096 };

/* A part of a pattern. Sanitizers need not follow it byte by byte: what is done with a chunk, they see. */
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize_thread))
#elif defined(__SANITIZE_ADDRESS__)
__attribute__((no_sanitize_address, no_sanitize_undefined))
#endif
static size_t make_chunk(unsigned char *chunk, size_t first, size_t end, unsigned seed) {
    const size_t count = end - first < chunk_bytes ? end - first : chunk_bytes;
    uint64_t word = pattern_word(first, seed);
    for (size_t i = 0; i < count; ++i, word += step) {
        chunk[i] = (unsigned char)(word >> 56);
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

static void report_difference(const unsigned char *at, size_t first, size_t count, unsigned seed) {
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
            report_difference(bytes, done, count, seed);
        }
        done += made;
    }
}

void assert_bytes(const void *bytes, size_t count, unsigned char value) {
    const unsigned char *at = bytes;
    /* All are the first one if each is the next one. */
    if (count == 0 || (at[0] == value && memcmp(at, at + 1, count - 1) == 0)) {
        return;
    }
    size_t i = 0;
    while (at[i] == value) {
        ++i;
    }
    fail_msg("byte %zu of %zu is %#x; expected %#x", i, count, at[i], value);
}
