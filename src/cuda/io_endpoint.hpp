// Transfers between device memory and files, through the ring of pinned slots. Workers read into slots and write
// from them instead of copying.
#pragma once

#include "cuda/transfer.hpp"

namespace via::cuda {

// Reads and writes bytes that are numbered from 0 on, in place of host memory. Several threads of the library call it
// at a time.
class IoEndpoint {
public:
    VIA_NODISCARD virtual Status read(void *slot, int64_t offset, int64_t nbytes) = 0;
    VIA_NODISCARD virtual Status write(const void * /*slot*/, int64_t /*offset*/, int64_t /*nbytes*/) {
        return fail(VIA_ERROR_INTERNAL, "an endpoint that is only read is written; expected a read");
    }

protected:
    ~IoEndpoint() = default;
};

// What workers read or write in place of the host's memory, whose address then only numbers its bytes.
struct IoPart {
    IoEndpoint *endpoint = nullptr;  // nullptr: the host's memory
    int32_t workers = 0;             // as many as keep busy what is outside
    int64_t offset = 0;              // of the first byte in the endpoint
    int64_t phase = 0;  // bytes from a border outside to the first one: chunks and pieces end at such borders
};

// Returns whether the ring serves, and makes it. Otherwise the bytes go through host memory.
bool can_stage_io(const Transfer &transfer, StagedPlan *out_plan);

// Transfers. All fences that it depends on must be complete; arrays are neither waited for nor tracked. Towards the
// device it may store a retained fence of its end in *out_fence; nullptr: it is done. Progress and cancellation go
// through `task`, which may be nullptr. Errors: those of the endpoint, VIA_ERROR_CUDA, VIA_ERROR_CANCELLED.
VIA_NODISCARD Status transfer_io(const Transfer &transfer, const StagedPlan &plan, const IoPart &io, via_task *task,
                                 Fence **out_fence);

}  // namespace via::cuda
