// Carries a plan out.
#pragma once

#include "copy/plan.hpp"

namespace via {

void run_plan(const Plan &plan);

// Decides how a copy in normal form is to be done, and does it, to the last bit.
void run_copy(Plan *plan);

// The same by the piece, of about 8 MiB, for a task: it can be cancelled in between, and its progress is `done_before`
// and what has been copied. Errors: VIA_ERROR_CANCELLED.
VIA_NODISCARD Status run_copy_in_pieces(Plan *plan, int64_t done_before, via_task *task);

}  // namespace via
