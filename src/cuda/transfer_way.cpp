#include "cuda/transfer_way.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "core/host_probe.hpp"
#include "cuda/driver.hpp"
#include "cuda/handles.hpp"
#include "cuda/kernel_plan.hpp"
#include "cuda/module.hpp"
#include "cuda/place.hpp"

namespace via::cuda {
namespace {

Side side_of(const Place &place) {
    return place.known ? Side{place.device_type, place.device_id} : Side{VIA_DEVICE_CPU, 0};
}

Status find_side(const void *address, Side *side) {
    if (side->device_type == VIA_DEVICE_ANY) {
        Place place{};
        VIA_TRY(ask_kind(address, &place));
        *side = side_of(place);
    }
    return VIA_OK;
}

// Bytes from the address on that the driver says are memory of this kind and device, up to `nbytes`.
int64_t reach_of(const char *address, int64_t nbytes, Place place) {
    const Side side = side_of(place);
    int64_t reach = 0;
    while (place.known && place.nbytes > 0) {
        reach = static_cast<const char *>(place.base) + place.nbytes - address;
        if (reach >= nbytes) {
            return nbytes;
        }
        place = find_place(address + reach);
        if (place.device_type != side.device_type || place.device_id != side.device_id) {
            return reach;
        }
    }
    return place.known ? nbytes : reach;
}

Status check_reach(const char *argument, const void *address, int64_t nbytes, const Place &place) {
    const int64_t reach = place.known ? reach_of(static_cast<const char *>(address), nbytes, place) : nbytes;
    if (reach >= nbytes) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_POINTER, "%s is %p, from which its allocation has %lld bytes; expected nbytes, %lld",
                argument, address, static_cast<long long>(reach), static_cast<long long>(nbytes));
}

// A forked child asks no driver: what the host cannot read may well be a device's.
Status check_readable(const char *argument, const void *address, int64_t nbytes) {
    if (is_readable(address) && is_readable(static_cast<const char *>(address) + nbytes - 1)) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_FORKED, "%s is %p, no host memory, and CUDA was used before this process was forked",
                argument, address);
}

bool devices_differ(const Transfer &transfer) {
    return is_device(transfer.dst_side) && is_device(transfer.src_side) &&
           transfer.dst_side.device_id != transfer.src_side.device_id;
}

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

void describe_staged(const Transfer &transfer, int64_t capacity, char *out_text) {
    constexpr int64_t kRoom = 128;
    char ring[kRoom] = "";
    const StagedCopy copy = staged_copy(transfer, nullptr);
    describe_ring(copy.direction, copy.nbytes, copy.device_id, kRoom, ring);
    print(capacity, out_text, "staged, %s to %s, %s", name_of(transfer.src_side), name_of(transfer.dst_side), ring);
}

