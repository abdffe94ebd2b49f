#include "core/array/memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "core/base/checked.hpp"
#include "core/base/thread_state.hpp"
#include "core/system/pages.hpp"

namespace via {
namespace {

// Aligns large blocks to huge pages: the kernel then maps them with a few page faults instead of thousands.
void *allocate_host(int64_t nbytes) {
    const bool large = nbytes >= 2 * kHugePage;
    const int64_t alignment = large ? kHugePage : kAlignment;
    int64_t rounded = 0;
    if (!add(nbytes, alignment - 1, &rounded)) {
        return nullptr;
    }
    rounded -= rounded % alignment;
    void *address = std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(rounded));
    if (address != nullptr && large) {
        (void)madvise(address, static_cast<size_t>(rounded), MADV_HUGEPAGE);
    }
    return address;
}

void free_host(const Deleter &deleter) {
    count(Counter::HostBytes, -deleter.nbytes);
    std::free(deleter.address);
}

Status allocate_from_host(via_memory *memory, int64_t nbytes, via_stream *stream, Deleter *out_deleter) {
    VIA_TRY(refuse_stream(stream, "host memory"));
    *out_deleter = {free_host, nullptr, memory, nullptr, nbytes};
    if (nbytes > 0) {
        out_deleter->address = allocate_host(nbytes);
        if (out_deleter->address == nullptr) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no host memory for %lld bytes", as_printed(nbytes));
        }
    }
    count(Counter::HostBytes, nbytes);
    return VIA_OK;
}

void free_custom(const Deleter &deleter) {
    auto *memory = static_cast<CustomMemory *>(deleter.context);
    if (deleter.address != nullptr) {
        call_free(memory, deleter.address, deleter.nbytes, nullptr);
    }
    release_memory(memory);
}

Status allocate_custom(via_memory *memory, int64_t nbytes, via_stream *stream, Deleter *out_deleter) {
    VIA_TRY(refuse_stream(stream, "host memory"));
    auto *custom = static_cast<CustomMemory *>(memory);
    *out_deleter = {free_custom, nullptr, custom, nullptr, nbytes};
    if (nbytes > 0) {
        VIA_TRY(call_alloc(custom, nbytes, nullptr, &out_deleter->address));
    }
    retain_memory(memory);
    return VIA_OK;
}

constexpr MemoryKind kHostKind{allocate_from_host, nullptr, nullptr};

constinit via_memory the_host_memory{&kHostKind, VIA_DEVICE_CPU, 0};

}  // namespace

const MemoryKind kCustomHostKind{allocate_custom, nullptr, destroy_custom};

via_memory *host_memory() { return &the_host_memory; }

Status make_custom_memory(const MemoryKind &kind, int32_t device_type, int32_t device_id,
                          const AllocatorCallbacks &callbacks, via_memory **out_memory) {
    *out_memory = new (std::nothrow) CustomMemory{{&kind, device_type, device_id}, callbacks};
    return *out_memory != nullptr ? VIA_OK : fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for an allocator's handle");
}

Status call_alloc(CustomMemory *memory, int64_t nbytes, void *stream, void **out_address) {
    int32_t failure = 0;
    {
        const CallbackScope scope;
        failure = memory->callbacks.alloc(nbytes, kAlignment, stream, memory->callbacks.alloc_context, out_address);
    }
    if (failure != 0) {
        return fail_with_code(VIA_ERROR_CALLBACK, failure,
                              "the result of the alloc callback is %d for %lld bytes; expected 0", failure,
                              as_printed(nbytes));
    }
    if (*out_address == nullptr) {
        return fail(VIA_ERROR_CALLBACK, "the address of the alloc callback is NULL for %lld bytes; expected memory",
                    as_printed(nbytes));
    }
    return VIA_OK;
}

void call_free(CustomMemory *memory, void *address, int64_t nbytes, void *stream) {
    const CallbackScope scope;
    memory->callbacks.free_memory(address, nbytes, stream, memory->callbacks.free_context);
}

void destroy_custom(via_memory *memory) {
    auto *custom = static_cast<CustomMemory *>(memory);
    const AllocatorCallbacks callbacks = custom->callbacks;
    delete custom;
    if (callbacks.release != nullptr) {
        const CallbackScope scope;
        callbacks.release(callbacks.context);
    }
}

void retain_memory(via_memory *memory) {
    if (!memory->is_shared()) {
        memory->references.retain();
    }
}

void release_memory(via_memory *memory) {
    if (!memory->is_shared() && memory->references.release()) {
        memory->kind->destroy(memory);
    }
}

Status refuse_stream(via_stream *stream, const char *what) {
    return stream == nullptr ? VIA_OK
                             : fail(VIA_ERROR_INVALID_ARGUMENT,
                                    "stream is not NULL; expected NULL for %s, which no stream orders", what);
}

Status make_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape, int32_t flags,
                  via_stream *stream, via_array **out_array) {
    int64_t size = 0;
    VIA_TRY(check_shape(dtype, ndim, shape, flags, &size));
    const int64_t nbytes = dense_bytes(size, item_bits_of(dtype, flags));
    Deleter deleter{};
    VIA_TRY(memory->kind->allocate(memory, nbytes, stream, &deleter));
    const ArraySpec spec{.data = deleter.address,
                         .dtype = dtype,
                         .ndim = ndim,
                         .shape = shape,
                         .device_type = memory->device_type,
                         .device_id = memory->device_id,
                         .flags = flags};
    const auto finish = [&](via_array *array) {
        return memory->kind->finish != nullptr ? memory->kind->finish(deleter, array) : VIA_OK;
    };
    const Status status = make_checked_array(spec, deleter, out_array, finish);
    if (status != VIA_OK) {
        deleter.run(deleter);
    }
    return status;
}

}  // namespace via
