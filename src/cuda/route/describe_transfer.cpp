// Describes how a transfer would be done.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "cuda/describe_transfer.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/launch/kernel_plan.hpp"
#include "cuda/route/link_copy_plan.hpp"
#include "cuda/route/peer_plan.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/transfer.hpp"

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

// Writes what is done besides copying: ", gathered, unpacked by a kernel".
void describe_strided_part(const Transfer &transfer, const StagedPlan &plan, int64_t capacity, char *out_text) {
    const char *kernel = is_device(transfer.dst_side) ? ", unpacked by a kernel" : ", packed by a kernel";
    print(capacity, out_text, "%s%s", name_of_host_part(transfer, plan), plan.step == DeviceStep::Kernel ? kernel : "");
}

struct Describe {
    const Transfer &transfer;
    int64_t capacity;
    char *out_text;

    void operator()(const DriverPlan &) const {
        print(capacity, out_text, "driver copy, %s to %s", name_of(transfer.src_side), name_of(transfer.dst_side));
    }

    void operator()(const PeerPlan &plan) const {
        constexpr int64_t kRoom = 160;
        char route[kRoom] = "";
        describe_peer(transfer, plan, kRoom, route);
        print(capacity, out_text, "peer copy, device %d to device %d, %s", transfer.src_side.device_id,
              transfer.dst_side.device_id, route);
    }

    void operator()(const StagedPlan &plan) const {
        constexpr int64_t kRoom = 128;
        char ring[kRoom] = "";
        char part[kRoom] = "";
        describe_ring(staged_copy(transfer, plan, nullptr), kRoom, ring);
        if (transfer.ndim > 0) {
            describe_strided_part(transfer, plan, kRoom, part);
        }
        print(capacity, out_text, "staged, %s to %s, %s%s", name_of(transfer.src_side), name_of(transfer.dst_side),
              ring, part);
    }

    void operator()(const KernelCopyPlan &) const {
        constexpr int64_t kRoom = 160;
        char kernel[kRoom] = "";
        KernelPlan plan;
        plan_kernel(transfer, &plan);
        describe_kernel(plan, kRoom, kernel);
        print(capacity, out_text, "kernel, %s to %s, %s", name_of(transfer.src_side), name_of(transfer.dst_side),
              kernel);
    }

    void operator()(const LinkCopyPlan &plan) const {
        constexpr int64_t kRoom = 160;
        char route[kRoom] = "";
        describe_link(transfer, plan, kRoom, route);
        print(capacity, out_text, "%s to %s, %s", name_of(transfer.src_side), name_of(transfer.dst_side), route);
    }

    void operator()(const BouncePlan &) const {
        print(capacity, out_text, "%s, %s to %s",
              is_device(transfer.dst_side) ? "gathered by the host and copied by the driver"
                                           : "copied by the driver and scattered by the host",
              name_of(transfer.src_side), name_of(transfer.dst_side));
    }
};

}  // namespace

void describe_transfer(const Transfer &transfer, const TransferPlan &plan, int64_t capacity, char *out_text) {
    std::visit(Describe{transfer, capacity, out_text}, plan);
    if (is_straight(transfer) && !is_a<BouncePlan>(plan)) {
        const auto used = static_cast<int64_t>(std::strlen(out_text));
        print(capacity - used, out_text + used, ", straight: the device walks the host's page tables");
    }
}

}  // namespace via::cuda
