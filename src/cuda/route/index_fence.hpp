// Fences that report row numbers out of range, which a kernel found in a list on the device.
#pragma once

#include "core/async/fence.hpp"
#include "core/layout/indexed_rows.hpp"
#include "cuda/driver/context.hpp"

namespace via::cuda {

class FaultRecord;

// The end of one run, with a record in pinned memory that its kernel writes. Fails if the record then has a fault.
class IndexFence final : public Fence {
public:
    // Takes the record.
    IndexFence(FaultRecord *record, int64_t dst_extent, int64_t src_extent)
        : record_(record), dst_extent_(dst_extent), src_extent_(src_extent) {}

    // Returns the address of the record, for the kernel.
    uint64_t record() const;

    // Reads the record after the kernel has ended. Fails with VIA_ERROR_INDEX.
    VIA_NODISCARD Status check() const;

    // Completes with `end`, which it retains. Until then nobody else may have the fence.
    void complete_with(Fence *end);

    bool is_complete() override { return end_.get()->is_complete(); }
    VIA_NODISCARD Status wait() override;
    VIA_NODISCARD Status make_stream_wait(const ResolvedStream &stream) override;
    bool is_on_device() override { return end_.get()->is_on_device(); }
    bool may_fail() override { return true; }
    bool has_failed() override;

private:
    ~IndexFence() override;

    FaultRecord *const record_;
    const int64_t dst_extent_;
    const int64_t src_extent_;
    UniqueFence end_;
};

using UniqueIndexFence = UniqueHandle<IndexFence, release_fence>;

// Makes a fence of these rows, without an end. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status make_index_fence(const ContextKey &context, const IndexedRows &rows, IndexFence **out_fence);

}  // namespace via::cuda
