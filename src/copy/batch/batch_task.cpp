#include "copy/batch/batch_task.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "copy/batch/batch_run.hpp"
#include "copy/copy_plan.hpp"
#include "copy/planned_copy.hpp"
#include "core/array/access_tracker.hpp"
#include "core/async/fence.hpp"
#include "core/async/task.hpp"
#include "core/base/checked.hpp"
#include "core/base/first_failure.hpp"

namespace via {
namespace {

struct BatchWork final : TaskWork {
    BatchWork(PreparedBatch *given, bool in_one_go)
        : prepared(given),
          fused(in_one_go),
          pairs(given->pairs()),
          singles(given->plan(), given->count(), in_one_go),
          fences(new (std::nothrow) Fence *[static_cast<size_t>(singles.count()) + 2]()) {
        given->retain();
    }

    Status run(via_task *task, Fence **out_fence) override;

    const UniquePreparedBatch prepared;
    const bool fused;
    const Pairs pairs;
    const SingleCopies singles;
    SinglePlans plans;
    const std::unique_ptr<Fence *[]> fences;  // room for two more than are done alone; nullptr for none
};

Status run_fused(BatchWork *batch, int32_t *out_fences) {
    const BatchPlan &plan = batch->prepared.get()->plan();
    Fence *fence = nullptr;
    const Status status = cuda::run_batch_for_task(plan.fused, &fence);
    if (fence != nullptr) {
        batch->fences[(*out_fences)++] = fence;
    }
    return name_fused(plan, batch->pairs.count, status);
}

// Returns the bytes that a copy moves.
int64_t bytes_of(const Pairs &pairs, int32_t at) {
    const PlannedCopy *planned = pairs.planned_at(at);
    return planned != nullptr ? planned->nbytes() : pairs.dsts[at]->nbytes();
}

Status copy_single(BatchWork *batch, int32_t index, int64_t done, via_task *task, Fence **out_fence) {
    if (PlannedCopy *planned = batch->pairs.planned_at(batch->singles[index]); planned != nullptr) {
        return planned->run_in_task(done, task, out_fence);
    }
    CopyPlan *plan = batch->plans[index].get();
    return plan != nullptr ? run_in_task(plan, done, task, out_fence) : VIA_OK;
}

Status copy_each(BatchWork *batch, via_task *task, int32_t *out_fences) {
    int64_t done = 0;
    for (int32_t i = 0; i < batch->singles.count(); ++i) {
        if (is_cancelled(task)) {
            return fail_cancelled(batch->pairs.count - batch->singles.count() + i, batch->pairs.count, "copies");
        }
        const int32_t at = batch->singles[i];
        Fence *fence = nullptr;
        const Status status = copy_single(batch, i, done, task, &fence);
        if (fence != nullptr) {
            batch->fences[(*out_fences)++] = fence;
        }
        VIA_TRY(name_entry(at, batch->pairs.count, status));
        done += bytes_of(batch->pairs, at);
        if (*out_fences == 0) {
            report_progress(task, done);
        }
    }
    return VIA_OK;
}

Status copy_all(BatchWork *batch, via_task *task, int32_t *out_fences) {
    if (batch->fused) {
        VIA_TRY(run_fused(batch, out_fences));
    }
    return copy_each(batch, task, out_fences);
}

Status BatchWork::run(via_task *task, Fence **out_fence) {
    int32_t count = 0;
    const Status status = copy_all(this, task, &count);
    return first_failure(status, [&] { return join_or_wait(fences.get(), count, out_fence); });
}

bool same_place(via_array *a, via_array *b) { return a->device_type == b->device_type && a->device_id == b->device_id; }

// Collects the dependencies of single copies. Asks for the stream's fence once for neighbours on the same devices: a
// special stream stands for one stream of each device.
Status collect_dependencies(const BatchWork &batch, via_stream *stream, Fence **out_fences) {
    const Pairs &pairs = batch.pairs;
    for (int32_t i = 0; i < batch.singles.count(); ++i) {
        const int32_t at = batch.singles[i];
        const int32_t last = batch.singles[std::max(i - 1, 0)];
        const bool is_like_last =
            i > 0 && same_place(pairs.dsts[at], pairs.dsts[last]) && same_place(pairs.srcs[at], pairs.srcs[last]);
        via_stream *asked = is_like_last ? nullptr : stream;
        PlannedCopy *planned = pairs.planned_at(at);
        const Status status = planned != nullptr
                                  ? planned->find_dependency(asked, &out_fences[i])
                                  : dependency_of_copy(pairs.dsts[at], pairs.srcs[at], asked, &out_fences[i]);
        VIA_TRY(name_entry(at, pairs.count, status));
    }
    return VIA_OK;
}

// Collects the two dependencies of the fused copies.
Status collect_common_dependencies(const BatchWork &batch, via_stream *stream, PreparedBatch::Before *before,
                                   Fence **out_fences) {
    VIA_TRY(dependency_of_stream(stream, batch.prepared.get()->plan().device_id, &out_fences[0]));
    VIA_TRY(batch.prepared.get()->look_before({}, before));
    out_fences[1] = retained(before->all.get());
    return VIA_OK;
}

Status make_dependency(const BatchWork &batch, via_stream *stream, PreparedBatch::Before *before,
                       Fence **out_dependency) {
    Fence **fences = batch.fences.get();
    const int32_t count = batch.singles.count() + 2;
    Status status = batch.fused ? collect_common_dependencies(batch, stream, before, fences) : VIA_OK;
    if (status == VIA_OK) {
        status = collect_dependencies(batch, stream, fences + 2);
    }
    if (status != VIA_OK) {
        release_fences(fences, count);
        return status;
    }
    return join_fences(fences, count, out_dependency);
}

// Tracks the arrays as one copy does: readers of destinations wait for the task, and so does the release of any array.
// The work may have ended by now.
Status mark_arrays(PreparedBatch *prepared, bool fused, const PreparedBatch::Before &before, Fence *end) {
    const Pairs pairs = prepared->pairs();
    const SingleCopies singles(prepared->plan(), pairs.count, fused);
    for (int32_t i = 0; i < singles.count(); ++i) {
        if (PlannedCopy *planned = pairs.planned_at(singles[i]); planned != nullptr) {
            VIA_TRY(planned->note_task(end));
            continue;
        }
        VIA_TRY(set_last_copy(pairs.dsts[singles[i]], {pairs.srcs[singles[i]]}, end));
    }
    return fused ? prepared->note_run(before, end) : VIA_OK;
}

Status measure(const BatchWork &batch, int64_t *out_nbytes, bool *out_immediate) {
    const Pairs &pairs = batch.pairs;
    *out_nbytes = 0;
    for (int32_t i = 0; i < pairs.count; ++i) {
        if (!add(*out_nbytes, bytes_of(pairs, i), out_nbytes)) {
            return fail(VIA_ERROR_OVERFLOW, "the copies have more than 2^63 - 1 bytes together; expected fewer");
        }
    }
    *out_immediate = std::all_of(batch.plans.get(), batch.plans.get() + batch.singles.count(),
                                 [](const auto &plan) { return plan != nullptr && is_immediate(*plan); });
    return VIA_OK;
}

Status plan_singles(BatchWork *batch) {
    const Pairs &pairs = batch->pairs;
    VIA_TRY(make_plans(batch->singles.count(), &batch->plans));
    for (int32_t i = 0; i < batch->singles.count(); ++i) {
        const int32_t at = batch->singles[i];
        if (pairs.dsts[at]->size > 0 && pairs.planned_at(at) == nullptr) {
            VIA_TRY(make_plan(&batch->plans[i]));
            VIA_TRY(name_entry(at, pairs.count, plan_task_copy(pairs.dsts[at], pairs.srcs[at], batch->plans[i].get())));
        }
    }
    return VIA_OK;
}

}  // namespace

Status submit_prepared(PreparedBatch *prepared, via_stream *stream, via_task **out_task) {
    const BatchPlan &plan = prepared->plan();
    const bool fused = plan.fused != nullptr && cuda::can_run_in_task(plan.fused);
    UniqueWork<BatchWork> work;
    VIA_TRY(make_object("a task", work.out(), prepared, fused));
    if (work.get()->fences == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a task");
    }
    int64_t nbytes = 0;
    bool immediate = false;
    VIA_TRY(plan_singles(work.get()));
    VIA_TRY(measure(*work.get(), &nbytes, &immediate));
    PreparedBatch::Before before;
    UniqueFence dependency;
    VIA_TRY(make_dependency(*work.get(), stream, &before, dependency.out()));
    const auto note = [&](Fence *end) { return mark_arrays(prepared, fused, before, end); };
    return submit_work(work.release(), nbytes, dependency.get(), immediate, note, out_task);
}

}  // namespace via
