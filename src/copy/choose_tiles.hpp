// How the host does a copy in normal form: its tiles and threads, decided from the layout alone.
#pragma once

#include "copy/plan.hpp"

namespace via {

// Whether a copy is one tile whatever its layout: the first-level cache holds it, or nearly. Nothing is to be decided.
constexpr bool is_small(const Plan &plan) { return plan.nbytes <= int64_t{32} << 10; }

// Decides how a copy in normal form is to be done.
void choose_tiles(Plan *plan);

// The same for one thread among others; `streaming`: with stores that bypass the cache, where there are such.
void choose_tiles_single(Plan *plan, bool streaming);

}  // namespace via
