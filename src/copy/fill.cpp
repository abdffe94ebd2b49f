#include <cstring>
#include <numeric>

#include "copy/bits.hpp"
#include "copy/choose_tiles.hpp"
#include "copy/copy.hpp"
#include "copy/copy_check.hpp"
#include "copy/copy_plan.hpp"
#include "copy/fill.hpp"
#include "copy/normalise.hpp"
#include "copy/plan.hpp"
#include "copy/run.hpp"
#include "cuda/device.hpp"
#include "cuda/device_fill.hpp"

namespace via {
namespace {

// Packed elements, repeated until they make whole bytes.
struct Pattern {
    static constexpr int64_t kCapacity = 1024;
    int64_t bits;
    char bytes[kCapacity];
};

Status make_pattern(via_array *dst, const char *element, Pattern *pattern) {
    pattern->bits = std::lcm<int64_t>(dst->item_bits, 8);
    if (pattern->bits / 8 > Pattern::kCapacity) {
        return fail(VIA_ERROR_UNSUPPORTED, "dst has packed elements of %lld bits; expected at most %lld",
                    static_cast<long long>(dst->item_bits), static_cast<long long>(Pattern::kCapacity));
    }
    std::memset(pattern->bytes, 0, sizeof pattern->bytes);
    for (int64_t i = 0; i < pattern->bits && element != nullptr; i += dst->item_bits) {
        copy_bits(pattern->bytes, i, element, 0, dst->item_bits);
    }
    return VIA_OK;
}

// A fill in normal form, with its pattern.
struct PreparedFill {
    Plan plan;
    Pattern pattern;
    const char *element;  // the group of elements that is repeated; nullptr for zeros
};

Status prepare(via_array *dst, const char *element, PreparedFill *out) {
    out->element = element;
    int64_t group_bits = 0;
    if (dst->is_packed()) {
        VIA_TRY(make_pattern(dst, element, &out->pattern));
        out->element = out->pattern.bytes;
        group_bits = out->pattern.bits;
    }
    normalise_fill(dst, out->element, group_bits, &out->plan);
    return check_self_overlap(out->plan);
}

void run_fill(PreparedFill *prepared) {
    Plan &plan = prepared->plan;
    if (plan.in_bits) {
        run_bits(plan);
        return;
    }
    choose_tiles(&plan);
    run_plan(plan);
    if (plan.trailing_bits != 0) {
        copy_bits(plan.dst + plan.nbytes - (plan.trailing_bits + 7) / 8, 0, prepared->element, 0, plan.trailing_bits);
    }
}

cuda::Fill fill_of(via_array *dst, const PreparedFill &prepared, const cuda::Side &side) {
    const Plan &plan = prepared.plan;
    return {plan.dst, plan.src, plan.run, plan.ndim, plan.axes, side, dst};
}

Status check_device_fill(via_array *dst, const Plan &plan, const cuda::Side &side) {
    if (side.device_type != VIA_DEVICE_CUDA || !takes_parts_of_bytes(plan)) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_UNSUPPORTED,
                "dst has packed elements of %lld bits; expected such as come in whole bytes on a device",
                static_cast<long long>(dst->item_bits));
}

// Returns whether the host fills: strided memory that it reaches.
bool is_for_host(const cuda::Fill &fill, const Plan &plan, bool has_stream) {
    const int32_t type = fill.side.device_type;
    return type == VIA_DEVICE_CPU || takes_parts_of_bytes(plan) || (type != VIA_DEVICE_CUDA && !cuda::is_dense(fill)) ||
           (type == VIA_DEVICE_CUDA_HOST && !has_stream);
}

// Fills in stream order, or, with `now`, at once.
Status fill(via_array *dst, const void *element, via_stream *stream, bool now) {
    VIA_TRY(check_writable(dst));
    if (dst->size == 0) {
        return now ? VIA_OK : cuda::need("a stream");
    }
    PreparedFill prepared;
    VIA_TRY(prepare(dst, static_cast<const char *>(element), &prepared));
    cuda::Side side{dst->device_type, dst->device_id};
    if (!now) {
        cuda::Transfer transfer;
        VIA_TRY(make_transfer(prepared.plan, dst, dst, Ask::Always, &transfer));
        side = transfer.dst_side;
    }
    VIA_TRY(check_device_fill(dst, prepared.plan, side));
    const cuda::Fill fill = fill_of(dst, prepared, side);
    if (!is_for_host(fill, prepared.plan, !now)) {
        return now ? cuda::fill_now(fill) : cuda::fill_on(fill, stream);
    }
    VIA_TRY(now && is_plain(dst) ? VIA_OK : await_stream(stream, "a fill by the host"));
    VIA_TRY(await_arrays(dst, nullptr));
    run_fill(&prepared);
    return VIA_OK;
}

}  // namespace

Status fill_array(via_array *dst, const void *element) { return fill(dst, element, nullptr, true); }

Status fill_array_async(via_array *dst, const void *element, via_stream *stream) {
    return fill(dst, element, stream, false);
}

}  // namespace via
