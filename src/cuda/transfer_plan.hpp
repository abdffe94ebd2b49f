// The route of a transfer, planned once from its sides, its layout and its size, and carried to everything that
// follows. Plain values, made without touching an element.
#pragma once

#include <cstdint>
#include <variant>

#include "core/base/status.hpp"

namespace via::cuda {

struct Transfer;

// The side whose memory gives the order of packed bytes.
enum class Major : int32_t { Dst, Src };

// Adjacent bytes, by one copy of the driver.
struct DriverPlan {};

// How a device copies the bytes of a slot.
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
    double host_time = 0;          // nanoseconds that one worker would take
};

// Strided, by one kernel that reaches both sides by address.
struct KernelCopyPlan {};

// Strided, between the host and a device. Where elements are packed tells them apart.
enum class LinkRoute : int32_t {
    Kernel,  // nowhere: a kernel reads or writes page-locked memory itself
    Rows,    // nowhere: rows of adjacent bytes of page-locked memory by a copy engine
    Packed,  // on the device: by a copy engine to or from scratch memory, in the order of the host's memory, and a
             // kernel
    Raw,     // the same with the gaps of the source, towards the device
    Staged,  // by workers of the host, through the ring of page-locked slots
    Bounced  // by the calling thread, through a small buffer
};

// Rows, Packed and Raw: by copy engines and kernels of the device.
struct LinkCopyPlan {
    LinkRoute route = LinkRoute::Bounced;
    int64_t link_bytes = 0;     // that cross the link, or are touched across it
    int64_t scratch_bytes = 0;  // at most; 0: none
    int64_t calls = 0;          // of copy engines, for rows
    double microseconds = 0;    // as expected
};

// Strided, by the host and the driver, a little at a time.
struct BouncePlan {
    StagedPlan order;
};

enum class PeerRoute : int32_t {
    Driver,  // adjacent bytes, by one copy of the driver
    Push,    // a kernel of the source's device writes the destination
    Pull,    // a kernel of the destination's device reads the source
    Pieces   // piece by piece through scratch memory
};

// Between two devices. Of Pieces the stages are: packing on the source's device, crossing, unpacking on the
// destination's. Where they are direct, packing and crossing are one.
struct PeerPlan {
    PeerRoute route = PeerRoute::Driver;
    bool direct = false;  // the bytes do not pass through the host's memory
    bool src_kernel = false;
    bool dst_kernel = false;
    bool unpacks = false;  // from scratch memory of the destination's device
    Major major = Major::Src;
    int64_t piece_bytes = 0;  // at most
    double microseconds = 0;  // as expected, of strided copies
};

using TransferPlan = std::variant<DriverPlan, StagedPlan, PeerPlan, KernelCopyPlan, LinkCopyPlan, BouncePlan>;

// Whether the caller waits for the copy, so that the host may have a part in it.
enum class Caller : int32_t { Waits, GoesOn };

// The purpose of a plan. Planning for execution makes the ring of a staged route, and plans another route if it cannot
// be had.
enum class Purpose : int32_t { Execute, Describe };

// Plans a transfer whose sides are known. `device_id` is that of the stream. GoesOn matters only to strided page-locked
// memory: with pageable memory the host always has a part. Touches no element.
// Errors: VIA_ERROR_UNSUPPORTED for what only kernels could do where a device runs none.
VIA_NODISCARD Status plan_transfer(const Transfer &transfer, Caller caller, Purpose purpose, int32_t device_id,
                                   TransferPlan *out_plan);

template <class Plan>
constexpr bool is_a(const TransferPlan &plan) {
    return std::holds_alternative<Plan>(plan);
}

}  // namespace via::cuda
