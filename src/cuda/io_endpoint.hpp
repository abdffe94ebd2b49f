// Transfers between the memory of a device and what is no memory: a file. They go through the ring of page-locked
// slots; the workers read into slots and write from them what they copy otherwise.
#pragma once

#include "cuda/transfer.hpp"

namespace via::cuda {

// Bytes numbered from 0 on, in the place of the host's memory. Any number of threads of the library ask at a time.
class IoEndpoint {
public:
    VIA_NODISCARD virtual Status read(void *slot, int64_t offset, int64_t nbytes) = 0;
    VIA_NODISCARD virtual Status write(const void *slot, int64_t offset, int64_t nbytes) = 0;

protected:
    ~IoEndpoint() = default;
};

struct IoTransfer {
    // What would be a copy between a device and the host, whose address stands for byte 0 outside and is never touched.
    const Transfer *transfer;
    IoEndpoint *io;
    int32_t workers;  // as many as keep busy what is outside
    int64_t phase;    // bytes from a border outside to byte 0: chunks and pieces end at such borders
    via_task *task;   // for progress and cancellation; may be nullptr
    StagedPlan plan;
};

// Whether the ring serves: where it does not, the bytes go by way of the host's memory. Makes the ring.
bool can_stage_io(const Transfer &transfer, StagedPlan *out_plan);

// Does it, once all that it must wait for has been reached; waits for and tracks no array. Towards the device a fence
// may be stored in *out_fence (retained), at which it ends; none: it is done. Errors: those of the outside,
// VIA_ERROR_CUDA, VIA_ERROR_CANCELLED.
VIA_NODISCARD Status transfer_io(const IoTransfer &transfer, Fence **out_fence);

}  // namespace via::cuda
