// How a strided copy passes through the ring: decided from its layout alone.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// `kernels`: whether the device runs the library's.
StagedPlan plan_staged(const Transfer &transfer, bool kernels);

// The order in which such a copy passes.
void make_staged_order(const Transfer &transfer, const StagedPlan &plan, PackedOrder *out_order);

// What the host does, and the device, as one move each. `buffer` stands for the slot.
void make_host_move(const PackedOrder &order, bool to_device, void *buffer, Move *out_move);
void make_device_move(const PackedOrder &order, bool to_device, void *buffer, Move *out_move);

}  // namespace via::cuda
