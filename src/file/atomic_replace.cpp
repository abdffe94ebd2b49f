#include "file/atomic_replace.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/no_cancellation.hpp"
#include "core/system/regular_file.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

constexpr char kAccessList[] = "system.posix_acl_access";
constexpr size_t kMostAttributes = 65536;  // bytes of the kernel's largest list, and of its largest value

// An open file, and a name for calls that take a path: it is the same file when it was removed or replaced meanwhile.
// Without /proc that name is the path.
class NamedFile {
public:
    NamedFile(int descriptor, const char *path) : path_(path) {
        struct stat found{};
        std::snprintf(link_, sizeof link_, "/proc/self/fd/%d", descriptor);
        name_ = lstat(link_, &found) == 0 ? link_ : path;
    }
    NamedFile(const NamedFile &) = delete;
    NamedFile &operator=(const NamedFile &) = delete;

    const char *name() const { return name_; }
    const char *path() const { return path_; }  // for texts

private:
    char link_[32];
    const char *name_;
    const char *path_;
};

// Sets owner and group separately: a process that may not change the owner may still be in the group.
Status copy_owner(const struct stat &wanted, OpenFile *to, struct stat *out_now) {
    if (fstat(to->descriptor(), out_now) != 0) {
        return io_failed("asking about", to->path(), errno);
    }
    if (out_now->st_gid != wanted.st_gid && fchown(to->descriptor(), static_cast<uid_t>(-1), wanted.st_gid) == 0) {
        out_now->st_gid = wanted.st_gid;
    }
    if (out_now->st_uid != wanted.st_uid && fchown(to->descriptor(), wanted.st_uid, static_cast<gid_t>(-1)) == 0) {
        out_now->st_uid = wanted.st_uid;
    }
    return VIA_OK;
}

// Reduces the group's permissions to those of others if the group differs. Drops set-user-ID and set-group-ID bits with
// their owner.
mode_t permissions_for(const struct stat &wanted, const struct stat &now) {
    constexpr mode_t kAll = 07777;
    constexpr int kGroup = 3;
    mode_t permissions = wanted.st_mode & kAll;
    if (now.st_uid != wanted.st_uid) {
        permissions &= ~static_cast<mode_t>(S_ISUID);
    }
    if (now.st_gid != wanted.st_gid) {
        const mode_t of_others = (permissions & S_IRWXO) << kGroup;
        permissions &= ~static_cast<mode_t>(S_ISGID) & (~static_cast<mode_t>(S_IRWXG) | of_others);
    }
    return permissions;
}

// Called last too, since a change of the owner clears some bits. Not every file system supports permissions.
Status set_permissions(OpenFile *to, mode_t wanted) {
    struct stat now{};
    const bool is_so = fstat(to->descriptor(), &now) == 0 && (now.st_mode & 07777) == wanted;
    return is_so || fchmod(to->descriptor(), wanted) == 0 ? VIA_OK
                                                          : io_failed("keeping the permissions of", to->path(), errno);
}

// Returns true for signatures and capabilities, which belong to the old content.
bool is_of_content(std::string_view name) {
    return name == "security.capability" || name == "security.ima" || name == "security.evm";
}

bool must_be_kept(std::string_view name) { return name == kAccessList || name.starts_with("user."); }

Status attribute_failed(const char *name, const char *path, int error) {
    char what[128];
    std::snprintf(what, sizeof what, "keeping %.100s of", name);
    return io_failed(what, path, error);
}

Status copy_attribute(const NamedFile &from, const char *name, bool has_group, char (&value)[kMostAttributes],
                      OpenFile *to) {
    if (is_of_content(name)) {
        return VIA_OK;
    }
    if (std::strcmp(name, kAccessList) == 0 && !has_group) {
        return fail_with_code(VIA_ERROR_IO, EPERM,
                              "%.400s has an access control list and a group that cannot be preserved: EPERM "
                              "(Operation not permitted); expected a group of this process",
                              from.path());
    }
    const ssize_t length = getxattr(from.name(), name, value, sizeof value);
    const bool kept = length >= 0 && fsetxattr(to->descriptor(), name, value, static_cast<size_t>(length), 0) == 0;
    return kept || !must_be_kept(name) ? VIA_OK : attribute_failed(name, from.path(), errno);
}

