#include "cuda/batch/range_cache.hpp"

#include <algorithm>
#include <iterator>

#include "cuda/driver/context.hpp"

namespace via::cuda {

// Asks inside a context: the driver reports device pointers only there.
bool RangeCache::ask(CUdeviceptr address, Range *out_range) const {
    const CallbackScope quiet;  // single copies report what is wrong
    ContextScope scope;
    if (scope.enter_device(device_id_) != VIA_OK) {
        return false;
    }
    CUdeviceptr on_device = 0;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void *values[] = {&out_range->start, &out_range->nbytes, &out_range->context, &on_device};
    static_assert(std::size(names) == std::size(values));
    const CUresult result = driver().cuPointerGetAttributes(std::size(names), names, values, address);
    return result == CUDA_SUCCESS && on_device == address && out_range->contains(address);
}

// Returns nullptr if the driver does not know the memory, or has it at another address on the device.
const RangeCache::Range *RangeCache::find(CUdeviceptr address) {
    const Range *known = std::ranges::find_if(ranges_, [=](const Range &range) { return range.contains(address); });
    if (known != std::end(ranges_)) {
        return known;
    }
    Range &range = ranges_[next_];
    range = {};
    if (!ask(address, &range)) {
        range = {};
        return nullptr;
    }
    next_ = (next_ + 1) % std::size(ranges_);
    return &range;
}

bool RangeCache::take(CUdeviceptr address, bool is_of_device, Range *out_range) {
    const Range *range = find(address);
    if (range == nullptr) {
        return false;
    }
    *out_range = *range;
    if (!is_of_device) {
        return true;
    }
    if (context_ == nullptr) {
        context_ = range->context;
    }
    return range->context == nullptr || range->context == context_;
}

bool RangeCache::takes_others(CUdeviceptr dst, CUdeviceptr src, LinkDirection direction) {
    Ends ends{};
    if (!take(dst, direction != LinkDirection::ToHost, &ends.dst) ||
        !take(src, direction != LinkDirection::ToDevice, &ends.src)) {
        return false;
    }
    last_[static_cast<int32_t>(direction)] = ends;
    return true;
}

}  // namespace via::cuda
