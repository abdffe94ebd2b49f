// Runs plans of the host.
#pragma once

#include "copy/plan.hpp"

namespace via {

void run_plan(const Plan &plan);

// Chooses tiles for a copy in normal form, and runs it to the last bit.
void run_copy(Plan *plan);

// Runs it in pieces of about 8 MiB, for a task, which can be cancelled in between. Reports `done_before` and the bytes
// copied as progress. Errors: VIA_ERROR_CANCELLED.
VIA_NODISCARD Status run_copy_in_pieces(Plan *plan, int64_t done_before, via_task *task);

}  // namespace via
