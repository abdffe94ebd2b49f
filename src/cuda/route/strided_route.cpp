#include "cuda/route/strided_route.hpp"

#include "cuda/route/bounce_copy.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/route/pinned_copy.hpp"
#include "cuda/route/peer_copy.hpp"

namespace via::cuda {
namespace {

// A graph would keep a stream of the library's own.
Status check_peers(const Transfer &transfer, const StreamUse &use) {
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

Status prepare_link(const Transfer &transfer, const StreamUse &use) {
    VIA_TRY(check_device_of_stream(transfer, use));
    return find_link_plan(transfer, Caller::GoesOn).route != LinkRoute::Rows ? prepare_kernel(transfer, use) : VIA_OK;
}

}  // namespace

Status prepare_strided(const Transfer &transfer, Way way, const StreamUse &use) {
    switch (way) {
        case Way::Kernel:
            return prepare_kernel(transfer, use);
        case Way::Link:
            return prepare_link(transfer, use);
        case Way::StridedPeer:
            VIA_TRY(check_peers(transfer, use));
            return prepare_peer_copy(transfer, plan_peer(transfer, use.device_id), use);
        default:
            return VIA_OK;
    }
}

Status enqueue_strided(const Transfer &transfer, Way way, const StreamUse &use) {
    switch (way) {
        case Way::Link:
            VIA_TRY(prepare_link(transfer, use));
            return enqueue_link(transfer, find_link_plan(transfer, Caller::GoesOn), use);
        case Way::Bounced:
            return copy_bounced(transfer, use);
        case Way::StridedPeer:
            VIA_TRY(check_peers(transfer, use));
            return enqueue_strided_peer_copy(transfer, plan_peer(transfer, use.device_id), use);
        default:
            return enqueue_kernel(transfer, use);
    }
}

}  // namespace via::cuda
