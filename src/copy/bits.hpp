// Copies packed elements that do not come in whole bytes, bit by bit, on the host. Device memory passes through the
// host's: rarely needed, and correct rather than fast.
#pragma once

#include "copy/plan.hpp"
#include "core/async/task.hpp"
#include "cuda/transfer.hpp"

namespace via {

// Copies `count` bits, counted from the low one of each byte on. Keeps the other bits of the bytes at both ends.
void copy_bits(char *dst, int64_t dst_bit, const char *src, int64_t src_bit, int64_t count);

// Runs a plan whose steps are bits, in memory that the host reaches.
void run_bits(const Plan &plan);

// Returns whether a plan moves parts of bytes, which neither the driver nor kernels do.
constexpr bool takes_parts_of_bytes(const Plan &plan) { return plan.in_bits || plan.trailing_bits != 0; }

// Runs such a plan with a part on a device, after everything that it must wait for. Returns when it is done.
VIA_NODISCARD Status copy_bits_by_host(const Plan &plan, const cuda::Transfer &transfer, via_task *task);

}  // namespace via
