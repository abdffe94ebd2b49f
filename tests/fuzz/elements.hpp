// A view as the definition has it: a list of where every element is, in row-major order, and nothing about strides.
#pragma once

#include <algorithm>

#include "description.hpp"

inline constexpr int64_t kMostElements = 48;
inline constexpr int32_t kMostNdim = 16;

struct Elements {
    int32_t dtype;
    int32_t ndim;
    int64_t shape[kMostNdim];
    int64_t count;
    Wide bits[kMostElements];  // from address 0 to where an element starts

    int64_t item_bits() const { return via_dtype_bits(dtype); }
    bool is_packed() const { return item_bits() % 8 != 0; }
    bool starts_at_a_byte() const { return count == 0 || bits[0] % 8 == 0; }
};

// The indices of one element after another, in row-major order.
class Index {
public:
    explicit Index(const Elements &of) : shape_(of.shape), ndim_(of.ndim) {}

    int64_t operator[](int32_t axis) const { return at_[axis]; }

    void advance() {
        for (int32_t i = ndim_ - 1; i >= 0 && ++at_[i] == shape_[i]; --i) {
            at_[i] = 0;
        }
    }

private:
    const int64_t *shape_;
    int32_t ndim_;
    int64_t at_[kMostNdim] = {};
};

// The number of elements of the shape; kMostElements + 1 if there are more than that.
inline int64_t count_elements(int32_t ndim, const int64_t *shape) {
    int64_t count = 1;
    for (int32_t i = 0; i < ndim; ++i) {
        count *= std::min(shape[i], kMostElements + 1);
        if (count > kMostElements) {
            return std::find(shape, shape + ndim, 0) == shape + ndim ? kMostElements + 1 : 0;
        }
    }
    return count;
}

// Each element of `view`, whose shape is set, is the one of `from` at the position that `find` makes of its index.
template <class Find>
void pick(const Elements &from, Elements *view, const Find &find) {
    view->count = count_elements(view->ndim, view->shape);
    Index index(*view);
    for (int64_t i = 0; i < view->count; ++i) {
        view->bits[i] = from.bits[find(index)];
        index.advance();
    }
}

// Positions from one element to the next along each axis.
inline void position_steps(const Elements &of, int64_t *steps) {
    int64_t step = 1;
    for (int32_t i = of.ndim - 1; i >= 0; --i) {
        steps[i] = step;
        step *= std::max<int64_t>(of.shape[i], 1);
    }
}

// Whether one stride an axis can say where the elements are.
inline bool has_strides(const Elements &of) {
    int64_t steps[kMostNdim];
    position_steps(of, steps);
    Index index(of);
    for (int64_t i = 0; i < of.count; ++i) {
        for (int32_t axis = 0; axis < of.ndim; ++axis) {
            if (index[axis] >= 2 &&
                of.bits[i] - of.bits[i - steps[axis]] != of.bits[i - steps[axis]] - of.bits[i - 2 * steps[axis]]) {
                return false;
            }
            // The step along an axis is the same wherever it is taken.
            if (index[axis] >= 1 && of.bits[i] - of.bits[i - steps[axis]] != of.bits[steps[axis]] - of.bits[0]) {
                return false;
            }
        }
        index.advance();
    }
    return true;
}

// Whether elements along the last axis follow one another.
inline bool is_last_axis_dense(const Elements &of) {
    const int64_t last = of.ndim == 0 ? 1 : of.shape[of.ndim - 1];
    for (int64_t i = 0; i < of.count; ++i) {
        if (i % last > 0 && of.bits[i] != of.bits[i - 1] + of.item_bits()) {
            return false;
        }
    }
    return true;
}

// Whether all elements that a slice names exist; counts them first where it does not say how many.
inline bool slice_axis(int64_t extent, int64_t start, bool has_count, int64_t step, int64_t *count) {
    const bool inside = start >= 0 && start < extent;
    if (!has_count) {
        const Wide last = step > 0 ? Wide{extent} - 1 : 0;
        *count = inside && step != 0 ? static_cast<int64_t>((last - start) / step + 1) : 0;
    }
    if (step == 0 || step == INT64_MIN || *count < 0) {
        return false;
    }
    const Wide last = start + (Wide{*count} - 1) * step;
    return *count == 0 ? start >= 0 && start <= extent : inside && last >= 0 && last < extent;
}

