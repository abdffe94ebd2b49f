#include "cuda/staging/ring.hpp"

#include <new>

#include "core/base/rounding.hpp"
#include "core/base/thread_state.hpp"
#include "core/diagnostics/log.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kSlotUnit = int64_t{64} << 10;

std::mutex making;
Ring *rings[kMostDevices];

// Waits for one slot at a time, and for no longer than a copy of the device takes.
CUresult wait_for(Slot *slot) {
    CUresult result = CUDA_ERROR_NOT_READY;
    wait_until([&] {
        result = asked_again([&] { return driver().cuEventQuery(slot->event); });
        return result != CUDA_ERROR_NOT_READY;
    });
    slot->in_flight = false;
    return result;
}

}  // namespace

RingShape shape_ring(int64_t most) {
    const int64_t share = round_down(most / Ring::kMostSlots, kSlotUnit);
    if (share >= kLeastSlot) {
        return {share, Ring::kMostSlots};
    }
    const auto count = static_cast<int32_t>(most / kLeastSlot);
    return count >= kFewestSlots ? RingShape{kLeastSlot, count} : RingShape{};
}

RingShape shape_growing_ring(int64_t most, int64_t pinned, RingSize size) {
    const int64_t unit = round_down(most / 64, kSlotUnit);
    if (unit < kLeastSlot) {
        return pinned == 0 ? shape_ring(most) : RingShape{};
    }
    const auto whole_slots = Ring::kMostSlots - static_cast<int32_t>(pinned / (4 * unit));
    const RingShape shapes[] = {{unit, 4}, {2 * unit, 6}, {4 * unit, whole_slots}};
    const RingShape shape = shapes[static_cast<int32_t>(size)];
    return shape.slot_count >= kFewestSlots && pinned + shape.nbytes() <= most ? shape : RingShape{};
}

Status Ring::make_slots(int32_t device_id) {
    const int64_t nbytes = shape_.nbytes();
    const int32_t node = node_of_device(device_id);
    cpus_ = cpus_of_node(node);
    VIA_TRY(pin_block(nbytes, node, context_, &memory_));
    count(Counter::StagedBytes, nbytes);
    for (int32_t i = 0; i < shape_.slot_count; ++i) {
        Slot &slot = slots_[i];
        slot.number = i;
        VIA_TRY_CUDA(cuEventCreate(&slot.event, CU_EVENT_DISABLE_TIMING));
        slot.memory = memory_.address + i * shape_.slot_bytes;
        push_idle(&slot);
    }
    return VIA_OK;
}

int64_t Ring::pinned_bytes() const { return shape_.nbytes() + (smaller_ != nullptr ? smaller_->pinned_bytes() : 0); }

Status Ring::scratch(char **out_scratch) {
    const std::lock_guard<std::mutex> lock(making);
    if (scratch_ == 0) [[unlikely]] {
        ContextScope scope;
        VIA_TRY(scope.enter(context_.context));
        const CUresult result = driver().cuMemAlloc(&scratch_, static_cast<size_t>(shape_.nbytes()));
        scratch_ = result == CUDA_SUCCESS ? scratch_ : 0;
        VIA_TRY(result == CUDA_ERROR_OUT_OF_MEMORY ? VIA_OK : check_driver(result, "cuMemAlloc"));
    }
    *out_scratch = reinterpret_cast<char *>(scratch_);
    return VIA_OK;
}

Status Ring::make(int32_t device_id, const ContextKey &context, const RingShape &shape, Ring **out_ring) {
    if (shape.slot_count == 0) {
        return fail(VIA_ERROR_UNSUPPORTED,
                    "this process may pin too little memory for staging with device %d; expected at least %lld bytes",
                    device_id, static_cast<long long>(kLeastSlot * kFewestSlots));
    }
    ContextScope scope;
    VIA_TRY(scope.enter(context.context));
    auto *ring = new (std::nothrow) Ring;
    if (ring == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a ring of staging slots");
    }
    ring->context_ = context;
    ring->shape_ = shape;
    const Status status = ring->make_slots(device_id);
    if (status != VIA_OK) {
        ring->destroy();
        return status;
    }
    VIA_NOTE("staging ring of device %d: %d slots of %lld bytes", device_id, shape.slot_count,
             static_cast<long long>(shape.slot_bytes));
    *out_ring = ring;
    return VIA_OK;
}

