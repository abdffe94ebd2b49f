#include "cuda/route/peer_copy.hpp"

#include <algorithm>

#include "cuda/launch/kernel_copy.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/stream/event_fence.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kPieceBytes = int64_t{32} << 20;

void make_peer_order(const Transfer &transfer, const StridedPeerPlan &plan, PackedOrder *order) {
    make_packed_order(transfer, plan.major, !plan.unpacks, order);
}

bool lies_packed(const Transfer &transfer, Major side) {
    PackedOrder order;
    Move move;
    make_packed_order(transfer, side, false, &order);
    side == Major::Src ? make_packing(order, whole(order), transfer.dst, &move)
                       : make_unpacking(order, whole(order), transfer.src, &move);
    return move.ndim == 0;
}

// A stream for the device that the caller's stream is not of. One of its own for each copy: what waits for a stream of
// the caller's must hold up nobody else.
class SideStream {
public:
    SideStream() = default;
    ~SideStream() {
        if (use_.handle != nullptr) {
            (void)driver().cuStreamDestroy(use_.handle);
        }
    }
    SideStream(const SideStream &) = delete;
    SideStream &operator=(const SideStream &) = delete;

    VIA_NODISCARD Status make(int32_t device_id) {
        const RelaxedCapture relaxed;
        VIA_TRY(primary_context(device_id, &use_.context));
        use_.context_id = context_id(use_.context);
        use_.device_id = device_id;
        ContextScope scope;
        VIA_TRY(scope.enter(use_.context));
        VIA_TRY_CUDA(cuStreamCreate(&use_.handle, CU_STREAM_NON_BLOCKING));
        return VIA_OK;
    }
    const ResolvedStream &use() const { return use_; }

private:
    ResolvedStream use_{};
};

Status copy_bytes(const Transfer &transfer, const ResolvedStream &use) {
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    return use.capturing ? capture_driver_copy(transfer, use) : copy_to_peer(transfer, use);
}

// One copy under way.
class PeerRun {
public:
    PeerRun(const Transfer &transfer, const StridedPeerPlan &plan, const ResolvedStream &src, const ResolvedStream &dst)
        : transfer_(transfer), plan_(plan), src_(src), dst_(dst) {
        make_peer_order(transfer, plan, &order_);
    }

    // After a failure no stream may be left with work on the memory that goes with this.
    VIA_NODISCARD Status enqueue() { return end_failed(end_failed(enqueue_pieces(), src_), dst_); }

private:
    Status enqueue_pieces() {
        const Slab first = cut(0);
        if (plan_.packs) {
            VIA_TRY(packed_.allocate(first.nbytes, src_));
        }
        if (plan_.unpacks) {
            VIA_TRY(arrived_.allocate(first.nbytes, dst_));
        }
        for (int64_t offset = 0; offset < order_.nbytes;) {
            const Slab piece = cut(offset);
            VIA_TRY(enqueue_piece(piece));
            offset += piece.nbytes;
        }
        return VIA_OK;
    }

    Slab cut(int64_t offset) const {
        return cut_slab(order_, offset, order_.nbytes, plan_.piece_bytes, plan_.piece_bytes);
    }

    Status enqueue_piece(const Slab &piece) {
        Transfer copy = transfer_;
        Move move;
        copy.nbytes = piece.nbytes;
        make_packing(order_, piece, packed_.address(), &move);
        copy.src = plan_.packs ? packed_.address() : move.src;
        if (plan_.packs) {
            VIA_TRY(enqueue_packing(move, transfer_.src_side, src_));
        }
        make_unpacking(order_, piece, arrived_.address(), &move);
        copy.dst = plan_.unpacks ? arrived_.address() : move.dst;
        VIA_TRY(enqueue_copy(copy));
        return plan_.unpacks ? enqueue_unpacking(move, transfer_.dst_side, dst_) : VIA_OK;
    }

