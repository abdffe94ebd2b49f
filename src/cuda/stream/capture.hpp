// What graphs keep: things and storages that live as long as a graph that was captured with them.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// For graphs: `let_go` is called when the graph that is being captured on this stream, and every instance of it, is
// gone; on failure at once. It may call neither the driver nor an owner.
VIA_NODISCARD Status give_to_graph(const ResolvedStream &use, void *thing, CUhostFn let_go);

// The same for storages, which live until then. Their release never runs inside the driver's callback.
VIA_NODISCARD Status hold_in_graph(const ResolvedStream &use, Storage *const *storages, int64_t count);

VIA_NODISCARD inline Status hold_in_graph(const ResolvedStream &use, Storage *storage) {
    return hold_in_graph(use, &storage, 1);
}

}  // namespace via::cuda
