// How the host does a copy in normal form: its loops, blocks and threads, decided from the layout alone.
#pragma once

#include "copy/plan.hpp"

namespace via {

// Decides how a copy in normal form is to be done.
void choose_loops(Plan *plan);

// The same for one thread among others; `streaming`: with stores that bypass the cache, where there are such.
void choose_loops_single(Plan *plan, bool streaming);

// Of LoopKind::Elements: whether there is a kernel that shuffles for their gaps, and the lines are long enough for it.
bool has_even_gaps(const Plan &plan);

const char *loop_kind_name(LoopKind loops);

}  // namespace via
