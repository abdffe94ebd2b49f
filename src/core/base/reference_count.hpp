// A count of owners, safe from any thread.
#pragma once

#include <sys/single_threaded.h>

#include <atomic>
#include <cstdint>

namespace via {

// Says so, on stderr.
void report_release_of_nothing() __attribute__((cold));

// It comes behind the first 16 bytes of what it counts, where it can: allocators write there when a block is freed, and
// the 0 that the last release leaves behind makes another release of that block harmless as long as nobody else has it.
class ReferenceCount {
public:
    void retain(int64_t owners = 1) {
        if (__libc_single_threaded != 0) {
            // With one thread in the process a locked instruction buys nothing and costs more than all the rest of an
            // export; std::shared_ptr does the same. Starting a thread orders what came before.
            count_.store(count_.load(std::memory_order_relaxed) + owners, std::memory_order_relaxed);
        } else {
            count_.fetch_add(owners, std::memory_order_relaxed);
        }
    }

    // True if these were the last owners.
    [[nodiscard]] bool release(int64_t owners = 1) {
        // The only owner cannot race with a retain, so it needs no locked instruction to find out that it is the last.
        const int64_t before = count_.load(std::memory_order_acquire);
        if (before == owners) {
            count_.store(0, std::memory_order_relaxed);
            return true;
        }
        if (before < owners) [[unlikely]] {
            report_release_of_nothing();
            return false;
        }
        if (__libc_single_threaded != 0) {
            count_.store(before - owners, std::memory_order_relaxed);
            return false;
        }
        return count_.fetch_sub(owners, std::memory_order_acq_rel) == owners;
    }

private:
    std::atomic<int64_t> count_{1};
};

}  // namespace via
