#include "cuda/route/peer_copy.hpp"

#include <algorithm>

#include "core/base/rounding.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/layout/packed_order.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/staging/staging_endpoints.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/piece_relay.hpp"

namespace via::cuda {
namespace {

// The pieces of a transfer, in its packed order.
class StridedParts final : public PeerParts {
public:
    using PeerParts::PeerParts;

    PeerPlan plan_unreached(int32_t device_id) const override { return cuda::plan_unreached(reached(), device_id); }
    void cut_for(const PeerPlan &plan) override {
        order_ = make_peer_order(reached(), plan);
        far_side_ = plan.direct && !plan.pulled ? FarSide::Dst : FarSide::None;
    }
    int64_t nbytes() const override { return order_.nbytes; }

    int64_t length(int64_t offset, int64_t most) const override {
        return cut_slab(order_, offset, order_.nbytes, most, most).nbytes;
    }

    Status pack(void *packed, int64_t offset, int64_t nbytes, const ResolvedStream &stream) override {
        const Move move = make_packing(order_, slab_of(order_, offset, nbytes), packed);
        return enqueue_move(move.transfer(kPinned, reached().src_side), stream, far_side_);
    }

    Status unpack(const void *packed, int64_t offset, int64_t nbytes, const ResolvedStream &stream) override {
        const Move move = make_unpacking(order_, slab_of(order_, offset, nbytes), packed);
        return enqueue_move(move.transfer(reached().dst_side, kPinned), stream);
    }

    const void *packed_src(int64_t offset, int64_t nbytes) const override {
        return make_packing(order_, slab_of(order_, offset, nbytes), reached().dst).src;
    }

    void *packed_dst(int64_t offset, int64_t nbytes) const override {
        return make_unpacking(order_, slab_of(order_, offset, nbytes), reached().src).dst;
    }

private:
    PackedOrder order_;
    FarSide far_side_ = FarSide::None;
};

// A copy in pieces, under way. Each stream is of its device. They are one stream if a device has no part.
class PeerPieces {
public:
    PeerPieces(PeerParts &parts, const PeerPlan &plan, const ResolvedStream &src, const ResolvedStream &dst)
        : transfer_(parts.reached()), parts_(parts), plan_(plan), src_(src), dst_(dst), relay_(src, dst) {
        parts.cut_for(plan);
        const int64_t most = largest_piece(plan, parts.nbytes());
        buffer_bytes_ = round_up(std::max(most, parts.length(0, most)), PieceRelay::kAlignment);
    }

    // Sets *out_allocated to false, and queues nothing, if the source's device cannot reach the scratch memory or there
    // is no room.
    VIA_NODISCARD Status allocate(bool *out_allocated) {
        const int64_t first = parts_.length(0, next_piece(plan_, parts_.nbytes(), 0));
        const int32_t buffers = PieceRelay::count_buffers(first, parts_.nbytes());
        if (plan_.direct) {
            const int32_t device_id = plan_.pulled ? src_.device_id : dst_.device_id;
            VIA_TRY(landing_.allocate_opened(buffers * buffer_bytes_, device_id, src_, dst_));
        } else if (plan_.unpacks) {
            VIA_TRY(landing_.allocate(buffers * buffer_bytes_, dst_));
        }
        if (packs()) {
            VIA_TRY(packed_.allocate(buffer_bytes_, src_));
        }
        *out_allocated = !plan_.unpacks || landing_.address() != nullptr;
        return VIA_OK;
    }

    VIA_NODISCARD Status enqueue() {
        if (relay_.has_two_streams() && !plan_.direct) {
            VIA_TRY(follow(src_, dst_));  // which allocates
        }
        int64_t offset = 0;
        for (int64_t number = 0, nbytes = 0; offset < parts_.nbytes(); ++number, offset += nbytes) {
            nbytes = parts_.length(offset, next_piece(plan_, parts_.nbytes(), offset));
            VIA_TRY(relay_.pass(
                number, offset + nbytes == parts_.nbytes(), [&] { return fill(offset, nbytes, number); },
                [&] { return empty(offset, nbytes, number); }));
        }
        return VIA_OK;
    }

private:
    bool packs() const { return !plan_.direct && plan_.src_kernel; }
    void *landing(int64_t number) const {
        return static_cast<char *>(landing_.address()) + PieceRelay::buffer_of(number) * buffer_bytes_;
    }

    Status copy_across(void *dst, const void *src, int64_t nbytes) const {
        return copy_to_peer({dst, src, nbytes, transfer_.dst_side, transfer_.src_side}, src_);
    }