// A shape whose one extent of -1, if there is one, is worked out; false if it is none of `count` elements. No elements
// allow any other extents that a row-major array could have.
inline bool complete_shape(const Elements &from, int32_t ndim, int64_t *shape) {
    Wide known = 1;
    Wide without_zeros = std::max<int64_t>(from.item_bits() / 8, from.is_packed() ? from.item_bits() : 1);
    int64_t *unknown = nullptr;
    for (int32_t i = 0; i < ndim; ++i) {
        if (shape[i] == -1 && unknown == nullptr) {
            unknown = &shape[i];
            continue;
        }
        known *= shape[i];
        without_zeros *= std::max<int64_t>(shape[i], 1);
        if (shape[i] < 0 || known > kMost || without_zeros > kMost) {
            return false;
        }
    }
    if (unknown != nullptr && known > 0 && from.count % known == 0) {
        *unknown = static_cast<int64_t>(from.count / known);
        known *= *unknown;
    }
    return known == from.count && (unknown == nullptr || *unknown >= 0);
}

// Whether an array may have so many elements.
inline bool fits_memory(const Elements &view) {
    Wide product = view.is_packed() ? view.item_bits() : view.item_bits() / 8;
    for (int32_t i = 0; i < view.ndim; ++i) {
        product *= std::max<int64_t>(view.shape[i], 1);
        if (product > kMost) {
            return false;
        }
    }
    return true;
}

// Elements cut up or put together along the last axis, which is dense.
inline bool rescale(const Elements &from, Elements *view) {
    const Wide whole = Wide{from.shape[from.ndim - 1]} * from.item_bits();
    const int64_t rows = from.count == 0 ? 0 : from.count / from.shape[from.ndim - 1];
    const int64_t unit = view->is_packed() ? view->item_bits() : 8;
    view->shape[from.ndim - 1] = static_cast<int64_t>(whole / view->item_bits());
    view->count = count_elements(view->ndim, view->shape);
    bool is_whole = true;
    for (int64_t i = 0; i < rows; ++i) {
        const Wide first = from.bits[i * from.shape[from.ndim - 1]];
        is_whole &= (first - from.bits[0]) % unit == 0;
        for (int64_t j = 0; j < view->shape[from.ndim - 1] && view->count <= kMostElements; ++j) {
            view->bits[i * view->shape[from.ndim - 1] + j] = first + j * view->item_bits();
        }
    }
    return is_whole;
}

// Whether an int64_t holds the bits from the first element to any other, which those of packed elements need.
inline bool are_bits_few(const Elements &of) {
    return std::all_of(of.bits, of.bits + of.count,
                       [&](Wide bits) { return bits - of.bits[0] <= kMost / 2 && of.bits[0] - bits <= kMost / 2; });
}

// The array has these elements, each in its place.
inline void expect_elements(via_array *array, const Elements &expected) {
    EXPECT(via_array_dtype(array) == expected.dtype);
    EXPECT(via_array_ndim(array) == expected.ndim);
    EXPECT(std::equal(expected.shape, expected.shape + expected.ndim, via_array_shape(array)));
    EXPECT(via_array_size(array) == expected.count);
    const int64_t *bytes = via_array_byte_strides(array);
    const int64_t *strides = bytes != nullptr ? bytes : via_array_strides(array);
    EXPECT(strides != nullptr || expected.ndim == 0);
    const int64_t unit = bytes != nullptr ? 8 : expected.item_bits();
    const Wide start = Wide{reinterpret_cast<uintptr_t>(via_array_data(array))} * 8;
    Index index(expected);
    for (int64_t i = 0; i < expected.count; ++i) {
        Wide at = start;
        for (int32_t axis = 0; axis < expected.ndim; ++axis) {
            at += Wide{index[axis]} * strides[axis] * unit;
        }
        EXPECT(at == expected.bits[i]);
        index.advance();
    }
}
