// Adjacent bytes moved by the driver's own calls. Callers have entered the stream's context; where pageable memory has
// a part, they are in relaxed capture mode as well.
#pragma once

#include "cuda/stream/resolved_stream.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// In the order of the stream, behind all that it has been told to wait for. Pageable memory is the caller's again on
// return: a source has been read, a destination written.
VIA_NODISCARD Status copy_by_driver(const Transfer &transfer, const ResolvedStream &use);

// The same between two devices. Needs no peer access to have been switched on; where the devices cannot reach one
// another, the driver goes through the host's memory.
VIA_NODISCARD Status copy_to_peer(const Transfer &transfer, const ResolvedStream &use);

// Either one as a node of the graph that is being captured on the stream. No pageable memory.
VIA_NODISCARD Status capture_driver_copy(const Transfer &transfer, const ResolvedStream &use);

// Waits on the host for the stream's work so far.
VIA_NODISCARD Status await_work(const ResolvedStream &use);

}  // namespace via::cuda
