// Queues what a plan says, with one overload for each plan. run_staged of staging.hpp runs a StagedPlan.
#pragma once

#include "cuda/stream/resolved_stream.hpp"
#include "cuda/transfer_plan.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// Refuses what enqueue_plan would refuse, and loads kernels, before anything is touched.
// Errors: VIA_ERROR_DEVICE, VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status prepare_plan(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream);

// Queues the plan. Call with the stream's context entered. What the host has a part in is done on return.
VIA_NODISCARD Status enqueue_plan(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream);

}  // namespace via::cuda
