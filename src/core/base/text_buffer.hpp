// Builds text in a buffer of fixed size.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace via {

// Cuts the text at the capacity, and counts its whole length.
class TextBuffer {
public:
    TextBuffer(char *text, int64_t capacity) : text_(text), capacity_(capacity) {
        if (capacity > 0) {
            text[0] = '\0';
        }
    }

    // Appends in printf format.
    void add(const char *format, ...) __attribute__((format(printf, 2, 3))) {
        va_list arguments;
        va_start(arguments, format);
        append(format, arguments);
        va_end(arguments);
    }

    // Does the same on a new line, unless it is the first.
    void add_line(const char *format, ...) __attribute__((format(printf, 2, 3))) {
        va_list arguments;
        va_start(arguments, format);
        if (length_ > 0) {
            add("\n");
        }
        append(format, arguments);
        va_end(arguments);
    }

    // Returns the length of the whole text, without the terminating 0.
    int64_t length() const { return length_; }

private:
    void append(const char *format, va_list arguments) {
        const int64_t room = std::max<int64_t>(capacity_ - length_, 0);
        length_ += std::max(
            std::vsnprintf(room > 0 ? text_ + length_ : nullptr, static_cast<size_t>(room), format, arguments), 0);
    }

    char *text_;
    int64_t capacity_;
    int64_t length_ = 0;
};

}  // namespace via
