// Device memory for the time of some work of a stream.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Returns whether the device has stream-ordered memory pools.
bool has_scratch(int32_t device_id);

// Returns whether a pool of a device could be opened to another device.
bool can_reach_scratch(int32_t device_id, int32_t peer_id);

// Owns memory that is allocated and freed in stream order, from the pool of the stream's device or by the graph that is
// being captured. On a device without pools it is plain memory, freed when the stream's work has ended.
class Scratch {
public:
    Scratch() = default;
    ~Scratch();
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    // Errors: VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_CUDA.
    VIA_NODISCARD Status allocate(int64_t nbytes, const ResolvedStream &stream);
    // Leaves the address null, without an error, if the device is full.
    VIA_NODISCARD Status allocate_if_room(int64_t nbytes, const ResolvedStream &stream);
    // Allocates memory of a device that the device of the other stream reaches too, whether peer access is on or off.
    // `first` uses it first, and `last` last: one of them is of the device. Leaves the address null also if the driver
    // cannot open the pool.
    VIA_NODISCARD Status allocate_opened(int64_t nbytes, int32_t device_id, const ResolvedStream &first,
                                         const ResolvedStream &last);
    void *address() const { return reinterpret_cast<void *>(address_); }

private:
    VIA_NODISCARD Status allocate_from(CUmemoryPool pool, int64_t nbytes, const ResolvedStream &stream);

    CUdeviceptr address_ = 0;
    ResolvedStream stream_{};
};

}  // namespace via::cuda
