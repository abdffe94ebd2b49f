#include "cuda/staging/staging_plan.hpp"

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
void make_staged_order(const Transfer &transfer, const StagedPlan &plan, PackedOrder *out_order) {
    const bool broadcast_is_packed = is_to_device(transfer) && plan.step == DeviceStep::Engine;
    make_packed_order(transfer, plan.major, broadcast_is_packed, out_order);
}

void make_host_move(const PackedOrder &order, bool to_device, void *buffer, Move *out_move) {
    to_device ? make_packing(order, whole(order), buffer, out_move)
              : make_unpacking(order, whole(order), buffer, out_move);
}

void make_device_move(const PackedOrder &order, bool to_device, void *buffer, Move *out_move) {
    make_host_move(order, !to_device, buffer, out_move);
}

// The order is that of the host's memory, so that its workers go through it as fast as they can, and the device, which
// is faster by far, turns what has to be turned. Without kernels the host does that too.
StagedPlan plan_staged(const Transfer &transfer, bool kernels) {
    const bool to_device = is_to_device(transfer);
    const bool is_source_major = to_device == kernels;
    StagedPlan plan{is_source_major ? Major::Src : Major::Dst, kernels ? DeviceStep::Kernel : DeviceStep::Engine, false,
                    false};
    PackedOrder order;
    Move move;
    make_staged_order(transfer, plan, &order);
    make_device_move(order, to_device, transfer.dst, &move);
    if (order.broadcast_axes == 0 && suits_engine(move)) {
        plan.step = DeviceStep::Engine;
    }
    make_host_move(order, to_device, transfer.dst, &move);
    plan.adjacent_on_host = move.ndim == 0;
    plan.narrow_on_host = move.ndim > 0 && move.run < kNarrow;
    return plan;
}

}  // namespace via::cuda
