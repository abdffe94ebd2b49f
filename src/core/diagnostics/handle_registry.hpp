// The registry of handles that callers hold, with the number of owners of each; used with VIADUCT_CHECK only.
// Identifies a handle by its address, and never reads the memory there.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "core/diagnostics/log.hpp"

namespace via {

enum class HandleKind : int32_t { None, Array, Memory, Stream, Event, Task, Batch, File, Archive };

// Returns the name of the type, "via_array".
const char *handle_name(HandleKind kind);

// Allocates the registry; false without memory.
bool begin_checking();

// Register one more owner among the callers; `function` returned the handle. Shared handles stay registered for good.
void add_owner(HandleKind kind, const void *handle, const char *function);
void add_shared(HandleKind kind, const void *handle);

// Returns the kind of the handle registered at the address; None if there is none. If memory was short and the registry
// is incomplete, an unregistered address counts as the expected kind. `drops_owner` drops one owner of a handle of the
// expected kind.
HandleKind find_handle(HandleKind expected, const void *handle, bool drops_owner = false);

// Logs a line for each registered handle that is not shared, and returns their number.
int64_t report_registered_handles();

// Free a handle's memory. With checks it waits in a queue first, so that a new handle does not soon get the address of
// a stale one.
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
