// How a strided copy passes through the ring: decided from its layout alone.
#pragma once

#include "cuda/layout/packed_order.hpp"

namespace via::cuda {

// What a device does with the bytes of a slot.
enum class DeviceStep : int32_t {
    Engine,  // a copy engine brings them to where they belong
    Kernel   // by way of scratch memory and a kernel
};

struct StagedPlan {
    Major major;
    DeviceStep step;
    bool adjacent_on_host;  // workers need not gather or scatter
    bool narrow_on_host;    // what they gather or scatter is little at a time
};

// `kernels`: whether the device runs the library's.
StagedPlan plan_staged(const Transfer &transfer, bool kernels);

// The order in which such a copy passes.
void make_staged_order(const Transfer &transfer, const StagedPlan &plan, PackedOrder *out_order);

// What the host does, and the device, as one move each. `buffer` stands for the slot.
void make_host_move(const PackedOrder &order, bool to_device, void *buffer, Move *out_move);
void make_device_move(const PackedOrder &order, bool to_device, void *buffer, Move *out_move);

}  // namespace via::cuda
