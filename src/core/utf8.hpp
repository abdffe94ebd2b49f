// Texts that leave the library are UTF-8; parts of them (file names, callers' strings) may not have been.
#pragma once

#include <cstdint>
#include <cstring>

namespace via {

// Length in bytes of the well-formed UTF-8 sequence at `text` (Unicode 15, table 3-7); 0 if there is none.
inline int32_t utf8_sequence_length(const char *text) {
    const auto *bytes = reinterpret_cast<const unsigned char *>(text);
    const unsigned lead = bytes[0];
    if (lead < 0x80) {
        return 1;
    }
    const int32_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (bytes[1] < low || bytes[1] > high) {
        return 0;
    }
    for (int32_t i = 2; i < length; ++i) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return length;
}

// Puts '?' for every byte that is not part of a well-formed sequence, in place; returns the length.
inline int32_t make_utf8(char *text) {
    int32_t at = 0;
    while (text[at] != '\0') {
        const int32_t length = utf8_sequence_length(text + at);
        if (length == 0) {
            text[at] = '?';
        }
        at += length == 0 ? 1 : length;
    }
    return at;
}

}  // namespace via
