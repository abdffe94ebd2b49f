#include "core/system/small_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace via {

bool read_small_file(const char *path, char *text, size_t capacity) {
    const int saved = errno;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = 0;
    if (file >= 0) {
        length = std::max<ssize_t>(read(file, text, capacity - 1), 0);
        close(file);
    }
    text[length] = '\0';
    errno = saved;
    return length > 0;
}

}  // namespace via
