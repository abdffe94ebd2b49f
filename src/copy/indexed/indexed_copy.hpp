// One copy by index: checked and planned, to be run once or again and again.
#pragma once

#include <memory>

#include "copy/indexed.hpp"
#include "copy/indexed/check_indexed.hpp"
#include "core/async/fence.hpp"
#include "core/async/task.hpp"
#include "core/base/reference_count.hpp"
#include "cuda/indexed_transfer.hpp"

namespace via {

// Holds its arrays. Several threads may run it at once.
class IndexedCopy {
public:
    // Checks everything but numbers on a device. Reads lists of host memory.
    VIA_NODISCARD static Status make(const IndexedArguments &arguments, IndexedCopy **out_copy);

    void retain() { references_.retain(); }
    void release() {
        if (references_.release()) {
            delete this;
        }
    }

    IndexedCopy(const IndexedCopy &) = delete;
    IndexedCopy &operator=(const IndexedCopy &) = delete;

    via_array *dst() const { return given_.dst; }
    via_array *src() const { return given_.src; }
    int64_t nbytes() const { return is_empty_ ? 0 : rows_.nbytes(); }

    // Refuses what run_on would refuse, before anything is touched.
    VIA_NODISCARD Status prepare_on(via_stream *stream);

    // Copies in stream order; nullptr means the legacy stream.
    VIA_NODISCARD Status run_on(via_stream *stream);

    // Copies, and returns when every stream and the host see the rows.
    VIA_NODISCARD Status run_now();

    // For a task: what it waits for, its work, and its fence on the arrays. The work waits for nothing.
    VIA_NODISCARD Status find_dependency(via_stream *stream, Fence **out_dependency);
    VIA_NODISCARD Status run_in_task(int64_t done_before, via_task *task, Fence **out_fence);
    VIA_NODISCARD Status note_task(Fence *end);

    // Returns true if run_in_task only queues work on a device.
    bool is_immediate() const;

private:
    enum class Route : int32_t { Host, Bits, Device };

    explicit IndexedCopy(const IndexedArguments &arguments);
    ~IndexedCopy();

    VIA_NODISCARD Status plan(int64_t count);
    VIA_NODISCARD Status plan_rows();
    VIA_NODISCARD Status find_route();
    VIA_NODISCARD Status read_lists();
    VIA_NODISCARD Status read_list(const char *name, via_array *list, int64_t extent, IndexNumbers *numbers,
                                   IndexList *out_list);
    VIA_NODISCARD Status check_lists() const;

    bool is_all_plain() const;
    VIA_NODISCARD Status await_all() const;
    VIA_NODISCARD Status await_before(via_stream *stream) const;
    void run_on_host();

    // Runs the copy with lists that were fetched from a device for this run.
    template <class Run>
    VIA_NODISCARD Status with_fetched(const Run &run);
    VIA_NODISCARD Status fetch(const char *name, via_array *list, IndexList *out_list, std::unique_ptr<char[]> *block);

    ReferenceCount references_;
    IndexedArguments given_;
    Route route_ = Route::Host;
    bool is_empty_ = false;
    bool fetches_ = false;  // lists from a device, at each run
    RowOverlap overlap_ = RowOverlap::None;
    IndexedRows rows_{};
    Plan row_{};  // row 0 in normal form
    IndexNumbers dst_numbers_;
    IndexNumbers src_numbers_;
    cuda::IndexedTransfer transfer_{};
    cuda::IndexTable *table_ = nullptr;
};

// Refuses what no task can do without CUDA.
VIA_NODISCARD Status check_task_memory(const IndexedArguments &arguments);

inline void release_indexed(IndexedCopy *copy) { copy->release(); }
using UniqueIndexedCopy = UniqueHandle<IndexedCopy, release_indexed>;

}  // namespace via
