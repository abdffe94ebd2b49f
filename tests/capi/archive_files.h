/* Bytes of small archives: a .npz of a stored array, and a GGUF file. */
#ifndef VIADUCT_TESTS_ARCHIVE_FILES_H
#define VIADUCT_TESTS_ARCHIVE_FILES_H

#include <stdint.h>
#include <string.h>

typedef struct archive_bytes {
    char bytes[4096];
    size_t length;
} archive_bytes;

static inline void put_bytes(archive_bytes *to, const void *bytes, size_t length) {
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static inline void put_number(archive_bytes *to, uint64_t number, size_t width) {
    for (size_t i = 0; i < width; ++i, number >>= 8) {
        to->bytes[to->length++] = (char)(number & 0xFF);
    }
}

/* A .npy file of `count` bytes, 1 and on; of method 0 (stored) in a ZIP file under the name. */
static inline void make_npz(archive_bytes *to, const char *name, int method, char count) {
    char npy[256];
    const size_t kHeader = 128;
    memset(npy, ' ', sizeof npy);
    memcpy(npy, "\x93NUMPY\x01\x00\x76\x00", 10);
    const char text[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (\0,), }";
    memcpy(npy + 10, text, sizeof text - 1);
    npy[10 + strlen(text)] = (char)('0' + count);
    npy[kHeader - 1] = '\n';
    for (char i = 0; i < count; ++i) {
        npy[kHeader + (size_t)i] = (char)(1 + i);
    }
    const size_t nbytes = kHeader + (size_t)count;
    const size_t length = strlen(name);
    to->length = 0;
    for (int is_central = 0; is_central < 2; ++is_central) {
        put_bytes(to, is_central ? "PK\x01\x02" : "PK\x03\x04", 4);
        put_number(to, 20, is_central ? 4 : 2);
        put_number(to, 0, 2);
        put_number(to, (uint64_t)method, 2);
        put_number(to, 0, 8);
        put_number(to, nbytes, 4);
        put_number(to, nbytes, 4);
        put_number(to, length, 2);
        put_number(to, 0, is_central ? 8 : 2);
        put_number(to, 0, is_central ? 8 : 0);
        put_bytes(to, name, length);
        put_bytes(to, npy, is_central ? 0 : nbytes);
    }
    const size_t directory = 30 + length + nbytes;
    put_bytes(to, "PK\x05\x06\0\0\0\0\1\0\1\0", 12);
    put_number(to, to->length - 12 - directory, 4);
    put_number(to, directory, 4);
    put_number(to, 0, 2);
}

static inline void put_text(archive_bytes *to, const char *text) {
    put_number(to, strlen(text), 8);
    put_bytes(to, text, strlen(text));
}

/* A GGUF file with one text, and a tensor of `type` and 2 x `row` elements, which has `nbytes` bytes, 1 and on. */
static inline void make_gguf(archive_bytes *to, const char *name, uint32_t type, uint64_t row, size_t nbytes) {
    to->length = 0;
    put_bytes(to, "GGUF\3\0\0\0", 8);
    put_number(to, 1, 8);
    put_number(to, 1, 8);
    put_text(to, "general.name");
    put_number(to, 8, 4);
    put_text(to, "small");
    put_text(to, name);
    put_number(to, 2, 4);
    put_number(to, row, 8);
    put_number(to, 2, 8);
    put_number(to, type, 4);
    put_number(to, 0, 8);
    while (to->length % 32 != 0) {
        put_number(to, 0, 1);
    }
    for (size_t i = 0; i < nbytes; ++i) {
        put_number(to, i + 1, 1);
    }
}

#endif
