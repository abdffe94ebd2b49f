// Copies with a plan of their own: by index, and to another dtype. Checked and planned once, to run once, again and
// again, as a task, or in a batch.
#pragma once

#include "core/array/array.hpp"
#include "core/async/fence.hpp"
#include "core/async/task.hpp"
#include "core/base/reference_count.hpp"
#include "core/base/unique_handle.hpp"

namespace via {

// Holds its arrays. Several threads may run it at once.
class PlannedCopy {
public:
    PlannedCopy() = default;
    virtual ~PlannedCopy() = default;
    PlannedCopy(const PlannedCopy &) = delete;
    PlannedCopy &operator=(const PlannedCopy &) = delete;

    void retain() { references_.retain(); }
    void release() {
        if (references_.release()) {
            delete this;
        }
    }

    virtual via_array *dst() const = 0;
    virtual via_array *src() const = 0;
    virtual int64_t nbytes() const = 0;

    // Refuses what run_on would refuse, before anything is touched.
    VIA_NODISCARD virtual Status prepare_on(via_stream *stream) = 0;

    // Copies in stream order; nullptr means the legacy stream.
    VIA_NODISCARD virtual Status run_on(via_stream *stream) = 0;

    // Copies, and returns when every stream and the host see the result.
    VIA_NODISCARD virtual Status run_now() = 0;

    // For a task: what it waits for, its work, which waits for nothing, and its fence on the arrays.
    VIA_NODISCARD virtual Status find_dependency(via_stream *stream, Fence **out_dependency) = 0;
    VIA_NODISCARD virtual Status run_in_task(int64_t done_before, via_task *task, Fence **out_fence) = 0;
    VIA_NODISCARD virtual Status note_task(Fence *end) = 0;

    // Returns true if run_in_task only queues work on a device.
    virtual bool is_immediate() const = 0;

private:
    ReferenceCount references_;
};

inline void release_planned(PlannedCopy *copy) { copy->release(); }
using UniquePlannedCopy = UniqueHandle<PlannedCopy, release_planned>;

// Submits the copy as a task, after the work of the stream unless that is nullptr or no_sync.
VIA_NODISCARD Status submit_planned(PlannedCopy *copy, via_stream *stream, via_task **out_task);

}  // namespace via