// Copies extended attributes. `has_group`: the group is preserved.
Status copy_extended(const NamedFile &from, bool has_group, OpenFile *to) {
    struct Room {
        char names[kMostAttributes];
        char value[kMostAttributes];
    };
    std::unique_ptr<Room> room;
    ssize_t length = listxattr(from.name(), nullptr, 0);
    if (length > 0) {
        room.reset(new (std::nothrow) Room);
        if (room == nullptr) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for the attributes of a file");
        }
        length = listxattr(from.name(), room->names, sizeof room->names);
    }
    if (length < 0 && errno != ENOTSUP && errno != ENOSYS) {
        return io_failed("asking for the attributes of", from.path(), errno);
    }
    for (ssize_t at = 0; at < length; at += static_cast<ssize_t>(std::strlen(room->names + at)) + 1) {
        VIA_TRY(copy_attribute(from, room->names + at, has_group, room->value, to));
    }
    return VIA_OK;
}

// Removes the access control list that a directory passes on to new files.
Status drop_access_list(OpenFile *to) {
    const bool is_gone =
        fremovexattr(to->descriptor(), kAccessList) == 0 || errno == ENODATA || errno == ENOTSUP || errno == ENOSYS;
    return is_gone ? VIA_OK : attribute_failed(kAccessList, to->path(), errno);
}

// Copies owner, permissions, access control list and extended attributes to `to`, which has no content yet. `found` is
// the stat of `from`. Grants no new rights: if the group cannot be preserved, the new group gets the rights of
// others. Preserves the system's attributes if allowed. Errors: VIA_ERROR_IO for permissions, an access control list or
// a user attribute that cannot be preserved.
Status copy_attributes(const NamedFile &from, const struct stat &found, OpenFile *to) {
    struct stat now{};
    VIA_TRY(set_permissions(to, S_IRUSR | S_IWUSR));
    VIA_TRY(copy_owner(found, to, &now));
    VIA_TRY(drop_access_list(to));
    VIA_TRY(copy_extended(from, now.st_gid == found.st_gid, to));
    return set_permissions(to, permissions_for(found, now));
}

// Returns whether two looks found the same file, unmodified.
bool is_unchanged(const struct stat &one, const struct stat &other) {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
           one.st_mtim.tv_sec == other.st_mtim.tv_sec && one.st_mtim.tv_nsec == other.st_mtim.tv_nsec &&
           one.st_mode == other.st_mode && one.st_uid == other.st_uid && one.st_gid == other.st_gid;
}

