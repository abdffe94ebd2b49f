// Several fences as one, reached when all of them are.
#pragma once

#include "core/async/fence.hpp"

namespace via {

// Takes over the `count` fences (nullptr ones are left out), on failure too. *out_fence is nullptr if there are none.
VIA_NODISCARD Status join_fences(Fence *const *fences, int32_t count, Fence **out_fence);

}  // namespace via
