// Fences: the end of asynchronous work, such as a point in a stream or the end of a task.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "core/base/reference_count.hpp"
#include "core/base/status.hpp"
#include "core/base/thread_state.hpp"
#include "core/base/unique_handle.hpp"

namespace via {

// A stream of a device, resolved for one call; defined by the room of the device.
struct ResolvedStream;

// Identifies a sequence of work, a stream's, among all that ever existed. Its work runs strictly in order.
struct Timeline {
    uint64_t number = 0;  // 0: unknown, and equal to no other
    uint64_t context_id = 0;
    const void *context = nullptr;

    bool is_same(const Timeline &other) const {
        return number != 0 && number == other.number && context_id == other.context_id && context == other.context;
    }
};

// Position of a fence in its timeline: between two readings of a clock that counts the fences of all timelines.
struct TimelinePoint {
    Timeline timeline{};
    uint64_t from = 0;  // before it was recorded
    uint64_t to = 0;    // after
};

// Completes once, and stays complete. Call any member from any thread.
class Fence {
public:
    Fence() : writes_seen_(writes_seen()) {}
    Fence(const Fence &) = delete;
    Fence &operator=(const Fence &) = delete;

    void retain(int64_t owners = 1) { references_.retain(owners); }
    void release(int64_t owners = 1) {
        if (references_.release(owners)) {
            destroy();
        }
    }

    // Returns true if this fence completes only after the other one, which then need not be remembered too.
    bool happens_after(const Fence &other) const {
        return point_.timeline.is_same(other.point_.timeline) && point_.from >= other.point_.to;
    }

    // Returns true if the work has waited for the other fence, which was recorded as a write before the work's call
    // began, or comes after it in its timeline.
    bool is_ordered_after(const Fence &write) const {
        return write.recorded_.load(std::memory_order_acquire) <= writes_seen_ || happens_after(write);
    }

    // Notes the number of the latest write that the fence was recorded as.
    void note_recorded(uint64_t number) { recorded_.store(number, std::memory_order_release); }

    // Returns true if new work of the timeline runs after this fence anyway.
    bool is_of(const Timeline &timeline) const { return point_.timeline.is_same(timeline); }

    // Never fails, never blocks. Work that can no longer end counts as complete: its context was destroyed or failed,
    // or this is a forked child. Work that cannot be queried, inside a callback of the driver, counts as incomplete.
    virtual bool is_complete() = 0;

    // Waits on the host. Returns the failure of the work itself.
    VIA_NODISCARD virtual Status wait() = 0;

    // Makes later work of the stream wait. Waits on the host for a task that has not been submitted to its device yet:
    // a stream never waits for the CPU.
    VIA_NODISCARD virtual Status make_stream_wait(const ResolvedStream &stream) = 0;

    // Wait as wait() and make_stream_wait() do, for the sake of order. The failure of work that has ended is reported
    // by its owner, and not here, unless nobody may miss it.
    VIA_NODISCARD Status wait_for_order() { return unless_ended(wait()); }
    VIA_NODISCARD Status make_stream_follow(const ResolvedStream &stream) {
        return unless_ended(make_stream_wait(stream));
    }

    // Returns true if make_stream_wait never waits on the host, because only the device is still involved.
    virtual bool is_on_device() { return false; }

    // Returns false for a task that has ended: later work need not wait for it, even if it failed.
    bool holds_up_streams() { return is_on_device() || !is_complete(); }

    // Returns true if has_failed() may ever be true. Does not query the work.
    virtual bool may_fail() { return false; }

    // Returns true if the work has completed, and wait() returns a failure that nobody may miss.
    virtual bool has_failed() { return false; }

    // Called when the storage that remembers the fence has lost its last owner, before it queries the fence.
    virtual void detach() {}

    // Returns the fences that this one completes after, which stay its own.
    virtual std::span<Fence *const> parts() { return {}; }

    const TimelinePoint &point() const { return point_; }

protected:
    virtual ~Fence() = default;
    virtual void destroy() { delete this; }
    void set_point(const TimelinePoint &point) { point_ = point; }
    void set_writes_seen(uint64_t number) { writes_seen_ = number; }

private:
    Status unless_ended(Status status) { return status == VIA_OK || !is_complete() || has_failed() ? status : VIA_OK; }

    TimelinePoint point_;
    uint64_t writes_seen_;
    std::atomic<uint64_t> recorded_{UINT64_MAX};
    ReferenceCount references_;
};

// Adds a reference; ignores nullptr.
inline Fence *retained(Fence *fence) {
    if (fence != nullptr) {
        fence->retain();
    }
    return fence;
}

// Joins `count` fences to one that completes after all of them. Consumes a reference to each, on failure too; ignores
// nullptr. *out_fence is nullptr if there are none. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status join_fences(Fence *const *fences, int32_t count, Fence **out_fence);

// Joins a fence to an earlier write that it may not come after, or that may have failed. Leaves out what has succeeded,
// and what it comes after that cannot fail, so that threads that write one array again and again join no more fences
// than run at once. Consumes no reference.
// Without memory, waits for both: *out_fence is nullptr then.
VIA_NODISCARD Status join_writes(Fence *write, Fence *fence, Fence **out_fence);

// Joins them, or waits for each if there is no memory for that. Consumes a reference to each. Returns the first failure
// of a wait.
VIA_NODISCARD Status join_or_wait(Fence *const *fences, int32_t count, Fence **out_fence);

void release_fences(Fence *const *fences, int32_t count);  // ignores nullptr

inline void release_fence(Fence *fence) noexcept { fence->release(); }

using UniqueFence = UniqueHandle<Fence, release_fence>;

}  // namespace via
