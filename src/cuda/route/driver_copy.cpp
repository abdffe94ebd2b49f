#include "cuda/route/driver_copy.hpp"

#include <cstring>

#include "cuda/memory/pinned_buffer.hpp"
#include "cuda/route/brief_wait.hpp"
#include "cuda/stream/event_fence.hpp"

namespace via::cuda {
namespace {

// Memory of a pool, and mapped memory, has no context of its own.
Status context_of_memory(const void *address, int32_t device_id, CUcontext *out_context) {
    *out_context = nullptr;
    const CUresult result =
        driver().cuPointerGetAttribute(out_context, CU_POINTER_ATTRIBUTE_CONTEXT, number_of(address));
    return result == CUDA_SUCCESS && *out_context != nullptr ? VIA_OK : primary_context(device_id, out_context);
}

// Managed memory is given to the driver as a device's: called the host's, it would be waited for.
bool is_device_address(const Side &side) { return is_device(side) || side.device_type == VIA_DEVICE_CUDA_MANAGED; }

Status enqueue(const Transfer &transfer, const ResolvedStream &use) {
    const auto nbytes = static_cast<size_t>(transfer.nbytes);
    const CUdeviceptr dst = number_of(transfer.dst);
    const CUdeviceptr src = number_of(transfer.src);
    if (is_device_address(transfer.dst_side) && is_device_address(transfer.src_side)) {
        VIA_TRY_CUDA(cuMemcpyDtoDAsync(dst, src, nbytes, use.handle));
    } else if (is_device_address(transfer.dst_side)) {
        VIA_TRY_CUDA(cuMemcpyHtoDAsync(dst, transfer.src, nbytes, use.handle));
    } else if (is_device_address(transfer.src_side)) {
        VIA_TRY_CUDA(cuMemcpyDtoHAsync(transfer.dst, src, nbytes, use.handle));
    } else {
        VIA_TRY_CUDA(cuMemcpyAsync(dst, src, nbytes, use.handle));
    }
    return VIA_OK;
}

// Whether the driver waits inside the call for what the stream has to do before. It keeps other threads out meanwhile,
// one of which may be what that work waits for, so that it is waited for outside.
bool waits_inside(const Transfer &transfer) {
    constexpr int64_t kReadAtOnce = int64_t{1} << 20;
    return is_pageable(transfer.dst_side) || (is_pageable(transfer.src_side) && transfer.nbytes > kReadAtOnce);
}

// What is called pageable may have been registered, and is written behind the call then.
bool ends_later(const Transfer &transfer, const ResolvedStream &use) {
    return is_pageable(transfer.dst_side) || (is_pageable(transfer.src_side) && uses_pageable_later(use.device_id));
}

Status copy_behind(const Transfer &transfer, const ResolvedStream &use) {
    if (waits_inside(transfer)) {
        VIA_TRY(await_work(use));
    }
    VIA_TRY(enqueue(transfer, use));
    if (ends_later(transfer, use)) {
        VIA_TRY(check_driver(wait_for_work(use.handle), "cuStreamSynchronize"));
    }
    return VIA_OK;
}

Status copy_by_way_of(char *buffer, const Transfer &transfer, const ResolvedStream &use) {
    const auto nbytes = static_cast<size_t>(transfer.nbytes);
    VIA_TRY_CUDA(cuMemcpyDtoHAsync(buffer, number_of(transfer.src), nbytes, use.handle));
    VIA_TRY(wait_briefly(use));
    std::memcpy(transfer.dst, buffer, nbytes);
    return VIA_OK;
}

// The bytes have arrived on return.
Status copy_to_pageable(const Transfer &transfer, const ResolvedStream &use) {
    const PinnedBuffer buffer(transfer.nbytes, use.device_id);
    return buffer.get() != nullptr ? copy_by_way_of(buffer.get(), transfer, use) : copy_behind(transfer, use);
}

}  // namespace

Status copy_by_driver(const Transfer &transfer, const ResolvedStream &use) {
    return is_pageable(transfer.dst_side) && is_device_address(transfer.src_side) ? copy_to_pageable(transfer, use)
                                                                                  : copy_behind(transfer, use);
}

Status copy_to_peer(const Transfer &transfer, const ResolvedStream &use) {
    CUcontext dst_context = nullptr;
    CUcontext src_context = nullptr;
    VIA_TRY(context_of_memory(transfer.dst, transfer.dst_side.device_id, &dst_context));
    VIA_TRY(context_of_memory(transfer.src, transfer.src_side.device_id, &src_context));
    VIA_TRY_CUDA(cuMemcpyPeerAsync(number_of(transfer.dst), dst_context, number_of(transfer.src), src_context,
                                   static_cast<size_t>(transfer.nbytes), use.handle));
    return VIA_OK;
}

// The driver captures no copy that names two contexts (it answers 900), but does one that names addresses alone.
Status capture_driver_copy(const Transfer &transfer, const ResolvedStream &use) {
    if (!devices_differ(transfer)) {
        return enqueue(transfer, use);
    }
    VIA_TRY_CUDA(cuMemcpyAsync(number_of(transfer.dst), number_of(transfer.src), static_cast<size_t>(transfer.nbytes),
                               use.handle));
    return VIA_OK;
}

Status await_work(const ResolvedStream &use) {
    if (is_idle(use)) {
        return VIA_OK;
    }
    UniqueFence fence;
    VIA_TRY(record_fence(use, fence.out()));
    return fence.get()->wait();
}

}  // namespace via::cuda
