#include "cuda/libraries.hpp"

#include <dlfcn.h>
#include <link.h>

namespace via::cuda {
namespace {

// Counts closed ones as well, so that no number comes twice.
uint64_t count_opened() {
    uint64_t count = 0;
    (void)dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *out_count) {
            *static_cast<uint64_t *>(out_count) = info->dlpi_adds;
            return 1;
        },
        &count);
    return count;
}

const link_map *last_in_list() {
    const link_map *last = _r_debug.r_map;
    while (last != nullptr && last->l_next != nullptr) {
        last = last->l_next;
    }
    return last;
}

// The loader appends to its list, so what has nothing after it tells that nothing has been opened, if it is never
// closed itself. While this library is being loaded, the last of the list is one that the program began with or that
// this one needs, which stay anyhow: to hold it changes nothing, and makes sure. nullptr if it cannot be held.
const link_map *hold_last() {
    const link_map *last = last_in_list();
    void *library = last != nullptr ? dlopen(last->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) : nullptr;
    const link_map *held = nullptr;
    const bool found = library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &held) == 0;
    return found && held == last ? held : nullptr;
}

const link_map *const last_at_load = hold_last();
const uint64_t opened_at_load = count_opened();

}  // namespace

uint64_t libraries_opened() {
    const bool none_since =
        last_at_load != nullptr && __atomic_load_n(&last_at_load->l_next, __ATOMIC_ACQUIRE) == nullptr;
    return none_since ? opened_at_load : count_opened();
}

}  // namespace via::cuda
