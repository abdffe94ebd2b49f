#include "copy/planned_copy.hpp"

#include <new>

#include "copy/submit.hpp"

namespace via {
namespace {

struct PlannedWork : TaskWork {
    explicit PlannedWork(PlannedCopy *given) : TaskWork{run_work, end_work}, copy(given) { copy->retain(); }

    static Status run_work(TaskWork *work, via_task *task, Fence **out_fence) {
        return static_cast<PlannedWork *>(work)->copy->run_in_task(0, task, out_fence);
    }

    static void end_work(TaskWork *work) {
        auto *planned = static_cast<PlannedWork *>(work);
        planned->copy->release();
        delete planned;
    }

    PlannedCopy *const copy;
};

}  // namespace

Status submit_planned(PlannedCopy *copy, via_stream *stream, via_task **out_task) {
    UniqueFence dependency;
    VIA_TRY(copy->find_dependency(stream, dependency.out()));
    auto *work = new (std::nothrow) PlannedWork(copy);
    if (work == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a task");
    }
    via_task *task = nullptr;
    const Status status = start_task(work, copy->nbytes(), dependency.get(), copy->is_immediate(), &task);
    if (status != VIA_OK) {
        PlannedWork::end_work(work);
        return status;
    }
    const UniqueFence end(task_fence(task));
    return hand_out_task(task, copy->note_task(end.get()), out_task);
}

}  // namespace via