    // With work of both, the source's stream copies, once the memory is there and what arrived before is out of it.
    Status enqueue_copy(const Transfer &copy) {
        if (!plan_.packs || !plan_.unpacks) {
            return copy_bytes(copy, plan_.packs ? src_ : dst_);
        }
        VIA_TRY(follow(src_, dst_));
        VIA_TRY(copy_bytes(copy, src_));
        return follow(dst_, src_);
    }

    const Transfer &transfer_;
    const StridedPeerPlan plan_;
    const ResolvedStream &src_;
    const ResolvedStream &dst_;
    PackedOrder order_;
    Scratch packed_;
    Scratch arrived_;
};

Status enqueue_with(const Transfer &transfer, const StridedPeerPlan &plan, const ResolvedStream &use,
                    const ResolvedStream &side) {
    const bool is_of_src = use.device_id == transfer.src_side.device_id;
    PeerRun run(transfer, plan, is_of_src ? use : side, is_of_src ? side : use);
    return run.enqueue();
}

// The side stream begins after the caller's, and that goes on after it.
Status enqueue_on_both(const Transfer &transfer, const StridedPeerPlan &plan, const ResolvedStream &use,
                       const ResolvedStream &side) {
    VIA_TRY(follow(side, use));
    VIA_TRY(enqueue_with(transfer, plan, use, side));
    return follow(use, side);
}

// Whether that takes a stream of the other device too.
bool needs_both_streams(const Transfer &transfer, const StridedPeerPlan &plan, int32_t device_id) {
    return (plan.packs && device_id != transfer.src_side.device_id) ||
           (plan.unpacks && device_id != transfer.dst_side.device_id);
}

}  // namespace

StridedPeerPlan plan_peer(const Transfer &transfer, int32_t device_id) {
    const bool dst_packed = lies_packed(transfer, Major::Dst);
    const bool src_packed = lies_packed(transfer, Major::Src);
    if (dst_packed && (!src_packed || device_id == transfer.src_side.device_id)) {
        return {Major::Dst, true, false, kPieceBytes};
    }
    return {Major::Src, !src_packed, true, kPieceBytes};
}

// A graph would keep a stream of the library's own.
Status check_peers(const Transfer &transfer, const StridedPeerPlan &plan, const ResolvedStream &use) {
    const int32_t dst = transfer.dst_side.device_id;
    const int32_t src = transfer.src_side.device_id;
    if (use.device_id != dst && use.device_id != src) {
        return fail(VIA_ERROR_DEVICE, "stream is of device %d; expected one of device %d or %d, where the memory is",
                    use.device_id, dst, src);
    }
    if (use.capturing && needs_both_streams(transfer, plan, use.device_id)) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is of device %d and being captured; expected one of device %d, which has elements to pack",
                    use.device_id, use.device_id == dst ? src : dst);
    }
    return VIA_OK;
}

Status prepare_peer_copy(const Transfer &transfer, const StridedPeerPlan &plan, const ResolvedStream &use) {
    constexpr Side kElsewhere{VIA_DEVICE_CUDA_HOST, 0};
    Transfer here = transfer;
    const bool is_of_src = use.device_id == transfer.src_side.device_id;
    (is_of_src ? here.dst_side : here.src_side) = kElsewhere;
    return (is_of_src ? plan.packs : plan.unpacks) ? prepare_kernel(here, use) : VIA_OK;
}

Status enqueue_strided_peer_copy(const Transfer &transfer, const StridedPeerPlan &plan, const ResolvedStream &use) {
    VIA_TRY(check_peers(transfer, plan, use));
    VIA_TRY(prepare_peer_copy(transfer, plan, use));
    if (!needs_both_streams(transfer, plan, use.device_id)) {
        return end_failed(enqueue_with(transfer, plan, use, use), use);
    }
    SideStream side;
    VIA_TRY(side.make(use.device_id == transfer.src_side.device_id ? transfer.dst_side.device_id
                                                                   : transfer.src_side.device_id));
    VIA_TRY(prepare_peer_copy(transfer, plan, side.use()));
    const Status status = enqueue_on_both(transfer, plan, use, side.use());
    return end_failed(end_failed(status, side.use()), use);
}

}  // namespace via::cuda
