#include <atomic>
#include <mutex>
#include <new>

#include "cuda/driver/resource_limits.h"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {
namespace {

class MarkPool;

// A point in a stream. Marks are pooled with their events, so that the hot path allocates nothing and the last release,
// which may come from anywhere, calls no driver. An event that is recorded again forgets what it stood for, which only
// its mark's owners could ask for: there are none left then.
class EventMark final : public Mark {
public:
    EventMark(MarkPool *pool, CUevent event, const ContextKey &key) : pool_(pool), event_(event), key_(key) {}

    bool reached() override;
    VIA_NODISCARD Status wait() override;
    VIA_NODISCARD Status order(const StreamUse &stream) override;
    VIA_NODISCARD Status order_anyway(const StreamUse &stream);  // whether it has been reached or not
    bool is_on_device() override { return true; }
    VIA_NODISCARD Status record(const StreamUse &use);

private:
    friend class MarkPool;
    ~EventMark() override = default;
    void destroy() override;
    bool note_reached() {
        reached_.store(true, std::memory_order_release);
        return true;
    }

    MarkPool *const pool_;
    EventMark *next_ = nullptr;  // in the pool
    CUevent event_;
    ContextKey key_;  // of the event; its id is 0 if there is none
    std::atomic<bool> reached_{false};
};

// The marks of one context that nobody owns. Anybody may give one back, in a forked child and inside a callback of the
// driver too; only one thread at a time takes, so that a mark seen at the top cannot come back there meanwhile.
class MarkPool {
public:
    // The pool of the context, made when first asked for; nullptr if there is no memory.
    static MarkPool *find(const ContextKey &key);

    VIA_NODISCARD Status take(const ContextKey &key, EventMark **out_mark);
    void give(EventMark *mark);

private:
    static MarkPool *make(const ContextKey &key);
    EventMark *pop();
    void trim(const ContextKey &key);
    EventMark *take_idle(const ContextKey &key);

    MarkPool *next_ = nullptr;
    bool serves(const ContextKey &key) const {
        return context_id_.load(std::memory_order_acquire) == key.id &&
               context_.load(std::memory_order_relaxed) == key.context;
    }

