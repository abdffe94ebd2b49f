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

Status refused(const char *what) {
    const int code = errno;
    const bool scarce = code == ENOMEM || code == ENOSPC || code == EFBIG || code == ENFILE || code == EMFILE;
    return scarce ? fail_with_code(VIA_ERROR_OUT_OF_MEMORY, code, "%s: %s", what, std::strerror(code))
                  : fail_with_code(VIA_ERROR_IO, code, "%s: %s", what, std::strerror(code));
}

// As the link of a descriptor has it, but for what the system writes behind.
void write_link(const FileName &name, char *text) {
    std::snprintf(text, kLongestText, "/memfd:viaduct-%016" PRIx64, name.number);
}

void write_path(const FileName &name, char *text) {
    std::snprintf(text, kLongestText, "/proc/%d/fd/%d", name.process, name.descriptor);
}

// Whether a descriptor is of that file; errno tells why it cannot be looked at.
bool is_of_file(const char *path, const FileName &name) {
    char expected[kLongestText];
    char found[kLongestText] = {0};
    write_link(name, expected);
    const size_t length = std::strlen(expected);
    errno = ENOENT;
    const ssize_t read = readlink(path, found, sizeof found - 1);
    return read >= static_cast<ssize_t>(length) && std::memcmp(found, expected, length) == 0;
}

// A file that is no program, where the system knows of such: it may be set up to take no others (vm.memfd_noexec).
int make_file(const char *name) {
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int descriptor = memfd_create(name, flags | kNoProgram);
    return descriptor < 0 && errno == EINVAL ? memfd_create(name, flags) : descriptor;
}

// The system would end the process by SIGXFSZ.
bool is_beyond_limit(int64_t nbytes) {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && static_cast<rlim_t>(nbytes) > limit.rlim_cur;
}

Status give_size(int descriptor, int64_t nbytes) {
    if (is_beyond_limit(nbytes)) {
        return fail_with_code(VIA_ERROR_OUT_OF_MEMORY, EFBIG,
                              "shared memory of %lld bytes is more than this process's limit of a file's size",
                              static_cast<long long>(nbytes));
    }
    if (ftruncate(descriptor, nbytes) != 0) {
        return refused("ftruncate of shared memory");
    }
    return fcntl(descriptor, F_ADD_SEALS, kSeals) == 0 ? VIA_OK : refused("sealing shared memory");
}

Status gone(const FileName &name) {
    return fail(VIA_ERROR_EXCHANGE,
                "the memory is no longer shared: process %d has ended or has released it; expected the exporting "
                "process, of the same user and process namespace, to hold an array of it",
                name.process);
}

// Why a process or its file is not found.
Status not_found(const FileName &name) {
    char self[kLongestText];
    return readlink("/proc/self", self, sizeof self) > 0
               ? gone(name)
               : fail_with_code(
                     VIA_ERROR_IO, ENOENT,
                     "there is no /proc, by which the memory of process %d is found; expected it to be mounted",
                     name.process);
}

// That it is the file which was looked at, and one whose end stays where it is.
Status check_opened(int descriptor, const FileName &name, int64_t *out_nbytes) {
    struct stat about{};
    if (fstat(descriptor, &about) != 0) {
        return refused("fstat of the memory that another process shares");
    }
    if (about.st_ino != name.inode) {
        return gone(name);
    }
    const int seals = fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals) {
        return fail(VIA_ERROR_EXCHANGE, "descriptor %d of process %d can change its size; expected shared memory",
                    name.descriptor, name.process);
    }
    *out_nbytes = about.st_size;
    return VIA_OK;
}

}  // namespace

Status make_shared_file(int64_t nbytes, FileName *out_name) {
    FileName name{getpid(), -1, 0, 0};
    if (getrandom(&name.number, sizeof name.number, 0) != static_cast<ssize_t>(sizeof name.number)) {
        return refused("getrandom");
    }
    char link[kLongestText];
    write_link(name, link);
    name.descriptor = make_file(link + std::strlen("/memfd:"));
    if (name.descriptor < 0) {
        return refused("memfd_create");
    }
    struct stat about{};
    Status status = give_size(name.descriptor, nbytes);
    if (status == VIA_OK && fstat(name.descriptor, &about) != 0) {
        status = refused("fstat of shared memory");
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
    // Looked at first: to open whatever the number stands for now might do something.
    const int descriptor = is_of_file(path, name) ? open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC) : -1;
    if (descriptor < 0) {
        return errno == ENOENT ? not_found(name) : refused("opening the memory that another process shares");
    }
    if (Status status = check_opened(descriptor, name, out_nbytes); status != VIA_OK) {
        close(descriptor);
        return status;
    }
    *out_descriptor = descriptor;
    return VIA_OK;
}

}  // namespace via
