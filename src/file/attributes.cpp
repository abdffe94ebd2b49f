#include "file/attributes.hpp"

#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

namespace via {
namespace {

constexpr char kAccessList[] = "system.posix_acl_access";

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

// Extended attributes, with room for the largest list and value of the kernel.
class Attributes {
public:
    Attributes(const char *from, OpenFile *to) : from_(from), to_(to) {}

    VIA_NODISCARD Status read();
    VIA_NODISCARD Status copy(bool has_group);

private:
    static constexpr size_t kMost = 65536;

    VIA_NODISCARD Status copy_one(const char *name);

    const char *const from_;
    OpenFile *const to_;
    std::unique_ptr<char[]> names_;
    std::unique_ptr<char[]> value_;
    ssize_t length_ = 0;
};

Status Attributes::read() {
    length_ = listxattr(from_, nullptr, 0);
    if (length_ > 0) {
        names_.reset(new (std::nothrow) char[kMost]);
        value_.reset(new (std::nothrow) char[kMost]);
        if (names_ == nullptr || value_ == nullptr) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for the attributes of a file");
        }
        length_ = listxattr(from_, names_.get(), kMost);
    }
    const bool has_none = length_ < 0 && (errno == ENOTSUP || errno == ENOSYS);
    return length_ >= 0 || has_none ? VIA_OK : io_failed("asking for the attributes of", from_, errno);
}

Status Attributes::copy(bool has_group) {
    for (ssize_t at = 0; at < length_; at += static_cast<ssize_t>(std::strlen(names_.get() + at)) + 1) {
        const char *name = names_.get() + at;
        if (std::strcmp(name, kAccessList) == 0 && !has_group) {
            return fail_with_code(VIA_ERROR_IO, EPERM,
                                  "%.400s has an access control list and a group that cannot be preserved: EPERM "
                                  "(Operation not permitted); expected a group of this process",
                                  from_);
        }
        VIA_TRY(is_of_content(name) ? VIA_OK : copy_one(name));
    }
    return VIA_OK;
}

Status Attributes::copy_one(const char *name) {
    const ssize_t length = getxattr(from_, name, value_.get(), kMost);
    const bool kept =
        length >= 0 && fsetxattr(to_->descriptor(), name, value_.get(), static_cast<size_t>(length), 0) == 0;
    return kept || !must_be_kept(name) ? VIA_OK : attribute_failed(name, from_, errno);
}

// Removes the access control list that a directory passes on to new files.
Status drop_access_list(OpenFile *to) {
    const bool is_gone =
        fremovexattr(to->descriptor(), kAccessList) == 0 || errno == ENODATA || errno == ENOTSUP || errno == ENOSYS;
    return is_gone ? VIA_OK : attribute_failed(kAccessList, to->path(), errno);
}

}  // namespace

Status copy_attributes(const char *from, const struct stat &found, OpenFile *to) {
    struct stat now{};
    Attributes attributes(from, to);
    VIA_TRY(attributes.read());
    VIA_TRY(set_permissions(to, S_IRUSR | S_IWUSR));
    VIA_TRY(copy_owner(found, to, &now));
    VIA_TRY(drop_access_list(to));
    VIA_TRY(attributes.copy(now.st_gid == found.st_gid));
    return set_permissions(to, permissions_for(found, now));
}

}  // namespace via
