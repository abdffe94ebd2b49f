// A transfer: its sides, its layout, and the route that is planned once and carried to everything that follows. Plain
// values, made without touching an element.
#pragma once

#include <cstdint>
#include <variant>

#include "core/array/array.hpp"
#include "core/base/status.hpp"
#include "core/layout/axis.hpp"

namespace via {

class TextBuffer;

}  // namespace via

namespace via::cuda {

// The memory of one side. VIA_DEVICE_ANY: unknown, for host memory that may have been registered.
struct Side {
    int32_t device_type;
    int32_t device_id;
};

struct Move;

// A strided host copy, passed in by the rooms above: on the calling thread alone, or with helpers where they gain.
using HostCopy = void (*)(const Move &move, bool helped);

struct Transfer {
    void *dst;
    const void *src;
    int64_t nbytes;  // more than 0
    Side dst_side;
    Side src_side;
    // What is waited for, marked and held; nullptr, both of them, for raw memory.
    via_array *dst_array = nullptr;
    via_array *src_array = nullptr;
    // A strided transfer moves `run` adjacent bytes for each index of its loops, nbytes in all. The loops are in normal
    // form: steps of dst are positive and ascend, and no two loops could be one.
    int64_t run = 0;
    int32_t ndim = 0;  // 0: nbytes adjacent bytes
    const Axis *axes = nullptr;
    HostCopy host_copy = nullptr;  // of a strided transfer
};

// Host memory that every device and context reaches, and other host memory.
constexpr Side kPinned{VIA_DEVICE_CUDA_HOST, 0};
constexpr Side kPageable{VIA_DEVICE_CPU, 0};

constexpr bool is_pageable(const Side &side) { return side.device_type == VIA_DEVICE_CPU; }
constexpr bool is_device(const Side &side) { return side.device_type == VIA_DEVICE_CUDA; }
constexpr bool is_to_device(const Transfer &transfer) { return is_device(transfer.dst_side); }

constexpr bool has_pageable(const Transfer &transfer) {
    return is_pageable(transfer.dst_side) || is_pageable(transfer.src_side);
}

constexpr bool has_device(const Transfer &transfer) {
    return is_device(transfer.dst_side) || is_device(transfer.src_side);
}

constexpr bool devices_differ(const Transfer &transfer) {
    return is_device(transfer.dst_side) && is_device(transfer.src_side) &&
           transfer.dst_side.device_id != transfer.src_side.device_id;
}

// Return what a kernel's part of one side reaches: every kernel reaches pinned memory, which stands for the other side.
constexpr Transfer with_dst_only(Transfer transfer) {
    transfer.src_side = kPinned;
    return transfer;
}

constexpr Transfer with_src_only(Transfer transfer) {
    transfer.dst_side = kPinned;
    return transfer;
}

// Asks the driver about sides that are ANY. Unknown memory becomes VIA_DEVICE_CPU. The functions below expect no side
// to be ANY. Errors: VIA_ERROR_CUDA.
VIA_NODISCARD Status find_sides(Transfer *transfer);

// Finds the sides of raw memory. If one is on a device, checks that no known allocation ends before the bytes do,
// across adjacent mappings. In a forked child only readable memory counts as host memory. Errors: VIA_ERROR_POINTER,
// VIA_ERROR_FORKED.
VIA_NODISCARD Status find_raw_sides(Transfer *transfer);

// Returns the device whose special streams serve the transfer: that of the side on a device. Of two devices it is the
// source's if that is current, otherwise the destination's. Without any it is the current one, or 0.
int32_t device_of_transfer(const Transfer &transfer);

// Returns whether the device reaches the pageable memory of a transfer: it walks the host's page tables, and so do its
// engines and kernels. Returns false if the driver does not say.
bool is_straight(const Transfer &transfer);

// Returns whether the driver may read or write pageable memory after the call, as it does on such a device. Returns
// true if the driver does not say.
bool uses_pageable_later(int32_t device_id);

// Which side of a kernel's copy lies in another device's memory.
enum class FarSide : int32_t { None, Dst, Src };

// A strided copy in normal form, like Transfer, without the sides.
struct Move {
    char *dst;
    const char *src;
    int64_t nbytes;  // that are written
    int64_t run;
    int32_t ndim;
    Axis axes[VIA_MAX_NDIM + 1];

