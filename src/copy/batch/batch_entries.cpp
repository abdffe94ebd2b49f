#include "copy/batch/batch_entries.hpp"

#include <cstdlib>
#include <new>

namespace via {

Entries *make_entries(int32_t capacity) {
    const size_t pointers = 2 * static_cast<size_t>(capacity) * sizeof(via_array *);
    void *block = std::malloc(sizeof(Entries) + pointers);
    return block != nullptr ? new (block) Entries{{}, 0, capacity} : nullptr;
}

void release_entries(Entries *entries) {
    if (!entries->references.release()) {
        return;
    }
    for (int32_t i = 0; i < entries->count; ++i) {
        release_array(entries->dsts()[i]);
        release_array(entries->srcs()[i]);
    }
    std::free(entries);
}

}  // namespace via
