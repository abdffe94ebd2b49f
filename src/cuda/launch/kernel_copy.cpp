#include "cuda/launch/kernel_copy.hpp"

#include "cuda/launch/kernel_plan.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {
namespace {

// The context that a side's memory was allocated in, if a kernel of the stream's does not reach it; else nullptr.
// Memory of pools and mapped memory have none, and what is page-locked or managed is reached from everywhere.
CUcontext other_context(const Side &side, const void *address, const ResolvedStream &use) {
    CUcontext context = nullptr;
    if (!is_device(side) || driver().cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT,
                                                           reinterpret_cast<CUdeviceptr>(address)) != CUDA_SUCCESS) {
        return nullptr;
    }
    const bool same = context == nullptr || context == use.context || context_id(context) == use.context_id;
    return same ? nullptr : context;
}

Status contexts_differ(const ResolvedStream &use) {
    return fail(
        VIA_ERROR_UNSUPPORTED,
        "dst and src are memory of two contexts of device %d, and a kernel reaches that of one; expected memory "
        "of one context, or elements that are adjacent and in the same order in both",
        use.device_id);
}

// The stream that the kernel runs on: the one given, or the legacy stream of the memory's own context.
Status find_home(const Transfer &transfer, const ResolvedStream &use, ResolvedStream *out_home) {
    *out_home = use;
    const CUcontext of_dst = other_context(transfer.dst_side, transfer.dst, use);
    const CUcontext of_src = other_context(transfer.src_side, transfer.src, use);
    if (of_dst == nullptr && of_src == nullptr) [[likely]] {
        return VIA_OK;
    }
    if (of_dst != of_src && is_device(transfer.dst_side) && is_device(transfer.src_side)) {
        return contexts_differ(use);
    }
    if (use.capturing) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is being captured, and the memory is of another context than the stream");
    }
    ContextScope scope;
    VIA_TRY(scope.enter(of_dst != nullptr ? of_dst : of_src));
    return resolve(nullptr, use.device_id, out_home);
}

Status launch_plan(const Transfer &transfer, const ResolvedStream &use) {
    KernelPlan plan;
    plan_kernel(transfer, &plan);
    return launch(plan.kernel, plan.blocks, &plan.params, use);
}

// Where the stream cannot be made to wait, the kernel must have ended before anybody goes on.
Status launch_at_home(const Transfer &transfer, const ResolvedStream &use, const ResolvedStream &home) {
    VIA_TRY(follow(home, use));
    VIA_TRY(launch_plan(transfer, home));
    return follow(use, home) == VIA_OK ? VIA_OK : wait_for_stream(home);
}

// Reached from every context.
constexpr Side kBuffer{VIA_DEVICE_CUDA_HOST, 0};

Status enqueue_move(const Transfer &transfer, const ResolvedStream &use) {
    if (transfer.ndim > 0) {
        return enqueue_kernel(transfer, use);
    }
    // The driver looks addresses up in the current context: it refuses memory of the stream's device that another one
    // does not reach.
    ContextScope scope;
    VIA_TRY(scope.enter(use.context));
    VIA_TRY_CUDA(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(transfer.dst), reinterpret_cast<CUdeviceptr>(transfer.src),
                               static_cast<size_t>(transfer.nbytes), use.handle));
    return VIA_OK;
}

}  // namespace

Status check_device_of_stream(const Transfer &transfer, const ResolvedStream &use) {
    const int32_t device_id = device_of_transfer(transfer);
    return use.device_id == device_id
               ? VIA_OK
               : fail(VIA_ERROR_DEVICE, "stream is of device %d; expected one of device %d, where the memory is",
                      use.device_id, device_id);
}

Status prepare_kernel(const Transfer &transfer, const ResolvedStream &use) {
    VIA_TRY(check_device_of_stream(transfer, use));
    ResolvedStream home;
    VIA_TRY(find_home(transfer, use, &home));
    return load_kernels(home);
}

Status enqueue_kernel(const Transfer &transfer, const ResolvedStream &use) {
    VIA_TRY(check_device_of_stream(transfer, use));
    ResolvedStream home;
    VIA_TRY(find_home(transfer, use, &home));
    VIA_TRY(load_kernels(home));
    return home.context == use.context ? launch_plan(transfer, use) : launch_at_home(transfer, use, home);
}

bool reaches_memory(const Transfer &transfer, const ResolvedStream &use) {
    return other_context(transfer.dst_side, transfer.dst, use) == nullptr &&
           other_context(transfer.src_side, transfer.src, use) == nullptr;
}

Status enqueue_packing(const Move &move, const Side &src_side, const ResolvedStream &use) {
    return enqueue_move(move.transfer(kBuffer, src_side), use);
}

Status enqueue_unpacking(const Move &move, const Side &dst_side, const ResolvedStream &use) {
    return enqueue_move(move.transfer(dst_side, kBuffer), use);
}

}  // namespace via::cuda