    Transfer transfer(const Side &dst_side, const Side &src_side) const {
        return {dst, src, nbytes, dst_side, src_side, nullptr, nullptr, run, ndim, axes};
    }
};

// ------------------------------------------------------------------------------------------------ plans

// The side whose memory gives the order of packed bytes.
enum class Major : int32_t { Dst, Src };

// Adjacent bytes, by one copy of the driver.
struct DriverPlan {};

// The device's way to copy the bytes of a slot.
enum class DeviceStep : int32_t {
    Engine,  // a copy engine brings them to where they belong
    Kernel   // by way of scratch memory and a kernel
};

// What the host does of a copy: the time of one thread, and the bytes that its memory reads and writes for all of them,
// the device's part included.
struct HostWork {
    double nanoseconds = 0;
    double traffic = 0;
};

// Through the ring of pinned slots. Adjacent bytes pass as the defaults say.
struct StagedPlan {
    Major major = Major::Src;
    DeviceStep step = DeviceStep::Engine;
    bool adjacent_on_host = true;  // workers need not gather or scatter
    HostWork host;
};

// Strided, by one kernel that reaches both sides by address.
struct KernelCopyPlan {};

// Strided, between pinned memory and a device, by copy engines. The routes differ in what a kernel packs.
enum class LinkRoute : int32_t {
    Rows,    // nothing: rows of adjacent bytes cross one by one
    Packed,  // all, in scratch memory of the device: bytes cross in the order of the host's memory
    Raw      // the same with the gaps of the source, towards the device
};

struct LinkCopyPlan {
    LinkRoute route = LinkRoute::Rows;
    int64_t link_bytes = 0;     // that cross the link
    int64_t scratch_bytes = 0;  // at most; 0: none
    int64_t calls = 0;          // of copy engines, for rows
};

// Strided, by the calling thread, which does the part of the ring's workers by way of a small buffer. Bytes that are
// adjacent on the host need none.
struct BouncePlan {
    StagedPlan order;
};

enum class PeerRoute : int32_t {
    Driver,  // adjacent bytes, by one copy of the driver
    Push,    // a kernel of the source's device writes the destination
    Pull,    // a kernel of the destination's device reads the source
    Pieces   // piece by piece through scratch memory
};

// Between two devices. Of Pieces the stages are: packing on the source's device, transfer, unpacking on the
// destination's. Where they are direct, the transfer and one of its neighbours are one: packing, or, if pieces are
// pulled, unpacking.
struct PeerPlan {
    PeerRoute route = PeerRoute::Driver;
    bool direct = false;  // the bytes do not pass through the host's memory
    bool src_kernel = false;
    bool dst_kernel = false;
    bool unpacks = false;  // from scratch memory of the destination's device, or of the source's:
    bool pulled = false;
    Major major = Major::Src;
    int64_t piece_bytes = 0;  // at most
    double microseconds = 0;  // as expected, of strided copies
};

using TransferPlan = std::variant<DriverPlan, StagedPlan, PeerPlan, KernelCopyPlan, LinkCopyPlan, BouncePlan>;

// Says whether the caller waits for the copy, so that the host may have a part in it.
enum class Caller : int32_t { Waits, GoesOn };

// The purpose of a plan. Planning for execution makes the ring of a staged route, and plans another route if it cannot
// be had.
enum class Purpose : int32_t { Execute, Describe };

// Plans a transfer whose sides are known. `device_id` is that of the stream. GoesOn matters only to strided pinned
// memory: with pageable memory the host always has a part. Touches no element.
// Errors: VIA_ERROR_UNSUPPORTED for what only kernels could do where a device runs none.
VIA_NODISCARD Status plan_transfer(const Transfer &transfer, Caller caller, Purpose purpose, int32_t device_id,
                                   TransferPlan *out_plan);

template <class Plan>
constexpr bool is_a(const TransferPlan &plan) {
    return std::holds_alternative<Plan>(plan);
}

// The route of copies of items: rows by index, and elements that are converted.
enum class ItemsRoute : int32_t {
    Kernel,  // one kernel reaches both sides
    Staged,  // between pageable memory and a device, packed, through the ring
    Peer     // between two devices, packed
};

ItemsRoute items_route(const Transfer &transfer);

// Writes the route in a few words: "driver copy, host to device". Names the kernel, if there is one.
void describe_transfer(const Transfer &transfer, const TransferPlan &plan, TextBuffer *text);

}  // namespace via::cuda
