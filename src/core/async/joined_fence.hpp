// Several marks as one, reached when all of them are.
#pragma once

#include "core/async/fence.hpp"

namespace via {

// Takes over the `count` marks (nullptr ones are left out), on failure too. *out_mark is nullptr if there are none.
VIA_NODISCARD Status join_marks(Mark *const *marks, int32_t count, Mark **out_mark);

}  // namespace via
