// Caches which memory the kernels of one context reach at its host address.
#pragma once

#include <cstddef>

#include "cuda/device_batch.hpp"
#include "cuda/driver/driver.hpp"

namespace via::cuda {

// Memory of a device belongs to the context that allocated it, and only kernels of that context are sure to reach it.
// Pool memory and mapped memory belong to no context. Pinned memory is reached from everywhere, but may have
// another address on the device (if it is write-combined). Caches the last ranges, since arrays that are copied as a
// batch tend to share allocations.
class RangeCache {
public:
    RangeCache() = default;
    explicit RangeCache(int32_t device_id) : device_id_(device_id) {}

    // Returns whether kernels that reach the memory of earlier copies reach both ends of this one too.
    bool takes(CUdeviceptr dst, CUdeviceptr src, LinkDirection direction) {
        const Ends &last = last_[static_cast<int32_t>(direction)];
        return (last.dst.contains(dst) && last.src.contains(src)) || takes_others(dst, src, direction);
    }

    // Returns the context whose kernels reach all of it, or nullptr for any context of the device.
    CUcontext context() const { return context_; }

private:
    struct Range {
        CUdeviceptr start;
        size_t nbytes;
        CUcontext context;

        bool contains(CUdeviceptr address) const { return address - start < nbytes; }
    };

    struct Ends {
        Range dst;
        Range src;
    };

    bool takes_others(CUdeviceptr dst, CUdeviceptr src, LinkDirection direction);
    bool take(CUdeviceptr address, bool is_of_device, Range *out_range);
    const Range *find(CUdeviceptr address);
    bool ask(CUdeviceptr address, Range *out_range) const;

    int32_t device_id_ = 0;
    Ends last_[3] = {};  // of the last copy of each kind that was taken
    Range ranges_[8] = {};
    size_t next_ = 0;
    CUcontext context_ = nullptr;
};

}  // namespace via::cuda
