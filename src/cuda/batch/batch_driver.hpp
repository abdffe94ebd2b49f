// Copies of a batch that the driver does: by one call where it has one for that, else one after the other.
#pragma once

#include "core/base/list.hpp"
#include "cuda/batch/batch_copies.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Whether one call can be given many.
bool takes_many_copies();

class DriverCopies {
public:
    // `copies` stays the caller's, and must stay. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status make(const List<BatchCopy> *copies);

    VIA_NODISCARD Status enqueue(const ResolvedStream &use) const;

    void clear();

private:
    VIA_NODISCARD bool collect();
    VIA_NODISCARD Status enqueue_fused(const ResolvedStream &use) const;

    const List<BatchCopy> *copies_ = nullptr;
    List<CUdeviceptr> dsts_;  // these three for the one call
    List<CUdeviceptr> srcs_;
    List<size_t> sizes_;
};

}  // namespace via::cuda
