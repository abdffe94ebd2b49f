#include "copy/planned_copy.hpp"

#include "copy/submit.hpp"

namespace via {
namespace {

struct PlannedWork final : TaskWork {
    explicit PlannedWork(PlannedCopy *given) : copy(given) { given->retain(); }

    Status run(via_task *task, Fence **out_fence) override { return copy.get()->run_in_task(0, task, out_fence); }

    const UniquePlannedCopy copy;
};

}  // namespace

Status submit_planned(PlannedCopy *copy, via_stream *stream, via_task **out_task) {
    UniqueFence dependency;
    VIA_TRY(copy->find_dependency(stream, dependency.out()));
    PlannedWork *work = nullptr;
    VIA_TRY(make_object("a task", &work, copy));
    via_task *task = nullptr;
    VIA_TRY(start_task(work, copy->nbytes(), dependency.get(), copy->is_immediate(), &task));
    const UniqueFence end(task_fence(task));
    return hand_out_task(task, copy->note_task(end.get()), out_task);
}

}  // namespace via
