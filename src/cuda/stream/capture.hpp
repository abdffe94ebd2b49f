// Ties objects and storages to the life of a graph that was captured with them.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Gives an object to the graph that is being captured on this stream. `release` is called once the graph and every
// instance of it is gone, or at once on failure. It may call neither the driver nor an owner.
VIA_NODISCARD Status give_to_graph(const ResolvedStream &stream, void *thing, CUhostFn release);

// Holds storages until then. Their release never runs inside the driver's callback.
VIA_NODISCARD Status hold_in_graph(const ResolvedStream &stream, Storage *const *storages, int64_t count = 1);

}  // namespace via::cuda
