// Places to allocate from. The host's memory and the caller's own allocators are here; rooms above add kinds of theirs.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/diagnostics/handle_registry.hpp"

namespace via {

// What a kind of memory does; one for each kind.
struct MemoryKind {
    // Allocates nbytes, for 0 nothing at all, and says how that is disposed of; the deleter holds the memory. `stream`
    // may be nullptr. On failure nothing is held.
    Status (*allocate)(via_memory *memory, int64_t nbytes, via_stream *stream, Deleter *out_deleter);
    // What is to be done, or checked, once there is an array on it, which does not have the deleter yet. A failure
    // has the deleter run. nullptr: nothing.
    Status (*finish)(const Deleter &deleter, via_array *array);
    // Nobody owns the memory any more. nullptr: it is shared, and never ends.
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

// An allocator of the caller's.
struct CustomMemory : via_memory {
    via_alloc_fn alloc;
    void *alloc_context;
    via_free_fn free_memory;
    void *free_context;
    via_release_fn release;
    void *context;
};

// Alignment of every allocation: a cache line, and a full vector of any CPU there is.
inline constexpr int64_t kAlignment = 64;

// The host's memory; shared, and never freed.
via_memory *host_memory();

// The caller's own allocator of host memory.
extern const MemoryKind kCustomHostKind;
VIA_NODISCARD Status make_custom_memory(const CustomMemory &description, via_memory **out_memory);

// For kinds that are made of a custom allocator: its callbacks, and the end of it. `stream` is a native handle.
VIA_NODISCARD Status call_alloc(CustomMemory *memory, int64_t nbytes, void *stream, void **out_address);
void call_free(CustomMemory *memory, void *address, int64_t nbytes, void *stream);
void destroy_custom(via_memory *memory);

void retain_memory(via_memory *memory);
void release_memory(via_memory *memory);
using UniqueMemory = UniqueHandle<via_memory, release_memory>;

// "stream is given; expected NULL for ..." for memory that no stream orders.
VIA_NODISCARD Status refuse_stream(via_stream *stream, const char *what);

// A new row-major array. `flags` is 0 or VIA_ARRAY_SUBBYTE_PADDED.
VIA_NODISCARD Status make_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape, int32_t flags,
                                via_stream *stream, via_array **out_array);

VIA_NODISCARD inline Status make_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape,
                                       int32_t flags, via_array **out_array) {
    return make_empty(memory, dtype, ndim, shape, flags, nullptr, out_array);
}

}  // namespace via
