#include "cuda/route/strided_route.hpp"

#include "cuda/route/bounce_copy.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/route/pinned_copy.hpp"
#include "cuda/route/peer_copy.hpp"

namespace via::cuda {
namespace {

// A graph would keep a stream of the library's own.
Status check_peers(const Transfer &transfer, const ResolvedStream &use) {
    const int32_t dst = transfer.dst_side.device_id;
    const int32_t src = transfer.src_side.device_id;
    if (use.device_id != dst && use.device_id != src) {
        return fail(VIA_ERROR_DEVICE, "stream is of device %d; expected one of device %d or %d, where the memory is",
                    use.device_id, dst, src);
    }
    if (use.capturing && needs_both_streams(transfer, plan_peer(transfer, use.device_id), use.device_id)) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is of device %d and being captured; expected one of device %d, which has elements to pack",
                    use.device_id, use.device_id == dst ? src : dst);
    }
    return VIA_OK;
}

Status prepare_link(const Transfer &transfer, const ResolvedStream &use) {
    VIA_TRY(check_device_of_stream(transfer, use));
    return find_pinned_plan(transfer, Caller::GoesOn).route != PinnedRoute::Rows ? prepare_kernel(transfer, use) : VIA_OK;
}

}  // namespace

Status prepare_strided(const Transfer &transfer, CopyRoute route, const ResolvedStream &use) {
    switch (route) {
        case CopyRoute::Kernel:
            return prepare_kernel(transfer, use);
        case CopyRoute::Pinned:
            return prepare_link(transfer, use);
        case CopyRoute::StridedPeer:
            VIA_TRY(check_peers(transfer, use));
            return prepare_peer_copy(transfer, plan_peer(transfer, use.device_id), use);
        default:
            return VIA_OK;
    }
}

Status enqueue_strided(const Transfer &transfer, CopyRoute route, const ResolvedStream &use) {
    switch (route) {
        case CopyRoute::Pinned:
            VIA_TRY(prepare_link(transfer, use));
            return enqueue_pinned(transfer, find_pinned_plan(transfer, Caller::GoesOn), use);
        case CopyRoute::Bounced:
            return copy_bounced(transfer, use);
        case CopyRoute::StridedPeer:
            VIA_TRY(check_peers(transfer, use));
            return enqueue_strided_peer_copy(transfer, plan_peer(transfer, use.device_id), use);
        default:
            return enqueue_kernel(transfer, use);
    }
}

}  // namespace via::cuda
