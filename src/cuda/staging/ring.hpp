// The ring of pinned slots, and the waits of its users.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "core/base/reference_count.hpp"
#include "core/base/spin.hpp"
#include "core/base/unique_handle.hpp"
#include "core/system/punctual_sleep.hpp"
#include "cuda/driver/resource_limits.h"
#include "cuda/memory/pinned_memory.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/topology/topology.hpp"

namespace via::cuda {

// Returns once the condition is true. Asks rarely, since asking calls the driver. After about 50 us it sleeps between
// questions, ever longer. Where other threads are busy, one that yields gets its processor back after milliseconds, one
// that wakes up at once.
template <class Condition>
void wait_until(const Condition &condition) {
    constexpr int32_t kLooks = 100;
    constexpr int32_t kPauses = 10;
    constexpr std::chrono::microseconds kLongest{160};
    std::chrono::microseconds sleep{10};
    if (spin_until(condition, kLooks, kPauses)) {
        return;
    }
    const PunctualSleep punctual;
    bool came = false;
    while (!came) {
        std::this_thread::sleep_for(sleep);
        sleep = std::min(2 * sleep, kLongest);
        came = condition();
    }
}

// A mutex that is held briefly: waiters spin before they sleep.
class AdaptiveMutex {
public:
    void lock() { lock_soon(&mutex_); }
    void unlock() { mutex_.unlock(); }

    // Sleeps, without the mutex, until the condition is true. Call with the mutex held. Allocates nothing, as a
    // std::condition_variable_any would.
    template <class Condition>
    void wait(std::condition_variable *changed, const Condition &condition) {
        std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
        changed->wait(lock, condition);
        lock.release();
    }

private:
    std::mutex mutex_;
};

struct Slot {
    char *memory;
    CUevent event;   // recorded after the copy that reads the slot
    bool in_flight;  // that copy may still run
    int32_t number;
    Slot *next;  // in a list of the ring
};

// The smallest ring.
inline constexpr int64_t kLeastSlot = int64_t{256} << 10;
inline constexpr int32_t kFewestSlots = 4;

struct RingShape {
    int64_t slot_bytes = 0;
    int32_t slot_count = 0;
    int64_t nbytes() const { return slot_bytes * slot_count; }
};

// Returns the shape of a ring of at most `most` bytes, without slots if that is too little.
RingShape shape_ring(int64_t most);

// Pinning memory takes 0.2 ms/MiB, longer than a few copies gain. A device has a small ring first, and gets larger ones
// as it copies more, until all of them have `most` bytes. `pinned`: those of its rings so far. Returns a shape without
// slots if there is too little left.
enum class RingSize : int32_t { Small, Medium, Large };
RingShape shape_growing_ring(int64_t most, int64_t pinned, RingSize size);

// The ring: pinned slots of one device, for copies of pageable memory. Copies share it slot by slot, in the order
// they asked.
class Ring {
public:
    static constexpr int32_t kMostSlots = via_max_ring_slots;

    // Returns the largest ring of the device's primary context, retained for the caller. Makes one if there is none, as
    // after a reset of the context, or if all are smaller than that size; if a larger one cannot be had, a smaller one
    // serves. Errors: VIA_ERROR_UNSUPPORTED where it may not have enough memory, VIA_ERROR_CUDA,
    // VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD static Status acquire(int32_t device_id, const ContextKey &context, RingSize size, Ring **out_ring);
    void release();

    Ring(const Ring &) = delete;
    Ring &operator=(const Ring &) = delete;

    // Returns device memory of the size of all slots, in which kernels permute their bytes. Allocates it at the first
    // call and keeps it. Returns nullptr if the device is full.
    VIA_NODISCARD Status scratch(char **out_scratch);

    const RingShape &shape() const { return shape_; }
    int64_t slot_bytes() const { return shape_.slot_bytes; }
    const CpuSet *cpus() const { return &cpus_; }

    // Waits for its turn and for a slot. A holder must be able to return its slot without taking another one.
    CUresult take(Slot **out_slot);

    // Returns a slot if one is free and nobody waits for one, otherwise nullptr.
    Slot *take_idle();

    // Returns a slot that the device does not use any more.
    void give_back(Slot *slot);

    // Returns a slot that the stream's work so far still reads.
    CUresult give_back_later(Slot *slot, CUstream stream);

private:
    Ring() = default;
    ~Ring() = default;

    VIA_NODISCARD static Status make(int32_t device_id, const ContextKey &context, const RingShape &shape,
                                     Ring **out_ring);
    static void grow(int32_t device_id, RingSize size, Ring **ring);
    VIA_NODISCARD Status make_slots(int32_t device_id);
    void forget_at_driver();
    void destroy();
    bool has_free_slot() const { return idle_ != nullptr || first_in_flight_ != nullptr; }
    bool oldest_has_landed() const;
    int64_t pinned_bytes() const;  // of this ring and those before
    Slot *pop();
    void push_idle(Slot *slot);

    ReferenceCount references_;
    ContextKey context_{};
    PinnedBlock memory_{};
    RingShape shape_;
    CUdeviceptr scratch_ = 0;
    CpuSet cpus_{};
    Ring *smaller_ = nullptr;  // the one before, kept: freeing its memory might wait for other work of the device
    RingSize size_{};          // that was wanted last, whether it could be had or not
    Slot slots_[kMostSlots] = {};

    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t next_ticket_ = 0;
    uint64_t served_ = 0;
    Slot *idle_ = nullptr;  // last used first: its lines may still be cached
    Slot *first_in_flight_ = nullptr;
    Slot *last_in_flight_ = nullptr;
};

inline void release_ring(Ring *ring) { ring->release(); }
using UniqueRing = UniqueHandle<Ring, release_ring>;

}  // namespace via::cuda
