// Copies with a plan of their own: by index, and to another dtype. Checked and planned once, to run once, again and
// again, as a task, or in a batch.
#pragma once

#include "core/array/array.hpp"
#include "core/async/fence.hpp"
#include "core/async/task.hpp"
#include "core/base/reference_count.hpp"
#include "core/base/unique_handle.hpp"
#include "cuda/items_transfer.hpp"

namespace via {

// Holds its arrays. Several threads may run it at once, and several tasks: the work of each holds a reference.
class PlannedCopy : public TaskWork {
public:
    void retain() { references_.retain(); }
    void release() {
        if (references_.release()) {
            delete this;
        }
    }

    via_array *dst() const { return dst_.get(); }
    via_array *src() const { return src_.get(); }
    int64_t nbytes() const { return nbytes_; }

    // Refuses what run_on would refuse, before anything is touched.
    VIA_NODISCARD Status prepare_on(via_stream *stream);

    // Copies in stream order; nullptr means the legacy stream.
    VIA_NODISCARD virtual Status run_on(via_stream *stream);

    // Copies, and returns when every stream and the host see the result.
    VIA_NODISCARD virtual Status run_now();

    // For a task: what it waits for, its work, which waits for nothing, and its fence on the arrays.
    VIA_NODISCARD Status find_dependency(via_stream *stream, Fence **out_dependency);
    VIA_NODISCARD virtual Status run_in_task(int64_t done_before, via_task *task, Fence **out_fence);
    VIA_NODISCARD Status note_task(Fence *end);

    // Returns true if run_in_task only queues work on a device.
    virtual bool is_immediate() const;

protected:
    // Lists of row numbers are nullptr where there are none. `what` names a copy that the host does, in errors.
    PlannedCopy(const char *what, via_array *dst, via_array *src, via_array *dst_index = nullptr,
                via_array *src_index = nullptr);
    ~PlannedCopy() noexcept(false) override = default;

    // Makes a transfer between addresses in both arrays, and finds where they are. Asks the driver about host memory if
    // the other array is a device's.
    VIA_NODISCARD Status make_transfer(char *dst, const char *src, cuda::Transfer *out_transfer) const;

    // Waits on the host for everything before the copy.
    VIA_NODISCARD Status await_before(via_stream *stream) const;

    // The work of a task.
    VIA_NODISCARD Status run(via_task *task, Fence **out_fence) final { return run_in_task(0, task, out_fence); }
    void end() final { release(); }

    // Copies within host memory.
    virtual void run_on_host() = 0;
    VIA_NODISCARD virtual Status run_in_pieces(int64_t done_before, via_task *task) = 0;

    bool is_empty_ = false;
    int64_t nbytes_ = 0;
    cuda::ItemsTransfer *device_ = nullptr;  // owned by the copy; nullptr: the host copies

private:
    const char *const what_;
    const UniqueArray dst_;
    const UniqueArray src_;
    const UniqueArray dst_index_;
    const UniqueArray src_index_;
    ReferenceCount references_;
};

using UniquePlannedCopy = UniqueHandle<PlannedCopy, &PlannedCopy::release>;

// Submits the copy as a task, after the work of the stream unless that is nullptr or no_sync.
VIA_NODISCARD Status submit_planned(PlannedCopy *copy, via_stream *stream, via_task **out_task);

}  // namespace via
