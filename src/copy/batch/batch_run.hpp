// The copies of a batch given to a stream, once.
#pragma once

#include "copy/batch/batch_plan.hpp"
#include "copy/copy_plan.hpp"
#include "core/async/reaper.hpp"
#include "core/base/unique_handle.hpp"

namespace via {

// Those that are done one by one: all, where the others cannot be done together.
class SingleCopies {
public:
    SingleCopies(const BatchPlan &plan, int32_t count, bool fused)
        : numbers_(fused ? plan.singles.begin() : nullptr),
          count_(fused ? static_cast<int32_t>(plan.singles.count()) : count),
          all_(!fused) {}

    int32_t count() const { return count_; }
    int32_t operator[](int32_t index) const { return all_ ? index : numbers_[index]; }

private:
    const int32_t *numbers_;
    int32_t count_;
    bool all_;
};

// Whether the stream can be given those that are to be done together, and what they will be part of; nullptr is the
// legacy stream.
VIA_NODISCARD Status can_run_fused(const BatchPlan &plan, via_stream *stream, bool *out_can, Timeline *out_timeline);

// What copy_singles refuses.
// Their plans, one after the other; nullptr for those without elements.
class SinglePlans {
public:
    SinglePlans() = default;
    ~SinglePlans() {
        for (CopyPlan *plan : plans_) {
            delete plan;
        }
    }
    SinglePlans(const SinglePlans &) = delete;
    SinglePlans &operator=(const SinglePlans &) = delete;

    // A plan to be made, the next one's. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status append(CopyPlan **out_plan);
    VIA_NODISCARD Status append_none();

    CopyPlan *operator[](int64_t index) const { return plans_[index]; }
    CopyPlan *const *begin() const { return plans_.begin(); }
    CopyPlan *const *end() const { return plans_.end(); }

private:
    List<CopyPlan *> plans_;
};

// Plans what copy_singles does. Errors: all of via_copy_async.
VIA_NODISCARD Status plan_singles(const Pairs &pairs, const SingleCopies &singles, via_stream *stream,
                                  SinglePlans *out_plans);

// In stream order, one after the other.
VIA_NODISCARD Status copy_singles(const Pairs &pairs, const SingleCopies &singles, const SinglePlans &plans,
                                  via_stream *stream);

// The arrays of a batch. Shared by the batch and what is made of it, which looks at as many as there were then, so that
// the batch may add behind them.

// Followed in its block by `capacity` destinations and as many sources, which it holds.
struct Entries {
    ReferenceCount references;
    int32_t count;
    int32_t capacity;

    via_array **dsts() { return reinterpret_cast<via_array **>(this + 1); }
    via_array **srcs() { return dsts() + capacity; }
    Pairs pairs(int32_t first) { return {first, dsts(), srcs()}; }

    void append(via_array *dst, via_array *src) {
        retain_array(dst);
        retain_array(src);
        dsts()[count] = dst;
        srcs()[count++] = src;
    }
};

// nullptr if there is no memory.
Entries *make_entries(int32_t capacity);

void release_entries(Entries *entries);

// The copies of a batch as they are done again and again: planned once, and ordered as one.

// Holds the entries, and so the arrays, until the last run of those that are done together has ended: they need no use
// fences.
class Prepared {
public:
    // `device_id` as in plan_batch.
    VIA_NODISCARD static Status make(Entries *entries, int32_t device_id, Prepared **out_prepared);

    void retain() { references_.retain(); }
    void release();

    Prepared(const Prepared &) = delete;
    Prepared &operator=(const Prepared &) = delete;

    // Whether it is of so many copies, and was planned for this device.
    bool serves(int32_t count, int32_t device_id) const;

    int32_t count() const { return count_; }
    Pairs pairs() const { return entries_->pairs(count_); }
    const BatchPlan &plan() const { return plan_; }

    // What a run of those that are done together comes after.
    struct Before {
        UniqueFence latest;  // of the runs so far
        UniqueFence all;     // that, and the fences that the arrays are ready at
        uint64_t changes;    // of ready fences, until now
    };

    // `later` as in last_writes.
    VIA_NODISCARD Status look_before(const Timeline &later, Before *out_before);

    // The run has begun, and ends with the fence: destinations are ready then.
    VIA_NODISCARD Status note_run(const Before &before, Fence *end);

    // In stream order.
    VIA_NODISCARD Status run(via_stream *stream);

private:
    // What the reaper knows it by.
    struct Ending {
        DeferredCallback deferred{};
        Prepared *prepared;
    };

    Prepared(Entries *entries, int32_t device_id);
    ~Prepared();

    static void end_behind(DeferredCallback *deferred);
    void sort_storages();
    VIA_NODISCARD Status run_fused(via_stream *stream, const Timeline &timeline);
    VIA_NODISCARD bool replace_latest(Fence *before, Fence *end, uint64_t changes);
    VIA_NODISCARD Status join_latest(Fence *end);

    ReferenceCount references_;
    Entries *const entries_;
    const int32_t count_;
    const int32_t device_id_;
    BatchPlan plan_;
    Fence *latest_ = nullptr;  // owned; this and the next with the lock held
    uint64_t changes_;         // as long as write_changes() is this, no array has another ready fence than latest_
    Ending ending_{{}, this};
};

inline void release_prepared(Prepared *prepared) { prepared->release(); }

using UniquePreparedBatch = UniqueHandle<Prepared, release_prepared>;

}  // namespace via
