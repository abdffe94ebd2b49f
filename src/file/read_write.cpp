#include "file/read_write.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "core/system/regular_file.hpp"

namespace via {
namespace {

// Linux moves less than 2 GiB per call.
constexpr int64_t kMostOfCall = int64_t{1} << 30;

Status failed_at(const char *verb, OpenFile *file, int64_t offset, int error) {
    char what[64];
    std::snprintf(what, sizeof what, "%s at byte %lld of", verb, as_printed(offset));
    return io_failed(what, file->path(), error);
}

// Moves nbytes by call(done, most), which returns as pread does, until it moves none. Stores the errno of a failure,
// or `if_none`, otherwise 0.
template <class Call>
int64_t move_some(int64_t nbytes, int if_none, int *out_error, const Call &call) {
    int64_t done = 0;
    *out_error = 0;
    while (done < nbytes) {
        const ssize_t moved = call(done, static_cast<size_t>(std::min(nbytes - done, kMostOfCall)));
        if (moved == 0 || (moved < 0 && errno != EINTR)) {
            *out_error = moved == 0 ? if_none : errno;
            break;
        }
        done += std::max<ssize_t>(moved, 0);
    }
    return done;
}

// Reads up to nbytes or the end of the file.
int64_t read_some(int descriptor, void *to, int64_t offset, int64_t nbytes, int *out_error) {
    return move_some(nbytes, 0, out_error, [&](int64_t done, size_t most) {
        return pread(descriptor, static_cast<char *>(to) + done, most, offset + done);
    });
}

// Treats a write of no bytes without an error as a full disk.
int64_t write_some(int descriptor, const void *from, int64_t offset, int64_t nbytes, int *out_error) {
    return move_some(nbytes, ENOSPC, out_error, [&](int64_t done, size_t most) {
        return pwrite(descriptor, static_cast<const char *>(from) + done, most, offset + done);
    });
}

Status read_by(OpenFile *file, int descriptor, void *memory, int64_t offset, int64_t nbytes) {
    int error = 0;
    const int64_t length = read_some(descriptor, memory, offset, nbytes, &error);
    if (error != 0) {
        return failed_at("reading", file, offset + length, error);
    }
    return length == nbytes
               ? VIA_OK
               : fail_with_code(
                     VIA_ERROR_IO, ENODATA,
                     "%.400s ends at byte %lld: ENODATA (No data available); expected %lld, which it had before",
                     file->path(), as_printed(offset + length), as_printed(offset + nbytes));
}

}  // namespace

Status read_up_to(OpenFile *file, void *memory, int64_t offset, int64_t nbytes, int64_t *out_length) {
    int error = 0;
    *out_length = read_some(file->descriptor(), memory, offset, nbytes, &error);
    return error == 0 ? VIA_OK : failed_at("reading", file, offset + *out_length, error);
}

Status read_all(OpenFile *file, void *memory, int64_t offset, int64_t nbytes) {
    return read_by(file, file->descriptor(), memory, offset, nbytes);
}

Status read_short(OpenFile *file, void *memory, int64_t offset, int64_t nbytes) {
    return read_by(file, file->cpu_descriptor(), memory, offset, nbytes);
}

// A call that read less, at the end of the file or for a signal, is continued row by row, which reports the failure.
Status read_rows(OpenFile *file, char *memory, char *gap, const FileRows &rows) {
    iovec parts[2 * kMostRows];
    const auto gap_bytes = static_cast<size_t>(rows.step - rows.row_bytes);
    for (int64_t i = 0; i < rows.count; ++i) {
        parts[2 * i] = {memory + i * rows.row_bytes, static_cast<size_t>(rows.row_bytes)};
        parts[2 * i + 1] = {gap, gap_bytes};
    }
    const ssize_t got = preadv(file->cpu_descriptor(), parts, static_cast<int>(2 * rows.count - 1), rows.offset);
    const int64_t span = (rows.count - 1) * rows.step + rows.row_bytes;
    for (int64_t i = got == span ? rows.count : std::max<ssize_t>(got, 0) / rows.step; i < rows.count; ++i) {
        VIA_TRY(read_short(file, memory + i * rows.row_bytes, rows.offset + i * rows.step, rows.row_bytes));
    }
    return VIA_OK;
}

Status write_all(OpenFile *file, const void *memory, int64_t offset, int64_t nbytes) {
    int error = 0;
    const int64_t done = write_some(file->descriptor(), memory, offset, nbytes, &error);
    return error == 0 ? VIA_OK : failed_at("writing", file, offset + done, error);
}

Status check_size_limit(OpenFile *file, int64_t end) {
    const uint64_t most = most_file_bytes();
    if (static_cast<uint64_t>(end) <= most) {
        return VIA_OK;
    }
    return fail_with_code(VIA_ERROR_IO, EFBIG,
                          "%.400s is to have %lld bytes: EFBIG (File too large); expected at most %llu, the process's "
                          "limit (RLIMIT_FSIZE)",
                          file->path(), as_printed(end), static_cast<unsigned long long>(most));
}

Status resize(OpenFile *file, int64_t nbytes) {
    VIA_TRY(check_size_limit(file, nbytes));
    return set_file_size(file->descriptor(), nbytes) ? VIA_OK : io_failed("resizing", file->path(), errno);
}

// Returns whether a file cannot get nbytes more than it has: ext4 and others keep what they reserved before they
// failed.
static bool is_too_full(int descriptor, int64_t nbytes) {
    struct stat file{};
    struct statvfs disk{};
    if (fstat(descriptor, &file) != 0 || fstatvfs(descriptor, &disk) != 0 || disk.f_blocks == 0 || disk.f_frsize == 0) {
        return false;
    }
    const int64_t lacking = std::max<int64_t>(nbytes - int64_t{file.st_blocks} * 512, 0);
    return static_cast<uint64_t>(lacking) / disk.f_frsize > disk.f_bfree;
}

Status reserve_blocks(OpenFile *file, int64_t offset, int64_t nbytes) {
    if (is_too_full(file->descriptor(), nbytes)) {
        return failed_at("reserving blocks", file, offset, ENOSPC);
    }
    const bool done = TEMP_FAILURE_RETRY(fallocate(file->descriptor(), FALLOC_FL_KEEP_SIZE, offset, nbytes)) == 0;
    const int error = done ? 0 : errno;
    const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    return is_full ? failed_at("reserving blocks", file, offset, error) : VIA_OK;
}

Status read_blocks(OpenFile *file, void *memory, int64_t offset, int64_t nbytes, int64_t *out_length) {
    int error = 0;
    *out_length = 0;
    const int descriptor = file->direct_descriptor();
    if (descriptor < 0) {
        return VIA_OK;
    }
    *out_length = read_some(descriptor, memory, offset, nbytes, &error);
    // A read past the end of the file, which need not be a block border, stops inside a block.
    const bool refused = error == EINVAL && *out_length == 0;
    if (refused) {
        file->disable_direct();
    }
    return error == 0 || error == EINVAL ? VIA_OK : failed_at("reading", file, offset + *out_length, error);
}

Status write_blocks(OpenFile *file, const void *memory, int64_t offset, int64_t nbytes, bool *out_done) {
    int error = 0;
    *out_done = false;
    const int descriptor = file->direct_descriptor();
    if (descriptor < 0) {
        return VIA_OK;
    }
    const int64_t done = write_some(descriptor, memory, offset, nbytes, &error);
    *out_done = error == 0;
    if (error == EINVAL) {
        file->disable_direct();
        return VIA_OK;
    }
    return error == 0 ? VIA_OK : failed_at("writing", file, offset + done, error);
}

}  // namespace via
