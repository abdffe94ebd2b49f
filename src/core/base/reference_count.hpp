// Thread-safe reference counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace via {

// Points to glibc's __libc_single_threaded, otherwise to a 0: glibc has it since 2.32, and a library that also loads
// with older ones cannot name it.
extern const char *single_threaded_flag;

inline bool is_single_threaded() { return *single_threaded_flag != 0; }

// Writes a line to the log.
void report_release_of_nothing() __attribute__((cold));

// Place it after the first 16 bytes of an object. Allocators write to those when a block is freed, so the 0 left by the
// last release stays, and makes another release harmless until the block is reused.
class ReferenceCount {
public:
    void retain(int64_t owners = 1) {
        if (is_single_threaded()) {
            // A process of one thread needs no locked instruction, which costs more than the rest of an export.
            // std::shared_ptr does the same. Starting a thread orders what came before.
            count_.store(count_.load(std::memory_order_relaxed) + owners, std::memory_order_relaxed);
        } else {
            count_.fetch_add(owners, std::memory_order_relaxed);
        }
    }

    // Returns true if these were the last owners.
    [[nodiscard]] bool release(int64_t owners = 1) {
        // The only owner cannot race with a retain: no locked instruction is needed.
        const int64_t before = count_.load(std::memory_order_acquire);
        if (before == owners) {
            count_.store(0, std::memory_order_relaxed);
            return true;
        }
        if (before < owners) [[unlikely]] {
            report_release_of_nothing();
            return false;
        }
        if (is_single_threaded()) {
            count_.store(before - owners, std::memory_order_relaxed);
            return false;
        }
        return count_.fetch_sub(owners, std::memory_order_acq_rel) == owners;
    }

    bool is_unique() const { return count_.load(std::memory_order_acquire) == 1; }

private:
    std::atomic<int64_t> count_{1};
};

}  // namespace via
