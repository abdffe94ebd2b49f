// Copies of a batch by the driver: in one call if it has one for that, otherwise one by one.
#pragma once

#include "core/base/list.hpp"
#include "cuda/batch/batch_copies.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Returns whether one call can take many copies.
bool takes_many_copies();

class DriverCopies {
public:
    // `copies` stays the caller's, and must stay. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status make(const List<BatchCopy> *copies);

    VIA_NODISCARD Status enqueue(const ResolvedStream &stream) const;

    void clear();

private:
    VIA_NODISCARD bool collect();
    VIA_NODISCARD Status enqueue_fused(const ResolvedStream &stream) const;

    const List<BatchCopy> *copies_ = nullptr;
    List<CUdeviceptr> dsts_;  // these three for the one call
    List<CUdeviceptr> srcs_;
    List<size_t> sizes_;
};

}  // namespace via::cuda
