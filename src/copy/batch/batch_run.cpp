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
        if (list_ == nullptr || plan_.storages.room() > kMostSpare) {
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
    static constexpr int64_t kMostSpare = 65536;
    static constinit inline Spare<List<Storage *>> spare;

    List<Storage *> *const list_;
    BatchPlan &plan_;
};

// Arrays are marked once for all copies.
Status run_once(BatchPlan *plan, Mark *behind, via_stream *stream) {
    VIA_TRY(cuda::run_batch_on({plan->together, behind, plan->storages.begin(), plan->storages.count()}, stream,
                               plan->until.out()));
    Mark *end = plan->until.get();
    if (end == nullptr) {
        return VIA_OK;
    }
    const Status written = set_ready_marks(plan->dsts(), plan->dst_count(), end);
    const Status read = add_use_marks(plan->srcs(), plan->src_count, end);
    return written != VIA_OK ? written : read;
}

}  // namespace

Status can_run_together(const BatchPlan &plan, via_stream *stream, bool *out_can, Timeline *out_timeline) {
    *out_can = false;
    return plan.together != nullptr ? cuda::can_run_on(plan.together, stream, out_can, out_timeline) : VIA_OK;
}

Status check_alone(const Pairs &pairs, const Alone &alone, via_stream *stream) {
    for (int32_t i = 0; i < alone.count(); ++i) {
        const int32_t at = alone[i];
        VIA_TRY(name_entry(at, pairs.count, check_copy_async(pairs.dsts[at], pairs.srcs[at], stream)));
    }
    return VIA_OK;
}

Status copy_alone(const Pairs &pairs, const Alone &alone, via_stream *stream) {
    for (int32_t i = 0; i < alone.count(); ++i) {
        const int32_t at = alone[i];
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
    ReadyMarks ready;
    VIA_TRY(plan_batch(pairs, cuda::device_meant_by(stream), &ready, &plan));
    bool together = false;
    Timeline timeline;
    VIA_TRY(can_run_together(plan, stream, &together, &timeline));
    const Alone alone(plan, count, together);
    VIA_TRY(check_alone(pairs, alone, stream));
    if (together) {
        MarkHolder behind;
        VIA_TRY(ready.join(timeline, behind.out()));
        VIA_TRY(name_together(plan, count, run_once(&plan, behind.get(), stream)));
    }
    return copy_alone(pairs, alone, stream);
}

}  // namespace via