// Opens the directory of an absolute path. Returns -1 and sets errno if that fails.
int open_directory_of(const char *path) {
    char directory[PATH_MAX];
    const auto length = static_cast<int>(std::strrchr(path, '/') + 1 - path);
    (void)std::snprintf(directory, sizeof directory, "%.*s", length, path);
    return ::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Serialises the check of the target and the rename among programs that use this library. Other programs may lock a
// directory for long, hence the limit. Goes on without the lock if the directory cannot be locked.
class DirectoryLock {
public:
    explicit DirectoryLock(const char *path) : directory_(open_directory_of(path)) {
        for (int32_t i = 0; i < kTries && is_locked_by_others(); ++i) {
            std::this_thread::sleep_for(kPause);
        }
    }
    // Closing is not enough: a forked child may have the descriptor too.
    ~DirectoryLock() {
        if (directory_ >= 0) {
            (void)flock(directory_, LOCK_UN);
            close_descriptor(directory_);
        }
    }
    DirectoryLock(const DirectoryLock &) = delete;
    DirectoryLock &operator=(const DirectoryLock &) = delete;

private:
    static constexpr int32_t kTries = 500;
    static constexpr auto kPause = std::chrono::microseconds(500);

    bool is_locked_by_others() const {
        return directory_ >= 0 && flock(directory_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    }

    const int directory_;
};

// Returns where data or a hole begins from `start` on, at most `end`. A file system without holes has data alone.
int64_t find_from(OpenFile *file, int what, int64_t start, int64_t end) {
    const off_t found = lseek(file->descriptor(), start, what);
    if (found < 0) {
        return what == SEEK_HOLE || errno == ENXIO ? end : start;
    }
    return std::min<int64_t>(found, end);
}

// Copies inside the kernel, which may share blocks. Stores in *start where it stopped.
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

// Makes the name of the temporary file: the target's name, cut at a UTF-8 character so that every file system has room
// for it and a random number.
Status name_temporary(const char *target, char (&out_path)[PATH_MAX]) {
    constexpr size_t kMostName = 100;
    constexpr size_t kMostDirectory = PATH_MAX - sizeof ".0123456789abcdef.part";
    const std::string_view path(target);
    const size_t directory = path.rfind('/') + 1;
    size_t end = std::min({path.size(), directory + kMostName, std::max(directory, kMostDirectory)});
    while (end < path.size() && end > directory && (static_cast<unsigned char>(path[end]) & 0xC0) == 0x80) {
        --end;
    }
    uint64_t number = 0;
    (void)!getrandom(&number, sizeof number, 0);
    const int length = std::snprintf(out_path, sizeof out_path, "%.*s.%016llx.part", static_cast<int>(end), target,
                                     static_cast<unsigned long long>(number));
    return length < PATH_MAX ? VIA_OK : io_failed("naming a temporary file for", target, ENAMETOOLONG);
}

Status check_regular(const char *target, const struct stat &found) {
    return S_ISREG(found.st_mode) ? VIA_OK : not_regular(target, name_of_kind(found.st_mode));
}

// The file that has a path now, through a descriptor that only names it (O_PATH).
class Target {
public:
    Target() = default;
    ~Target() {
        if (is_there()) {
            close_descriptor(descriptor_);
        }
    }
    Target(const Target &) = delete;
    Target &operator=(const Target &) = delete;

    // Errors: VIA_ERROR_UNSUPPORTED for what is no regular file, VIA_ERROR_IO.
    Status find(const char *path) {
        path_ = path;
        descriptor_ = static_cast<int>(TEMP_FAILURE_RETRY(::open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)));
        if (!is_there() && errno == ENOENT) {
            return VIA_OK;
        }
        return is_there() && fstat(descriptor_, &found_) == 0 ? check_regular(path, found_)
                                                              : io_failed("asking about", path, errno);
    }

    bool is_there() const { return descriptor_ >= 0; }
    Status copy_attributes_to(OpenFile *to) const { return copy_attributes({descriptor_, path_}, found_, to); }

private:
    const char *path_ = nullptr;
    int descriptor_ = -1;
    struct stat found_{};
};

Status open_temporary(const char *target, mode_t permissions, OpenFile **out_file) {
    constexpr int32_t kTries = 100;
    char name[PATH_MAX];
    for (int32_t i = 0; i < kTries; ++i) {
        VIA_TRY(name_temporary(target, name));
        const Status status = OpenFile::create(name, permissions, out_file);
        if (status == VIA_OK || last_error_code() != EEXIST) {
            return status;
        }
    }
    return io_failed("naming a temporary file for", target, EEXIST);
}

}  // namespace

Status resolve_target(const char *path, char **out_target) {
    *out_target = find_target(path);
    if (*out_target != nullptr) {
        return VIA_OK;
    }
    return errno == ENOMEM ? fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a path") : io_failed("finding", path, errno);
}

// Lies in the same directory, so that the rename is atomic. For an existing target no other user may open it before it
// has the target's permissions.
Status create_temporary(const char *target, OpenFile **out_file) {
    constexpr mode_t kOwn = 0600;
    constexpr mode_t kUsual = 0666;
    Target found;
    VIA_TRY(found.find(target));
    if (!found.is_there()) {
        return open_temporary(target, kUsual, out_file);
    }
    VIA_TRY(open_temporary(target, kOwn, out_file));
    const Status status = found.copy_attributes_to(*out_file);
    if (status != VIA_OK) {
        (*out_file)->remove_temporary();
        std::exchange(*out_file, nullptr)->release();
    }
    return status;
}

Status make_durable(OpenFile *file) {
    return fsync(file->descriptor()) == 0 ? VIA_OK : io_failed("flushing", file->path(), errno);
}

Status make_name_durable(const char *path) {
    const int directory = open_directory_of(path);
    const bool flushed = directory >= 0 && fsync(directory) == 0;
    const int error = errno;
    if (directory >= 0) {
        close_descriptor(directory);
    }
    return flushed ? VIA_OK : io_failed("flushing the directory of", path, error);
}

