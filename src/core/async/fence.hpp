// A point in work that runs behind the caller: where a device's stream has got to, or the end of a task.
#pragma once

#include <cstdint>

#include "core/base/reference_count.hpp"
#include "core/base/status.hpp"
#include "core/base/unique_handle.hpp"

namespace via {

// A stream of a device, resolved for one call; the room of the device says what it is.
struct ResolvedStream;

// Work that is done strictly one piece after the other, a stream's: what tells it from all other work there ever was.
struct Timeline {
    uint64_t number = 0;  // 0: not known, which is like no other
    uint64_t context_id = 0;
    const void *context = nullptr;

    bool is_same(const Timeline &other) const {
        return number != 0 && number == other.number && context_id == other.context_id && context == other.context;
    }
};

// Where a fence stands in its timeline: between two readings of a clock that counts the fences of all of them.
struct TimelinePoint {
    Timeline timeline{};
    uint64_t from = 0;  // before it was recorded
    uint64_t to = 0;    // after
};

// Reached once and for all. Every member may be called from any thread.
class Fence {
public:
    Fence() = default;
    Fence(const Fence &) = delete;
    Fence &operator=(const Fence &) = delete;

    void retain(int64_t owners = 1) { references_.retain(owners); }
    void release(int64_t owners = 1) {
        if (references_.release(owners)) {
            destroy();
        }
    }

    // Whether this one is reached only after the other, which therefore need not be remembered beside it.
    bool happens_after(const Fence &other) const {
        return point_.timeline.is_same(other.point_.timeline) && point_.from >= other.point_.to;
    }

    // Whether work of the timeline that begins now comes after it anyway.
    bool is_of(const Timeline &timeline) const { return point_.timeline.is_same(timeline); }

    // Never fails and never blocks: work that can no longer end (its context is gone or has failed, this is a forked
    // child) counts as reached; where it cannot be asked (inside a callback of the driver) it counts as not reached.
    virtual bool is_complete() = 0;

    // Waits on the host. A failure of the work itself is the answer.
    VIA_NODISCARD virtual Status wait() = 0;

    // Makes later work of the stream wait. A task that has not been handed to its device yet is waited for on the
    // host, since a stream must never be made to wait for the CPU.
    VIA_NODISCARD virtual Status make_stream_wait(const ResolvedStream &stream) = 0;

    // True if order() only tells the device, since the host has no more part in what the fence stands for.
    virtual bool is_on_device() { return false; }

    // The storage that remembers it has no owner any more, and is about to ask whether it has been reached.
    virtual void detach() {}

protected:
    virtual ~Fence() = default;
    virtual void destroy() { delete this; }
    void set_point(const TimelinePoint &point) { point_ = point; }

private:
    TimelinePoint point_;
    ReferenceCount references_;
};

// One more owner's; nullptr stays that.
inline Fence *retained(Fence *fence) {
    if (fence != nullptr) {
        fence->retain();
    }
    return fence;
}

inline void release_fence(Fence *fence) noexcept { fence->release(); }

using UniqueFence = UniqueHandle<Fence, release_fence>;

}  // namespace via
