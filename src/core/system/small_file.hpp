// Files of /proc and /sys.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/base/no_cancellation.hpp"

namespace via {

// Reads the start of a file as a string; false if there is none. Leaves errno unchanged.
inline bool read_small_file(const char *path, char *text, size_t capacity) {
    const int saved = errno;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = 0;
    if (file >= 0) {
        length = std::max<ssize_t>(read(file, text, capacity - 1), 0);
        close_descriptor(file);
    }
    text[length] = '\0';
    errno = saved;
    return length > 0;
}

// Reads a file line by line through a buffer on the stack, since memory may be short where it is used.
class LineReader {
public:
    explicit LineReader(const char *path)
        : descriptor_(open(path, O_RDONLY | O_CLOEXEC)), failure_(descriptor_ < 0 ? errno : 0) {}
    ~LineReader() {
        if (descriptor_ >= 0) {
            close_descriptor(descriptor_);
        }
    }
    LineReader(const LineReader &) = delete;
    LineReader &operator=(const LineReader &) = delete;

    // Returns the next line without its end, cut to the size of the buffer; nullptr after the last.
    char *next() {
        char *end = nullptr;
        while ((end = static_cast<char *>(std::memchr(buffer_ + at_, '\n', filled_ - at_))) == nullptr) {
            if (!refill()) {
                return nullptr;
            }
        }
        *end = '\0';
        char *line = buffer_ + at_;
        at_ = static_cast<size_t>(end - buffer_) + 1;
        return line;
    }

    // Returns the errno of a failure to open or read the file; 0 if there was none.
    int failure() const { return failure_; }

private:
    bool refill() {
        filled_ -= at_;
        std::memmove(buffer_, buffer_ + at_, filled_);
        at_ = 0;
        if (descriptor_ < 0 || filled_ == sizeof buffer_) {
            return false;
        }
        const ssize_t got = read(descriptor_, buffer_ + filled_, sizeof buffer_ - filled_);
        failure_ = got < 0 ? errno : 0;
        filled_ += got > 0 ? static_cast<size_t>(got) : 0;
        return got > 0;
    }

    int descriptor_;
    int failure_;
    size_t at_ = 0;
    size_t filled_ = 0;
    char buffer_[8192];
};

}  // namespace via
