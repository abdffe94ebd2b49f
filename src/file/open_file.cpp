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

#include "core/base/no_cancellation.hpp"
#include "core/system/regular_file.hpp"

namespace via {
namespace {

// Usual for disks and file systems. The library's own memory is aligned to pages.
constexpr int64_t kUsualAlignment = 4096;

// Returns 0 if the file system reports that it has no direct I/O.
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
    return fail_with_errno(VIA_ERROR_IO, error, "%s %.400s", what, path);
}

Status not_regular(const char *path, const char *kind) {
    return fail(VIA_ERROR_UNSUPPORTED, "%.400s is %s; expected a regular file", path, kind);
}

Status OpenFile::open(const char *path, int flags, OpenFile **out_file) {
    const char *kind = nullptr;
    const int descriptor = open_regular(path, flags, &kind);
    return kind != nullptr ? not_regular(path, kind) : adopt(descriptor, path, out_file);
}

// Removes a created file that cannot be used.
Status OpenFile::create(const char *path, mode_t permissions, OpenFile **out_file) {
    const auto descriptor =
        static_cast<int>(TEMP_FAILURE_RETRY(::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, permissions)));
    const Status status = adopt(descriptor, path, out_file);
    if (status != VIA_OK && descriptor >= 0) {
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
        close_descriptor(descriptor);
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for an open file");
    }
    file->descriptor_ = descriptor;
    file->path_ = strdup(path);
    file->maps_ = new (std::nothrow) MapCount;
    if (file->path_ == nullptr || file->maps_ == nullptr) {
        file->release();
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for an open file");
    }
    *out_file = file;
    return VIA_OK;
}

void OpenFile::remove_temporary() {
    if (is_created_here()) {
        (void)unlink(path_);
    }
}

OpenFile::~OpenFile() {
    if (maps_ != nullptr) {
        maps_->release();
    }
    std::free(path_);
    if (const int direct = direct_descriptor_; direct >= 0) {
        close_descriptor(direct);
    }
    for (const std::atomic<int> &own : cpu_descriptors_) {
        if (own > 0) {
            close_descriptor(own - 1);
        }
    }
    close_descriptor(descriptor_);
}

void OpenFile::release() {
    if (references_.release()) {
        delete this;
    }
}

// Opens the file through /proc, since its name may have changed meanwhile.
int OpenFile::open_again(int flags) const {
    const int saved = errno;
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor_);
    const int opened = ::open(link, flags | O_CLOEXEC);
    errno = saved;
    return opened;
}

int OpenFile::open_direct() {
    const int saved = errno;
    const int flags = fcntl(descriptor_, F_GETFL);
    const int64_t alignment = flags >= 0 ? alignment_of(descriptor_) : 0;
    int opened = -1;
    if (alignment > 0) {
        direct_alignment_.store(alignment, std::memory_order_relaxed);
        opened = open_again((flags & O_ACCMODE) | O_DIRECT);
    }
    errno = saved;
    return opened;
}

// One descriptor for each CPU: no more threads run at a time.
int OpenFile::cpu_descriptor() {
    std::atomic<int> &own = cpu_descriptors_[static_cast<unsigned>(std::max(sched_getcpu(), 0)) % kMostCpus];
    int found = own.load(std::memory_order_acquire);
    if (found > 0) [[likely]] {
        return found - 1;
    }
    const int opened = open_again(O_RDONLY);
    if (opened < 0) {
        return descriptor_;
    }
    if (!own.compare_exchange_strong(found, opened + 1)) {
        close_descriptor(opened);
        return found - 1;
    }
    return opened;
}

int OpenFile::direct_descriptor() {
    if (!may_go_direct_.load(std::memory_order_relaxed)) {
        return -1;
    }
    int found = direct_descriptor_.load(std::memory_order_acquire);
    if (found != kUnopened) [[likely]] {
        return found;
    }
    const int opened = open_direct();
    if (direct_descriptor_.compare_exchange_strong(found, opened, std::memory_order_acq_rel)) {
        return opened;
    }
    if (opened >= 0) {
        close_descriptor(opened);
    }
    return found;
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
