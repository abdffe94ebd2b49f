#include "cuda/route/transfer_order.hpp"

#include "core/array/access_tracker.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream_access.hpp"

namespace via::cuda {

Status resolve_for(const Transfer &transfer, const char *what, via_stream *stream, ResolvedStream *out_stream) {
    VIA_TRY(need_driver(what));
    return resolve(stream, device_of_transfer(transfer), out_stream);
}

Status wait_for_arrays(const Transfer &transfer) {
    if (transfer.dst_array != nullptr) {
        VIA_TRY(wait_for_last_write(transfer.dst_array->storage));
        return wait_for_last_write(transfer.src_array->storage);
    }
    return VIA_OK;
}

Status wait_for_arrays(const Transfer &transfer, const ResolvedStream &stream) {
    if (transfer.dst_array != nullptr) {
        VIA_TRY(wait_until_ready(transfer.dst_array, stream));
        return wait_until_ready(transfer.src_array, stream);
    }
    return VIA_OK;
}

// Returns whether the legacy stream of a device's primary context has nothing to do. Most copies find it so, and ask
// for no more.
static bool is_legacy_idle(int32_t device_id) {
    const CallbackScope quiet;  // reports no failure
    const RelaxedCapture relaxed;
    ContextScope scope;
    CUcontext primary = nullptr;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return primary_context(device_id, &primary) == VIA_OK && scope.enter(primary) == VIA_OK &&
           driver().cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE && driver().cuStreamQuery(CU_STREAM_LEGACY) == CUDA_SUCCESS;
}

Status follow_other_device(const Transfer &transfer, const ResolvedStream &stream) {
    if (!devices_differ(transfer)) [[likely]] {
        return VIA_OK;
    }
    const int32_t dst = transfer.dst_side.device_id;
    const int32_t other_id = stream.device_id == dst ? transfer.src_side.device_id : dst;
    if (is_legacy_idle(other_id)) [[likely]] {
        return VIA_OK;
    }
    ResolvedStream other;
    VIA_TRY(resolve(nullptr, other_id, &other));
    return follow(stream, other);
}

}  // namespace via::cuda
