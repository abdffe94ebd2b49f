#include "file/open_file.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace via {
namespace {

// Usual for disks and file systems; memory of the library's is aligned to pages anyway.
constexpr int64_t kUsualAlignment = 4096;

// 0 where the file system says that it has no direct transfers.
int64_t alignment_of(int descriptor) {
#ifdef STATX_DIOALIGN
    struct statx found{};
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &found) == 0 && (found.stx_mask & STATX_DIOALIGN) != 0) {
        const int64_t least = std::max<int64_t>(found.stx_dio_offset_align, found.stx_dio_mem_align);
        return found.stx_dio_offset_align == 0 ? 0 : std::max(least, kUsualAlignment);
    }
#endif
    return kUsualAlignment;
}

}  // namespace

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
    const Status status = adopt(descriptor, path, out_file);
    // One that is made here and then is not to be had is nobody's.
    if (status != VIA_OK && descriptor >= 0 && (flags & O_EXCL) != 0) {
        (void)unlink(path);
    }
    return status;
}

Status OpenFile::adopt(int descriptor, const char *path, OpenFile **out_file) {
    if (descriptor < 0) {
        return io_failed("opening", path, errno);
    }
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
    if (direct_descriptor_ >= 0) {
        ::close(direct_descriptor_);
    }
    for (const std::atomic<int> &own : own_descriptors_) {
        if (own > 0) {
            ::close(own - 1);
        }
    }
    ::close(descriptor_);
}

void OpenFile::release() {
    if (references_.release()) {
        delete this;
    }
}

// By way of /proc, since the file may have lost its name meanwhile, or got another one.
int OpenFile::open_again(int flags) const {
    const int saved = errno;
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor_);
    const int opened = ::open(link, flags | O_CLOEXEC);
    errno = saved;
    return opened;
}

void OpenFile::open_direct() {
    const int saved = errno;
    const int flags = fcntl(descriptor_, F_GETFL);
    direct_alignment_ = flags >= 0 ? alignment_of(descriptor_) : 0;
    direct_descriptor_ = direct_alignment_ > 0 ? open_again((flags & O_ACCMODE) | O_DIRECT) : -1;
    errno = saved;
}

// By processor: as many threads run at a time.
int OpenFile::own_descriptor() {
    std::atomic<int> &own = own_descriptors_[static_cast<unsigned>(std::max(sched_getcpu(), 0)) % kMostOwn];
    int found = own.load(std::memory_order_acquire);
    if (found > 0) [[likely]] {
        return found - 1;
    }
    const int opened = open_again(O_RDONLY);
    if (opened < 0) {
        return descriptor_;
    }
    if (!own.compare_exchange_strong(found, opened + 1)) {
        ::close(opened);
        return found - 1;
    }
    return opened;
}

int OpenFile::direct_descriptor() {
    if (!may_go_direct_.load(std::memory_order_relaxed)) {
        return -1;
    }
    std::call_once(opened_direct_, [this] { open_direct(); });
    return direct_descriptor_;
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
