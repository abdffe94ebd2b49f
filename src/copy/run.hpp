// Carries a plan out.
#pragma once

#include "copy/plan.hpp"

namespace via {

void run_plan(const Plan &plan);

}  // namespace via
