// The bytes that a shape and strides reach, before an array is made of them.
#include "wrap_bound.hpp"

#include <algorithm>

#include "dtypes.hpp"
#include "errors.hpp"

namespace viapy {
namespace {

// From an address on; what lies before it counts below 0.
struct Reach {
    int64_t first = 0;
    int64_t end = 0;  // behind the last byte
};

// Sums overflow only where the library refuses the array too, with a reason.
bool sum_up(const Extents &shape, const Extents *strides, int64_t bits, Reach *out) {
    bool fits = true;
    int64_t total = bits;  // of a dense array
    for (int32_t i = 0; i < shape.count; ++i) {
        int64_t step = 0;
        if (strides == nullptr) {
            fits = fits && !__builtin_mul_overflow(total, shape.values[i], &total);
        } else {
            int64_t *side = strides->values[i] < 0 ? &out->first : &out->end;
            fits = fits && !__builtin_mul_overflow(shape.values[i] - 1, strides->values[i], &step) &&
                   !__builtin_add_overflow(*side, step, side);
        }
    }
    const int64_t last = total / 8 + (total % 8 != 0 ? 1 : 0);
    return fits && !__builtin_add_overflow(out->end, last, &out->end);
}

bool parse_bound(PyObject *given, int64_t *out) {
    if (!parse_int64("wrap", "nbytes", given, out)) {
        return false;
    }
    if (*out < 0) {
        raise(VIA_ERROR_INVALID_ARGUMENT, "wrap: argument 'nbytes' is %lld; expected 0 or more",
              static_cast<long long>(*out));
    }
    return *out >= 0;
}

}  // namespace

bool stays_within(PyObject *nbytes, const Extents &shape, const Extents *strides, int32_t dtype) {
    int64_t bound = 0;
    Reach reach;
    if (!is_given(nbytes)) {
        return true;
    }
    if (!parse_bound(nbytes, &bound)) {
        return false;
    }
    const bool has_elements =
        std::all_of(shape.values, shape.values + shape.count, [](int64_t extent) { return extent > 0; });
    if (!has_elements || !sum_up(shape, strides, via_dtype_bits(dtype), &reach)) {
        return true;
    }
    if (reach.first < 0) {
        raise(VIA_ERROR_POINTER, "wrap: argument 'strides' reaches %lld bytes before the address; expected none",
              -static_cast<long long>(reach.first));
    } else if (reach.end > bound) {
        raise(VIA_ERROR_POINTER, "wrap: argument 'nbytes' is %lld; expected %lld or more for that shape and dtype",
              static_cast<long long>(bound), static_cast<long long>(reach.end));
    }
    return reach.first >= 0 && reach.end <= bound;
}

}  // namespace viapy
