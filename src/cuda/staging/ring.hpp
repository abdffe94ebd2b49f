// The ring: page-locked slots of one device that copies of pageable memory pass through. Several copies share it, a
// slot each at a time, in the order they asked.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "core/base/reference_count.hpp"
#include "core/base/unique_handle.hpp"
#include "cuda/driver/resource_limits.h"
#include "cuda/memory/pinned_block.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/topology/numa_node.hpp"

namespace via::cuda {

struct Slot {
    char *memory;
    CUevent event;   // recorded after the copy that still reads the slot
    bool in_flight;  // such a copy may not have ended
    int32_t number;
    Slot *next;  // the ring's own
};

class Ring {
public:
    static constexpr int32_t kMostSlots = via_max_ring_slots;

    // The ring of the device's primary context as it is now; made when first asked for, and again after a reset.
    // Retained for the caller. Errors: VIA_ERROR_UNSUPPORTED where it may not have enough memory, VIA_ERROR_CUDA,
    // VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD static Status acquire(int32_t device_id, const ContextKey &context, Ring **out_ring);
    void release();

    Ring(const Ring &) = delete;
    Ring &operator=(const Ring &) = delete;

    // As much memory of the device as the slots are, slot after slot, for kernels to turn their bytes in: made when
    // first asked for, and kept. nullptr where the device is full.
    VIA_NODISCARD Status scratch(char **out_scratch);

    int64_t slot_bytes() const { return slot_bytes_; }
    int32_t slot_count() const { return slot_count_; }
    const CpuSet *cpus() const { return &cpus_; }

    // Waits for its turn and for the slot. Whoever holds a slot must be able to give it back without another one.
    CUresult take(Slot **out_slot);

    // A slot that can be had at once; nullptr if there is none, or somebody waits for one.
    Slot *take_idle();

    // Nothing of the device's reads or writes the slot any more.
    void give_back(Slot *slot);

    // The stream's work so far is what reads the slot.
    CUresult give_back_behind(Slot *slot, CUstream stream);

private:
    Ring() = default;
    ~Ring() = default;

    VIA_NODISCARD static Status make(int32_t device_id, const ContextKey &context, Ring **out_ring);
    VIA_NODISCARD Status make_slots(int32_t device_id);
    void forget_at_driver();
    void destroy();
    bool has_free_slot() const { return idle_ != nullptr || first_in_flight_ != nullptr; }
    bool oldest_has_landed() const;
    Slot *pop();
    void push_idle(Slot *slot);

    ReferenceCount references_;
    ContextKey context_{};
    PinnedBlock memory_{};
    int64_t slot_bytes_ = 0;
    int32_t slot_count_ = 0;
    CUdeviceptr scratch_ = 0;
    CpuSet cpus_{};
    Slot slots_[kMostSlots] = {};

    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t next_ticket_ = 0;
    uint64_t served_ = 0;
    Slot *idle_ = nullptr;  // the one used last first: its lines may still be in a cache
    Slot *first_in_flight_ = nullptr;
    Slot *last_in_flight_ = nullptr;
};

inline void release_ring(Ring *ring) { ring->release(); }
using UniqueRing = UniqueHandle<Ring, release_ring>;

// Bytes and number of the slots of a ring that may hold `most` bytes; both 0 if that is too little for one.
void shape_ring(int64_t most, int64_t *out_slot_bytes, int32_t *out_count);

}  // namespace via::cuda
