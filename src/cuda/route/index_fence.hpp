// Fences that report row numbers out of range, which a kernel found in a list on the device.
#pragma once

#include "core/async/fence.hpp"
#include "core/layout/indexed_rows.hpp"
#include "cuda/driver/context.hpp"

namespace via::cuda {

class DescriptorTable;
struct FaultRecords;

// The end of one run, with a record in pinned memory that its kernel writes. Fails if the record then has a fault. The
// two are pooled together: the last release, on any thread, returns them, and calls no driver but to ask.
class IndexFence final : public Fence {
public:
    // Takes a reference to the table that the record is of.
    IndexFence(FaultRecords *home, DescriptorTable *table, void *record)
        : home_(home), table_(table), record_(record) {}

    // Returns the address of the record, for the kernel.
    uint64_t record() const { return reinterpret_cast<uint64_t>(record_); }

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
    friend struct FaultRecords;
    ~IndexFence() override;
    void destroy() override;
    bool is_free() const { return end_.get() == nullptr || end_.get()->is_complete(); }

    FaultRecords *const home_;
    DescriptorTable *const table_;
    void *const record_;
    int64_t dst_extent_ = 0;
    int64_t src_extent_ = 0;
    UniqueFence end_;             // where it is idle, of the last run, which may still write the record
    IndexFence *next_ = nullptr;  // idle too
};

using UniqueIndexFence = UniqueHandle<IndexFence, release_fence>;

// Makes a fence of these rows, without an end. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status make_index_fence(const ContextKey &context, const IndexedRows &rows, IndexFence **out_fence);

}  // namespace via::cuda
