#include "copy/copy.hpp"

#include "copy/check.hpp"
#include "copy/plan.hpp"
#include "copy/run.hpp"
#include "copy/tail.hpp"

namespace via {
namespace {

// Everything that may refuse a copy, in the order of what is cheapest to say. Neither array may be empty.
Status prepare(via_array *dst, via_array *src, Plan *plan) {
    VIA_TRY(normalise_copy(dst, src, plan));
    VIA_TRY(check_self_overlap(*plan));
    return check_mutual_overlap(*plan);
}

Status check_arrays(via_array *dst, via_array *src) {
    VIA_TRY(check_same_type_and_shape(dst, src));
    return check_writable(dst);
}

void run_copy(Plan *plan) {
    choose_route(plan);
    run_plan(*plan);
    if (plan->tail_bits != 0) [[unlikely]] {
        copy_tail(plan->dst + plan->run, plan->src + plan->run, plan->tail_bits);
    }
}

}  // namespace

Status check_copy(via_array *dst, via_array *src) {
    VIA_TRY(check_arrays(dst, src));
    Plan plan;
    return dst->size == 0 ? VIA_OK : prepare(dst, src, &plan);
}

Status copy_array(via_array *dst, via_array *src) {
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        return VIA_OK;
    }
    Plan plan;
    VIA_TRY(prepare(dst, src, &plan));
    run_copy(&plan);
    return VIA_OK;
}

Status copy_bytes(void *dst, const void *src, int64_t nbytes) {
    if (nbytes < 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "nbytes is %lld; expected 0 or more", static_cast<long long>(nbytes));
    }
    if (nbytes == 0) {
        return VIA_OK;
    }
    Plan plan;
    normalise_bytes(dst, src, nbytes, &plan);
    VIA_TRY(check_mutual_overlap(plan));
    run_copy(&plan);
    return VIA_OK;
}

}  // namespace via
