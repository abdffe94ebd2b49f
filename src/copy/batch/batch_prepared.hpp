// The copies of a batch as they are done again and again: planned once, and ordered as one.
#pragma once

#include "copy/batch/batch_entries.hpp"
#include "core/async/reaper.hpp"
#include "core/base/unique_handle.hpp"

namespace via {

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
