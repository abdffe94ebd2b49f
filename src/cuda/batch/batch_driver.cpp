#include "cuda/batch/batch_driver.hpp"

namespace via::cuda {
namespace {

Status enqueue_one(const BatchCopy &copy, const ResolvedStream &stream) {
    switch (copy.direction) {
        case LinkDirection::No:
            VIA_TRY_CUDA(cuMemcpyDtoDAsync(copy.dst, copy.src, copy.nbytes, stream.handle));
            return VIA_OK;
        case LinkDirection::ToDevice:
            VIA_TRY_CUDA(
                cuMemcpyHtoDAsync(copy.dst, reinterpret_cast<const void *>(copy.src), copy.nbytes, stream.handle));
            return VIA_OK;
        case LinkDirection::ToHost:
            break;
    }
    VIA_TRY_CUDA(cuMemcpyDtoHAsync(reinterpret_cast<void *>(copy.dst), copy.src, copy.nbytes, stream.handle));
    return VIA_OK;
}

// The batch call takes no special stream, and does nothing in a capture.
bool takes_many_copies_on(const ResolvedStream &stream) {
    return !stream.capturing && stream.handle != CU_STREAM_LEGACY && stream.handle != CU_STREAM_PER_THREAD;
}

}  // namespace

// Headers before CUDA 13 do not declare the form of the call that is asked for.
#if CUDA_VERSION >= 13000

bool takes_many_copies() { return driver().cuMemcpyBatchAsync != nullptr; }

Status DriverCopies::enqueue_fused(const ResolvedStream &stream) const {
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    size_t first = 0;
    VIA_TRY_CUDA(cuMemcpyBatchAsync(dsts_.begin(), srcs_.begin(), sizes_.begin(), static_cast<size_t>(sizes_.count()),
                                    &attributes, &first, 1, stream.handle));
    return VIA_OK;
}

#else

bool takes_many_copies() { return false; }

Status DriverCopies::enqueue_fused(const ResolvedStream &) const { return VIA_OK; }

#endif

bool DriverCopies::collect() {
    for (const BatchCopy &copy : *copies_) {
        if (!dsts_.append(copy.dst) || !srcs_.append(copy.src) || !sizes_.append(copy.nbytes)) {
            return false;
        }
    }
    return true;
}

Status DriverCopies::make(const List<BatchCopy> *copies) {
    copies_ = copies;
    if (copies->count() < 2 || !takes_many_copies() || collect()) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for the addresses of %lld copies",
                static_cast<long long>(copies->count()));
}

void DriverCopies::clear() {
    dsts_.resize(0);
    srcs_.resize(0);
    sizes_.resize(0);
}

// The batch call needs a current context whatever the stream.
Status DriverCopies::enqueue(const ResolvedStream &stream) const {
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    if (sizes_.count() > 1 && takes_many_copies_on(stream)) {
        return enqueue_fused(stream);
    }
    for (const BatchCopy &copy : *copies_) {
        VIA_TRY(enqueue_one(copy, stream));
    }
    return VIA_OK;
}

}  // namespace via::cuda
