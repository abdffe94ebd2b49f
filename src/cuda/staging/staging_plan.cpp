#include "cuda/staging/staging_plan.hpp"

#include "cuda/route/pinned_copy_plan.hpp"
#include "cuda/layout/row_copies.hpp"

namespace via::cuda {
namespace {

// From here on a copy engine is as fast with rows as with all of them in one.
constexpr int64_t kEngineRow = 128;

// Less than a cache line.
constexpr int64_t kNarrow = 64;

// Several calls for a chunk cost more than a kernel does.
constexpr int64_t kBytesOfCall = int64_t{1} << 20;

bool suits_engine(const Move &move) {
    return move.ndim == 0 || (move.run >= kEngineRow && count_row_calls(move) <= 1 + move.nbytes / kBytesOfCall);
}

}  // namespace

// Where the source stands still, the host's workers and kernels write one element to every place; copy engines cannot.
void make_staged_crossing(const Transfer &transfer, const StagedPlan &plan, Crossing *out_crossing) {
    const bool still_crosses = is_to_device(transfer) && plan.step == DeviceStep::Engine;
    make_crossing(transfer, plan.lead, still_crosses, out_crossing);
}

void make_host_move(const Crossing &crossing, bool to_device, void *buffer, Move *out_move) {
    to_device ? make_packing(crossing, whole(crossing), buffer, out_move)
              : make_unpacking(crossing, whole(crossing), buffer, out_move);
}

void make_device_move(const Crossing &crossing, bool to_device, void *buffer, Move *out_move) {
    make_host_move(crossing, !to_device, buffer, out_move);
}

// The order is that of the host's memory, so that its workers go through it as fast as they can, and the device, which
// is faster by far, turns what has to be turned. Without kernels the host does that too.
StagedPlan plan_staged(const Transfer &transfer, bool kernels) {
    const bool to_device = is_to_device(transfer);
    const bool source_leads = to_device == kernels;
    StagedPlan plan{source_leads ? Lead::Src : Lead::Dst, kernels ? DeviceStep::Kernel : DeviceStep::Engine, false,
                    false};
    Crossing crossing;
    Move move;
    make_staged_crossing(transfer, plan, &crossing);
    make_device_move(crossing, to_device, transfer.dst, &move);
    if (crossing.still == 0 && suits_engine(move)) {
        plan.step = DeviceStep::Engine;
    }
    make_host_move(crossing, to_device, transfer.dst, &move);
    plan.adjacent_on_host = move.ndim == 0;
    plan.narrow_on_host = move.ndim > 0 && move.run < kNarrow;
    return plan;
}

}  // namespace via::cuda
