#include "file/atomic_replace.hpp"

#include <fcntl.h>
#include <libgen.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/system/regular_file.hpp"
#include "file/attributes.hpp"
#include "file/part.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

struct Freed {
    void operator()(char *text) const { std::free(text); }
};
using Text = std::unique_ptr<char, Freed>;

Status no_memory() { return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a path"); }

// Whether two looks found the same file, and it as it was.
bool is_unchanged(const struct stat &one, const struct stat &other) {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
           one.st_mtim.tv_sec == other.st_mtim.tv_sec && one.st_mtim.tv_nsec == other.st_mtim.tv_nsec &&
           one.st_mode == other.st_mode && one.st_uid == other.st_uid && one.st_gid == other.st_gid;
}

// One program at a time names files in a folder, where all of them do it here: what one of two finds when it looks is
// there still when it takes its place. Others may lock folders for long, hence the limit; a folder that cannot be
// locked is left alone.
class FolderLock {
public:
    explicit FolderLock(const char *path) {
        const Text copy(strdup(path));
        folder_ = copy != nullptr ? ::open(dirname(copy.get()), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        for (int32_t i = 0; folder_ >= 0 && i < kTries && flock(folder_, LOCK_EX | LOCK_NB) != 0; ++i) {
            usleep(kPause);
        }
    }
    // Closing it is not enough: a child of fork may have it too.
    ~FolderLock() {
        if (folder_ >= 0) {
            (void)flock(folder_, LOCK_UN);
            ::close(folder_);
        }
    }
    FolderLock(const FolderLock &) = delete;
    FolderLock &operator=(const FolderLock &) = delete;

private:
    static constexpr int32_t kTries = 500;
    static constexpr useconds_t kPause = 500;
    int folder_;
};

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
    *out_target = find_target(path);
    if (*out_target != nullptr) {
        return VIA_OK;
    }
    return errno == ENOMEM ? no_memory() : io_failed("finding", path, errno);
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

AtomicReplace::~AtomicReplace() {
    if (open_ == nullptr) {
        return;
    }
    if (is_new_) {
        open_->remove_part();
    }
    if (file_->is_spoilt && open_->is_made_here()) {
        file_->is_spoilt = !wipe();
    }
    open_->release();
}

Status AtomicReplace::begin(const FileRange &range) { return file_->is_unnamed ? begin_unnamed() : begin_named(range); }

Status AtomicReplace::begin_named(const FileRange &range) {
    const UniqueOpenFile before(file_->hold_open());
    if (fstat(before.get()->descriptor(), &before_) != 0) {
        return io_failed("asking about", file_->target, errno);
    }
    VIA_TRY(check_target());
    VIA_TRY(open_beside(file_->target, 0600, &open_));
    is_new_ = true;
    VIA_TRY(copy_attributes(file_->target, before_, open_));
    return copy_rest(before.get(), range);
}

// What was made and has no name yet is nobody else's: it is written itself. What could not be taken back when an
// earlier write failed must be now.
Status AtomicReplace::begin_unnamed() {
    open_ = file_->hold_open();
    if (!open_->is_made_here()) {
        return fail(VIA_ERROR_FORKED,
                    "%.400s was made before this process was forked, and has no name yet; expected the process that "
                    "made it",
                    open_->path());
    }
    if (file_->is_spoilt && !wipe()) {
        return io_failed("resizing", open_->path(), errno);
    }
    file_->is_spoilt = true;
    struct stat found{};
    bool is_there = false;
    VIA_TRY(look_at_target(file_->target, &found, &is_there));
    if (!is_there) {
        return VIA_OK;
    }
    VIA_TRY(check_regular(file_->target, found));
    return copy_attributes(file_->target, found, open_);
}

// As it was made: a header, and zeros. A hole can be had without a moment in which the file is too short for those who
// map it; not every file system makes one.
bool AtomicReplace::wipe() {
    const int64_t start = file_->header.data_offset;
    const int64_t nbytes = file_->data_nbytes;
    const bool is_empty =
        fallocate(open_->descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, nbytes) == 0 ||
        set_file_size(open_->descriptor(), start);
    return is_empty && set_file_size(open_->descriptor(), start + nbytes);
}

Status AtomicReplace::copy_rest(OpenFile *from, const FileRange &range) {
    int64_t size = 0;
    VIA_TRY(from->size(&size));
    const int64_t end = range.offset + range.nbytes;
    VIA_TRY(resize(open_, std::max(size, end)));
    VIA_TRY(copy_bytes(from, 0, std::min(range.offset, size)));
    return copy_bytes(from, end, size);
}

Status AtomicReplace::copy_bytes(OpenFile *from, int64_t start, int64_t end) {
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

// Whether the target is what it was: of a file that was opened the same one, and as it was copied; of one that was
// made, a regular file or nothing.
Status AtomicReplace::check_target() const {
    struct stat found{};
    bool is_there = false;
    VIA_TRY(look_at_target(file_->target, &found, &is_there));
    if (file_->is_unnamed) {
        return is_there ? check_regular(file_->target, found) : VIA_OK;
    }
    return is_there && is_unchanged(found, before_)
               ? VIA_OK
               : fail_with_code(VIA_ERROR_IO, ESTALE,
                                "%.400s was %s meanwhile: ESTALE (Stale file handle); expected the file that was "
                                "opened, as it was",
                                file_->target, !is_there ? "removed" : "replaced or changed");
}

Status AtomicReplace::take_name() {
    const FolderLock one_at_a_time(file_->target);
    VIA_TRY(check_target());
    return rename(open_->path(), file_->target) == 0 ? VIA_OK : io_failed("renaming", open_->path(), errno);
}

Status AtomicReplace::commit() {
    if (file_->durable) {
        VIA_TRY(make_durable(open_));
    }
    // The same file, as it is called from now on.
    UniqueOpenFile named;
    VIA_TRY(OpenFile::adopt(fcntl(open_->descriptor(), F_DUPFD_CLOEXEC, 0), file_->target, named.out()));
    VIA_TRY(take_name());
    is_new_ = false;
    file_->is_unnamed = false;
    file_->is_spoilt = false;
    file_->set_open(named.release());
    return file_->durable ? make_name_durable(file_->target) : VIA_OK;
}

}  // namespace via