    std::atomic<uint64_t> context_id_{0};
    std::atomic<CUcontext> context_{nullptr};
    std::mutex taking_;
    std::atomic<EventMark *> top_{nullptr};
    std::atomic<int64_t> idle_{0};
};

std::atomic<MarkPool *> pools{nullptr};
std::mutex making;

std::atomic<uint64_t> ticks{0};

Status create_event(const ContextKey &key, CUevent *out_event) {
    ContextScope scope;
    VIA_TRY(scope.enter(key.context));
    VIA_TRY_CUDA(cuEventCreate(out_event, CU_EVENT_DISABLE_TIMING));
    return VIA_OK;
}

MarkPool *MarkPool::find(const ContextKey &key) {
    for (MarkPool *pool = pools.load(std::memory_order_acquire); pool != nullptr; pool = pool->next_) {
        if (pool->serves(key)) [[likely]] {
            return pool;
        }
    }
    return make(key);
}

// The pool of a context that is gone serves the next one: its marks get new events as they are taken.
MarkPool *MarkPool::make(const ContextKey &key) {
    const std::lock_guard<std::mutex> lock(making);
    MarkPool *free = nullptr;
    for (MarkPool *pool = pools.load(std::memory_order_acquire); pool != nullptr; pool = pool->next_) {
        if (pool->serves(key)) {
            return pool;
        }
        if (context_id(pool->context_.load(std::memory_order_relaxed)) !=
            pool->context_id_.load(std::memory_order_relaxed)) {
            free = pool;
        }
    }
    MarkPool *pool = free != nullptr ? free : new (std::nothrow) MarkPool;
    if (pool == nullptr) {
        return nullptr;
    }
    pool->context_.store(key.context, std::memory_order_relaxed);
    pool->context_id_.store(key.id, std::memory_order_release);
    if (pool != free) {
        pool->next_ = pools.load(std::memory_order_relaxed);
        pools.store(pool, std::memory_order_release);
    }
    return pool;
}

EventMark *MarkPool::pop() {
    EventMark *mark = top_.load(std::memory_order_acquire);
    while (mark != nullptr && !top_.compare_exchange_weak(mark, mark->next_, std::memory_order_acquire)) {
    }
    if (mark != nullptr) {
        idle_.fetch_sub(1, std::memory_order_relaxed);
    }
    return mark;
}

// After a burst the surplus goes, one with each mark taken.
void MarkPool::trim(const ContextKey &key) {
    if (idle_.load(std::memory_order_relaxed) <= via_kept_marks) [[likely]] {
        return;
    }
    EventMark *surplus = pop();
    if (surplus != nullptr) {
        if (surplus->key_ == key) {
            (void)driver().cuEventDestroy(surplus->event_);
        }
        delete surplus;
    }
}

EventMark *MarkPool::take_idle(const ContextKey &key) {
    const std::lock_guard<std::mutex> lock(taking_);
    EventMark *mark = pop();
    trim(key);
    return mark;
}

Status MarkPool::take(const ContextKey &key, EventMark **out_mark) {
    EventMark *mark = take_idle(key);
    if (mark != nullptr) [[likely]] {
        // Begins anew, with one owner.
        mark = new (mark) EventMark(this, mark->event_, mark->key_);
    } else {
        mark = new (std::nothrow) EventMark(this, nullptr, {});
    }
    if (mark == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a mark in a stream");
    }
    MarkHolder holder(mark);
    if (!(mark->key_ == key)) [[unlikely]] {
        mark->key_ = {};
        VIA_TRY(create_event(key, &mark->event_));
        mark->key_ = key;
    }
    (void)holder.give();
    *out_mark = mark;
    return VIA_OK;
}

void MarkPool::give(EventMark *mark) {
    idle_.fetch_add(1, std::memory_order_relaxed);
    EventMark *top = top_.load(std::memory_order_relaxed);
    do {
        mark->next_ = top;
    } while (!top_.compare_exchange_weak(top, mark, std::memory_order_release, std::memory_order_relaxed));
}

void EventMark::destroy() { pool_->give(this); }

bool EventMark::reached() {
    if (reached_.load(std::memory_order_acquire) || !driver_is_usable(false)) {
        return true;
    }
    switch (state_of(key_)) {
        case ContextState::CannotAsk:
            return false;
        case ContextState::Gone:
            return note_reached();
        case ContextState::Alive:
            break;
    }
    const RelaxedCapture relaxed;
    const CUresult result = asked_again([&] { return driver().cuEventQuery(event_); });
    // Work that failed has ended; it is not noted, so that wait() still says how.
    return result == CUDA_SUCCESS ? note_reached() : result != CUDA_ERROR_NOT_READY;
}

Status EventMark::wait() {
    if (reached_.load(std::memory_order_acquire) || !driver_is_usable(false)) {
        return VIA_OK;
    }
    switch (state_of(key_)) {
        case ContextState::CannotAsk:
            return fail(VIA_ERROR_WOULD_DEADLOCK, "the device's work cannot be waited for in a callback of the driver");
        case ContextState::Gone:
            return VIA_OK;
        case ContextState::Alive:
            break;
    }
    const RelaxedCapture relaxed;
    VIA_TRY(check_driver(asked_again([&] { return driver().cuEventSynchronize(event_); }), "cuEventSynchronize"));
    (void)note_reached();
    return VIA_OK;
}

Status EventMark::order(const StreamUse &stream) {
    if (stream.capturing) {
        return wait();
    }
    return is_of(stream.timeline()) || reached() ? VIA_OK : order_anyway(stream);
}

Status EventMark::order_anyway(const StreamUse &stream) {
    ContextScope scope;
    VIA_TRY(enter_for(stream, &scope));
    VIA_TRY_CUDA(cuStreamWaitEvent(stream.handle, event_, 0));
    return VIA_OK;
}

// Two threads may record on one stream at once: which of them came first, nobody can say then.
Status EventMark::record(const StreamUse &use) {
    Moment moment{.timeline = use.timeline(), .from = ticks.load(std::memory_order_acquire)};
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    VIA_TRY_CUDA(cuEventRecord(event_, use.handle));
    moment.to = ticks.fetch_add(1, std::memory_order_acq_rel) + 1;
    set_moment(moment);
    return VIA_OK;
}

}  // namespace

Status record_mark(const StreamUse &use, Mark **out_mark) {
    const ContextKey key{use.context, use.context_id};
    MarkPool *pool = MarkPool::find(key);
    if (pool == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for the marks of a context");
    }
    EventMark *mark = nullptr;
    VIA_TRY(pool->take(key, &mark));
    MarkHolder holder(mark);
    VIA_TRY(mark->record(use));
    *out_mark = holder.give();
    return VIA_OK;
}

Status follow(const StreamUse &later, const StreamUse &earlier) {
    MarkHolder mark;
    VIA_TRY(record_mark(earlier, mark.out()));
    return static_cast<EventMark *>(mark.get())->order_anyway(later);
}

}  // namespace via::cuda
