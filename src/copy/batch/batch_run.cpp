#include "copy/batch/batch_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "copy/batch.hpp"
#include "copy/copy.hpp"
#include "copy/copy_plan.hpp"
#include "copy/planned_copy.hpp"
#include "core/array/access_tracker.hpp"
#include "core/async/fence.hpp"
#include "core/async/task.hpp"
#include "core/base/checked.hpp"
#include "core/base/first_failure.hpp"
#include "core/base/lock.hpp"
#include "core/base/thread_state.hpp"
#include "cuda/device.hpp"

namespace via {
namespace {

Status no_memory() { return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to plan copies"); }

Status make_plans(int32_t count, SinglePlans *out_plans) {
    if (count > 0) {
        out_plans->reset(new (std::nothrow) std::unique_ptr<CopyPlan>[static_cast<size_t>(count)]);
    }
    return count == 0 || *out_plans != nullptr ? VIA_OK : no_memory();
}

Status make_plan(std::unique_ptr<CopyPlan> *out_plan) {
    out_plan->reset(new (std::nothrow) CopyPlan);
    return *out_plan != nullptr ? VIA_OK : no_memory();
}

// Plans one copy. Refuses all that copy_array_async refuses.
Status plan_single(via_array *dst, via_array *src, via_stream *stream, std::unique_ptr<CopyPlan> *out_plan) {
    VIA_TRY(check_arrays(dst, src));
    const bool on_host = needs_no_stream(dst, src, stream);
    if (dst->size == 0) {
        return on_host ? VIA_OK : cuda::need("a stream");
    }
    if (on_host) {
        Plan checked;
        return prepare_loops(dst, src, &checked);
    }
    VIA_TRY(make_plan(out_plan));
    VIA_TRY(prepare_copy(dst, src, Ask::Always, out_plan->get()));
    return plan_on(out_plan->get(), stream);
}

// Runs one copy. The host plans its own again, which takes less than to remember many plans.
Status run_single(via_array *dst, via_array *src, CopyPlan *plan, via_stream *stream) {
    if (plan != nullptr) {
        return run_on(plan, stream);
    }
    return needs_no_stream(dst, src, stream) ? copy_array(dst, src) : VIA_OK;
}

// Runs the fused copies, and tracks their arrays once for all of them.
Status run_once(BatchPlan *plan, Fence *dependency, via_stream *stream) {
    VIA_TRY(cuda::run_batch_on(plan->fused, dependency, stream, plan->until.out()));
    Fence *end = plan->until.get();
    if (end == nullptr) {
        return VIA_OK;
    }
    // A write that a later one replaces is an access still.
    const Status written = set_last_writes(plan->dsts(), plan->dst_count(), end);
    const Status kept = add_accesses(plan->dsts(), plan->dst_count(), end);
    const Status read = add_accesses(plan->srcs(), plan->src_count, end);
    return first_of(written, first_of(kept, read));
}

// Calls work(i, at, planned) for each single copy: its place among them, its number in the batch, and its own plan, or
// nullptr. Names the copy that fails.
template <class Work>
Status for_each_single(const Pairs &pairs, const SingleCopies &singles, const Work &work) {
    for (int32_t i = 0; i < singles.count(); ++i) {
        const int32_t at = singles[i];
        VIA_TRY(name_entry(at, pairs.count, work(i, at, pairs.planned_at(at))));
    }
    return VIA_OK;
}

// Plans single copies. Errors: all of via_copy_async.
Status plan_singles(const Pairs &pairs, const SingleCopies &singles, via_stream *stream, SinglePlans *out_plans) {
    VIA_TRY(make_plans(singles.count(), out_plans));
    return for_each_single(pairs, singles, [&](int32_t i, int32_t at, PlannedCopy *planned) {
        return planned != nullptr ? planned->prepare_on(stream)
                                  : plan_single(pairs.dsts[at], pairs.srcs[at], stream, &(*out_plans)[i]);
    });
}

// Runs single copies in stream order, one after the other.
Status copy_singles(const Pairs &pairs, const SingleCopies &singles, const SinglePlans &plans, via_stream *stream) {
    return for_each_single(pairs, singles, [&](int32_t i, int32_t at, PlannedCopy *planned) {
        return planned != nullptr ? planned->run_on(stream)
                                  : run_single(pairs.dsts[at], pairs.srcs[at], plans[i].get(), stream);
    });
}

// Plans all copies, and runs them: the fused ones by run_fused(timeline), if the stream (nullptr: legacy) can, which
// become a part of that timeline.
template <class RunFused>
Status run_all(const Pairs &pairs, const BatchPlan &plan, via_stream *stream, const RunFused &run_fused) {
    bool fused = false;
    Timeline timeline;
    VIA_TRY(plan.fused != nullptr ? cuda::can_run_on(plan.fused, stream, &fused, &timeline) : VIA_OK);
    const SingleCopies singles(plan, pairs.count, fused);
    SinglePlans plans;
    VIA_TRY(plan_singles(pairs, singles, stream, &plans));
    VIA_TRY(fused ? run_fused(timeline) : VIA_OK);
    return copy_singles(pairs, singles, plans, stream);
}

}  // namespace

Status copy_batch(int32_t count, via_array *const *dsts, via_array *const *srcs, via_stream *stream) {
    const Pairs pairs{count, dsts, srcs};
    if (count == 1) {
        const bool on_host = needs_no_stream(dsts[0], srcs[0], stream);
        return name_entry(0, 1, on_host ? copy_array(dsts[0], srcs[0]) : copy_array_async(dsts[0], srcs[0], stream));
    }
    BatchPlan plan;
    LastWriteFences ready;
    VIA_TRY(plan_batch(pairs, cuda::device_meant_by(stream), &ready, &plan));
    return run_all(pairs, plan, stream, [&](const Timeline &timeline) {
        UniqueFence dependency;
        VIA_TRY(ready.join(timeline, dependency.out()));
        return name_fused(plan, count, run_once(&plan, dependency.get(), stream));
    });
}

Entries *make_entries(int32_t capacity) {
    const size_t pointers = 3 * static_cast<size_t>(capacity) * sizeof(via_array *);
    void *block = std::malloc(sizeof(Entries) + pointers);
    return block != nullptr ? new (block) Entries{{}, 0, capacity} : nullptr;
}

void Entries::append(via_array *dst, via_array *src, PlannedCopy *copy) {
    if (copy != nullptr) {
        copy->retain();
    }
    dsts()[count] = retained(dst);
    srcs()[count] = retained(src);
    planned()[count++] = copy;
}

void release_entries(Entries *entries) {
    if (!entries->references.release()) {
        return;
    }
    // Frees the block if the thread ends in a release, too.
    const std::unique_ptr<Entries, decltype(&std::free)> block(entries, std::free);
    for (int32_t i = 0; i < entries->count; ++i) {
        release_array(entries->dsts()[i]);
        release_array(entries->srcs()[i]);
        if (PlannedCopy *copy = entries->planned()[i]; copy != nullptr) {
            copy->release();
        }
    }
}

namespace {

// Guards latest_ and changes_ of all prepared batches. Held for a few instructions only.
ForkSafeMutex mutex;

constexpr uint64_t kUnknown = UINT64_MAX;

Storage **sort_once(Storage **first, Storage **last) {
    std::sort(first, last, std::less<>());
    return std::unique(first, last);
}

}  // namespace

PreparedBatch::PreparedBatch(Entries *entries, int32_t device_id)
    : DeferredCallback{}, entries_(entries), count_(entries->count), device_id_(device_id), changes_(kUnknown) {
    entries_->references.retain();
}

Status PreparedBatch::make(Entries *entries, int32_t device_id, PreparedBatch **out_prepared) {
    UniquePreparedBatch prepared(new (std::nothrow) PreparedBatch(entries, device_id));
    if (prepared.get() == nullptr) {
        return no_memory();
    }
    VIA_TRY(plan_batch(prepared.get()->pairs(), device_id, nullptr, &prepared.get()->plan_));
    prepared.get()->sort_storages();
    *out_prepared = prepared.release();
    return VIA_OK;
}

// Sorts storages by address and removes duplicates.
void PreparedBatch::sort_storages() {
    if (plan_.fused == nullptr) {
        return;
    }
    List<Storage *> &storages = *cuda::storages_of(plan_.fused);
    Storage **begin = storages.begin();
    Storage **srcs = begin + plan_.dst_count();
    Storage **dsts_end = sort_once(begin, srcs);
    Storage **srcs_end = sort_once(srcs, storages.end());
    plan_.src_count = srcs_end - srcs;
    storages.resize(std::copy(srcs, srcs_end, dsts_end) - begin);
}

void PreparedBatch::end_later(DeferredCallback *deferred) {
    via::count(Counter::PendingReleases, -1);
    auto *prepared = static_cast<PreparedBatch *>(deferred);
    (void)prepared->latest_.release();
    delete prepared;
}

void PreparedBatch::release() {
    if (!references_.release()) {
        return;
    }
    if (latest_.get() == nullptr || latest_.get()->is_complete()) {
        delete this;
        return;
    }
    via::count(Counter::PendingReleases, 1);
    static_cast<DeferredCallback &>(*this) = {latest_.out(), 1, end_later, nullptr};
    defer(this);
}

bool PreparedBatch::serves(int32_t count, int32_t device_id) const {
    const bool is_as_good = plan_.fused != nullptr ? device_id == plan_.device_id : device_id_ < 0;
    return count == count_ && (device_id == device_id_ || is_as_good);
}

Status PreparedBatch::look_before(const Timeline &later, Before *out_before) {
    out_before->changes = write_changes();
    bool known = false;
    {
        const std::lock_guard lock(mutex);
        *out_before->latest.out() = retained(latest_.get());
        known = changes_ == out_before->changes;
    }
    Fence *ready = nullptr;
    if (!known) {
        VIA_TRY(last_writes(plan_.storages().begin(), plan_.storages().count(), later, &ready));
    }
    // Ignores a complete fence: it may be that of a task that failed, which later runs do not depend on.
    Fence *latest = out_before->latest.get();
    const bool is_before = latest == nullptr || latest->is_of(later) || latest->is_complete();
    Fence *both[] = {is_before ? nullptr : retained(latest), ready};
    return join_fences(both, 2, out_before->all.out());
}

bool PreparedBatch::replace_latest(const Fence *before, Fence *end, uint64_t changes) {
    UniqueFence latest(retained(end));  // then the one before, which is released without the lock
    const std::lock_guard lock(mutex);
    if (latest_.get() != before) {
        return false;
    }
    std::swap(*latest_.out(), *latest.out());
    changes_ = changes;
    return true;
}

// Joins a run to others that began meanwhile and that it does not come after.
Status PreparedBatch::join_latest(Fence *end) {
    while (true) {
        UniqueFence other;
        {
            const std::lock_guard lock(mutex);
            *other.out() = retained(latest_.get());
        }
        UniqueFence both;
        VIA_TRY(join_writes(other.get(), end, both.out()));
        if (both.get() == nullptr || replace_latest(other.get(), both.get(), kUnknown)) {
            return VIA_OK;
        }
    }
}

Status PreparedBatch::note_run(const Before &before, Fence *end) {
    const uint64_t found = write_changes();
    const Status status = set_last_writes(plan_.dsts(), plan_.dst_count(), end);
    const uint64_t left = write_changes();
    const bool only_ours = found == before.changes && left == found + 1;
    if (!replace_latest(before.latest.get(), end, only_ours ? left : kUnknown)) {
        VIA_TRY(join_latest(end));
    }
    return status;
}

Status PreparedBatch::run_fused(via_stream *stream, const Timeline &timeline) {
    Before before;
    VIA_TRY(look_before(timeline, &before));
    UniqueFence end;
    VIA_TRY(cuda::run_batch_on(plan_.fused, before.all.get(), stream, end.out()));
    return end.get() != nullptr ? note_run(before, end.get()) : VIA_OK;
}

Status PreparedBatch::run(via_stream *stream) {
    return run_all(pairs(), plan_, stream,
                   [&](const Timeline &timeline) { return name_fused(plan_, count_, run_fused(stream, timeline)); });
}

// ---- The copies as one task.

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
    return for_each_single(pairs, batch.singles, [&](int32_t i, int32_t at, PlannedCopy *planned) {
        const int32_t last = batch.singles[std::max(i - 1, 0)];
        const bool is_like_last =
            i > 0 && same_place(pairs.dsts[at], pairs.dsts[last]) && same_place(pairs.srcs[at], pairs.srcs[last]);
        via_stream *asked = is_like_last ? nullptr : stream;
        return planned != nullptr ? planned->find_dependency(asked, &out_fences[i])
                                  : dependency_of_copy(pairs.dsts[at], pairs.srcs[at], asked, &out_fences[i]);
    });
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
    VIA_TRY(for_each_single(pairs, singles, [&](int32_t, int32_t at, PlannedCopy *planned) {
        return planned != nullptr ? planned->note_task(end) : set_last_copy(pairs.dsts[at], {pairs.srcs[at]}, end);
    }));
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

Status plan_for_task(BatchWork *batch) {
    const Pairs &pairs = batch->pairs;
    VIA_TRY(make_plans(batch->singles.count(), &batch->plans));
    return for_each_single(pairs, batch->singles, [&](int32_t i, int32_t at, PlannedCopy *planned) {
        if (planned != nullptr || pairs.dsts[at]->size == 0) {
            return VIA_OK;
        }
        VIA_TRY(make_plan(&batch->plans[i]));
        return plan_task_copy(pairs.dsts[at], pairs.srcs[at], batch->plans[i].get());
    });
}

}  // namespace

Status PreparedBatch::submit(via_stream *stream, via_task **out_task) {
    const bool fused = plan_.fused != nullptr && cuda::can_run_in_task(plan_.fused);
    UniqueWork<BatchWork> work;
    VIA_TRY(make_object("a task", work.out(), this, fused));
    if (work.get()->fences == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a task");
    }
    int64_t nbytes = 0;
    bool immediate = false;
    VIA_TRY(plan_for_task(work.get()));
    VIA_TRY(measure(*work.get(), &nbytes, &immediate));
    PreparedBatch::Before before;
    UniqueFence dependency;
    VIA_TRY(make_dependency(*work.get(), stream, &before, dependency.out()));
    const auto note = [&](Fence *end) { return mark_arrays(this, fused, before, end); };
    return submit_work(work.release(), nbytes, dependency.get(), immediate, note, out_task);
}

}  // namespace via
