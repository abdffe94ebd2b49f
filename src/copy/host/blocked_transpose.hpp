// Permutes whose two fastest axes are short: blocks of several axes, turned into a scratch that stays in the cache and
// written from there in rows long enough for streaming stores.
#pragma once

#include "copy/host/piece.hpp"
#include "copy/plan.hpp"

namespace via {

inline constexpr int64_t kScratchBytes = int64_t{72} << 10;

// Turns a transpose with short sides into such a permute, if there are axes that lengthen them; false if it stays.
bool lengthen_sides(Plan *plan);

// One block of it is two copies, one into the scratch and one out of it, neither of which is cut. `piece` has the part
// of the axes that are cut.
void plan_scratch(const Plan &plan, const Piece &piece, char *scratch, Plan *out_transposed, Plan *out_flush);

// Does the first of them, a panel at a time.
void transpose_ahead(const Piece &piece);

}  // namespace via
