// Which elements can be converted to which: NumPy's casting rules, and the kinds of elements that conversions know.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "core/layout/scalar_kinds.hpp"

namespace via {

// Finds the kind of one lane of a dtype. Returns false if no conversion knows it.
bool find_scalar_kind(int32_t dtype, ScalarKind *out_kind);

constexpr bool is_complex(ScalarKind kind) { return kind >= ScalarKind::Complex32; }

constexpr bool is_float_kind(ScalarKind kind) {
    return kind >= ScalarKind::Float16 && kind <= ScalarKind::Float4E2M1FN;
}

// Returns the kind of one part of a complex number.
ScalarKind part_of_complex(ScalarKind kind);

// Returns whether a rule (VIA_CASTING_...) allows the conversion. False for dtypes that cannot be converted.
bool can_cast(int32_t from, int32_t to, int32_t casting);

// Errors: VIA_ERROR_INVALID_ARGUMENT for a number that is no rule.
VIA_NODISCARD Status check_casting(int32_t casting);

// Refuses what the rule does not allow, and names the rule that does. Errors: VIA_ERROR_DTYPE.
VIA_NODISCARD Status check_cast(int32_t from, int32_t to, int32_t casting);

}  // namespace via
