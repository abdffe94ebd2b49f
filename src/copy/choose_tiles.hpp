// Chooses the tiles and threads of a copy on the host, from its layout alone.
#pragma once

#include "copy/plan.hpp"

namespace via {

// Returns whether a copy is one tile whatever its layout: the first-level cache holds it, or nearly.
constexpr bool is_small(const Plan &plan) { return plan.nbytes <= int64_t{32} << 10; }

// Decides how a copy in normal form is to be done.
void choose_tiles(Plan *plan);

// Decides for so many threads. `streaming`: with stores that bypass the cache, where that pays.
void choose_tiles(Plan *plan, int32_t threads, bool streaming = false);

}  // namespace via
