#include "cuda/launch/kernel_copy.hpp"

#include "cuda/launch/kernel_plan.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/launch/plan_cache.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {
namespace {

// Returns the context that a side's memory was allocated in. Returns nullptr for what is reached from everywhere:
// pinned and managed memory, and pool memory and mapped memory, which have no context.
CUcontext context_of_side(const Side &side, const void *address) {
    return is_device(side) ? context_of(address) : nullptr;
}

// Returns whether a kernel on the stream reaches memory of the context.
bool is_reached(CUcontext context, const ResolvedStream &stream) {
    return context == nullptr || context == stream.context || context_id(context) == stream.context_id;
}

Status contexts_differ(const ResolvedStream &stream) {
    return fail(
        VIA_ERROR_UNSUPPORTED,
        "dst and src are memory of two contexts of device %d, and a kernel reaches that of one; expected memory "
        "of one context, or elements that are adjacent and in the same order in both",
        stream.device_id);
}

// Finds the stream that the kernel runs on: the given one, or the legacy stream of the memory's own context.
Status find_home(const Transfer &transfer, const ResolvedStream &stream, ResolvedStream *out_home) {
    *out_home = stream;
    const CUcontext of_dst = context_of_side(transfer.dst_side, transfer.dst);
    const CUcontext of_src = context_of_side(transfer.src_side, transfer.src);
    if (is_reached(of_dst, stream) && is_reached(of_src, stream)) [[likely]] {
        return VIA_OK;
    }
    if (of_dst != nullptr && of_src != nullptr && of_dst != of_src) {
        return contexts_differ(stream);
    }
    if (stream.capturing) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is being captured, and the memory is of another context; expected memory of the stream's");
    }
    ContextScope scope;
    VIA_TRY(scope.enter(of_dst != nullptr ? of_dst : of_src));
    return resolve(nullptr, stream.device_id, out_home);
}

}  // namespace

Status check_device_of_stream(const Transfer &transfer, const ResolvedStream &stream) {
    const int32_t device_id = device_of_transfer(transfer);
    return stream.device_id == device_id
               ? VIA_OK
               : fail(VIA_ERROR_DEVICE, "stream is of device %d; expected one of device %d, where the memory is",
                      stream.device_id, device_id);
}

Status prepare_kernel(const Transfer &transfer, const ResolvedStream &stream, ResolvedStream *out_home) {
    VIA_TRY(check_device_of_stream(transfer, stream));
    VIA_TRY(find_home(transfer, stream, out_home));
    return load_kernels(*out_home);
}

Status prepare_kernel(const Transfer &transfer, const ResolvedStream &stream) {
    ResolvedStream home;
    return prepare_kernel(transfer, stream, &home);
}

Status follow_or_wait(const ResolvedStream &stream, const ResolvedStream &other) {
    {
        const CallbackScope quiet;  // reports no failure
        if (follow(stream, other) == VIA_OK) {
            return VIA_OK;
        }
    }
    return wait_for_stream(other);
}

Status enqueue_kernel(const Transfer &transfer, const ResolvedStream &stream, FarSide far_side) {
    return launch_where_reached(transfer, stream, [&](const ResolvedStream &home) {
        KernelPlan plan;
        plan_or_recall_kernel(transfer, far_side, &plan);
        return launch(plan.kernel, plan.blocks, &plan.params, home);
    });
}

bool reaches_memory(const Transfer &transfer, const ResolvedStream &stream) {
    return is_reached(context_of_side(transfer.dst_side, transfer.dst), stream) &&
           is_reached(context_of_side(transfer.src_side, transfer.src), stream);
}

// Enters the context: the driver looks addresses up in the current one, and refuses memory that it does not reach.
Status enqueue_move(const Transfer &transfer, const ResolvedStream &stream, FarSide far_side) {
    if (transfer.ndim > 0) {
        return enqueue_kernel(transfer, stream, far_side);
    }
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    VIA_TRY_CUDA(cuMemcpyAsync(number_of(transfer.dst), number_of(transfer.src), static_cast<size_t>(transfer.nbytes),
                               stream.handle));
    return VIA_OK;
}

}  // namespace via::cuda
