// How a transfer goes: decided once, from its sides, its layout and its size, and handed to everything that follows.
// Plain values, made without touching an element.
#pragma once

#include <cstdint>
#include <variant>

#include "core/base/status.hpp"

namespace via::cuda {

struct Transfer;

// Which side's memory gives the order in which packed bytes are numbered.
enum class Major : int32_t { Dst, Src };

// Adjacent bytes, by one copy of the driver.
struct DriverPlan {};

// Adjacent bytes between two devices, by the driver.
struct PeerPlan {};

// What a device does with the bytes of a slot.
enum class DeviceStep : int32_t {
    Engine,  // a copy engine brings them to where they belong
    Kernel   // by way of scratch memory and a kernel
};

// Through the ring of page-locked slots. The members are of strided transfers.
struct StagedPlan {
    Major major = Major::Src;
    DeviceStep step = DeviceStep::Engine;
    bool adjacent_on_host = true;  // workers need not gather or scatter
    bool narrow_on_host = false;   // what they gather or scatter is little at a time
};

// Strided, by one kernel that reaches both sides by address.
struct KernelCopyPlan {};

enum class PinnedRoute : int32_t {
    Kernel,  // a kernel reads or writes the page-locked memory itself
    Rows,    // rows of adjacent bytes by a copy engine
    Packed,  // by a copy engine to or from scratch memory of the device, in the order of the host's memory, and a
             // kernel
    Raw,     // the same with the gaps of the source, towards the device
    Staged   // workers of the host, through the ring of page-locked slots
};

// Strided, between page-locked memory and a device, by copy engines and kernels of the device.
struct PinnedCopyPlan {
    PinnedRoute route;
    int64_t link_bytes;     // that cross the link, or are touched across it
    int64_t scratch_bytes;  // at most; 0: none
    int64_t calls;          // of copy engines, for rows
    double microseconds;    // as expected
};

// Strided, by the host and the driver, a little at a time.
struct BouncePlan {
    StagedPlan order;
};

// Strided, between two devices: a kernel of the source's device packs the elements into one piece, unless they lie so
// already, and one of the destination's device unpacks them.
struct StridedPeerPlan {
    Major major;
    bool packs;
    bool unpacks;
    int64_t piece_bytes;  // at most, on either device
};

using TransferPlan =
    std::variant<DriverPlan, StagedPlan, PeerPlan, KernelCopyPlan, PinnedCopyPlan, BouncePlan, StridedPeerPlan>;

// Whether the host may have a part in the work: it waits for it, or for all of it but its device's.
enum class Caller : int32_t { Waits, GoesOn };

// What a plan is made for. One that is to be executed makes the ring that it stages through; where there is none to be
// had, another route is planned.
enum class Purpose : int32_t { Execute, Describe };

// Plans a transfer whose sides are known. `device_id` is that of the stream. GoesOn makes a difference only to strided
// page-locked memory: of pageable memory the host has a part anyway. Touches no element.
// Errors: VIA_ERROR_UNSUPPORTED for what only kernels could do where a device runs none.
VIA_NODISCARD Status plan_transfer(const Transfer &transfer, Caller caller, Purpose purpose, int32_t device_id,
                                   TransferPlan *out_plan);

template <class Plan>
constexpr bool is_a(const TransferPlan &plan) {
    return std::holds_alternative<Plan>(plan);
}

}  // namespace via::cuda
