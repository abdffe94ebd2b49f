#include <atomic>
#include <mutex>
#include <new>

#include "cuda/driver/per_context.hpp"
#include "cuda/driver/resource_limits.h"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {
namespace {

class FencePool;

// A point in a stream. Fences are pooled with their events: the hot path allocates nothing, and the last release, on
// any thread, calls no driver. Recording an event again forgets its earlier point, which no owner can ask for any more.
class EventFence final : public Fence {
public:
    EventFence(FencePool *pool, CUevent event, const ContextKey &key) : pool_(pool), event_(event), key_(key) {}

    bool is_complete() override {
        if (complete_.load(std::memory_order_acquire) || !driver_is_usable(false)) {
            return true;
        }
        const ContextState state = state_of(key_);
        if (state != ContextState::Alive) {
            return state == ContextState::Gone && note_complete();
        }
        const RelaxedCapture relaxed;
        const CUresult result = asked_again([&] { return driver().cuEventQuery(event_); });
        // Failed work has ended. Does not note it, so that wait() returns its error.
        return result == CUDA_SUCCESS ? note_complete() : result != CUDA_ERROR_NOT_READY;
    }

    VIA_NODISCARD Status wait() override {
        if (complete_.load(std::memory_order_acquire) || !driver_is_usable(false)) {
            return VIA_OK;
        }
        const ContextState state = state_of(key_);
        if (state == ContextState::CannotAsk) {
            return fail(VIA_ERROR_WOULD_DEADLOCK,
                        "the caller is a callback of the driver; expected a wait outside of callbacks");
        }
        if (state == ContextState::Gone) {
            return VIA_OK;
        }
        const RelaxedCapture relaxed;
        VIA_TRY(check_driver(asked_again([&] { return driver().cuEventSynchronize(event_); }), "cuEventSynchronize"));
        (void)note_complete();
        return VIA_OK;
    }

    VIA_NODISCARD Status make_stream_wait(const ResolvedStream &stream) override {
        if (stream.capturing) {
            return wait();
        }
        return is_of(stream.timeline()) || is_complete() ? VIA_OK : order_anyway(stream);
    }

    // Does so whether it has been reached or not.
    VIA_NODISCARD Status order_anyway(const ResolvedStream &stream) {
        ContextScope scope;
        VIA_TRY(enter_for(stream, &scope));
        VIA_TRY_CUDA(cuStreamWaitEvent(stream.handle, event_, 0));
        return VIA_OK;
    }

    bool is_on_device() override { return true; }

    // Two threads may record on one stream at once; their order is unknown then.
    VIA_NODISCARD Status record(const ResolvedStream &stream) {
        TimelinePoint point{.timeline = stream.timeline(), .from = ticks.load(std::memory_order_acquire)};
        ContextScope scope;
        VIA_TRY(enter_for(stream, &scope));
        VIA_TRY_CUDA(cuEventRecord(event_, stream.handle));
        point.to = ticks.fetch_add(1, std::memory_order_acq_rel) + 1;
        set_point(point);
        return VIA_OK;
    }

private:
    friend class FencePool;
    ~EventFence() override = default;
    void destroy() override;
    bool note_complete() {
        complete_.store(true, std::memory_order_release);
        return true;
    }

    // Makes an event of the context, unless there is one.
    VIA_NODISCARD Status have_event(const ContextKey &key) {
        if (key_ == key) [[likely]] {
            return VIA_OK;
        }
        key_ = {};
        ContextScope scope;
        VIA_TRY(scope.enter(key.context));
        VIA_TRY_CUDA(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
        key_ = key;
        return VIA_OK;
    }

    static inline std::atomic<uint64_t> ticks{0};

    FencePool *const pool_;
    EventFence *next_ = nullptr;  // in the pool
    CUevent event_;
    ContextKey key_;  // of the event; its id is 0 if there is none
    std::atomic<bool> complete_{false};
};

// The idle fences of one context. Any thread may return one, in a forked child and inside a callback of the driver too.
// One thread at a time takes: the fence at the top cannot be taken and returned meanwhile (ABA). Those of an earlier
// context get new events as they are taken.
class FencePool {
public:
    VIA_NODISCARD Status take(const ContextKey &key, EventFence **out_fence) {
        EventFence *fence = take_idle(key);
        if (fence != nullptr) [[likely]] {
            // Starts again with one owner.
            fence = new (fence) EventFence(this, fence->event_, fence->key_);
        } else {
            fence = new (std::nothrow) EventFence(this, nullptr, {});
        }
        if (fence == nullptr) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a fence in a stream");
        }
        UniqueFence holder(fence);
        VIA_TRY(fence->have_event(key));
        (void)holder.release();
        *out_fence = fence;
        return VIA_OK;
    }

    void give(EventFence *fence) {
        idle_.fetch_add(1, std::memory_order_relaxed);
        EventFence *top = top_.load(std::memory_order_relaxed);
        do {
            fence->next_ = top;
        } while (!top_.compare_exchange_weak(top, fence, std::memory_order_release, std::memory_order_relaxed));
    }

private:
    EventFence *pop() {
        EventFence *fence = top_.load(std::memory_order_acquire);
        while (fence != nullptr && !top_.compare_exchange_weak(fence, fence->next_, std::memory_order_acquire)) {
        }
        if (fence != nullptr) {
            idle_.fetch_sub(1, std::memory_order_relaxed);
        }
        return fence;
    }

    // Destroys one surplus fence with each that is taken, after a burst.
    void trim(const ContextKey &key) {
        EventFence *surplus = idle_.load(std::memory_order_relaxed) > via_max_idle_fences ? pop() : nullptr;
        if (surplus != nullptr) [[unlikely]] {
            if (surplus->key_ == key) {
                (void)driver().cuEventDestroy(surplus->event_);
            }
            delete surplus;
        }
    }

    EventFence *take_idle(const ContextKey &key) {
        const std::lock_guard<std::mutex> lock(taking_);
        EventFence *fence = pop();
        trim(key);
        return fence;
    }

    std::mutex taking_;
    std::atomic<EventFence *> top_{nullptr};
    std::atomic<int64_t> idle_{0};
};

void EventFence::destroy() { pool_->give(this); }

constinit PerContext<FencePool> pools;

}  // namespace

Status record_fence(const ResolvedStream &stream, Fence **out_fence) {
    const ContextKey key = stream.key();
    FencePool *pool = nullptr;
    const auto begin = [](FencePool *) { return VIA_OK; };
    VIA_TRY(pools.find_or_make(key, "the fences of a context", begin, &pool));
    EventFence *fence = nullptr;
    VIA_TRY(pool->take(key, &fence));
    UniqueFence holder(fence);
    VIA_TRY(fence->record(stream));
    *out_fence = holder.release();
    return VIA_OK;
}

Status record_or_wait(const ResolvedStream &stream, Fence **out_fence) {
    {
        const CallbackScope quiet;  // reports no failure
        if (record_fence(stream, out_fence) == VIA_OK) [[likely]] {
            return VIA_OK;
        }
    }
    return wait_for_stream(stream);
}

Status make_stream_wait(const ResolvedStream &later, Fence *earlier) {
    return static_cast<EventFence *>(earlier)->order_anyway(later);
}

Status follow(const ResolvedStream &later, const ResolvedStream &earlier) {
    UniqueFence fence;
    VIA_TRY(record_fence(earlier, fence.out()));
    return make_stream_wait(later, fence.get());
}

}  // namespace via::cuda