    Status fill(int64_t offset, int64_t nbytes, int64_t number) {
        if (plan_.direct) {
            return parts_.pack(landing(number), offset, nbytes, src_);
        }
        if (packs()) {
            VIA_TRY(parts_.pack(packed_.address(), offset, nbytes, src_));
        }
        const void *src = packs() ? packed_.address() : parts_.packed_src(offset, nbytes);
        return plan_.unpacks ? copy_across(landing(number), src, nbytes) : VIA_OK;
    }

    Status empty(int64_t offset, int64_t nbytes, int64_t number) {
        return plan_.unpacks ? parts_.unpack(landing(number), offset, nbytes, dst_)
                             : copy_across(parts_.packed_dst(offset, nbytes), packed_.address(), nbytes);
    }

    const Transfer &transfer_;
    PeerParts &parts_;
    const PeerPlan &plan_;
    const ResolvedStream &src_;
    const ResolvedStream &dst_;
    int64_t buffer_bytes_;
    Scratch landing_;
    Scratch packed_;
    PieceRelay relay_;
};

// The streams of both parts: the caller's, and a side stream if there is one.
struct PeerStreams {
    const ResolvedStream &src;
    const ResolvedStream &dst;
};

// Returns true if the driver says that a device does not reach what it was asked to open to it. What has been copied is
// copied again; a graph keeps what it has.
bool is_unreached(Status status, const PeerPlan &plan, const PeerStreams &streams) {
    return status == VIA_ERROR_CUDA && last_error_code() == CUDA_ERROR_INVALID_VALUE && plan.direct &&
           !streams.src.capturing && !streams.dst.capturing;
}

Status enqueue_pieces(PeerParts &parts, const PeerPlan &plan, const PeerStreams &streams) {
    bool done = false;
    {
        PeerPieces pieces(parts, plan, streams.src, streams.dst);
        Status status = pieces.allocate(&done);
        status = status == VIA_OK && done ? pieces.enqueue() : status;
        const bool unreached = is_unreached(status, plan, streams);
        // Leaves no stream with work on the scratch memory.
        status = end_failed(end_failed(status, streams.src), streams.dst);
        VIA_TRY(unreached ? VIA_OK : status);
        if (unreached) {
            done = false;
        }
    }
    if (done) [[likely]] {
        return VIA_OK;
    }
    const PeerPlan by_driver = parts.plan_unreached(streams.src.device_id);
    VIA_TRY(by_driver.route == PeerRoute::Driver ? copy_to_peer(parts.reached(), streams.src)
                                                 : enqueue_pieces(parts, by_driver, streams));
    return follow(streams.dst, streams.src);
}

Status enqueue_on(PeerParts &parts, const PeerPlan &plan, const PeerStreams &streams) {
    if (plan.route == PeerRoute::Pieces) {
        return enqueue_pieces(parts, plan, streams);
    }
    return plan.route == PeerRoute::Push ? enqueue_kernel(with_src_only(parts.reached()), streams.src, FarSide::Dst)
                                         : enqueue_kernel(with_dst_only(parts.reached()), streams.dst, FarSide::Src);
}

bool works_on_src(const PeerPlan &plan) {
    return plan.route == PeerRoute::Push || (plan.route == PeerRoute::Pieces && (plan.direct || plan.src_kernel));
}

bool works_on_dst(const PeerPlan &plan) {
    return plan.route == PeerRoute::Pull || (plan.route == PeerRoute::Pieces && plan.unpacks);
}

// Returns whether a device's part runs on the caller's stream. Kernels that reach the other device's memory run in the
// primary context, which the driver was asked about.
bool is_done_on(const ResolvedStream &stream, int32_t device_id, const PeerPlan &plan) {
    return stream.device_id == device_id && (plan.route == PeerRoute::Pieces || is_of_primary_context(stream));
}

// Returns the device that needs a side stream, or -1 if the caller's stream has all the work.
int32_t find_side_device(const Transfer &transfer, const PeerPlan &plan, const ResolvedStream &stream) {
    const int32_t src = transfer.src_side.device_id;
    const int32_t dst = transfer.dst_side.device_id;
    if (works_on_src(plan) && !is_done_on(stream, src, plan)) {
        return src;
    }
    return works_on_dst(plan) && !is_done_on(stream, dst, plan) ? dst : -1;
}

// Returns whether the pieces order a side stream by themselves: that of the destination's device begins after the first
// piece, and that of the source's device has ended before the last one is unpacked. A failed capture might leave it
// out.
bool is_ordered_by_pieces(const PeerPlan &plan, const ResolvedStream &stream) {
    return plan.route == PeerRoute::Pieces && plan.direct && !stream.capturing;
}

// Orders the side stream after the caller's, and that after the side stream. Joins the side stream in a capture again,
// whatever failed. A host that waits needs neither to wait for the other: it waits for the one that has the last part,
// which is the destination's.
Status enqueue_with_side(PeerParts &parts, const PeerPlan &plan, const ResolvedStream &stream, SideStream &side_stream,
                         Caller caller) {
    const ResolvedStream &side = side_stream.get();
    const bool waits = caller == Caller::Waits;
    const bool is_src = side.device_id == parts.reached().src_side.device_id;
    const bool on_both = works_on_src(plan) && works_on_dst(plan);
    const bool is_ordered = on_both && is_ordered_by_pieces(plan, stream);
    VIA_TRY((is_ordered && !is_src) || (waits && is_idle(stream)) ? VIA_OK : follow(side, stream));
    const Status status =
        enqueue_on(parts, plan, {is_src || !on_both ? side : stream, !is_src || !on_both ? side : stream});
    if (waits) {
        const bool ends_here = status == VIA_OK && on_both && is_src;
        return first_of(status, ends_here ? wait_for_stream(stream) : side_stream.wait());
    }
    return status == VIA_OK && is_ordered && is_src ? VIA_OK : first_of(status, follow(stream, side));
}

// `side_device`: as find_side_device. For a caller that waits, all work is done on return.
Status enqueue_parts(PeerParts &parts, const PeerPlan &plan, int32_t side_device, const ResolvedStream &stream,
                     Caller caller) {
    if (side_device < 0) {
        VIA_TRY(end_failed(enqueue_on(parts, plan, {stream, stream}), stream));
        return caller == Caller::Waits ? wait_for_stream(stream) : VIA_OK;
    }
    SideStream side;
    VIA_TRY(side.take(side_device, stream));
    return end_failed(end_failed(enqueue_with_side(parts, plan, stream, side, caller), side.get()), stream);
}

// Prepares the part of one device, like prepare_kernel.
Status prepare_part(const Transfer &transfer, const Side &side, int32_t side_device, const ResolvedStream &stream) {
    const bool is_src = side.device_id == transfer.src_side.device_id;
    const Transfer here = is_src ? with_src_only(transfer) : with_dst_only(transfer);
    if (side.device_id != side_device) {
        return prepare_kernel(here, stream);
    }
    ContextKey primary{};
    VIA_TRY(primary_context(side.device_id, &primary));
    return prepare_kernel(here, {CU_STREAM_LEGACY, primary.context, primary.id, side.device_id, stream.capturing, 0});
}

Status prepare_parts(const Transfer &transfer, const PeerPlan &plan, int32_t side_device,
                     const ResolvedStream &stream) {
    VIA_TRY(plan.src_kernel ? prepare_part(transfer, transfer.src_side, side_device, stream) : VIA_OK);
    return plan.dst_kernel ? prepare_part(transfer, transfer.dst_side, side_device, stream) : VIA_OK;
}

Status check_peer_stream(const Transfer &transfer, const ResolvedStream &stream) {
    const int32_t dst = transfer.dst_side.device_id;
    const int32_t src = transfer.src_side.device_id;
    return stream.device_id == dst || stream.device_id == src
               ? VIA_OK
               : fail(VIA_ERROR_DEVICE, "stream is of device %d; expected one of device %d or %d, where the memory is",
                      stream.device_id, dst, src);
}

}  // namespace

Status prepare_peer_copy(const Transfer &transfer, const PeerPlan &plan, const ResolvedStream &stream) {
    if (transfer.ndim == 0) {
        return VIA_OK;
    }
    VIA_TRY(check_peer_stream(transfer, stream));
    return prepare_parts(transfer, plan, find_side_device(transfer, plan, stream), stream);
}

// One kernel on the caller's stream is checked as it is launched: nothing comes before it.
Status enqueue_peer_copy(const Transfer &transfer, const PeerPlan &plan, const ResolvedStream &stream, Caller caller) {
    VIA_TRY(transfer.ndim > 0 ? check_peer_stream(transfer, stream) : VIA_OK);
    if (plan.route == PeerRoute::Driver) {
        VIA_TRY(copy_to_peer(transfer, stream));
        return caller == Caller::Waits ? wait_for_stream(stream) : VIA_OK;
    }
    const int32_t side_device = find_side_device(transfer, plan, stream);
    if (side_device >= 0 || plan.route == PeerRoute::Pieces) {
        VIA_TRY(prepare_parts(transfer, plan, side_device, stream));
    }
    StridedParts parts(transfer);
    return enqueue_parts(parts, plan, side_device, stream, caller);
}

Status enqueue_peer_parts(PeerParts &parts, const PeerPlan &plan, const ResolvedStream &stream) {
    VIA_TRY(check_peer_stream(parts.reached(), stream));
    return enqueue_parts(parts, plan, find_side_device(parts.reached(), plan, stream), stream, Caller::GoesOn);
}

}  // namespace via::cuda
