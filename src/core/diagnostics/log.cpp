#include "core/diagnostics/log.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace via {
namespace {

constexpr int kCapacity = 2048;

constinit int log_file = STDERR_FILENO;

}  // namespace

void open_log(const char *path) {
    if (path == nullptr || *path == '\0') {
        return;
    }
    constexpr mode_t kPermissions = 0666;
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kPermissions);
    if (file < 0) {
        log_line("VIADUCT_LOG_FILE is %s; opening it failed with errno %d, and lines go to stderr", path, errno);
        return;
    }
    log_file = file;
}

void log_line(const char *format, ...) {
    const int saved = errno;
    char text[kCapacity];
    const int begun = std::snprintf(text, sizeof text, "viaduct[%ld] ", syscall(SYS_gettid));
    va_list arguments;
    va_start(arguments, format);
    const int more = std::vsnprintf(text + begun, sizeof text - static_cast<size_t>(begun), format, arguments);
    va_end(arguments);
    const int length = std::min(begun + std::max(more, 0), kCapacity - 1);
    text[length] = '\n';
    // There is no place to report a failed write.
    [[maybe_unused]] const ssize_t written = write(log_file, text, static_cast<size_t>(length) + 1);
    errno = saved;
}

}  // namespace via
