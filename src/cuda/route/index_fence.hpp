// Fences that report row numbers out of range, which a kernel found in a list on the device.
#pragma once

#include "core/async/fence.hpp"
#include "core/layout/indexed_rows.hpp"
#include "cuda/launch/descriptor_table.hpp"

namespace via::cuda {

// A record that the kernel of one run writes, in pinned memory.
class FaultRecord {
public:
    // Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status make(const ContextKey &context, const IndexedRows &rows);

    // Takes the record of another one, which then has none.
    void take(FaultRecord *other);

    // Gives the memory back once the fence is complete; nullptr: nothing writes it.
    void release(Fence *until);

    // Returns the address for the kernel; 0: there is no record.
    uint64_t address() const {
        return table_.get() != nullptr ? reinterpret_cast<uint64_t>(table_.get()->memory()) : 0;
    }

    // Read the record after the kernel has ended. check() fails with VIA_ERROR_INDEX.
    bool has_fault() const;
    VIA_NODISCARD Status check() const;

private:
    UniqueTable table_;
    int64_t dst_extent_ = 0;
    int64_t src_extent_ = 0;
};

// Makes a fence that completes with `end`, and fails if the record then has a fault. Consumes a reference to `end`, on
// failure too, and takes the record. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status make_index_fence(Fence *end, FaultRecord *record, Fence **out_fence);

}  // namespace via::cuda
