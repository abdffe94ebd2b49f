#include "ipc/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "core/base/thread_state.hpp"
#include "ipc/ipc.hpp"

namespace via {
namespace {

// A file mapped as a whole. Allocations of this process count as host bytes; imports count in their own process.
struct Mapping {
    FileName file;
    char *start;
    int64_t nbytes;
    bool counted;
};

void end_mapping(const Deleter &deleter) {
    auto *mapping = static_cast<Mapping *>(deleter.context);
    if (mapping->start != nullptr) {
        (void)munmap(mapping->start, static_cast<size_t>(mapping->nbytes));
    }
    if (mapping->counted) {
        count(Counter::HostBytes, -mapping->nbytes);
    }
    close(mapping->file.descriptor);
    delete mapping;
}

// Consumes the descriptor, on failure too.
Status map_file(const FileName &file, int64_t nbytes, bool writable, bool counted, Deleter *out_deleter) {
    auto *mapping = new (std::nothrow) Mapping{file, nullptr, nbytes, false};
    if (mapping == nullptr) {
        close(file.descriptor);
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a handle of %zu bytes", sizeof(Mapping));
    }
    const Deleter deleter{end_mapping, nullptr, mapping, nullptr, nbytes};
    if (nbytes > 0) {
        void *start = mmap(nullptr, static_cast<size_t>(nbytes), PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED,
                           file.descriptor, 0);
        if (start == MAP_FAILED) {
            const int code = errno;
            end_mapping(deleter);
            return fail_with_code(code == EPERM ? VIA_ERROR_IO : VIA_ERROR_OUT_OF_MEMORY, code,
                                  "mapping %lld bytes of shared memory: %s", as_printed(nbytes), std::strerror(code));
        }
        mapping->start = static_cast<char *>(start);
    }
    mapping->counted = counted;
    count(Counter::HostBytes, counted ? nbytes : 0);
    *out_deleter = deleter;
    out_deleter->address = mapping->start;
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
    const auto *mapping = static_cast<const Mapping *>(deleter.context);
    *out_file = mapping->file;
    out_file->process = getpid();
    *out_start = mapping->start;
    return true;
}

Status map_shared_file(const FileName &file, bool writable, Deleter *out_deleter) {
    FileName here = file;
    int64_t nbytes = 0;
    VIA_TRY(open_shared_file(file, writable, &here.descriptor, &nbytes));
    return map_file(here, nbytes, writable, false, out_deleter);
}

}  // namespace via
