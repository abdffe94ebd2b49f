// What a description of strided memory means, worked out apart from the library, in numbers that cannot overflow.
#pragma once

#include <algorithm>

#include "bytes.hpp"

__extension__ typedef __int128 Wide;

enum class Unit { RowMajor, Elements, Bytes };

struct Description {
    const void *address;
    int32_t dtype;
    bool padded;  // elements narrower than a byte have a byte each
    int32_t ndim;
    const int64_t *shape;
    const int64_t *strides;
    Unit unit;

    int64_t item_bits() const {
        const int64_t bits = via_dtype_bits(dtype);
        return padded ? (bits + 7) / 8 * 8 : bits;
    }
    bool is_packed() const { return item_bits() % 8 != 0; }
    bool has_no_elements() const { return std::find(shape, shape + ndim, 0) != shape + ndim; }
};

inline constexpr Wide kMost = INT64_MAX;

// The product of the extents, those of 0 aside, times `item`; more than kMost if an int64_t cannot hold it.
inline Wide extent_product(const Description &given, Wide item) {
    Wide product = item;
    for (int32_t i = 0; i < given.ndim; ++i) {
        product *= std::max<int64_t>(given.shape[i], 1);
        if (product > kMost) {
            return kMost + 1;
        }
    }
    return product;
}

// The step along an axis, in bits.
inline Wide step_bits(const Description &given, int32_t axis) {
    if (given.unit != Unit::RowMajor) {
        return Wide{given.strides[axis]} * (given.unit == Unit::Bytes ? 8 : given.item_bits());
    }
    Wide step = given.item_bits();
    for (int32_t i = axis + 1; i < given.ndim; ++i) {
        step *= std::max<int64_t>(given.shape[i], 1);
    }
    return step;
}

// Steps are counted in elements where those are packed, in bytes where not: what that is in bits.
inline int64_t unit_bits(const Description &given) { return given.is_packed() ? given.item_bits() : 8; }

// The bits that elements touch, relative to the address: from low to high. There are elements, and their strides fit;
// what spans more than any address space does so here too, if not by as much.
inline void measure_bits(const Description &given, Wide *low, Wide *high) {
    constexpr Wide kFar = Wide{1} << 90;
    *low = 0;
    *high = given.item_bits();
    for (int32_t i = 0; i < given.ndim; ++i) {
        const Wide units = given.shape[i] > 1 ? step_bits(given, i) / unit_bits(given) : 0;
        const Wide reach = std::clamp(Wide{given.shape[i] - 1} * units, -kFar, kFar) * unit_bits(given);
        *(reach < 0 ? low : high) += reach;
    }
}

inline bool strides_fit(const Description &given) {
    for (int32_t i = 0; i < given.ndim; ++i) {
        if (given.unit == Unit::RowMajor || given.shape[i] <= 1) {
            continue;
        }
        // Of packed elements the bits must fit too.
        const Wide bits = step_bits(given, i);
        const Wide counted = given.is_packed() ? bits : bits / 8;
        if (counted > kMost || counted < -kMost - 1 || bits % unit_bits(given) != 0) {
            return false;
        }
    }
    return true;
}

// Whether no element lies outside the address space.
inline bool has_room(const Description &given) {
    Wide low = 0;
    Wide high = 0;
    measure_bits(given, &low, &high);
    const Wide unit = given.is_packed() ? 1 : 8;
    if (low / unit < -kMost - 1 || high / unit > kMost) {
        return false;
    }
    const auto start = static_cast<Wide>(reinterpret_cast<uintptr_t>(given.address));
    const Wide first = start * 8 + low;
    return first >= 0 && (start * 8 + high + 7) / 8 <= Wide{UINT64_MAX};
}

// Whether an array can be made of it: the dtype is one, the rank is in range, and shape and strides are given.
inline bool is_sound(const Description &given) {
    for (int32_t i = 0; i < given.ndim; ++i) {
        if (given.shape[i] < 0) {
            return false;
        }
    }
    if (extent_product(given, 1) > kMost ||
        extent_product(given, given.is_packed() ? given.item_bits() : given.item_bits() / 8) > kMost ||
        !strides_fit(given)) {
        return false;
    }
    return given.has_no_elements() || (given.address != nullptr && has_room(given));
}

// Whether all elements lie in [start, start + nbytes), and there are at most `most` of them.
inline bool lies_within(const Description &given, const void *start, int64_t nbytes, int64_t most) {
    if (given.has_no_elements()) {
        return true;
    }
    Wide low = 0;
    Wide high = 0;
    measure_bits(given, &low, &high);
    const Wide at = (static_cast<Wide>(reinterpret_cast<uintptr_t>(given.address)) -
                     static_cast<Wide>(reinterpret_cast<uintptr_t>(start))) *
                    8;
    return at + low >= 0 && at + high <= Wide{nbytes} * 8 && extent_product(given, 1) <= most;
}

// The array is what was described, element by element along each axis.
inline void expect_described(via_array *array, const Description &given) {
    EXPECT(via_array_dtype(array) == given.dtype);
    EXPECT(via_array_ndim(array) == given.ndim);
    EXPECT(Wide{via_array_size(array)} == (given.has_no_elements() ? 0 : extent_product(given, 1)));
    EXPECT(via_array_size(array) == 0 || via_array_data(array) == given.address);
    for (int32_t i = 0; i < given.ndim; ++i) {
        EXPECT(via_array_shape(array)[i] == given.shape[i]);
        if (given.shape[i] > 1 && via_array_size(array) > 0) {
            const int64_t *elements = via_array_strides(array);
            const int64_t *bytes = via_array_byte_strides(array);
            EXPECT(elements != nullptr || bytes != nullptr);
            EXPECT(elements == nullptr || Wide{elements[i]} * given.item_bits() == step_bits(given, i));
            EXPECT(bytes == nullptr || Wide{bytes[i]} * 8 == step_bits(given, i));
        }
    }
}

// Calls visit with the bits from the address to each element, in row-major order.
template <class Visit>
void for_each_element(const Description &given, const Visit &visit) {
    const auto count = static_cast<int64_t>(given.has_no_elements() ? 0 : extent_product(given, 1));
    for (int64_t number = 0; number < count; ++number) {
        int64_t rest = number;
        Wide at = 0;
        for (int32_t i = given.ndim - 1; i >= 0; --i) {
            at += step_bits(given, i) * (rest % given.shape[i]);
            rest /= given.shape[i];
        }
        visit(number, at);
    }
}

// A dense copy of the array, of whole bytes each, holds what lies where the description says.
inline void expect_content(via_array *dense, const Description &given) {
    const auto *found = static_cast<const char *>(via_array_data(dense));
    const int64_t item = given.item_bits() / 8;
    for_each_element(given, [&](int64_t number, Wide at) {
        const char *expected = static_cast<const char *>(given.address) + static_cast<int64_t>(at / 8);
        EXPECT(std::memcmp(found + number * item, expected, static_cast<size_t>(item)) == 0);
    });
}

// Copies the array to memory of its own and looks at each element.
inline void expect_copied(via_array *array, const Description &given) {
    via_array *dense = nullptr;
    EXPECT(via_empty(nullptr, given.dtype, given.ndim, given.shape, nullptr, &dense) == VIA_OK);
    EXPECT(via_copy(dense, array) == VIA_OK);
    expect_content(dense, given);
    via_array_release(dense);
}
