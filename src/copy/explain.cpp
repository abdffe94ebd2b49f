// The plan of a copy as text.
#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "copy/choose_loops.hpp"
#include "copy/copy.hpp"
#include "copy/copy_check.hpp"
#include "copy/copy_plan.hpp"
#include "copy/explain.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/plan.hpp"
#include "core/base/thread_state.hpp"
#include "cuda/describe_transfer.hpp"
#include "cuda/device.hpp"

namespace via {
namespace {

// Text that is cut where the caller's room ends, and counted whole.
class Text {
public:
    Text(char *text, int64_t capacity) : text_(text), capacity_(capacity) {
        if (capacity > 0) {
            text[0] = '\0';
        }
    }

    void add(const char *format, ...) __attribute__((format(printf, 2, 3))) {
        const int64_t room = std::max<int64_t>(capacity_ - length_, 0);
        va_list arguments;
        va_start(arguments, format);
        length_ += std::vsnprintf(room > 0 ? text_ + length_ : nullptr, static_cast<size_t>(room), format, arguments);
        va_end(arguments);
    }

    int64_t length() const { return length_; }

private:
    char *text_;
    int64_t capacity_;
    int64_t length_ = 0;
};

const char *kernel_name(const Plan &plan) {
    switch (plan.loops) {
        case LoopKind::Contiguous:
        case LoopKind::Rows:
        case LoopKind::Transpose:
        case LoopKind::Scratch:
            return simd_kernels().name;
        case LoopKind::Elements:
            return has_even_gaps(plan) ? simd_kernels().name : "scalar";
        default:
            return "scalar";
    }
}

void describe_axes(const Plan &plan, Text *text) {
    text->add("loops:");
    for (int32_t i = 0; i < plan.ndim; ++i) {
        const Axis &axis = plan.axes[i];
        text->add("%s %lld (dst %+lld, src %+lld)", i > 0 ? "," : "", static_cast<long long>(axis.extent),
                  static_cast<long long>(axis.dst_step), static_cast<long long>(axis.src_step));
    }
    text->add(plan.ndim == 0 ? " none\n"
              : plan.in_bits ? ", innermost first, steps in bits\n"
                             : ", innermost first, steps in bytes\n");
}

void describe_loops(const Plan &plan, Text *text) {
    text->add("route: %s, %s kernel%s\n", loop_kind_name(plan.loops), kernel_name(plan),
              !plan.streaming                     ? ""
              : plan.loops == LoopKind::Transpose ? ", streaming stores from a scratch in the cache"
                                                  : ", streaming stores");
    text->add("element: %lld bytes adjacent in both", static_cast<long long>(plan.run));
    text->add(plan.trailing_bits != 0 ? " and %d bits\n" : "\n", plan.trailing_bits);
    describe_axes(plan, text);
    text->add("blocks: %lld bytes x %lld x %lld\n", static_cast<long long>(plan.run_block),
              static_cast<long long>(plan.block[0]), static_cast<long long>(plan.block[1]));
    text->add("threads: %d\n", plan.threads);
    text->add("bytes: %lld, each moved once\n", static_cast<long long>(plan.nbytes));
}

void describe_transfer(const CopyPlan &plan, Text *text) {
    constexpr int64_t kRoom = 256;
    char route[kRoom];
    cuda::describe_transfer(plan.transfer, plan.device, kRoom, route);
    text->add("route: %s\n", route);
    text->add("element: %lld bytes adjacent in both\n", static_cast<long long>(plan.loops.run));
    if (plan.loops.ndim > 0) {
        describe_axes(plan.loops, text);
    }
    text->add("bytes: %lld, each moved once\n", static_cast<long long>(plan.transfer.nbytes));
}

void describe_bits(const Plan &plan, const char *way, Text *text) {
    text->add("route: bits%s\n", way);
    text->add("element: %lld bits adjacent in both\n",
              as_printed(plan.in_bits ? plan.run : plan.run * 8 + plan.trailing_bits));
    describe_axes(plan, text);
    text->add("bytes: %lld, each moved once\n", as_printed(plan.nbytes));
}

Status describe_copy(via_array *dst, via_array *src, Text *text) {
    CopyPlan plan;
    VIA_TRY(is_plain(dst) && is_plain(src) ? VIA_OK : cuda::need("this copy"));
    VIA_TRY(prepare_copy(dst, src, Ask::Large, &plan));
    VIA_TRY(plan_for_text(&plan));
    if (plan.through_host || plan.loops.in_bits) {
        describe_bits(plan.loops, plan.through_host ? ", by way of the host's memory" : "", text);
    } else if (plan.on_host) {
        count(Counter::PlannedRoutes, 1);
        choose_loops(&plan.loops);
        describe_loops(plan.loops, text);
    } else {
        describe_transfer(plan, text);
    }
    return VIA_OK;
}

}  // namespace

Status explain_copy(via_array *dst, via_array *src, int64_t capacity, char *text, int64_t *out_length) {
    Text description(text, capacity);
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        description.add("route: none, there are no elements\n");
    } else {
        VIA_TRY(describe_copy(dst, src, &description));
    }
    *out_length = description.length();
    return VIA_OK;
}

}  // namespace via
