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
        VIA_TRY(via::wait_until_ready(transfer.dst_array->storage));
        return via::wait_until_ready(transfer.src_array->storage);
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

Status follow_other_device(const Transfer &transfer, const ResolvedStream &stream) {
    if (!devices_differ(transfer)) [[likely]] {
        return VIA_OK;
    }
    const int32_t dst = transfer.dst_side.device_id;
    ResolvedStream other;
    VIA_TRY(resolve(nullptr, stream.device_id == dst ? transfer.src_side.device_id : dst, &other));
    return is_idle(other) ? VIA_OK : follow(stream, other);
}

}  // namespace via::cuda
