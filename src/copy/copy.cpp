#include "copy/copy.hpp"

#include "copy/plan/copy_check.hpp"
#include "copy/device_copy.hpp"
#include "copy/plan.hpp"
#include "copy/run.hpp"
#include "cuda/device.hpp"

namespace via {
namespace {

bool are_plain(via_array *dst, via_array *src) { return is_plain(dst) && is_plain(src); }

// No stream is the legacy one, on which nothing of this process's is where it does not use CUDA.
bool is_behind_nothing(via_array *dst, via_array *src, via_stream *stream) {
    return stream == nullptr && are_plain(dst, src) && !cuda::is_in_use();
}

// Adjacent bytes that the driver has to be asked about: first whether the memory has so many, since too many may reach
// into what lies next to it.
Status copy_bytes_of_any_kind(Plan *plan, via_stream *stream) {
    cuda::Transfer transfer{plan->dst, plan->src, plan->run, {}, {}, nullptr, nullptr};
    VIA_TRY(cuda::find_raw_sides(&transfer));
    VIA_TRY(check_mutual_overlap(*plan));
    if (stream != nullptr) {
        return copy_on(plan, transfer, stream);
    }
    if (transfer.dst_side.device_type != VIA_DEVICE_CPU || transfer.src_side.device_type != VIA_DEVICE_CPU) {
        return copy_now(plan, transfer);
    }
    run_copy(plan);
    return VIA_OK;
}

}  // namespace

Status check_arrays(via_array *dst, via_array *src) {
    VIA_TRY(check_same_type_and_shape(dst, src));
    return check_writable(dst);
}

Status prepare_copy(via_array *dst, via_array *src, Plan *out_plan) {
    VIA_TRY(normalise_copy(dst, src, out_plan));
    VIA_TRY(check_self_overlap(*out_plan));
    return check_mutual_overlap(*out_plan);
}

Status check_copy(via_array *dst, via_array *src) {
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        return VIA_OK;
    }
    Plan plan;
    VIA_TRY(prepare_copy(dst, src, &plan));
    cuda::Transfer transfer;
    VIA_TRY(make_transfer(plan, dst, src, Ask::Never, &transfer));
    return check_devices(plan, transfer);
}

Status copy_array(via_array *dst, via_array *src) {
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        return VIA_OK;
    }
    Plan plan;
    VIA_TRY(prepare_copy(dst, src, &plan));
    if (!are_plain(dst, src)) {
        cuda::Transfer transfer;
        VIA_TRY(make_transfer(plan, dst, src, Ask::Large, &transfer));
        return copy_now(&plan, transfer);
    }
    VIA_TRY(await_arrays(dst, src));
    run_copy(&plan);
    return VIA_OK;
}

Status check_copy_async(via_array *dst, via_array *src, via_stream *stream) {
    if (is_behind_nothing(dst, src, stream)) {
        return check_copy(dst, src);
    }
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        return cuda::need("a stream");
    }
    Plan plan;
    VIA_TRY(prepare_copy(dst, src, &plan));
    cuda::Transfer transfer;
    VIA_TRY(make_transfer(plan, dst, src, Ask::Always, &transfer));
    return check_copy_on(plan, transfer, stream);
}

Status copy_array_async(via_array *dst, via_array *src, via_stream *stream) {
    if (is_behind_nothing(dst, src, stream)) {
        return copy_array(dst, src);
    }
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        return cuda::need("a stream");
    }
    Plan plan;
    VIA_TRY(prepare_copy(dst, src, &plan));
    cuda::Transfer transfer;
    VIA_TRY(make_transfer(plan, dst, src, Ask::Always, &transfer));
    return copy_on(&plan, transfer, stream);
}

Status copy_bytes(void *dst, const void *src, int64_t nbytes, via_stream *stream) {
    if (nbytes < 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "nbytes is %lld; expected 0 or more", static_cast<long long>(nbytes));
    }
    if (nbytes == 0) {
        return stream != nullptr ? cuda::need("a stream") : VIA_OK;
    }
    Plan plan;
    normalise_bytes(dst, src, nbytes, &plan);
    // Of a few bytes the copy takes no longer than this question, and no time for more of them.
    if (stream == nullptr && !cuda::was_started()) [[likely]] {
        VIA_TRY(check_mutual_overlap(plan));
        run_copy(&plan);
        return VIA_OK;
    }
    return copy_bytes_of_any_kind(&plan, stream);
}

}  // namespace via
