// Memory of a device for the time of some work of a stream.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Whether the device has a pool that streams allocate from in their order.
bool has_scratch(int32_t device_id);

// Allocated and freed in the order of the stream, out of its device's pool; on a stream being captured, by the graph.
class Scratch {
public:
    Scratch() = default;
    ~Scratch();
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    // Errors: VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_CUDA.
    VIA_NODISCARD Status allocate(int64_t nbytes, const ResolvedStream &use);
    // Where the device is full, the address stays null, and that is no error: another way serves.
    VIA_NODISCARD Status allocate_if_room(int64_t nbytes, const ResolvedStream &use);
    void *address() const { return reinterpret_cast<void *>(address_); }

private:
    CUdeviceptr address_ = 0;
    ResolvedStream use_{};
};

}  // namespace via::cuda
