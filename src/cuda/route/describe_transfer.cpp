// How a transfer would be done, in words.
#include <cstdarg>
#include <cstdio>

#include "cuda/driver/driver.hpp"
#include "cuda/launch/kernel_plan.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/route/copy_route.hpp"

namespace via::cuda {
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

bool is_direct(const Transfer &transfer) {
    int direct = 0;
    const CUresult result =
        driver().cuDeviceCanAccessPeer(&direct, transfer.dst_side.device_id, transfer.src_side.device_id);
    return result == CUDA_SUCCESS && direct != 0;
}

void print(int64_t capacity, char *out_text, const char *format, ...) __attribute__((format(printf, 3, 4)));
void print(int64_t capacity, char *out_text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)std::vsnprintf(out_text, static_cast<size_t>(capacity), format, arguments);
    va_end(arguments);
}

const char *name_of_host_part(const Transfer &transfer, const StagedPlan &plan) {
    if (plan.adjacent_on_host) {
        return "";
    }
    return is_device(transfer.dst_side) ? ", gathered" : ", scattered";
}

// ", gathered, unpacked by a kernel": what there is to do beside copying.
void describe_strided_part(const Transfer &transfer, int64_t capacity, char *out_text) {
    const StagedPlan plan = staged_copy(transfer, nullptr).plan;
    const char *kernel = is_device(transfer.dst_side) ? ", unpacked by a kernel" : ", packed by a kernel";
    print(capacity, out_text, "%s%s", name_of_host_part(transfer, plan), plan.step == DeviceStep::Kernel ? kernel : "");
}

void describe_staged(const Transfer &transfer, int64_t capacity, char *out_text) {
    constexpr int64_t kRoom = 128;
    char ring[kRoom] = "";
    char part[kRoom] = "";
    const StagedCopy copy = staged_copy(transfer, nullptr);
    describe_ring(copy, kRoom, ring);
    if (transfer.ndim > 0) {
        describe_strided_part(transfer, kRoom, part);
    }
    print(capacity, out_text, "staged, %s to %s, %s%s", name_of(transfer.src_side), name_of(transfer.dst_side), ring,
          part);
}

void describe_over_link(const Transfer &transfer, int64_t capacity, char *out_text) {
    constexpr int64_t kRoom = 160;
    char route[kRoom] = "";
    describe_pinned(transfer, find_pinned_plan(transfer, Caller::Waits), kRoom, route);
    print(capacity, out_text, "%s to %s, %s", name_of(transfer.src_side), name_of(transfer.dst_side), route);
}

void describe_strided_peer(const Transfer &transfer, int64_t capacity, char *out_text) {
    const PeerPlan plan = plan_peer(transfer, device_of_transfer(transfer));
    print(capacity, out_text, "peer copy, device %d to device %d, %s%s%s", transfer.src_side.device_id,
          transfer.dst_side.device_id, plan.packs ? "packed by a kernel, " : "",
          plan.unpacks ? "unpacked by a kernel, " : "",
          is_direct(transfer) ? "direct" : "by the driver through host memory");
}

void describe_kernel_copy(const Transfer &transfer, int64_t capacity, char *out_text) {
    constexpr int64_t kRoom = 160;
    char kernel[kRoom] = "";
    KernelPlan plan;
    plan_kernel(transfer, &plan);
    describe_kernel(plan, kRoom, kernel);
    print(capacity, out_text, "kernel, %s to %s, %s", name_of(transfer.src_side), name_of(transfer.dst_side), kernel);
}

}  // namespace

void describe_transfer(const Transfer &transfer, int64_t capacity, char *out_text) {
    const CopyRoute route = choose_copy_route(transfer, Caller::Waits);
    switch (route == CopyRoute::Staged && !may_have_ring() ? route_without_ring(transfer) : route) {
        case CopyRoute::Driver:
            return print(capacity, out_text, "driver copy, %s to %s", name_of(transfer.src_side),
                         name_of(transfer.dst_side));
        case CopyRoute::Staged:
            return describe_staged(transfer, capacity, out_text);
        case CopyRoute::Kernel:
            return describe_kernel_copy(transfer, capacity, out_text);
        case CopyRoute::Pinned:
            return describe_over_link(transfer, capacity, out_text);
        case CopyRoute::Bounced:
            return print(capacity, out_text, "%s, %s to %s",
                         is_device(transfer.dst_side) ? "gathered by the host and copied by the driver"
                                                      : "copied by the driver and scattered by the host",
                         name_of(transfer.src_side), name_of(transfer.dst_side));
        case CopyRoute::StridedPeer:
            return describe_strided_peer(transfer, capacity, out_text);
        case CopyRoute::Peer:
            return print(capacity, out_text, "peer copy, device %d to device %d, %s", transfer.src_side.device_id,
                         transfer.dst_side.device_id,
                         is_direct(transfer) ? "direct" : "by the driver through host memory");
    }
}

}  // namespace via::cuda
