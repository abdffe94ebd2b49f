#include <cstring>
#include <numeric>

#include "copy/check.hpp"
#include "copy/copy.hpp"
#include "copy/plan.hpp"
#include "copy/run.hpp"
#include "copy/tail.hpp"

namespace via {
namespace {

// Packed elements repeated until they make whole bytes.
struct Pattern {
    static constexpr int64_t kCapacity = 1024;
    int64_t bits;
    char bytes[kCapacity];
};

bool bit_at(const char *bytes, int64_t index) { return ((bytes[index / 8] >> (index % 8)) & 1) != 0; }

Status make_pattern(via_array *dst, const char *element, Pattern *pattern) {
    pattern->bits = std::lcm<int64_t>(dst->item_bits, 8);
    if (pattern->bits / 8 > Pattern::kCapacity) {
        return fail(VIA_ERROR_UNSUPPORTED, "dst has packed elements of %lld bits; expected at most %lld",
                    static_cast<long long>(dst->item_bits), static_cast<long long>(Pattern::kCapacity));
    }
    std::memset(pattern->bytes, 0, sizeof pattern->bytes);
    for (int64_t i = 0; i < pattern->bits && element != nullptr; ++i) {
        pattern->bytes[i / 8] |= static_cast<char>(bit_at(element, i % dst->item_bits) << (i % 8));
    }
    return VIA_OK;
}

Status run_fill(via_array *dst, const char *element, int64_t group_bits) {
    Plan plan;
    VIA_TRY(normalise_fill(dst, element, group_bits, &plan));
    VIA_TRY(check_self_overlap(plan));
    choose_route(&plan);
    run_plan(plan);
    if (plan.tail_bits != 0) {
        copy_tail(plan.dst + plan.nbytes - (plan.tail_bits + 7) / 8, element, plan.tail_bits);
    }
    return VIA_OK;
}

}  // namespace

Status fill_array(via_array *dst, const void *element) {
    VIA_TRY(check_writable(dst));
    if (dst->size == 0) {
        return VIA_OK;
    }
    if (!dst->is_packed()) {
        return run_fill(dst, static_cast<const char *>(element), 0);
    }
    Pattern pattern;
    VIA_TRY(make_pattern(dst, static_cast<const char *>(element), &pattern));
    return run_fill(dst, pattern.bytes, pattern.bits);
}

}  // namespace via
