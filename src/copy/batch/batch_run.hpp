// Runs the copies of a batch, once or again and again, in stream order or as a task.
#pragma once

#include <memory>

#include "copy/batch/batch_plan.hpp"
#include "copy/copy_plan.hpp"
#include "core/async/reaper.hpp"
#include "core/base/unique_handle.hpp"

namespace via {

// Lists the copies that run one by one: all of them if the others cannot be fused.
class SingleCopies {
public:
    SingleCopies(const BatchPlan &plan, int32_t count, bool fused)
        : numbers_(fused ? plan.singles.begin() : nullptr),
          count_(fused ? static_cast<int32_t>(plan.singles.count()) : count) {}

    int32_t count() const { return count_; }
    int32_t operator[](int32_t index) const { return numbers_ != nullptr ? numbers_[index] : index; }

private:
    const int32_t *numbers_;  // nullptr: all of them
    int32_t count_;
};

// Plans of single copies, in order; nullptr for those that need none.
using SinglePlans = std::unique_ptr<std::unique_ptr<CopyPlan>[]>;

// The arrays of a batch, shared by the batch and its plans. A plan reads only as many as there were when it was made,
// so the batch may append more. Followed in their block by `capacity` destinations, as many sources, and as many copies
// with plans of their own, nullptr for others. They hold all of them.
struct Entries {
    ReferenceCount references;
    int32_t count;
    int32_t capacity;

    via_array **dsts() { return reinterpret_cast<via_array **>(this + 1); }
    via_array **srcs() { return dsts() + capacity; }
    PlannedCopy **planned() { return reinterpret_cast<PlannedCopy **>(srcs() + capacity); }
    Pairs pairs(int32_t first) { return {first, dsts(), srcs(), planned()}; }

    void append(via_array *dst, via_array *src, PlannedCopy *copy);
};

// Returns nullptr if there is no memory.
Entries *make_entries(int32_t capacity);

void release_entries(Entries *entries);

// The copies of a batch, planned once to run again and again. Holds the entries, and so the arrays, until the last
// fused run has ended: they need no fences of their accesses.
class PreparedBatch : DeferredCallback {
public:
    // `device_id` as in plan_batch.
    VIA_NODISCARD static Status make(Entries *entries, int32_t device_id, PreparedBatch **out_prepared);

    void retain() { references_.retain(); }
    void release();

    PreparedBatch(const PreparedBatch &) = delete;
    PreparedBatch &operator=(const PreparedBatch &) = delete;

    // Returns whether it has so many copies and was planned for this device.
    bool serves(int32_t count, int32_t device_id) const;

    int32_t count() const { return count_; }
    Pairs pairs() const { return entries_->pairs(count_); }
    const BatchPlan &plan() const { return plan_; }

    // What a fused run waits for.
    struct Before {
        UniqueFence latest;  // of the runs so far
        UniqueFence all;     // that, and the fences that the arrays are ready at
        uint64_t changes;    // of ready fences, until now
    };

    // `later` as in last_writes.
    VIA_NODISCARD Status look_before(const Timeline &later, Before *out_before);

    // The run has begun, and ends with the fence: destinations are ready then.
    VIA_NODISCARD Status note_run(const Before &before, Fence *end);

    // Runs in stream order.
    VIA_NODISCARD Status run(via_stream *stream);

    // Submits the copies as one task, after the work of the stream unless that is nullptr.
    VIA_NODISCARD Status submit(via_stream *stream, via_task **out_task);

private:
    PreparedBatch(Entries *entries, int32_t device_id);
    ~PreparedBatch() noexcept(false) { release_entries(entries_); }  // as of a planned copy

    static void end_later(DeferredCallback *deferred);
    void sort_storages();
    VIA_NODISCARD Status run_fused(via_stream *stream, const Timeline &timeline);
    VIA_NODISCARD bool replace_latest(const Fence *before, Fence *end, uint64_t changes);
    VIA_NODISCARD Status join_latest(Fence *end);

    ReferenceCount references_;
    Entries *const entries_;
    const int32_t count_;
    const int32_t device_id_;
    BatchPlan plan_;
    UniqueFence latest_;  // this and the next with the lock held
    uint64_t changes_;    // as long as write_changes() is this, no array has another ready fence than latest_
};

using UniquePreparedBatch = UniqueHandle<PreparedBatch, &PreparedBatch::release>;

}  // namespace via
