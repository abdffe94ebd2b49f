// Copies between pageable host memory and a device through a ring of pinned slots.
//
// How it works. A copy engine reads and writes pinned memory only. The driver copies pageable memory through a
// small buffer of its own, on one thread, at a fifth of the rate of PCIe 5 x16. Viaduct keeps a ring of up to 16 slots
// of 4 MiB for each device, and a smaller one until it has copied much. Several workers fill or empty slots while the
// copy engine works on others:
//
//   workers     [ fill slot 0 ][ fill slot 1 ][ fill slot 2 ][ fill slot 0 ] ...
//   copy engine                [ slot 0 -> device ][ slot 1 -> device ] ...
//
// - calibration.hpp decides from which size on this beats the driver; via_calibrate measures it.
// - staging_plan.hpp decides for a strided copy who packs. Bytes pass in the order of the host's memory, so that
//   workers read or write it in whole lines. A kernel of the device permutes by way of scratch memory. Without kernels
//   the order is the device's, and the workers permute. Another part of the device (DevicePart) does so too, chunk by
//   chunk: elements that a kernel converts.
// - staging_plan.hpp also cuts the bytes. A chunk passes through one slot by one copy of the engine. A piece is what
//   one worker takes of a chunk. Chunks grow at the beginning and shrink at the end, so that neither side waits long.
// - staging_endpoints.hpp does the work of one piece or chunk. On the host that is memcpy or gather past the
//   caches, scatter or file I/O; on the device it is a copy engine and a kernel.
// - staging_pipeline.hpp is one copy under way. A worker claims the next piece under a mutex until none is left. The
//   worker that finishes the last piece of a chunk hands the slot to the copy engine, or returns it. Helpers leave the
//   last chunks to the caller, and enter the context only where they call the driver: a thread that has just woken
//   calls it slowly, and keeps others waiting for its lock. Towards the host the caller queues the first chunks before
//   it wakes helpers. Later the worker that opens a chunk queues those ahead, while the others copy what has landed.
// - ring.hpp owns the slots. Copies of several threads share them one slot at a time, in the order they asked. A copy
//   holds no slot that it needs another one to release, so copies never deadlock.
//
// Streams. Staged copies run on internal streams of the device, two for each direction where kernels have a part. All
// that a copy has to wait for is waited for before it takes a slot. Towards the device the source has been read on
// return, and a fence says when the bytes have arrived. Towards the host they have arrived on return.
//
// Workers. The caller is one of them. Others are woken in proportion to the time that they save. Copies under way at
// once share the processors: workers of one leave it for another that begins. Helpers run on the CPUs next to the
// device.
#pragma once

#include <cstdint>

#include "cuda/io_endpoint.hpp"
#include "cuda/staging/staging_plan.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// What a device does with bytes that cross a link packed, instead of holding them as they are. Bytes are numbered as
// they cross.
class DevicePart {
public:
    explicit DevicePart(const Transfer &reached) : reached_(reached) {}

    // Queue it: from the device's array to packed bytes, and the reverse. `packed` is scratch memory, or memory of the
    // host where the device is full. In slots, bytes begin at multiples of 64 KiB.
    VIA_NODISCARD virtual Status pack(void *packed, int64_t offset, int64_t nbytes, const ResolvedStream &stream) = 0;
    VIA_NODISCARD virtual Status unpack(const void *packed, int64_t offset, int64_t nbytes,
                                        const ResolvedStream &stream) = 0;

    // Returns the memory that its kernels reach.
    const Transfer &reached() const { return reached_; }

protected:
    ~DevicePart() = default;

private:
    const Transfer &reached_;
};

struct StagedCopy {
    const Transfer &transfer;  // between pageable memory and a device
    StagedPlan plan = {};
    via_task *task = nullptr;           // for progress and cancellation
    IoPart io = {};                     // takes the place of the host's memory
    DevicePart *device_part = nullptr;  // takes the place of the device's

    bool needs_kernel() const { return device_part != nullptr || plan.step == DeviceStep::Kernel; }
};

// Returns whether staging is faster than the driver for a copy of adjacent bytes. Makes no ring. Staging pays much
// earlier for a destination on the host whose pages are not there yet.
bool is_staged(const Transfer &transfer);

// Makes the ring of a device, unless there is one: a larger one the more has been copied. Returns false if it cannot be
// had, or if too few small copies have asked for it so far.
bool has_ring(int64_t nbytes, int32_t device_id);

// Copies. All fences that the copy depends on must be complete: a slot is held no longer than a memcpy and a copy of
// the device take. Towards the host the bytes have arrived on return. Towards the device the source has been read on
// return. *out_fence, retained for the caller, then completes when the bytes have arrived; nullptr: they have. On
// failure part of the destination may have been written. Errors: VIA_ERROR_CUDA, VIA_ERROR_CANCELLED.
VIA_NODISCARD Status run_staged(const StagedCopy &copy, Fence **out_fence);

// Returns whether this process may pin enough memory for a ring.
bool may_have_ring();

// Makes the ring of a device before its first use. Returns VIA_OK where no ring can be had.
VIA_NODISCARD Status prepare_ring(int32_t device_id);

// Returns the most pinned memory that the ring of a device may have, or 0 with the reason in `out_why`.
int64_t ring_bytes(int64_t capacity, char *out_why);

// Writes the shape of the route: "8 workers, 16 slots of up to 4096 KiB".
void describe_ring(const StagedCopy &copy, TextBuffer *text);

}  // namespace via::cuda
