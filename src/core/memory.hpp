// Places to allocate from: the host's memory and the caller's own allocators.
#pragma once

#include <cstdint>

#include "core/array.hpp"

struct via_memory {
    via::ReferenceCount references;
    int32_t device_type;
    int32_t device_id;
    via_alloc_fn alloc;  // nullptr: the host's own memory
    void *alloc_context;
    via_free_fn free_memory;
    void *free_context;
    via_release_fn release;
    void *context;
};

namespace via {

// Alignment of every allocation: a cache line, and a full vector of any CPU there is.
inline constexpr int64_t kAlignment = 64;

// The host's memory; shared, and never freed.
via_memory *host_memory();

VIA_NODISCARD Status make_memory(const via_memory &description, via_memory **out_memory);
void retain_memory(via_memory *memory);
void release_memory(via_memory *memory);

// A new row-major array. `flags` is 0 or VIA_ARRAY_SUBBYTE_PADDED.
VIA_NODISCARD Status make_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape, int32_t flags,
                                via_array **out_array);

}  // namespace via
