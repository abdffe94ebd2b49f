// Describes how a transfer would be done.
#pragma once

#include "cuda/transfer_plan.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// Writes the route in a few words: "driver copy, host to device". Names the kernel, if there is one.
void describe_transfer(const Transfer &transfer, const TransferPlan &plan, int64_t capacity, char *out_text);

}  // namespace via::cuda
