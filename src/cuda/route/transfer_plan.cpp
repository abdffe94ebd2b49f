#include "cuda/transfer_plan.hpp"

#include "core/base/text_buffer.hpp"
#include "core/base/thread_state.hpp"
#include "core/system/address_probe.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/driver/context.hpp"
#include "cuda/launch/kernel_plan.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/memory/pinned_memory.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/pointer_attributes.hpp"
#include "cuda/route/link_copy_plan.hpp"
#include "cuda/route/peer_plan.hpp"
#include "cuda/staging/calibration.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

Side side_of(const PointerAttributes &attributes) {
    return attributes.known ? Side{attributes.device_type, attributes.device_id} : kPageable;
}

Status find_side(const void *address, Side *side) {
    if (side->device_type == VIA_DEVICE_ANY) {
        PointerAttributes attributes{};
        VIA_TRY(query_pointer_kind(address, &attributes));
        *side = side_of(attributes);
    }
    return VIA_OK;
}

// Returns how many bytes from the address on are memory of this kind and device, at most `nbytes`.
int64_t reach_of(const char *address, int64_t nbytes, PointerAttributes attributes) {
    const Side side = side_of(attributes);
    int64_t reach = 0;
    while (attributes.known && attributes.nbytes > 0) {
        reach = static_cast<const char *>(attributes.base) + attributes.nbytes - address;
        if (reach >= nbytes) {
            return nbytes;
        }
        attributes = find_pointer(address + reach);
        if (attributes.device_type != side.device_type || attributes.device_id != side.device_id) {
            return reach;
        }
    }
    return attributes.known ? nbytes : reach;
}

Status check_reach(const char *argument, const void *address, int64_t nbytes, const PointerAttributes &attributes) {
    const int64_t reach = attributes.known ? reach_of(static_cast<const char *>(address), nbytes, attributes) : nbytes;
    if (reach >= nbytes) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_POINTER, "%s is %p, from which its allocation has %lld bytes; expected nbytes, %lld",
                argument, address, static_cast<long long>(reach), static_cast<long long>(nbytes));
}

// Asks no driver in a forked child. What the host cannot read may be device memory.
Status check_readable(const char *argument, const void *address, int64_t nbytes) {
    if (is_readable(address) && is_readable(static_cast<const char *>(address) + nbytes - 1)) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_FORKED, "%s is %p; expected host memory, as CUDA was used before this process was forked",
                argument, address);
}

constexpr CUdevice_attribute kWalks = CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES;

}  // namespace

Status find_sides(Transfer *transfer) {
    VIA_TRY(find_side(transfer->dst, &transfer->dst_side));
    return find_side(transfer->src, &transfer->src_side);
}

Status find_raw_sides(Transfer *transfer) {
    if (is_forked_child()) {
        transfer->dst_side = transfer->src_side = kPageable;
        VIA_TRY(check_readable("dst", transfer->dst, transfer->nbytes));
        return check_readable("src", transfer->src, transfer->nbytes);
    }
    VIA_TRY(find_sides(transfer));
    // Checks no pair of host memory: it may continue where a registration ends.
    if (has_device(*transfer)) {
        VIA_TRY(check_reach("dst", transfer->dst, transfer->nbytes, find_pointer(transfer->dst)));
        return check_reach("src", transfer->src, transfer->nbytes, find_pointer(transfer->src));
    }
    return VIA_OK;
}

bool uses_pageable_later(int32_t device_id) { return fixed_attribute<kWalks>(device_id, 1) != 0; }

int32_t device_of_transfer(const Transfer &transfer) {
    if (devices_differ(transfer)) {
        const int32_t src = transfer.src_side.device_id;
        const bool src_is_current = driver_is_usable(false) && current_device() == src;
        return src_is_current ? src : transfer.dst_side.device_id;
    }
    if (is_device(transfer.dst_side)) {
        return transfer.dst_side.device_id;
    }
    return is_device(transfer.src_side) ? transfer.src_side.device_id : device_of_thread();
}

bool is_straight(const Transfer &transfer) {
    return has_pageable(transfer) && has_device(transfer) &&
           fixed_attribute<kWalks>(device_of_transfer(transfer), 0) != 0;
}

