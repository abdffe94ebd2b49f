// Copies of packed elements, narrower than a byte, where they do not come in whole bytes: bit by bit, on the host. What
// only a device reaches passes through the host's memory: seldom asked for, and right rather than fast.
#pragma once

#include "copy/plan.hpp"
#include "core/async/task.hpp"
#include "cuda/transfer.hpp"

namespace via {

// Copies `count` bits, counted from the low one of each byte on. Of the bytes at both ends the others are kept.
void copy_bits(char *dst, int64_t dst_bit, const char *src, int64_t src_bit, int64_t count);

// A plan whose steps are bits, of memory that the host reaches.
void run_bits(const Plan &plan);

// Whether a plan takes parts of bytes, which neither driver nor kernels move.
constexpr bool takes_parts_of_bytes(const Plan &plan) { return plan.in_bits || plan.trailing_bits != 0; }

// Such a plan where a device has a part, once everything it must wait for has been reached; returns when it is done.
VIA_NODISCARD Status copy_bits_by_host(const Plan &plan, const cuda::Transfer &transfer, via_task *task);

}  // namespace via
