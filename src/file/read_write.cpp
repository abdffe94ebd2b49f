#include "file/read_write.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace via {
namespace {

// Linux moves less than 2 GiB a call.
constexpr int64_t kMostOfCall = int64_t{1} << 30;

Status failed_at(const char *verb, OpenFile *file, int64_t offset, int error) {
    char what[64];
    std::snprintf(what, sizeof what, "%s at byte %lld of", verb, static_cast<long long>(offset));
    return io_failed(what, file->path(), error);
}

}  // namespace

Status read_up_to(OpenFile *file, void *memory, int64_t offset, int64_t nbytes, int64_t *out_length) {
    auto *to = static_cast<char *>(memory);
    int64_t done = 0;
    while (done < nbytes) {
        const auto wanted = static_cast<size_t>(std::min(nbytes - done, kMostOfCall));
        const ssize_t got = pread(file->descriptor(), to + done, wanted, offset + done);
        if (got < 0 && errno != EINTR) {
            return failed_at("reading", file, offset + done, errno);
        }
        if (got == 0) {
            break;
        }
        done += std::max<ssize_t>(got, 0);
    }
    *out_length = done;
    return VIA_OK;
}

Status read_all(OpenFile *file, void *memory, int64_t offset, int64_t nbytes) {
    int64_t length = 0;
    VIA_TRY(read_up_to(file, memory, offset, nbytes, &length));
    return length == nbytes
               ? VIA_OK
               : fail(VIA_ERROR_IO, "%.400s ends at byte %lld; expected %lld, which it had before", file->path(),
                      static_cast<long long>(offset + length), static_cast<long long>(offset + nbytes));
}

Status write_all(OpenFile *file, const void *memory, int64_t offset, int64_t nbytes) {
    const auto *from = static_cast<const char *>(memory);
    int64_t done = 0;
    while (done < nbytes) {
        const auto wanted = static_cast<size_t>(std::min(nbytes - done, kMostOfCall));
        const ssize_t put = pwrite(file->descriptor(), from + done, wanted, offset + done);
        if (put < 0 && errno != EINTR) {
            return failed_at("writing", file, offset + done, errno);
        }
        // A device that takes nothing and says nothing is full.
        if (put == 0) {
            return failed_at("writing", file, offset + done, ENOSPC);
        }
        done += std::max<ssize_t>(put, 0);
    }
    return VIA_OK;
}

}  // namespace via
