// UTF-8 of texts that leave the library: parts of them (file names, callers' strings) may be anything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace via {

// Returns the length in bytes of the well-formed UTF-8 sequence at `text` (Unicode 15, table 3-7); 0 if there is none.
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

// Counts the well-formed bytes at the start of the text.
inline size_t utf8_prefix(std::string_view text) {
    size_t at = 0;
    while (at < text.size()) {
        char sequence[5] = {};  // ends with a NUL, which continues nothing
        std::memcpy(sequence, text.data() + at, std::min<size_t>(text.size() - at, 4));
        const int32_t length = utf8_sequence_length(sequence);
        if (length == 0) {
            break;
        }
        at += static_cast<size_t>(length);
    }
    return at;
}

// Returns whether a well-formed sequence is a control character: it could end a line, or command a terminal.
inline bool is_control(const char *text) {
    const auto *bytes = reinterpret_cast<const unsigned char *>(text);
    return bytes[0] < ' ' || bytes[0] == 0x7F || (bytes[0] == 0xC2 && bytes[1] < 0xA0);
}

enum class Controls { Keep, Escape };

// Replaces every byte outside a well-formed sequence, and of a control character unless they are kept, by an escape
// such as `\xff`, in place; by '?' if the escapes would not fit `capacity`. Returns the length.
inline int32_t make_utf8(char *text, int32_t capacity, Controls controls = Controls::Keep) {
    constexpr char kDigits[] = "0123456789abcdef";
    constexpr int32_t kEscape = 4;
    const auto end_of_sound = [&](int32_t from) {
        int32_t at = from;
        while (text[at] != '\0' && utf8_sequence_length(text + at) > 0 &&
               (controls == Controls::Keep || !is_control(text + at))) {
            at += utf8_sequence_length(text + at);
        }
        return at;
    };
    auto length = static_cast<int32_t>(std::strlen(text));
    int32_t broken = 0;
    for (int32_t at = end_of_sound(0); at < length; at = end_of_sound(at + 1)) {
        broken++;
    }
    const bool fits = length + broken * (kEscape - 1) < capacity;
    for (int32_t at = end_of_sound(0); at < length; at = end_of_sound(at)) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (!fits) {
            text[at++] = '?';
            continue;
        }
        std::memmove(text + at + kEscape, text + at + 1, static_cast<size_t>(length - at));
        const char escape[] = {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
        std::memcpy(text + at, escape, kEscape);
        length += kEscape - 1;
        at += kEscape;
    }
    return length;
}

}  // namespace via
