// Which handles callers hold, and how many owners of each: kept only where VIADUCT_CHECK asks for it. A handle is known
// by its address, and what lies there is never looked at.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "core/diagnostics/debug_options.hpp"

namespace via {

enum class HandleKind : int32_t { None, Array, Memory, Stream, Event, Task, Batch, File };

// "via_array".
const char *handle_name(HandleKind kind);

// False if there is no memory for it.
bool begin_checking();

// One owner more among the callers; `function` handed the handle out. Shared handles are held for good.
void add_owner(HandleKind kind, const void *handle, const char *function);
void add_shared(HandleKind kind, const void *handle);

// What the address is a handle of, as far as callers go; None if they hold none there. Where the list is not complete,
// for want of memory, an address that is not in it counts as what it is said to be.
HandleKind find_handle(HandleKind said, const void *handle);

// The same, and one owner less if it is what it is said to be.
HandleKind drop_owner(HandleKind said, const void *handle);

// A line for each handle that callers hold and nobody shares, to the log; how many there are.
int64_t report_registered_handles();

// The end of a handle's memory. Where handles are checked it waits in a queue first, so that a stale handle does not
// soon have the address of a new one.
void free_later(void *block, void (*free_block)(void *)) __attribute__((cold));

inline void free_handle(void *block) {
    if (is_debugging(kHandles)) [[unlikely]] {
        return free_later(block, std::free);
    }
    std::free(block);
}

inline void delete_handle(void *block) {
    if (is_debugging(kHandles)) [[unlikely]] {
        return free_later(block, [](void *ended) { ::operator delete(ended); });
    }
    ::operator delete(block);
}

}  // namespace via