// Replaces the ring by a larger one if that can be had. Tries once: failing takes as long as making.
void Ring::grow(int32_t device_id, RingSize size, Ring **ring) {
    Ring *smaller = *ring;
    Ring *larger = nullptr;
    smaller->size_ = size;
    const RingShape shape = shape_growing_ring(find_ring_bytes(), smaller->pinned_bytes(), size);
    if (shape.slot_count > 0 && make(device_id, smaller->context_, shape, &larger) == VIA_OK) {
        larger->size_ = size;
        larger->smaller_ = smaller;
        *ring = larger;
    }
}

Status Ring::acquire(int32_t device_id, const ContextKey &context, RingSize size, Ring **out_ring) {
    if (context.id == 0) {
        return fail(VIA_ERROR_CUDA, "cuCtxGetId: the primary context of device %d has no number", device_id);
    }
    const std::lock_guard<std::mutex> lock(making);
    Ring *&ring = rings[device_id];
    if (ring != nullptr && !(ring->context_ == context)) {
        ring->release();  // of a context that was reset; copies that still use it end on their own
        ring = nullptr;
    }
    if (ring == nullptr) {
        VIA_TRY(make(device_id, context, shape_growing_ring(find_ring_bytes(), 0, size), &ring));
        ring->size_ = size;
    } else if (ring->size_ < size) {
        grow(device_id, size, &ring);
    }
    ring->references_.retain();
    *out_ring = ring;
    return VIA_OK;
}

void Ring::release() {
    if (references_.release()) {
        destroy();
    }
}

// Frees events and scratch memory. Those of a context that was reset are gone already.
void Ring::forget_at_driver() {
    ContextScope scope;
    if (state_of(context_) != ContextState::Alive || !scope.enter_to_free(context_.context)) {
        return;
    }
    for (Slot &slot : slots_) {
        if (slot.event != nullptr) {
            (void)driver().cuEventSynchronize(slot.event);
            (void)driver().cuEventDestroy(slot.event);
        }
    }
    if (scratch_ != 0) {
        (void)driver().cuMemFree(scratch_);
    }
}

// Must not run inside a callback of the driver.
void Ring::destroy() {
    forget_at_driver();
    if (memory_.address != nullptr && unpin_block(memory_)) {
        count(Counter::StagedBytes, -memory_.nbytes);
    }
    if (smaller_ != nullptr) {
        smaller_->release();
    }
    delete this;
}

// Call with the mutex held and a slot free.
Slot *Ring::pop() {
    Slot *slot = idle_;
    if (slot != nullptr) {
        idle_ = slot->next;
        return slot;
    }
    slot = first_in_flight_;
    first_in_flight_ = slot->next;
    last_in_flight_ = first_in_flight_ == nullptr ? nullptr : last_in_flight_;
    return slot;
}

void Ring::push_idle(Slot *slot) {
    slot->next = idle_;
    idle_ = slot;
}

CUresult Ring::take(Slot **out_slot) {
    {
        std::unique_lock<std::mutex> lock(mutex_);
        const uint64_t ticket = next_ticket_++;
        changed_.wait(lock, [&] { return ticket == served_ && has_free_slot(); });
        served_++;
        *out_slot = pop();
        if (served_ != next_ticket_) {
            changed_.notify_all();
        }
    }
    const CUresult result = (*out_slot)->in_flight ? wait_for(*out_slot) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) {
        give_back(*out_slot);
        *out_slot = nullptr;
    }
    return result;
}

bool Ring::oldest_has_landed() const {
    return first_in_flight_ != nullptr && driver().cuEventQuery(first_in_flight_->event) == CUDA_SUCCESS;
}

Slot *Ring::take_idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (served_ != next_ticket_ || (idle_ == nullptr && !oldest_has_landed())) {
        return nullptr;
    }
    Slot *slot = pop();
    slot->in_flight = false;
    return slot;
}

void Ring::give_back(Slot *slot) {
    const std::lock_guard<std::mutex> lock(mutex_);
    push_idle(slot);
    if (served_ != next_ticket_) {
        changed_.notify_all();
    }
}

CUresult Ring::give_back_later(Slot *slot, CUstream stream) {
    const CUresult result = driver().cuEventRecord(slot->event, stream);
    if (result != CUDA_SUCCESS) {
        (void)wait_for_work(stream);
        give_back(slot);
        return result;
    }
    slot->in_flight = true;
    slot->next = nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    (last_in_flight_ == nullptr ? first_in_flight_ : last_in_flight_->next) = slot;
    last_in_flight_ = slot;
    if (served_ != next_ticket_) {
        changed_.notify_all();
    }
    return CUDA_SUCCESS;
}

}  // namespace via::cuda
