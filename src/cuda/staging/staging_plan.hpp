// Plans how a strided copy passes through the ring, from its layout alone.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// `kernels`: whether the device runs the library's kernels.
StagedPlan plan_staged(const Transfer &transfer, bool kernels);

// Makes the order in which such a copy passes.
void make_staged_order(const Transfer &transfer, const StagedPlan &plan, PackedOrder *out_order);

// Returns the nanoseconds that one thread of the host takes to gather or scatter.
double host_time(const Move &move);

// Returns how many threads, at most `most`, are worth waking for that.
int32_t worth_waking(double host_time, int32_t most);

// Makes the host's part, and the device's, as one move. `buffer` stands for the slot.
void make_host_move(const PackedOrder &order, bool to_device, void *buffer, Move *out_move);
void make_device_move(const PackedOrder &order, bool to_device, void *buffer, Move *out_move);

}  // namespace via::cuda
