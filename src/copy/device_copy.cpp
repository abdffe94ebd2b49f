#include "copy/device_copy.hpp"

#include <algorithm>

#include "copy/bits.hpp"
#include "copy/copy.hpp"
#include "copy/run.hpp"
#include "core/array/access_tracker.hpp"
#include "cuda/move.hpp"
#include "cuda/stream.hpp"

namespace via {
namespace {

// Below, a copy of registered memory that is waited for goes the same way as one of pageable memory.
constexpr int64_t kLargeBytes = int64_t{64} << 10;

cuda::Side side_of(via_array *array, Ask ask, int64_t nbytes) {
    const bool asked = ask == Ask::Always || (ask == Ask::Large && nbytes > kLargeBytes);
    return {is_plain(array) && asked ? VIA_DEVICE_ANY : array->device_type, array->device_id};
}

bool is_of(const cuda::Transfer &transfer, int32_t device_type) {
    return transfer.dst_side.device_type == device_type || transfer.src_side.device_type == device_type;
}

bool may_be_pending(via_array *array) { return array != nullptr && array->storage->may_be_pending(); }

// The host's part, after everything that it waits for.
Status run_on_host(Plan *plan, const cuda::Transfer &transfer) {
    VIA_TRY(await_arrays(transfer.dst_array, transfer.src_array));
    run_copy(plan);
    return VIA_OK;
}

// For copies that pass through the host's memory: one part, on one thread.
void copy_part(const cuda::Move &move, cuda::Cache cache) {
    Plan plan;
    plan.dst = move.dst;
    plan.src = move.src;
    plan.run = move.run;
    plan.nbytes = move.nbytes;
    plan.ndim = move.ndim;
    plan.trailing_bits = 0;
    plan.in_bits = false;
    std::copy_n(move.axes, move.ndim, plan.axes);
    choose_loops_single(&plan, cache == cuda::Cache::Past);
    run_plan(plan);
}

constexpr char kHostCopy[] = "a copy by the host";

// A graph copies by itself what is page-locked. Pageable memory it would read or write at every launch, long after the
// call.
Status check_captured(const Plan &plan, const cuda::Transfer &transfer) {
    if (is_of(transfer, VIA_DEVICE_CPU)) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "%s is pageable memory, and stream is being captured; expected pinned, managed or device memory",
                    transfer.dst_side.device_type == VIA_DEVICE_CPU ? "dst" : "src");
    }
    if (!is_adjacent(plan) && (is_for_host(plan, transfer) || takes_parts_of_bytes(plan))) {
        return fail(VIA_ERROR_STREAM_CAPTURE, "stream is being captured, and a strided copy by the host cannot be");
    }
    return VIA_OK;
}

// After the stream's work, or that of the legacy streams of both devices, and when both arrays are ready.
Status copy_bits_in_order(const Plan &plan, const cuda::Transfer &transfer, via_stream *stream) {
    bool capturing = false;
    VIA_TRY(cuda::find_capture(transfer, stream, &capturing));
    VIA_TRY(capturing ? check_captured(plan, transfer) : VIA_OK);
    for (via_array *array : {transfer.dst_array, transfer.src_array}) {
        if (array->device_type == VIA_DEVICE_CUDA) {
            UniqueFence before;
            VIA_TRY(dependency_of_stream(stream != nullptr ? stream : cuda::legacy_stream(), array->device_id, before.out()));
            VIA_TRY(before.get() != nullptr ? before.get()->wait() : VIA_OK);
        }
    }
    VIA_TRY(await_arrays(transfer.dst_array, transfer.src_array));
    return copy_bits_by_host(plan, transfer, nullptr);
}

}  // namespace

Status make_transfer(const Plan &plan, via_array *dst, via_array *src, Ask ask, cuda::Transfer *out_transfer) {
    // Whether a device reaches memory that is called the host's decides over what is strided.
    const bool strided = plan.ndim > 0 && !(is_plain(dst) && is_plain(src));
    const Ask asked = strided ? Ask::Always : ask;
    const int32_t ndim = plan.in_bits ? 0 : plan.ndim;  // which are for whole bytes
    *out_transfer = {plan.dst,
                     plan.src,
                     plan.ndim > 0 ? plan.nbytes : plan.run,
                     side_of(dst, asked, plan.nbytes),
                     side_of(src, asked, plan.nbytes),
                     dst,
                     src,
                     plan.run,
                     ndim,
                     plan.axes,
                     copy_part};
    return cuda::find_sides(out_transfer);
}

bool is_for_host(const Plan &plan, const cuda::Transfer &transfer) {
    return !is_of(transfer, VIA_DEVICE_CUDA) && !(is_adjacent(plan) && is_of(transfer, VIA_DEVICE_CUDA_MANAGED));
}

bool passes_host(const Plan &plan, const cuda::Transfer &transfer) {
    return takes_parts_of_bytes(plan) && is_of(transfer, VIA_DEVICE_CUDA);
}

Status check_devices(const Plan &plan, const cuda::Transfer &transfer) {
    const bool is_simple = is_adjacent(plan) || takes_parts_of_bytes(plan);
    return is_simple || !is_of(transfer, VIA_DEVICE_CUDA) ? VIA_OK : cuda::check_strided(transfer);
}

Status await_arrays(via_array *dst, via_array *src) {
    VIA_TRY(may_be_pending(dst) ? wait_until_ready(dst->storage) : VIA_OK);
    return may_be_pending(src) ? wait_until_ready(src->storage) : VIA_OK;
}

Status await_stream(via_stream *stream, const char *what) {
    bool capturing = false;
    VIA_TRY(cuda::await_stream(stream, &capturing));
    return capturing ? fail(VIA_ERROR_STREAM_CAPTURE, "stream is being captured, and %s cannot be", what) : VIA_OK;
}

Status check_copy_on(const Plan &plan, const cuda::Transfer &transfer, via_stream *stream) {
    bool capturing = false;
    VIA_TRY(check_devices(plan, transfer));
    VIA_TRY(cuda::find_capture(transfer, stream, &capturing));
    return capturing ? check_captured(plan, transfer) : VIA_OK;
}

Status copy_now(Plan *plan, const cuda::Transfer &transfer) {
    VIA_TRY(check_devices(*plan, transfer));
    if (passes_host(*plan, transfer)) [[unlikely]] {
        return copy_bits_in_order(*plan, transfer, nullptr);
    }
    if (!is_for_host(*plan, transfer)) {
        return cuda::transfer_now(transfer);
    }
    VIA_TRY(await_stream(nullptr, kHostCopy));
    return run_on_host(plan, transfer);
}

Status copy_on(Plan *plan, const cuda::Transfer &transfer, via_stream *stream) {
    VIA_TRY(check_devices(*plan, transfer));
    if (passes_host(*plan, transfer)) [[unlikely]] {
        return copy_bits_in_order(*plan, transfer, stream);
    }
    if (!is_for_host(*plan, transfer)) {
        return cuda::transfer_on(transfer, stream);
    }
    bool capturing = false;
    VIA_TRY(cuda::await_stream(stream, &capturing));
    if (!capturing) {
        return run_on_host(plan, transfer);
    }
    VIA_TRY(check_captured(*plan, transfer));
    return cuda::transfer_on(transfer, stream);
}

}  // namespace via
