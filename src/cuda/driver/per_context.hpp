// What the library keeps for each context, found without a lock.
#pragma once

#include <atomic>
#include <mutex>
#include <new>

#include "cuda/driver/context.hpp"

namespace via::cuda {

// One `Kept` for each context. Never freed, since any thread may read it. Reused for another context after its own is
// gone, and with that the driver's things in it.
template <class Kept>
class PerContext {
public:
    // Returns what the context has, or nullptr.
    Kept *find(const ContextKey &key) const {
        for (Entry *entry = first_.load(std::memory_order_acquire); entry != nullptr; entry = entry->next) {
            if (entry->id.load(std::memory_order_acquire) == key.id &&
                entry->context.load(std::memory_order_relaxed) == key.context) [[likely]] {
                return &entry->kept;
            }
        }
        return nullptr;
    }

    // Finds it, or makes it: begin(kept) makes a new or a used one ready. No thread finds it before that has succeeded.
    // Errors: those of `begin`; VIA_ERROR_OUT_OF_MEMORY, "no memory for WHAT".
    template <class Begin>
    VIA_NODISCARD Status find_or_make(const ContextKey &key, const char *what, const Begin &begin, Kept **out_kept) {
        *out_kept = find(key);
        return *out_kept != nullptr ? VIA_OK : make(key, what, begin, out_kept);
    }

private:
    struct Entry {
        Kept kept;
        Entry *next = nullptr;
        std::atomic<uint64_t> id{0};  // 0: of no context yet
        std::atomic<CUcontext> context{nullptr};
    };

    static bool is_free(const Entry &entry) {
        const uint64_t id = entry.id.load(std::memory_order_relaxed);
        return id == 0 || context_id(entry.context.load(std::memory_order_relaxed)) != id;
    }

    Entry *take_free() {
        for (Entry *entry = first_.load(std::memory_order_acquire); entry != nullptr; entry = entry->next) {
            if (is_free(*entry)) {
                entry->id.store(0, std::memory_order_release);
                return entry;
            }
        }
        auto *made = new (std::nothrow) Entry;
        if (made != nullptr) {
            made->next = first_.load(std::memory_order_relaxed);
            first_.store(made, std::memory_order_release);
        }
        return made;
    }

    template <class Begin>
    Status make(const ContextKey &key, const char *what, const Begin &begin, Kept **out_kept) {
        const std::lock_guard<std::mutex> lock(making_);
        *out_kept = find(key);
        if (*out_kept != nullptr) {
            return VIA_OK;
        }
        Entry *entry = take_free();
        VIA_TRY(entry != nullptr ? VIA_OK : fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %s", what));
        VIA_TRY(begin(&entry->kept));
        entry->context.store(key.context, std::memory_order_relaxed);
        entry->id.store(key.id, std::memory_order_release);
        *out_kept = &entry->kept;
        return VIA_OK;
    }

    std::atomic<Entry *> first_{nullptr};
    std::mutex making_;
};

}  // namespace via::cuda
