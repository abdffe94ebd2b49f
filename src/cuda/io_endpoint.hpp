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

struct IoTransfer {
    // The copy between a device and the host that this replaces. The host's address stands for byte 0 of the endpoint
    // and is never touched.
    const Transfer *transfer;
    IoEndpoint *io;
    int32_t workers;  // as many as keep busy what is outside
    int64_t phase;    // bytes from a border outside to byte 0: chunks and pieces end at such borders
    via_task *task;   // for progress and cancellation; may be nullptr
    StagedPlan plan;
};

// Returns whether the ring serves, and makes it. Otherwise the bytes go through host memory.
bool can_stage_io(const Transfer &transfer, StagedPlan *out_plan);

// Transfers. All fences that it depends on must be complete; arrays are neither waited for nor tracked. Towards the
// device it may store a retained fence of its end in *out_fence; nullptr: it is done. Errors: those of the endpoint,
// VIA_ERROR_CUDA, VIA_ERROR_CANCELLED.
VIA_NODISCARD Status transfer_io(const IoTransfer &transfer, Fence **out_fence);

}  // namespace via::cuda
