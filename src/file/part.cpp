#include "file/part.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <string_view>
#include <utility>

#include "core/system/regular_file.hpp"
#include "file/attributes.hpp"

namespace via {
namespace {

// The name of a file beside the target: as much of its name as every file system has room for beside the number, whole
// characters of UTF-8, so that whoever finds it knows whose it is.
Status name_part(const char *target, char (&out_path)[PATH_MAX]) {
    constexpr size_t kMostName = 100;
    constexpr size_t kMostFolder = PATH_MAX - sizeof ".0123456789abcdef.part";
    const std::string_view path(target);
    const size_t folder = path.rfind('/') + 1;
    size_t end = std::min({path.size(), folder + kMostName, std::max(folder, kMostFolder)});
    while (end < path.size() && end > folder && (static_cast<unsigned char>(path[end]) & 0xC0) == 0x80) {
        --end;
    }
    uint64_t number = 0;
    (void)!getrandom(&number, sizeof number, 0);
    const int length = std::snprintf(out_path, sizeof out_path, "%.*s.%016llx.part", static_cast<int>(end), target,
                                     static_cast<unsigned long long>(number));
    return length < PATH_MAX ? VIA_OK : io_failed("naming a file beside", target, ENAMETOOLONG);
}

}  // namespace

Status look_at_target(const char *target, struct stat *out_found, bool *out_there) {
    *out_there = lstat(target, out_found) == 0;
    return *out_there || errno == ENOENT ? VIA_OK : io_failed("asking about", target, errno);
}

Status check_regular(const char *target, const struct stat &found) {
    return S_ISREG(found.st_mode) ? VIA_OK : not_regular(target, name_of_kind(found.st_mode));
}

Status open_beside(const char *target, mode_t permissions, OpenFile **out_file) {
    constexpr int32_t kTries = 100;
    char name[PATH_MAX];
    for (int32_t i = 0; i < kTries; ++i) {
        VIA_TRY(name_part(target, name));
        const Status status = OpenFile::make(name, permissions, out_file);
        if (status == VIA_OK || last_error_code() != EEXIST) {
            return status;
        }
    }
    return io_failed("naming a file beside", target, EEXIST);
}

// In the same folder, so that renaming it is all or nothing. Beside a file nobody else may open it until it has that
// one's permissions.
Status make_part(const char *target, OpenFile **out_file) {
    constexpr mode_t kOwn = 0600;
    constexpr mode_t kUsual = 0666;
    struct stat found{};
    bool is_there = false;
    VIA_TRY(look_at_target(target, &found, &is_there));
    if (!is_there) {
        return open_beside(target, kUsual, out_file);
    }
    VIA_TRY(check_regular(target, found));
    VIA_TRY(open_beside(target, kOwn, out_file));
    const Status status = copy_attributes(target, found, *out_file);
    if (status != VIA_OK) {
        (*out_file)->remove_part();
        std::exchange(*out_file, nullptr)->release();
    }
    return status;
}

}  // namespace via
