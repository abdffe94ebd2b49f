#include "ipc/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace via {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr unsigned kNoProgram = 8;  // MFD_NOEXEC_SEAL of Linux 6.3
constexpr size_t kLongestText = 96;

Status io_error(const char *what) {
    const int code = errno;
    const bool scarce = code == ENOMEM || code == ENOSPC || code == EFBIG || code == ENFILE || code == EMFILE;
    return scarce ? fail_with_code(VIA_ERROR_OUT_OF_MEMORY, code, "%s: %s", what, std::strerror(code))
                  : fail_with_code(VIA_ERROR_IO, code, "%s: %s", what, std::strerror(code));
}

// Writes the link of the descriptor, without the suffix that the system adds.
void write_link(const FileName &name, char *text) {
    std::snprintf(text, kLongestText, "/memfd:viaduct-%016" PRIx64, name.number);
}

void write_path(const FileName &name, char *text) {
    std::snprintf(text, kLongestText, "/proc/%d/fd/%d", name.process, name.descriptor);
}

// Returns whether a descriptor is of that file. Sets errno if its link cannot be read.
bool is_of_file(const char *path, const FileName &name) {
    char expected[kLongestText];
    char found[kLongestText] = {0};
    write_link(name, expected);
    const size_t length = std::strlen(expected);
    errno = ENOENT;
    const ssize_t read = readlink(path, found, sizeof found - 1);
    return read >= static_cast<ssize_t>(length) && std::memcmp(found, expected, length) == 0;
}

// Makes the file non-executable if the system supports it: it may accept no others (vm.memfd_noexec).
int make_file(const char *name) {
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int descriptor = memfd_create(name, flags | kNoProgram);
    return descriptor < 0 && errno == EINVAL ? memfd_create(name, flags) : descriptor;
}

// Returns whether the system would kill the process by SIGXFSZ.
bool is_beyond_limit(int64_t nbytes) {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && static_cast<rlim_t>(nbytes) > limit.rlim_cur;
}

Status give_size(int descriptor, int64_t nbytes) {
    if (is_beyond_limit(nbytes)) {
        return fail_with_code(
            VIA_ERROR_OUT_OF_MEMORY, EFBIG,
            "the allocation is %lld bytes; expected at most the process's file size limit (RLIMIT_FSIZE)",
            as_printed(nbytes));
    }
    if (ftruncate(descriptor, nbytes) != 0) {
        return io_error("ftruncate of shared memory");
    }
    return fcntl(descriptor, F_ADD_SEALS, kSeals) == 0 ? VIA_OK : io_error("sealing shared memory");
}

Status no_longer_shared(const FileName &name) {
    return fail(VIA_ERROR_EXCHANGE,
                "the memory is no longer shared: process %d has ended or has released it; expected the exporting "
                "process, of the same user and process namespace, to hold an array on it",
                name.process);
}

// Reports why a process or its file is not found.
Status not_found(const FileName &name) {
    char self[kLongestText];
    return readlink("/proc/self", self, sizeof self) > 0
               ? no_longer_shared(name)
               : fail_with_code(VIA_ERROR_IO, ENOENT,
                                "/proc is not mounted; expected it, to find the memory of process %d", name.process);
}

// Checks that this is the named file, and that its size is sealed.
Status check_opened(int descriptor, const FileName &name, int64_t *out_nbytes) {
    struct stat about{};
    if (fstat(descriptor, &about) != 0) {
        return io_error("fstat of the memory that another process shares");
    }
    if (about.st_ino != name.inode) {
        return no_longer_shared(name);
    }
    const int seals = fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals) {
        return fail(VIA_ERROR_EXCHANGE,
                    "descriptor %d of process %d is a file of variable size; expected shared memory", name.descriptor,
                    name.process);
    }
    *out_nbytes = about.st_size;
    return VIA_OK;
}

}  // namespace

Status make_shared_file(int64_t nbytes, FileName *out_name) {
    FileName name{getpid(), -1, 0, 0};
    if (getrandom(&name.number, sizeof name.number, 0) != static_cast<ssize_t>(sizeof name.number)) {
        return io_error("getrandom");
    }
    char link[kLongestText];
    write_link(name, link);
    name.descriptor = make_file(link + std::strlen("/memfd:"));
    if (name.descriptor < 0) {
        return io_error("memfd_create");
    }
    struct stat about{};
    Status status = give_size(name.descriptor, nbytes);
    if (status == VIA_OK && fstat(name.descriptor, &about) != 0) {
        status = io_error("fstat of shared memory");
    }
    if (status != VIA_OK) {
        close(name.descriptor);
        return status;
    }
    name.inode = about.st_ino;
    *out_name = name;
    return VIA_OK;
}

Status open_shared_file(const FileName &name, bool writable, int *out_descriptor, int64_t *out_nbytes) {
    char path[kLongestText];
    write_path(name, path);
    // Checks the link first: opening another file may have effects.
    const int descriptor = is_of_file(path, name) ? open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC) : -1;
    if (descriptor < 0) {
        return errno == ENOENT ? not_found(name) : io_error("opening the memory that another process shares");
    }
    if (Status status = check_opened(descriptor, name, out_nbytes); status != VIA_OK) {
        close(descriptor);
        return status;
    }
    *out_descriptor = descriptor;
    return VIA_OK;
}

}  // namespace via
