#include "core/system/regular_file.hpp"

#include <fcntl.h>
#include <libgen.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/base/no_cancellation.hpp"

namespace via {
namespace {

int open_again_if_interrupted(const char *path, int flags) {
    return static_cast<int>(TEMP_FAILURE_RETRY(open(path, flags | O_CLOEXEC | O_NOCTTY)));
}

int close_keeping_errno(int descriptor) {
    const int saved = errno;
    close_descriptor(descriptor);
    errno = saved;
    return -1;
}

bool is_regular(int descriptor, const char **out_kind) {
    struct stat found{};
    if (fstat(descriptor, &found) != 0) {
        return false;
    }
    *out_kind = S_ISREG(found.st_mode) ? nullptr : name_of_kind(found.st_mode);
    return S_ISREG(found.st_mode);
}

// The path can lead elsewhere meanwhile only without /proc. O_NONBLOCK then keeps a FIFO from blocking, and turns a
// lease into an error.
int open_by_path(const char *path, int flags, const char **out_kind) {
    const int opened = open_again_if_interrupted(path, flags | O_NONBLOCK);
    return opened < 0 || is_regular(opened, out_kind) ? opened : close_keeping_errno(opened);
}

// Returns whether a file could be created at a path that had none: not through a dangling link, and not under a name
// that only a directory can have. There may be one by now.
bool may_be_made(const char *path) {
    const std::string_view text(path);
    struct stat found{};
    return !text.empty() && !text.ends_with('/') && (lstat(path, &found) != 0 || !S_ISLNK(found.st_mode));
}

// Copies the path: dirname and basename modify their argument.
char *find_missing(const char *path) {
    char folder[PATH_MAX];
    char name[PATH_MAX];
    char resolved[PATH_MAX];
    char *target = nullptr;
    if (!may_be_made(path)) {
        errno = ENOENT;
        return nullptr;
    }
    std::snprintf(folder, sizeof folder, "%s", path);
    std::snprintf(name, sizeof name, "%s", path);
    if (realpath(dirname(folder), resolved) == nullptr) {
        return nullptr;
    }
    return asprintf(&target, "%s/%s", resolved, basename(name)) >= 0 ? target : nullptr;
}

}  // namespace

const char *name_of_kind(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFREG:
            return "a regular file";
        case S_IFDIR:
            return "a directory";
        case S_IFLNK:
            return "a symbolic link";
        case S_IFIFO:
            return "a FIFO";
        case S_IFSOCK:
            return "a socket";
        case S_IFCHR:
            return "a character device";
        case S_IFBLK:
            return "a block device";
        default:
            return "no regular file";
    }
}

// Checks the file through a descriptor that only names it (O_PATH), and then opens the file that was checked.
int open_regular(const char *path, int flags, const char **out_kind) {
    *out_kind = nullptr;
    const int found = open_again_if_interrupted(path, O_PATH);
    if (found < 0) {
        return -1;
    }
    int opened = -1;
    if (is_regular(found, out_kind)) {
        char link[32];
        std::snprintf(link, sizeof link, "/proc/self/fd/%d", found);
        opened = open_again_if_interrupted(link, flags);
        if (opened < 0 && errno == ENOENT) {
            opened = open_by_path(path, flags, out_kind);
        }
    }
    (void)close_keeping_errno(found);
    return opened;
}

// realpath has refused paths longer than those of find_missing.
char *find_target(const char *path) {
    char *target = realpath(path, nullptr);
    return target != nullptr || errno != ENOENT ? target : find_missing(path);
}

uint64_t most_file_bytes() {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? uint64_t{limit.rlim_cur} : UINT64_MAX;
}

bool set_file_size(int descriptor, int64_t nbytes) {
    if (static_cast<uint64_t>(nbytes) > most_file_bytes()) {
        errno = EFBIG;
        return false;
    }
    return ftruncate(descriptor, nbytes) == 0;
}

}  // namespace via
