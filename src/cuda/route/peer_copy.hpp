// Copies between two devices.
//
// How it works. Bytes cross the link between two GPUs at its full rate only where the driver lets one of them reach the
// memory of the other. That is so where the application has switched peer access on, and for memory pools that are open
// to the other device. Viaduct switches nothing on; it has a pool of its own on each device, which it opens to a device
// that copies there.
//
//   Driver   adjacent bytes that one device reaches, or less than 64 KiB, or where neither ever can: cuMemcpyPeerAsync
//   Push     strided, and the source's device reaches the destination: its kernel reads its own memory in any order,
//            and writes across the link in the order of the destination
//   Pull     the same on the other side, where that is estimated to take less time: mostly where dst has gaps
//   Pieces   all else, by way of scratch memory of the destination's device:
//
//       source's stream        [ piece 0 -> buffer 0 ][ piece 1 -> buffer 1 ][ piece 2 -> buffer 0 ]
//       destination's stream                          [ buffer 0 -> dst ]    [ buffer 1 -> dst ]    [ buffer 0 -> dst ]
//
//            or of the source's, if dst has no gaps: kernels pack there, and a copy engine of the destination's device
//            pulls the pieces to where they belong. Nothing but whole pieces crosses then, at the rate of plain bytes.
//
// What is not the link's part takes a fraction of its time, so two buffers keep the link busy. Large pieces lose least
// at their beginnings. The last ones are small where they are unpacked, and the first ones where they are pulled: the
// link is idle meanwhile. Pieces cross in the order of one side. In that of the source, adjacent bytes cross by a copy
// engine; a kernel packs the others as it writes across the link. Pieces of a source whose outermost loop is the
// innermost of the destination would store a few elements of each of its runs: they cross in the order of the
// destination. The planner estimates each way, piece by piece.
//
// A copy that needs work of both devices takes a stream of the other one that nobody else uses. It begins after the
// caller's stream, which goes on after it; in a capture it joins, and the scratch memory is the graph's. Where no GPU
// reaches the other, each packs and unpacks within its own memory, and the driver copies in between.
#pragma once

#include "cuda/route/peer_plan.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// What a copy in pieces packs and unpacks.
class PeerParts : public DevicePart {
public:
    using DevicePart::DevicePart;

    // Returns the plan for devices that turn out to reach nothing of each other.
    virtual PeerPlan plan_unreached(int32_t) const { return plan_packed_pieces(false); }

    // Called before the members below, and again for another plan.
    virtual void cut_for(const PeerPlan &) {}

    virtual int64_t nbytes() const = 0;

    // Returns the bytes of the piece at `offset`: at most `most`, or what cannot be cut.
    virtual int64_t length(int64_t offset, int64_t most) const = 0;

    // Return the arrays' own bytes, for plans that do not pack or not unpack.
    virtual const void *packed_src(int64_t /*offset*/, int64_t /*nbytes*/) const { return nullptr; }
    virtual void *packed_dst(int64_t /*offset*/, int64_t /*nbytes*/) const { return nullptr; }

protected:
    ~PeerParts() = default;
};

// Refuses streams of a third device, and loads the kernels of both devices that have a part, unless the stream is being
// captured. Errors: VIA_ERROR_DEVICE, VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status prepare_peer_copy(const Transfer &transfer, const PeerPlan &plan, const ResolvedStream &stream);

// Queues such a copy, and captures it on a stream that is being captured. For a caller that waits, it is done on
// return. On failure, waits for what was queued. Errors: VIA_ERROR_UNSUPPORTED if a device has no kernels.
VIA_NODISCARD Status enqueue_peer_copy(const Transfer &transfer, const PeerPlan &plan, const ResolvedStream &stream,
                                       Caller caller = Caller::GoesOn);

// Queues a copy in pieces of whatever the parts are. Every piece is packed and unpacked by kernels. On failure, waits
// for what was queued. The stream must not be capturing. Errors: VIA_ERROR_DEVICE for a stream of a third device.
VIA_NODISCARD Status enqueue_peer_parts(PeerParts &parts, const PeerPlan &plan, const ResolvedStream &stream);

}  // namespace via::cuda
