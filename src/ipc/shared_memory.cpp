#include "ipc/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "core/base/no_cancellation.hpp"
#include "core/base/thread_state.hpp"
#include "core/system/regular_file.hpp"
#include "ipc/ipc.hpp"

namespace via {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr unsigned kNoProgram = 8;  // MFD_NOEXEC_SEAL of Linux 6.3
constexpr size_t kLongestText = 96;

Status io_error(const char *what) {
    const int code = errno;
    const bool scarce = code == ENOMEM || code == ENOSPC || code == EFBIG || code == ENFILE || code == EMFILE;
    return fail_with_errno(scarce ? VIA_ERROR_OUT_OF_MEMORY : VIA_ERROR_IO, code, "%s", what);
}

// Writes the link of the descriptor, without the suffix that the system adds.
void write_link(const FileName &name, char *text) {
    std::snprintf(text, kLongestText, "/memfd:viaduct-%016" PRIx64, name.number);
}

// Writes the path of the descriptor.
void write_path(const FileName &name, char *path) {
    std::snprintf(path, kLongestText, "/proc/%d/fd/%d", name.process, name.descriptor);
}

// Makes the file non-executable if the system supports it: it may accept no others (vm.memfd_noexec).
int make_file(const char *name) {
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int descriptor = memfd_create(name, flags | kNoProgram);
    return descriptor < 0 && errno == EINVAL ? memfd_create(name, flags) : descriptor;
}

Status give_size(int descriptor, int64_t nbytes) {
    if (static_cast<uint64_t>(nbytes) > most_file_bytes()) {
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
        close_descriptor(name.descriptor);
        return status;
    }
    name.inode = about.st_ino;
    *out_name = name;
    return VIA_OK;
}

bool is_shared_file(const FileName &name) {
    char path[kLongestText];
    char expected[kLongestText];
    char found[kLongestText] = {0};
    write_path(name, path);
    write_link(name, expected);
    const size_t length = std::strlen(expected);
    errno = ENOENT;
    const ssize_t read = readlink(path, found, sizeof found - 1);
    return read >= static_cast<ssize_t>(length) && std::memcmp(found, expected, length) == 0;
}

Status open_shared_file(const FileName &name, bool writable, int *out_descriptor, int64_t *out_nbytes) {
    char path[kLongestText];
    write_path(name, path);
    // Checks the link first: opening another file may have effects.
    const int descriptor = is_shared_file(name) ? open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC) : -1;
    if (descriptor < 0) {
        return errno == ENOENT ? not_found(name) : io_error("opening the memory that another process shares");
    }
    if (Status status = check_opened(descriptor, name, out_nbytes); status != VIA_OK) {
        close_descriptor(descriptor);
        return status;
    }
    *out_descriptor = descriptor;
    return VIA_OK;
}

namespace {

// A file mapped as a whole. Allocations of this process count as host bytes; imports count in their own process.
struct Mapping {
    FileName file;
    int64_t counted;  // bytes
};

void end_mapping(const Deleter &deleter) {
    auto *mapping = static_cast<Mapping *>(deleter.context);
    if (deleter.address != nullptr) {
        (void)munmap(deleter.address, static_cast<size_t>(deleter.nbytes));
    }
    count(Counter::HostBytes, -mapping->counted);
    close_descriptor(mapping->file.descriptor);
    delete mapping;
}

// Consumes the descriptor, on failure too.
Status map_file(const FileName &file, int64_t nbytes, bool writable, bool counted, Deleter *out_deleter) {
    Mapping *mapping = nullptr;
    if (const Status made = make_object("a mapping", &mapping, file, 0); made != VIA_OK) {
        close_descriptor(file.descriptor);
        return made;
    }
    *out_deleter = {end_mapping, nullptr, mapping, nullptr, nbytes};
    if (nbytes > 0) {
        void *start = mmap(nullptr, static_cast<size_t>(nbytes), PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED,
                           file.descriptor, 0);
        if (start == MAP_FAILED) {
            const int code = errno;
            end_mapping(*out_deleter);
            *out_deleter = {};
            return fail_with_errno(code == EPERM ? VIA_ERROR_IO : VIA_ERROR_OUT_OF_MEMORY, code,
                                   "mapping %lld bytes of shared memory", as_printed(nbytes));
        }
        out_deleter->address = start;
    }
    mapping->counted = counted ? nbytes : 0;
    count(Counter::HostBytes, mapping->counted);
    return VIA_OK;
}

void end_nothing(const Deleter &) {}

Status allocate(via_memory *, int64_t nbytes, via_stream *stream, Deleter *out_deleter) {
    VIA_TRY(refuse_stream(stream, "shared memory"));
    if (nbytes == 0) {
        *out_deleter = {end_nothing, nullptr, nullptr, nullptr, 0};
        return VIA_OK;
    }
    FileName file{};
    VIA_TRY(make_shared_file(nbytes, &file));
    return map_file(file, nbytes, true, true, out_deleter);
}

constexpr MemoryKind kSharedKind{allocate, nullptr, nullptr};

constinit via_memory the_shared_memory{&kSharedKind, VIA_DEVICE_CPU, 0};

}  // namespace

via_memory *shared_memory() { return &the_shared_memory; }

bool find_shared_file(via_array *array, FileName *out_file, const char **out_start) {
    const Deleter &deleter = array->storage->deleter;
    if (deleter.run != end_mapping) {
        return false;
    }
    *out_file = static_cast<const Mapping *>(deleter.context)->file;
    out_file->process = getpid();
    *out_start = static_cast<const char *>(deleter.address);
    return true;
}

Status map_shared_file(const FileName &file, bool writable, Deleter *out_deleter) {
    FileName here = file;
    int64_t nbytes = 0;
    VIA_TRY(open_shared_file(file, writable, &here.descriptor, &nbytes));
    return map_file(here, nbytes, writable, false, out_deleter);
}

}  // namespace via