namespace {

constexpr char kWhat[] = "a strided copy on a device";

// Returns whether one side is device memory and the other one host memory.
bool is_over_link(const Transfer &transfer) {
    const Side &other = is_device(transfer.dst_side) ? transfer.src_side : transfer.dst_side;
    return has_device(transfer) && (is_pageable(other) || other.device_type == VIA_DEVICE_CUDA_HOST);
}

bool has_slots(const Transfer &transfer, Purpose purpose) {
    return purpose == Purpose::Execute ? has_ring(transfer.nbytes, device_of_transfer(transfer)) : may_have_ring();
}

// Returns whether copying row by row would take a stream too many calls.
bool is_too_much(const TransferPlan &plan) {
    constexpr int64_t kMostCalls = 1000;
    const auto *rows = std::get_if<LinkCopyPlan>(&plan);
    return rows != nullptr && rows->calls > kMostCalls;
}

// Plans again without the ring if it cannot be had.
TransferPlan plan_over_link(const Transfer &transfer, Caller caller, Purpose purpose) {
    const int32_t device_id = device_of_transfer(transfer);
    const bool straight = is_straight(transfer);
    const bool pinned = straight || !has_pageable(transfer);
    const bool host = has_pageable(transfer) || caller == Caller::Waits;
    LinkMeans means{.pinned = pinned,
                    .host = host,
                    .kernels = runs_kernels(device_id),
                    .scratch = has_scratch(device_id),
                    .workers = host && !straight && may_have_ring() ? num_threads() : 0,
                    .link = link_rate(device_id)};
    TransferPlan plan = plan_link_copy(transfer, means).plan;
    if (is_a<StagedPlan>(plan) && !has_slots(transfer, purpose)) {
        means.workers = 0;
        plan = plan_link_copy(transfer, means).plan;
    }
    return is_too_much(plan) && !means.kernels ? KernelCopyPlan{} : plan;
}

Status plan_between_devices(const Transfer &transfer, Purpose purpose, int32_t device_id, TransferPlan *out_plan) {
    const bool asks = purpose != Purpose::Execute || !is_left_to_driver(transfer);
    const PeerPlan plan = plan_peer_copy(transfer, asks ? find_reach(transfer, device_id) : PeerReach{}, device_id);
    VIA_TRY(plan.src_kernel ? need_kernels(transfer.src_side.device_id, kWhat) : VIA_OK);
    VIA_TRY(plan.dst_kernel ? need_kernels(transfer.dst_side.device_id, kWhat) : VIA_OK);
    *out_plan = plan;
    return VIA_OK;
}

Status plan_strided(const Transfer &transfer, Caller caller, Purpose purpose, TransferPlan *out_plan) {
    VIA_TRY(need_driver(kWhat));
    if (!is_over_link(transfer)) {
        *out_plan = KernelCopyPlan{};
        return has_device(transfer) ? need_kernels(device_of_transfer(transfer), kWhat) : VIA_OK;
    }
    *out_plan = plan_over_link(transfer, caller, purpose);
    return VIA_OK;
}

TransferPlan plan_adjacent(const Transfer &transfer, Purpose purpose) {
    return is_staged(transfer) && has_slots(transfer, purpose) ? TransferPlan(StagedPlan{})
                                                               : TransferPlan(DriverPlan{});
}

}  // namespace

Status plan_transfer(const Transfer &transfer, Caller caller, Purpose purpose, int32_t device_id,
                     TransferPlan *out_plan) {
    count(Counter::PlannedRoutes, 1);
    if (devices_differ(transfer)) {
        VIA_TRY(need_driver(kWhat));
        return plan_between_devices(transfer, purpose, device_id, out_plan);
    }
    if (transfer.ndim > 0) {
        return plan_strided(transfer, caller, purpose, out_plan);
    }
    *out_plan = plan_adjacent(transfer, purpose);
    return VIA_OK;
}

// Describes how a transfer would be done.
namespace {

const char *name_of(const Side &side) {
    switch (side.device_type) {
        case VIA_DEVICE_CUDA:
            return "device";
        case VIA_DEVICE_CUDA_HOST:
            return "pinned memory";
        case VIA_DEVICE_CUDA_MANAGED:
            return "managed memory";
        default:
            return "pageable memory";
    }
}

struct Describe {
    const Transfer &transfer;
    TextBuffer *text;

    const char *src() const { return name_of(transfer.src_side); }
    const char *dst() const { return name_of(transfer.dst_side); }

    void operator()(const DriverPlan &) const { text->add("driver copy, %s to %s", src(), dst()); }

    void operator()(const PeerPlan &plan) const {
        text->add("peer copy, device %d to device %d, ", transfer.src_side.device_id, transfer.dst_side.device_id);
        describe_peer(transfer, plan, text);
    }

    void operator()(const StagedPlan &plan) const {
        text->add("staged, %s to %s, ", src(), dst());
        describe_ring({transfer, plan}, text);
        const bool to_device = is_to_device(transfer);
        const char *host = to_device ? ", gathered" : ", scattered";
        const char *kernel = to_device ? ", unpacked by a kernel" : ", packed by a kernel";
        text->add("%s%s", plan.adjacent_on_host ? "" : host, plan.step == DeviceStep::Kernel ? kernel : "");
    }

    void operator()(const KernelCopyPlan &) const {
        KernelPlan plan;
        plan_kernel(transfer, &plan);
        text->add("kernel, %s to %s, ", src(), dst());
        describe_kernel(plan, text);
    }

    void operator()(const LinkCopyPlan &plan) const {
        text->add("%s to %s, ", src(), dst());
        describe_link(transfer, plan, text);
    }

    void operator()(const BouncePlan &plan) const {
        const bool to_device = is_to_device(transfer);
        const bool by_kernel = plan.order.step == DeviceStep::Kernel;
        const char *host = plan.order.adjacent_on_host ? ""
                           : to_device                 ? "gathered by the host"
                                                       : "scattered by the host";
        const char *kernel = !by_kernel ? "" : to_device ? "unpacked by a kernel" : "packed by a kernel";
        if (by_kernel && !to_device && transfer.nbytes <= kPinnedBufferBytes && kernels_reach_pinned_buffers()) {
            text->add("%s and %s, %s to %s", kernel, *host == '\0' ? "copied by the host" : host, src(), dst());
            return;
        }
        const char *first = to_device ? host : kernel;
        const char *last = to_device ? kernel : host;
        const char *comma = *first == '\0' ? "" : *last == '\0' ? " and " : ", ";
        text->add("%s%scopied by the driver%s%s, %s to %s", first, comma, *last == '\0' ? "" : " and ", last, src(),
                  dst());
    }
};

}  // namespace

void describe_transfer(const Transfer &transfer, const TransferPlan &plan, TextBuffer *text) {
    std::visit(Describe{transfer, text}, plan);
    if (is_straight(transfer) && !is_a<BouncePlan>(plan)) {
        text->add(", straight: the device walks the host's page tables");
    }
}

}  // namespace via::cuda
