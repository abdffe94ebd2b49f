// Allocators: host memory and the caller's own callbacks. The rooms above add further kinds.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/diagnostics/handle_registry.hpp"

namespace via {

// Operations of a kind of memory.
struct MemoryKind {
    // Allocates nbytes (0 allocates nothing), and stores the deleter that owns them. `stream` may be nullptr. Holds
    // nothing on failure.
    Status (*allocate)(via_memory *memory, int64_t nbytes, via_stream *stream, Deleter *out_deleter);
    // Completes or checks the new array, which does not have the deleter yet. The caller runs the deleter on failure.
    // nullptr: nothing to do.
    Status (*finish)(const Deleter &deleter, via_array *array);
    // Destroys the allocator after its last release. nullptr: it is shared and never destroyed.
    void (*destroy)(via_memory *memory);
};

}  // namespace via

struct via_memory {
    const via::MemoryKind *kind;
    int32_t device_type;
    int32_t device_id;
    via::ReferenceCount references = {};

    bool is_shared() const { return kind->destroy == nullptr; }
    static void operator delete(void *block) { via::delete_handle(block); }
};

namespace via {

// The caller's callbacks of an allocator.
struct AllocatorCallbacks {
    via_alloc_fn alloc;
    void *alloc_context;
    via_free_fn free_memory;
    void *free_context;
    via_release_fn release;
    void *context;
};

struct CustomMemory : via_memory {
    AllocatorCallbacks callbacks;
};

// Alignment of every allocation: a cache line, and the widest vector of current CPUs.
inline constexpr int64_t kAlignment = 64;

// Returns the allocator of host memory; shared, never destroyed.
via_memory *host_memory();

// Allocators of host memory made of callbacks.
extern const MemoryKind kCustomHostKind;
VIA_NODISCARD Status make_custom_memory(const MemoryKind &kind, int32_t device_type, int32_t device_id,
                                        const AllocatorCallbacks &callbacks, via_memory **out_memory);

// Call the callbacks of a custom allocator, and destroy it: for kinds that are built on one. `stream` is native.
VIA_NODISCARD Status call_alloc(CustomMemory *memory, int64_t nbytes, void *stream, void **out_address);
void call_free(CustomMemory *memory, void *address, int64_t nbytes, void *stream);
void destroy_custom(via_memory *memory);

void retain_memory(via_memory *memory);
void release_memory(via_memory *memory);
using UniqueMemory = UniqueHandle<via_memory, release_memory>;

// Refuses a stream for memory that no stream orders: "stream is not NULL; expected NULL for ...".
VIA_NODISCARD Status refuse_stream(via_stream *stream, const char *what);

// Allocates a row-major array. `flags` is 0 or VIA_ARRAY_SUBBYTE_PADDED.
VIA_NODISCARD Status make_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape, int32_t flags,
                                via_stream *stream, via_array **out_array);

VIA_NODISCARD inline Status make_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape,
                                       int32_t flags, via_array **out_array) {
    return make_empty(memory, dtype, ndim, shape, flags, nullptr, out_array);
}

}  // namespace via
