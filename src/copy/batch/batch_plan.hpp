// How the copies of a batch are to be done, decided before the first is touched: in one go those between memory that
// one device reaches by address, alone the rest.
#pragma once

#include "core/array/access_tracker_many.hpp"
#include "core/array/array.hpp"
#include "core/base/list.hpp"
#include "cuda/device_batch.hpp"

namespace via {

struct Pairs {
    int32_t count;
    via_array *const *dsts;
    via_array *const *srcs;
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

// Checks what is done together, and nothing of the others but type and shape. `device_id` is that of the stream; -1: of
// the arrays. `ready` looks at the storages of what is done together, unless it is nullptr. The arrays stay the
// caller's, and must stay.
VIA_NODISCARD Status plan_batch(const Pairs &pairs, int32_t device_id, LastWriteFences *ready, BatchPlan *out_plan);

// Puts "copy 3 of 10: " before the text of the failure just recorded; VIA_OK stays what it is.
VIA_NODISCARD Status name_entry(int32_t index, int32_t count, Status status);

// The same with "7 of 10 copies, done together: ".
VIA_NODISCARD Status name_fused(const BatchPlan &plan, int32_t count, Status status);

}  // namespace via
