#include "copy/batch/batch_run.hpp"

#include <new>

#include "copy/batch.hpp"
#include "copy/copy.hpp"
#include "copy/copy_plan.hpp"
#include "core/array/access_tracker.hpp"
#include "core/array/access_tracker_many.hpp"
#include "core/base/cached_objects.hpp"
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
    static constinit inline CachedObjects<List<Storage *>> spare;

    List<Storage *> *const list_;
    BatchPlan &plan_;
};

// Refuses all that copy_array_async does.
Status plan_single(via_array *dst, via_array *src, via_stream *stream, SinglePlans *plans) {
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        VIA_TRY(is_behind_nothing(dst, src, stream) ? VIA_OK : cuda::need("a stream"));
        return plans->append_none();
    }
    CopyPlan *plan = nullptr;
    VIA_TRY(plans->append(&plan));
    return plan_copy_async(dst, src, stream, plan);
}

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

Status SinglePlans::append(CopyPlan **out_plan) {
    *out_plan = new (std::nothrow) CopyPlan;
    if (*out_plan != nullptr && plans_.append(*out_plan)) {
        return VIA_OK;
    }
    delete *out_plan;
    return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to plan a copy");
}

Status SinglePlans::append_none() {
    return plans_.append(nullptr) ? VIA_OK : fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to plan a copy");
}

Status can_run_fused(const BatchPlan &plan, via_stream *stream, bool *out_can, Timeline *out_timeline) {
    *out_can = false;
    return plan.fused != nullptr ? cuda::can_run_on(plan.fused, stream, out_can, out_timeline) : VIA_OK;
}

Status plan_singles(const Pairs &pairs, const SingleCopies &singles, via_stream *stream, SinglePlans *out_plans) {
    for (int32_t i = 0; i < singles.count(); ++i) {
        const int32_t at = singles[i];
        VIA_TRY(name_entry(at, pairs.count, plan_single(pairs.dsts[at], pairs.srcs[at], stream, out_plans)));
    }
    return VIA_OK;
}

Status copy_singles(const Pairs &pairs, const SingleCopies &singles, const SinglePlans &plans, via_stream *stream) {
    for (int32_t i = 0; i < singles.count(); ++i) {
        if (CopyPlan *plan = plans[i]; plan != nullptr) {
            VIA_TRY(name_entry(singles[i], pairs.count, run_on(plan, stream)));
        }
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
    SinglePlans plans;
    VIA_TRY(plan_singles(pairs, singles, stream, &plans));
    if (fused) {
        UniqueFence behind;
        VIA_TRY(ready.join(timeline, behind.out()));
        VIA_TRY(name_fused(plan, count, run_once(&plan, behind.get(), stream)));
    }
    return copy_singles(pairs, singles, plans, stream);
}

}  // namespace via