bool may_have_ring(const Transfer &transfer) {
    char why[160];
    return ring_bytes(device_of_transfer(transfer), sizeof why, why) > 0;
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

Status find_sides(Transfer *transfer) {
    VIA_TRY(find_side(transfer->dst, &transfer->dst_side));
    return find_side(transfer->src, &transfer->src_side);
}

Status find_raw_sides(Transfer *transfer) {
    if (is_forked_child()) {
        transfer->dst_side = transfer->src_side = {VIA_DEVICE_CPU, 0};
        VIA_TRY(check_readable("dst", transfer->dst, transfer->nbytes));
        return check_readable("src", transfer->src, transfer->nbytes);
    }
    VIA_TRY(find_sides(transfer));
    // Host memory may go on where a registration ends.
    if (is_device(transfer->dst_side) || is_device(transfer->src_side)) {
        VIA_TRY(check_reach("dst", transfer->dst, transfer->nbytes, find_place(transfer->dst)));
        return check_reach("src", transfer->src, transfer->nbytes, find_place(transfer->src));
    }
    return VIA_OK;
}

bool uses_pageable_later(int32_t device_id) {
    static std::atomic<int32_t> known[kMostDevices];  // 0: not asked yet, 1: no, 2: yes
    int32_t answer = known[device_id].load(std::memory_order_relaxed);
    if (answer == 0) {
        int uses = 0;
        const CUresult result = driver().cuDeviceGetAttribute(
            &uses, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device_id);
        answer = result == CUDA_SUCCESS && uses != 0 ? 2 : 1;
        known[device_id].store(answer, std::memory_order_relaxed);
    }
    return answer == 2;
}

int32_t device_of_transfer(const Transfer &transfer) {
    if (devices_differ(transfer)) {
        const int32_t current = device_of_thread();
        return current == transfer.src_side.device_id ? current : transfer.dst_side.device_id;
    }
    if (is_device(transfer.dst_side)) {
        return transfer.dst_side.device_id;
    }
    return is_device(transfer.src_side) ? transfer.src_side.device_id : device_of_thread();
}

Status check_strided(const Transfer &transfer) {
    if (has_pageable(transfer)) {
        return fail(VIA_ERROR_UNSUPPORTED,
                    "a strided copy on a device: %d loops over runs of %lld bytes adjacent in dst and src, and %s is "
                    "pageable memory; expected pinned, managed or device memory, or elements that are adjacent and in "
                    "the same order in both",
                    transfer.ndim, static_cast<long long>(transfer.run),
                    is_pageable(transfer.dst_side) ? "dst" : "src");
    }
    if (devices_differ(transfer)) {
        return fail(VIA_ERROR_UNSUPPORTED,
                    "a strided copy on a device: %d loops over runs of %lld bytes adjacent in dst and src, and dst is "
                    "on device %d and src on device %d; expected memory that one device reaches, or elements that are "
                    "adjacent and in the same order in both",
                    transfer.ndim, static_cast<long long>(transfer.run), transfer.dst_side.device_id,
                    transfer.src_side.device_id);
    }
    VIA_TRY(need_driver("a strided copy on a device"));
    return need_kernels(device_of_transfer(transfer), "a strided copy on a device");
}

Way choose_way(const Transfer &transfer) {
    if (transfer.ndim > 0) {
        return Way::Kernel;
    }
    if (devices_differ(transfer)) {
        return Way::Peer;
    }
    if (is_pageable(transfer.src_side) && is_device(transfer.dst_side)) {
        return is_staged(Direction::ToDevice, transfer.nbytes, transfer.dst_side.device_id) ? Way::Staged : Way::Driver;
    }
    if (is_device(transfer.src_side) && is_pageable(transfer.dst_side)) {
        const bool staged = is_staged(Direction::ToHost, transfer.nbytes, transfer.src_side.device_id, transfer.dst);
        return staged ? Way::Staged : Way::Driver;
    }
    return Way::Driver;
}

StagedCopy staged_copy(const Transfer &transfer, via_task *task) {
    StagedCopy copy{};
    const bool to_device = is_device(transfer.dst_side);
    copy.direction = to_device ? Direction::ToDevice : Direction::ToHost;
    copy.device = reinterpret_cast<CUdeviceptr>(to_device ? transfer.dst : transfer.src);
    copy.host = to_device ? const_cast<void *>(transfer.src) : transfer.dst;
    copy.nbytes = transfer.nbytes;
    copy.device_id = to_device ? transfer.dst_side.device_id : transfer.src_side.device_id;
    copy.task = task;
    return copy;
}

void describe_transfer(const Transfer &transfer, int64_t capacity, char *out_text) {
    const Way way = choose_way(transfer);
    switch (way == Way::Staged && !may_have_ring(transfer) ? Way::Driver : way) {
        case Way::Driver:
            return print(capacity, out_text, "driver copy, %s to %s", name_of(transfer.src_side),
                         name_of(transfer.dst_side));
        case Way::Staged:
            return describe_staged(transfer, capacity, out_text);
        case Way::Kernel:
            return describe_kernel_copy(transfer, capacity, out_text);
        case Way::Peer:
            return print(capacity, out_text, "peer copy, device %d to device %d, %s", transfer.src_side.device_id,
                         transfer.dst_side.device_id,
                         is_direct(transfer) ? "direct" : "by the driver through host memory");
    }
}

}  // namespace via::cuda
