// How a transfer would be done, in words.
#pragma once

#include "cuda/transfer_plan.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// Writes how a transfer would be done, in a few words: "driver copy, host to device"; for a kernel also which and how.
void describe_transfer(const Transfer &transfer, const TransferPlan &plan, int64_t capacity, char *out_text);

}  // namespace via::cuda