AtomicReplace::~AtomicReplace() {
    if (open_ == nullptr) {
        return;
    }
    if (is_new_) {
        open_->remove_temporary();
    }
    if (file_->is_dirty && open_->is_created_here()) {
        file_->is_dirty = !wipe();
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
    VIA_TRY(open_temporary(file_->target, 0600, &open_));
    is_new_ = true;
    VIA_TRY(copy_attributes({before.get()->descriptor(), file_->target}, before_, open_));
    return copy_rest(before.get(), range);
}

// Writes to the temporary file of a created file itself, since no other writer has it. Wipes what an earlier failed
// write has left in it.
Status AtomicReplace::begin_unnamed() {
    open_ = file_->hold_open();
    if (!open_->is_created_here()) {
        return fail(VIA_ERROR_FORKED,
                    "%.400s was created before this process was forked, and is not written yet; expected the process "
                    "that created it",
                    open_->path());
    }
    if (file_->is_dirty && !wipe()) {
        return io_failed("resizing", open_->path(), errno);
    }
    file_->is_dirty = true;
    Target found;
    VIA_TRY(found.find(file_->target));
    return found.is_there() ? found.copy_attributes_to(open_) : VIA_OK;
}

// Restores the header and zeros. Punching a hole never makes the file too short for mappings of it, but not every file
// system supports it.
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

// Leaves holes alone: the new file is of zeros, and the disk may have no room for those of a large hole.
Status AtomicReplace::copy_bytes(OpenFile *from, int64_t start, int64_t end) {
    while (start < end) {
        start = find_from(from, SEEK_DATA, start, end);
        const int64_t hole = find_from(from, SEEK_HOLE, start, end);
        VIA_TRY(copy_data(from, start, hole));
        start = hole;
    }
    return VIA_OK;
}

Status AtomicReplace::copy_data(OpenFile *from, int64_t start, int64_t end) {
    copy_in_kernel(from, open_, &start, end);
    if (start >= end) {
        return VIA_OK;
    }
    constexpr int64_t kBytes = int64_t{1} << 20;
    BufferPool buffers(kBytes);
    Buffer buffer(buffers);
    VIA_TRY(buffer.acquire());
    for (; start < end; start += kBytes) {
        const int64_t length = std::min(kBytes, end - start);
        VIA_TRY(read_all(from, buffer.get(), start, length));
        VIA_TRY(write_all(open_, buffer.get(), start, length));
    }
    return VIA_OK;
}

// Checks that the target of an opened file is the file that was copied, unmodified; that of a created file, a regular
// file or nothing.
Status AtomicReplace::check_target() const {
    struct stat found{};
    const bool is_there = lstat(file_->target, &found) == 0;
    VIA_TRY(is_there || errno == ENOENT ? VIA_OK : io_failed("asking about", file_->target, errno));
    if (file_->is_unnamed) {
        return is_there ? check_regular(file_->target, found) : VIA_OK;
    }
    return is_there && is_unchanged(found, before_)
               ? VIA_OK
               : fail_with_code(VIA_ERROR_IO, ESTALE,
                                "%.400s was %s meanwhile: ESTALE (Stale file handle); expected the file that was "
                                "opened, unmodified",
                                file_->target, !is_there ? "removed" : "replaced or changed");
}

Status AtomicReplace::rename_to_target() {
    const DirectoryLock one_at_a_time(file_->target);
    VIA_TRY(check_target());
    return rename(open_->path(), file_->target) == 0 ? VIA_OK : io_failed("renaming", open_->path(), errno);
}

Status AtomicReplace::commit() {
    if (file_->durable) {
        VIA_TRY(make_durable(open_));
    }
    // The same file under its new name.
    UniqueOpenFile named;
    VIA_TRY(OpenFile::adopt(fcntl(open_->descriptor(), F_DUPFD_CLOEXEC, 0), file_->target, named.out()));
    VIA_TRY(rename_to_target());
    is_new_ = false;
    file_->is_unnamed = false;
    file_->is_dirty = false;
    file_->set_open(named.release());
    return file_->durable ? make_name_durable(file_->target) : VIA_OK;
}

}  // namespace via
