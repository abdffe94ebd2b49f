#include "file/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace via {

Status io_failed(const char *what, const char *path, int error) {
    const char *name = strerrorname_np(error);
    const char *description = strerrordesc_np(error);
    return fail_with_code(VIA_ERROR_IO, error, "%s %.400s: %s (%s)", what, path, name != nullptr ? name : "unknown",
                          description != nullptr ? description : "no description");
}

// A pipe would hold up whoever opens it, hence O_NONBLOCK; regular files do not care.
Status OpenFile::open(const char *path, int flags, mode_t permissions, OpenFile **out_file) {
    int descriptor = -1;
    do {
        descriptor = ::open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, permissions);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor >= 0 ? adopt(descriptor, path, out_file) : io_failed("opening", path, errno);
}

Status OpenFile::adopt(int descriptor, const char *path, OpenFile **out_file) {
    auto *file = new (std::nothrow) OpenFile;
    if (file == nullptr) {
        ::close(descriptor);
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for an open file");
    }
    file->descriptor_ = descriptor;
    if (const Status status = file->prepare(path); status != VIA_OK) {
        file->release();
        return status;
    }
    *out_file = file;
    return VIA_OK;
}

Status OpenFile::prepare(const char *path) {
    path_ = strdup(path);
    maps_ = new (std::nothrow) MapCount;
    if (path_ == nullptr || maps_ == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for an open file");
    }
    struct stat found{};
    if (fstat(descriptor_, &found) != 0) {
        return io_failed("asking about", path, errno);
    }
    return S_ISREG(found.st_mode) ? VIA_OK
                                  : fail(VIA_ERROR_UNSUPPORTED, "%.400s is no regular file; expected one", path);
}

OpenFile::~OpenFile() {
    if (maps_ != nullptr) {
        maps_->release();
    }
    std::free(path_);
    ::close(descriptor_);
}

void OpenFile::release() {
    if (references_.release()) {
        delete this;
    }
}

Status OpenFile::size(int64_t *out_nbytes) const {
    struct stat found{};
    if (fstat(descriptor_, &found) != 0) {
        return io_failed("asking about", path_, errno);
    }
    *out_nbytes = found.st_size;
    return VIA_OK;
}

}  // namespace via
