#include "cuda/transfer_sides.hpp"

#include <atomic>

#include "core/system/address_probe.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/pointer_attributes.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

Side side_of(const PointerAttributes &attributes) {
    return attributes.known ? Side{attributes.device_type, attributes.device_id} : Side{VIA_DEVICE_CPU, 0};
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
    return fail(VIA_ERROR_FORKED, "%s is %p, no host memory, and CUDA was used before this process was forked",
                argument, address);
}

enum class PageTables : int32_t { Unknown, Own, Host };

PageTables find_page_tables(int32_t device_id) {
    static std::atomic<PageTables> known[kMostDevices];
    PageTables answer = known[device_id].load(std::memory_order_relaxed);
    if (answer == PageTables::Unknown) {
        int uses = 0;
        const CUresult result = driver().cuDeviceGetAttribute(
            &uses, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device_id);
        if (result == CUDA_SUCCESS) {
            answer = uses != 0 ? PageTables::Host : PageTables::Own;
            known[device_id].store(answer, std::memory_order_relaxed);
        }
    }
    return answer;
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
    // Checks no pair of host memory: it may continue where a registration ends.
    if (is_device(transfer->dst_side) || is_device(transfer->src_side)) {
        VIA_TRY(check_reach("dst", transfer->dst, transfer->nbytes, find_pointer(transfer->dst)));
        return check_reach("src", transfer->src, transfer->nbytes, find_pointer(transfer->src));
    }
    return VIA_OK;
}

bool walks_host_page_tables(int32_t device_id) { return find_page_tables(device_id) == PageTables::Host; }

bool uses_pageable_later(int32_t device_id) { return find_page_tables(device_id) != PageTables::Own; }

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

bool is_straight(const Transfer &transfer) {
    return has_pageable(transfer) && has_device(transfer) && walks_host_page_tables(device_of_transfer(transfer));
}

}  // namespace via::cuda
