#include "file/replacement.hpp"

#include <fcntl.h>
#include <libgen.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "file/read_write.hpp"

namespace via {
namespace {

struct Freed {
    void operator()(char *text) const { std::free(text); }
};
using Text = std::unique_ptr<char, Freed>;

Status no_memory() { return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a path"); }

// dirname and basename write into what they are given.
Status join_missing(const char *path, char **out_target) {
    const Text copy(strdup(path));
    const Text other(strdup(path));
    if (copy == nullptr || other == nullptr) {
        return no_memory();
    }
    const Text folder(realpath(dirname(copy.get()), nullptr));
    if (folder == nullptr) {
        return io_failed("finding the folder of", path, errno);
    }
    return asprintf(out_target, "%s/%s", folder.get(), basename(other.get())) >= 0 ? VIA_OK : no_memory();
}

// Who may not give files away keeps them.
void set_permissions(OpenFile *file, const struct stat &wanted) {
    constexpr mode_t kPermissions = 07777;
    (void)!fchown(file->descriptor(), wanted.st_uid, wanted.st_gid);
    (void)fchmod(file->descriptor(), wanted.st_mode & kPermissions);
}

void copy_permissions(OpenFile *from, OpenFile *to) {
    struct stat found{};
    if (fstat(from->descriptor(), &found) == 0) {
        set_permissions(to, found);
    }
}

// As far as the kernel does it by itself, which may be by sharing blocks; `*start` is where it stopped.
void copy_in_kernel(OpenFile *from, OpenFile *to, int64_t *start, int64_t end) {
    while (*start < end) {
        off_t in = *start;
        off_t out = *start;
        const ssize_t copied = copy_file_range(from->descriptor(), &in, to->descriptor(), &out,
                                               static_cast<size_t>(std::min<int64_t>(end - *start, 1 << 30)), 0);
        if (copied <= 0 && !(copied < 0 && errno == EINTR)) {
            return;
        }
        *start += std::max<ssize_t>(copied, 0);
    }
}

}  // namespace

Status resolve_target(const char *path, char **out_target) {
    *out_target = realpath(path, nullptr);
    if (*out_target != nullptr) {
        return VIA_OK;
    }
    return errno == ENOENT ? join_missing(path, out_target) : io_failed("finding", path, errno);
}

// In the same folder, so that renaming it is all or nothing.
Status open_beside(const char *target, OpenFile **out_file) {
    constexpr mode_t kPermissions = 0666;
    constexpr int32_t kTries = 100;
    char name[PATH_MAX];
    for (int32_t i = 0; i < kTries; ++i) {
        uint64_t number = 0;
        (void)!getrandom(&number, sizeof number, 0);
        std::snprintf(name, sizeof name, "%s.%016llx.part", target, static_cast<unsigned long long>(number));
        const Status status = OpenFile::open(name, O_RDWR | O_CREAT | O_EXCL, kPermissions, out_file);
        if (status == VIA_OK || last_error_code() != EEXIST) {
            return status;
        }
    }
    return io_failed("naming a file beside", target, EEXIST);
}

Status take_permissions(const char *target, OpenFile *file) {
    struct stat found{};
    if (stat(target, &found) != 0) {
        return errno == ENOENT ? VIA_OK : io_failed("asking about", target, errno);
    }
    set_permissions(file, found);
    return VIA_OK;
}

Status make_durable(OpenFile *file) {
    return fsync(file->descriptor()) == 0 ? VIA_OK : io_failed("flushing", file->path(), errno);
}

Status make_name_durable(const char *path) {
    const Text copy(strdup(path));
    if (copy == nullptr) {
        return no_memory();
    }
    const int folder = ::open(dirname(copy.get()), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool flushed = folder >= 0 && fsync(folder) == 0;
    const int error = errno;
    if (folder >= 0) {
        ::close(folder);
    }
    return flushed ? VIA_OK : io_failed("flushing the folder of", path, error);
}

Replacement::~Replacement() {
    if (open_ == nullptr) {
        return;
    }
    if (is_new_) {
        (void)unlink(open_->path());
    }
    if (file_->is_spoilt) {
        file_->is_spoilt = !wipe();
    }
    open_->release();
}

Status Replacement::begin(const FileRange &range) {
    if (file_->is_unnamed) {
        open_ = file_->hold_open();
        return begin_unnamed();
    }
    const OpenFileHolder before(file_->hold_open());
    VIA_TRY(open_beside(file_->target, &open_));
    is_new_ = true;
    copy_permissions(before.get(), open_);
    return copy_rest(before.get(), range);
}

// What was made and has no name yet is nobody else's: it is written itself. What could not be taken back when an
// earlier write failed must be now.
Status Replacement::begin_unnamed() {
    if (file_->is_spoilt && !wipe()) {
        return io_failed("resizing", open_->path(), errno);
    }
    file_->is_spoilt = true;
    return take_permissions(file_->target, open_);
}

// As it was made: a header, and zeros. A hole can be had without a moment in which the file is too short for those who
// map it; not every file system makes one.
bool Replacement::wipe() {
    const int descriptor = open_->descriptor();
    const int64_t start = file_->header.data_offset;
    const int64_t nbytes = file_->data_nbytes;
    const bool is_empty = fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, nbytes) == 0 ||
                          ftruncate(descriptor, start) == 0;
    return is_empty && ftruncate(descriptor, start + nbytes) == 0;
}

Status Replacement::copy_rest(OpenFile *from, const FileRange &range) {
    int64_t size = 0;
    VIA_TRY(from->size(&size));
    const int64_t end = range.offset + range.nbytes;
    if (ftruncate(open_->descriptor(), std::max(size, end)) != 0) {
        return io_failed("resizing", open_->path(), errno);
    }
    VIA_TRY(copy_bytes(from, 0, std::min(range.offset, size)));
    return copy_bytes(from, end, size);
}

Status Replacement::copy_bytes(OpenFile *from, int64_t start, int64_t end) {
    copy_in_kernel(from, open_, &start, end);
    if (start >= end) {
        return VIA_OK;
    }
    constexpr int64_t kBytes = int64_t{1} << 20;
    Buffers buffers(kBytes);
    Buffer buffer(buffers);
    VIA_TRY(buffer.take());
    for (; start < end; start += kBytes) {
        const int64_t length = std::min(kBytes, end - start);
        VIA_TRY(read_all(from, buffer.get(), start, length));
        VIA_TRY(write_all(open_, buffer.get(), start, length));
    }
    return VIA_OK;
}

Status Replacement::commit() {
    if (file_->durable) {
        VIA_TRY(make_durable(open_));
    }
    // The same file, as it is called from now on.
    OpenFileHolder named;
    VIA_TRY(OpenFile::adopt(fcntl(open_->descriptor(), F_DUPFD_CLOEXEC, 0), file_->target, named.out()));
    if (rename(open_->path(), file_->target) != 0) {
        return io_failed("renaming", open_->path(), errno);
    }
    is_new_ = false;
    file_->is_unnamed = false;
    file_->is_spoilt = false;
    file_->set_open(named.give());
    return file_->durable ? make_name_durable(file_->target) : VIA_OK;
}

}  // namespace via
