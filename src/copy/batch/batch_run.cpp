#include "copy/batch/batch_run.hpp"

#include "copy/copy.hpp"
#include "core/array/access_tracker.hpp"
#include "core/base/cached_object.hpp"
#include "cuda/device.hpp"

namespace via {
namespace {

// The room of a plan's storages, which serves one plan after the other; not where it is more than this.
class Room {
public:
    explicit Room(BatchPlan *plan) : list_(spare.take()), plan_(*plan) {
        if (list_ != nullptr) {
            plan_.storages.swap(*list_);
        }
    }
    ~Room() {
        if (list_ == nullptr || plan_.storages.room() > kMostIdle) {
            delete list_;
            return;
        }
        plan_.storages.resize(0);
        plan_.storages.swap(*list_);
        spare.give_back(list_);
    }
    Room(const Room &) = delete;
    Room &operator=(const Room &) = delete;

private:
    static constexpr int64_t kMostIdle = 65536;
    static constinit inline CachedObject<List<Storage *>> spare;

    List<Storage *> *const list_;
    BatchPlan &plan_;
};

// Arrays are marked once for all copies.
Status run_once(BatchPlan *plan, Fence *behind, via_stream *stream) {
    VIA_TRY(cuda::run_batch_on({plan->fused, behind, plan->storages.begin(), plan->storages.count()}, stream,
                               plan->until.out()));
    Fence *end = plan->until.get();
    if (end == nullptr) {
        return VIA_OK;
    }
    const Status written = set_last_writes(plan->dsts(), plan->dst_count(), end);
    const Status read = add_accesses(plan->srcs(), plan->src_count, end);
    return written != VIA_OK ? written : read;
}

}  // namespace

Status can_run_fused(const BatchPlan &plan, via_stream *stream, bool *out_can, Timeline *out_timeline) {
    *out_can = false;
    return plan.fused != nullptr ? cuda::can_run_on(plan.fused, stream, out_can, out_timeline) : VIA_OK;
}

Status check_singles(const Pairs &pairs, const SingleCopies &singles, via_stream *stream) {
    for (int32_t i = 0; i < singles.count(); ++i) {
        const int32_t at = singles[i];
        VIA_TRY(name_entry(at, pairs.count, check_copy_async(pairs.dsts[at], pairs.srcs[at], stream)));
    }
    return VIA_OK;
}

Status copy_singles(const Pairs &pairs, const SingleCopies &singles, via_stream *stream) {
    for (int32_t i = 0; i < singles.count(); ++i) {
        const int32_t at = singles[i];
        VIA_TRY(name_entry(at, pairs.count, copy_array_async(pairs.dsts[at], pairs.srcs[at], stream)));
    }
    return VIA_OK;
}

Status copy_batch(int32_t count, via_array *const *dsts, via_array *const *srcs, via_stream *stream) {
    const Pairs pairs{count, dsts, srcs};
    if (count == 1) {
        return name_entry(0, 1, copy_array_async(dsts[0], srcs[0], stream));
    }
    BatchPlan plan;
    const Room room(&plan);
    LastWriteFences ready;
    VIA_TRY(plan_batch(pairs, cuda::device_meant_by(stream), &ready, &plan));
    bool fused = false;
    Timeline timeline;
    VIA_TRY(can_run_fused(plan, stream, &fused, &timeline));
    const SingleCopies singles(plan, count, fused);
    VIA_TRY(check_singles(pairs, singles, stream));
    if (fused) {
        UniqueFence behind;
        VIA_TRY(ready.join(timeline, behind.out()));
        VIA_TRY(name_fused(plan, count, run_once(&plan, behind.get(), stream)));
    }
    return copy_singles(pairs, singles, stream);
}

}  // namespace via
