#include "core/diagnostics/log.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/base/utf8.hpp"
#include "core/diagnostics/handle_registry.hpp"
#include "viaduct/viaduct.h"

namespace via {

constinit uint32_t debug_options = 0;

namespace {

std::string_view setting(const char *name) {
    const char *value = secure_getenv(name);
    return value != nullptr ? value : "";
}

// Reads VIADUCT_CHECK: "1", or a list of words, "abort" and "trace".
uint32_t read_checks() {
    const std::string_view value = setting("VIADUCT_CHECK");
    const auto has = [&](const char *word) { return value.find(word) != std::string_view::npos; };
    if (value.empty() || value == "0") {
        return 0;
    }
    return kHandles | (has("abort") ? kAbortOnMisuse : 0) | (has("trace") ? kBacktraces : 0);
}

uint32_t read_log_level() {
    const std::string_view level = setting("VIADUCT_LOG");
    return level == "trace"   ? kFailures | kNotable | kCalls
           : level == "info"  ? kFailures | kNotable
           : level == "error" ? kFailures
                              : 0;
}

constexpr int kCapacity = 2048;

constinit int log_file = STDERR_FILENO;

// Sends further lines to the file; to stderr for nullptr or a file that cannot be opened.
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

// Runs while the library is loaded, before any call.
uint32_t begin() noexcept {
    const uint32_t lines = read_log_level();
    const uint32_t checks = read_checks();
    if ((lines | checks) != 0) {
        open_log(secure_getenv("VIADUCT_LOG_FILE"));
    }
    if ((lines & kNotable) != 0) {
        log_line("viaduct %d.%d.%d in process %d", VIA_VERSION_MAJOR, VIA_VERSION_MINOR, VIA_VERSION_PATCH, getpid());
    }
    return lines | (checks != 0 && begin_checking() ? checks : 0);
}

[[maybe_unused]] const uint32_t begun = debug_options = begin();

// Writes a line, or none where the file has reached the process's size limit: the kernel would end the process
// (SIGXFSZ).
void write_line(const char *text, size_t length) {
    rlimit limit{};
    const bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    sigset_t beyond{};
    sigset_t before{};
    if (limited) {
        sigemptyset(&beyond);
        sigaddset(&beyond, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &beyond, &before);
    }
    // There is no place to report a failed write.
    const bool refused = write(log_file, text, length) < 0 && errno == EFBIG;
    if (limited) {
        constexpr timespec kNow{};
        if (refused) {
            sigtimedwait(&beyond, nullptr, &kNow);
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
}

}  // namespace

void log_line(const char *format, ...) {
    const int saved = errno;
    char text[kCapacity];
    const int prefix = std::snprintf(text, sizeof text, "viaduct[%ld] ", syscall(SYS_gettid));
    va_list arguments;
    va_start(arguments, format);
    (void)std::vsnprintf(text + prefix, sizeof text - static_cast<size_t>(prefix), format, arguments);
    va_end(arguments);
    const int length = make_utf8(text, kCapacity, Controls::Escape);  // one line, whatever a path or a name holds
    text[length] = '\n';
    write_line(text, static_cast<size_t>(length) + 1);
    errno = saved;
}

}  // namespace via
