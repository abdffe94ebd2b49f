// Plans a batch before the first copy is touched. Copies between memory that one device reaches by address are fused
// into one run. The others are single copies.
#pragma once

#include "core/array/access_tracker.hpp"
#include "core/array/array.hpp"
#include "core/base/list.hpp"
#include "cuda/device_batch.hpp"

namespace via {

class PlannedCopy;

struct Pairs {
    int32_t count;
    via_array *const *dsts;
    via_array *const *srcs;
    PlannedCopy *const *planned = nullptr;  // of each pair, or nullptr; nullptr: there is none

    PlannedCopy *planned_at(int32_t index) const { return planned != nullptr ? planned[index] : nullptr; }
};

struct BatchPlan {
    BatchPlan() = default;
    ~BatchPlan() { cuda::end_batch(fused, until.get()); }
    BatchPlan(const BatchPlan &) = delete;
    BatchPlan &operator=(const BatchPlan &) = delete;

    // The storages of those that are done together, of destinations first; neighbours differ.
    const List<Storage *> &storages() const { return *cuda::storages_of(fused); }
    int64_t dst_count() const { return storages().count() - src_count; }
    Storage *const *dsts() const { return storages().begin(); }
    Storage *const *srcs() const { return storages().begin() + dst_count(); }

    cuda::Batch *fused = nullptr;  // nullptr: none
    int32_t device_id = 0;         // of those that are done together
    int32_t fused_count = 0;
    int64_t src_count = 0;  // of their storages
    UniqueFence until;      // what those that were done together end with
    List<int32_t> singles;  // numbers of the others
};

// Checks the fused copies, and only type and shape of the others. `device_id` is that of the stream, or -1 for that of
// the arrays. Collects the fences of the fused copies' storages in `ready` unless it is nullptr. The arrays must
// outlive the plan.
VIA_NODISCARD Status plan_batch(const Pairs &pairs, int32_t device_id, LastWriteFences *ready, BatchPlan *out_plan);

// Prefixes the text of the failure just recorded with "copy 3 of 10: ". Returns VIA_OK unchanged.
VIA_NODISCARD Status name_entry(int32_t index, int32_t count, Status status);

// Prefixes it with "7 of 10 copies, done together: ".
VIA_NODISCARD Status name_fused(const BatchPlan &plan, int32_t count, Status status);

}  // namespace via
