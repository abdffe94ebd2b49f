#include "copy/bits.hpp"

#include <algorithm>

#include "copy/copy.hpp"
#include "copy/copy_plan.hpp"
#include "core/array/memory.hpp"
#include "core/base/copy_contiguous.hpp"
#include "core/layout/axes.hpp"

namespace via {
namespace {

constexpr int64_t kByte = 8;

// Rounds down, below 0 too.
int64_t byte_of(int64_t bit) { return bit >> 3; }

// Reads up to 8 bits from any offset, and no byte that has none of them.
uint32_t read_bits(const char *src, int64_t bit, int64_t count) {
    const int64_t at = bit & 7;
    const auto *bytes = reinterpret_cast<const unsigned char *>(src + byte_of(bit));
    uint32_t found = static_cast<uint32_t>(bytes[0]) >> at;
    if (at + count > kByte) {
        found |= static_cast<uint32_t>(bytes[1]) << (kByte - at);
    }
    return found;
}

// The bytes that hold some bits of an array, in memory that the host reaches: the array's own, or a copy of device
// memory.
class HostBytes {
public:
    // Bits `low` to `high` - 1, relative to `start`.
    Status take(via_array *array, const char *start, int64_t low, int64_t high) {
        first_ = byte_of(low);
        char *there = const_cast<char *>(start) + first_;
        if (array->device_type != VIA_DEVICE_CUDA) {
            bytes_ = there;
            return VIA_OK;
        }
        const int64_t nbytes = byte_of(high + kByte - 1) - first_;
        VIA_TRY(make_view(array, there, VIA_UINT8, {1, {nbytes}, {1}}, array->flags, there_.out()));
        VIA_TRY(make_empty(host_memory(), VIA_UINT8, 1, &nbytes, 0, here_.out()));
        bytes_ = static_cast<char *>(here_.get()->data);
        return copy_and_wait(here_.get(), there_.get());
    }

    Status put_back() { return here_.get() != nullptr ? copy_and_wait(there_.get(), here_.get()) : VIA_OK; }

    char *get() const { return bytes_; }
    int64_t first_bit() const { return first_ * kByte; }

private:
    UniqueArray there_;
    UniqueArray here_;
    char *bytes_ = nullptr;
    int64_t first_ = 0;
};

// Fetches, changes and returns a block as a whole, which has `span` bits in dst.
Status copy_block(const cuda::Transfer &transfer, int64_t span, Plan block) {
    int64_t low = block.src_bit;
    int64_t high = block.src_bit + block.run;
    for (int32_t i = 0; i < block.ndim; ++i) {
        const int64_t reach = (block.axes[i].extent - 1) * block.axes[i].src_step;
        (reach < 0 ? low : high) += reach;
    }
    HostBytes src;
    HostBytes dst;
    VIA_TRY(src.take(transfer.src_array, block.src, low, high));
    VIA_TRY(dst.take(transfer.dst_array, block.dst, block.dst_bit, block.dst_bit + span));
    block.dst = dst.get();
    block.src = src.get();
    block.dst_bit -= dst.first_bit();
    block.src_bit -= src.first_bit();
    run_bits(block);
    return dst.put_back();
}

// Copies blocks of the inner axes. A block shares no byte of dst with elements outside, so nothing else is overwritten.
Status copy_blocks(const Plan &plan, const cuda::Transfer &transfer) {
    const bool is_in_place = transfer.dst_array->device_type != VIA_DEVICE_CUDA;
    Plan block = plan;
    int64_t span = plan.run;
    block.ndim = 0;
    while (block.ndim < plan.ndim && (is_in_place || plan.axes[block.ndim].dst_step - span < kByte)) {
        const Axis &axis = plan.axes[block.ndim++];
        span += (axis.extent - 1) * axis.dst_step;
    }
    return for_each_index(plan.axes + block.ndim, plan.ndim - block.ndim, [&](int64_t dst, int64_t src) {
        block.dst_bit = plan.dst_bit + dst;
        block.src_bit = plan.src_bit + src;
        return copy_block(transfer, span, block);
    });
}

// Copies the whole bytes of one run by the planned route, and leaves its last bits to the plan.
Status copy_whole_bytes(const cuda::Transfer &transfer, via_task *task, Plan *plan) {
    if (plan->run > 0) {
        cuda::TransferPlan route;
        UniqueFence fence;
        VIA_TRY(cuda::plan_for_task(transfer, &route));
        VIA_TRY(cuda::transfer_for_task(transfer, route, task, fence.out()));
        VIA_TRY(fence.get() != nullptr ? fence.get()->wait() : VIA_OK);
    }
    plan->dst += plan->run;
    plan->src += plan->run;
    plan->run = plan->trailing_bits;
    return VIA_OK;
}

}  // namespace

void copy_bits(char *dst, int64_t dst_bit, const char *src, int64_t src_bit, int64_t count) {
    if (((dst_bit | src_bit) & 7) == 0) {
        copy_contiguous(dst + byte_of(dst_bit), src + byte_of(src_bit), count / kByte);
        dst_bit += count / kByte * kByte;
        src_bit += count / kByte * kByte;
        count %= kByte;
    }
    while (count > 0) {
        const int64_t at = dst_bit & 7;
        const int64_t some = std::min(count, kByte - at);
        const uint32_t mask = ((1U << some) - 1) << at;
        auto *byte = reinterpret_cast<unsigned char *>(dst + byte_of(dst_bit));
        *byte = static_cast<unsigned char>((*byte & ~mask) | (read_bits(src, src_bit, some) << at & mask));
        dst_bit += some;
        src_bit += some;
        count -= some;
    }
}

void run_bits(const Plan &plan) {
    (void)for_each_index(plan.axes, plan.ndim, [&](int64_t dst, int64_t src) {
        copy_bits(plan.dst, plan.dst_bit + dst, plan.src, plan.src_bit + src, plan.run);
        return VIA_OK;
    });
}

Status copy_bits_by_host(const Plan &plan, const cuda::Transfer &transfer, via_task *task) {
    Plan bits = plan;
    if (!plan.in_bits) {
        VIA_TRY(copy_whole_bytes(transfer, task, &bits));
    }
    VIA_TRY(copy_blocks(bits, transfer));
    report_progress(task, plan.nbytes);
    return VIA_OK;
}

}  // namespace via
