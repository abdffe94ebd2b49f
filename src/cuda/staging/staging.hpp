// Copies between pageable host memory and a device through a ring of page-locked slots: workers fill or empty slots
// while the device's copy engine works on others. Of strided memory they gather and scatter; what is left to be turned,
// kernels do on the device.
#pragma once

#include <cstdint>

#include "cuda/io_endpoint.hpp"
#include "cuda/staging/staging_plan.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

enum class Direction : int32_t { ToDevice, ToHost };

struct StagedCopy {
    Direction direction;
    CUdeviceptr device;  // address on the device
    void *host;          // pageable memory
    int64_t nbytes;
    int32_t device_id;
    via_task *task;                     // for progress and cancellation; may be nullptr
    const Transfer *strided = nullptr;  // what is copied instead where the bytes are not adjacent, in the same order
    StagedPlan plan = {};               // of it
    // What the workers read and write in the place of `host`, which then only numbers its bytes: io_endpoint.hpp.
    IoEndpoint *io = nullptr;
    int32_t io_workers = 0;
    int64_t io_phase = 0;
};

// The transfer lives longer than the copy.
StagedCopy staged_copy(const Transfer &transfer, const StagedPlan &plan, via_task *task);

// Whether a ring serves such a copy better than the driver itself; makes none. `host`, if given, is where a copy to the
// host goes: pages that are not there yet make staging pay much earlier.
bool is_staged(Direction direction, int64_t nbytes, int32_t device_id, const void *host = nullptr);

// Makes the ring of a device for such a copy, if there is none yet; false where it cannot be had, or where smaller
// copies have not asked for it often enough, so that the driver serves.
bool has_ring(int64_t nbytes, int32_t device_id);

// Does the copy. Everything it has to wait for must have been reached: slots are held only for as long as a memcpy and
// a copy of the device take. Towards the host: the bytes have arrived on return. Towards the device: the source has
// been read on return, and *out_fence (retained for the caller) says when the bytes have arrived; nullptr: they have.
// On failure part of the destination may have been written. Errors: VIA_ERROR_CUDA, VIA_ERROR_CANCELLED.
VIA_NODISCARD Status run_staged(const StagedCopy &copy, Fence **out_fence);

// Whether devices may have a ring at all.
bool may_have_ring();

// Makes the ring of a device ready ahead of use. VIA_OK where there is none to be had.
VIA_NODISCARD Status prepare_ring(int32_t device_id);

// The most page-locked memory the ring of a device may hold; 0 where there is none, `out_why` then says why.
int64_t ring_bytes(int32_t device_id, int64_t capacity, char *out_why);

// Writes the route's shape: "8 workers, 16 slots of up to 4096 KiB".
void describe_ring(const StagedCopy &copy, int64_t capacity, char *out_text);

}  // namespace via::cuda
