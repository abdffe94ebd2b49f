#include "cuda/driver/loader_generation.hpp"

#include <dlfcn.h>
#include <link.h>

namespace via::cuda {
namespace {

// Counts closed libraries too, so that no number comes twice.
uint64_t count_opened() noexcept {
    uint64_t count = 0;
    (void)dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *out_count) {
            *static_cast<uint64_t *>(out_count) = info->dlpi_adds;
            return 1;
        },
        &count);
    return count;
}

const link_map *entry_of(void *library) {
    const link_map *entry = nullptr;
    return library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &entry) == 0 ? entry : nullptr;
}

// The loader appends to its list, so as long as what is last stays last, nothing has been opened; unless that is closed
// itself. While this library is being loaded, it is one that the program began with or that this one needs, which stay
// anyhow: to hold it changes nothing, and makes sure. nullptr if it cannot be held.
const link_map *hold_last() noexcept {
    const link_map *last = entry_of(dlopen(nullptr, RTLD_NOW));  // the program itself, the first of the list
    while (last != nullptr && last->l_next != nullptr) {
        last = last->l_next;
    }
    const int already_open = RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE;
    return last != nullptr && entry_of(dlopen(last->l_name, already_open)) == last ? last : nullptr;
}

const link_map *const last_at_load = hold_last();
const uint64_t opened_at_load = count_opened();

}  // namespace

uint64_t loader_generation() {
    const bool none_since =
        last_at_load != nullptr && __atomic_load_n(&last_at_load->l_next, __ATOMIC_ACQUIRE) == nullptr;
    return none_since ? opened_at_load : count_opened();
}

}  // namespace via::cuda
