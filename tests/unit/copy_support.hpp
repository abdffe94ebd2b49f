// What the copy tests share: arrays of any layout over memory of their own, random layouts, and a naive copy.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}
#undef fail  // the library has a function of that name

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "../repeats.h"
#include "copy/copy.hpp"
#include "core/array/array.hpp"

// A small generator, the same everywhere, so that a failure can be had again.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed * 2654435769U + 88172645463325252U) {}
    uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    // From low to high, both included.
    int64_t between(int64_t low, int64_t high) {
        return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
    }
    bool chance(int64_t one_in) { return between(1, one_in) == 1; }
    void fill(std::vector<char> *bytes) {
        for (char &byte : *bytes) {
            byte = static_cast<char>(next());
        }
    }

private:
    uint64_t state_;
};

// An array over memory that something else keeps. Released when it goes out of scope.
class Wrapped {
public:
    Wrapped(void *data, int32_t dtype, const std::vector<int64_t> &shape, const std::vector<int64_t> &steps,
            via::StrideUnit unit = via::StrideUnit::Bytes, int32_t flags = 0) {
        const via::ArraySpec spec{.data = data,
                                  .dtype = dtype,
                                  .ndim = static_cast<int32_t>(shape.size()),
                                  .shape = shape.data(),
                                  .strides = steps.data(),
                                  .unit = unit,
                                  .flags = flags};
        assert_int_equal(via::make_array(spec, via::borrowed(nullptr, nullptr), &array_), VIA_OK);
    }
    Wrapped(void *data, int32_t dtype, const std::vector<int64_t> &shape)
        : Wrapped(data, dtype, shape, {}, via::StrideUnit::RowMajor) {}
    ~Wrapped() { via::release_array(array_); }
    Wrapped(const Wrapped &) = delete;
    Wrapped &operator=(const Wrapped &) = delete;
    via_array *get() const { return array_; }

private:
    via_array *array_ = nullptr;
};

inline int64_t size_of(const std::vector<int64_t> &shape) {
    int64_t size = 1;
    for (const int64_t extent : shape) {
        size *= extent;
    }
    return size;
}

// A layout in bytes; `low` and `high` are what it spans around the first element.
struct TestLayout {
    std::vector<int64_t> steps;
    int64_t low = 0;
    int64_t high = 0;
};

inline void measure_layout(const std::vector<int64_t> &shape, int64_t item, TestLayout *layout) {
    layout->low = 0;
    layout->high = item;
    for (size_t i = 0; i < shape.size(); ++i) {
        const int64_t reach = (shape[i] - 1) * layout->steps[i];
        (reach < 0 ? layout->low : layout->high) += reach;
    }
}

// Axes in any order, some backwards, some with gaps, which need not be whole elements; for a source also standing
// still.
inline TestLayout random_layout(Random *random, const std::vector<int64_t> &shape, int64_t item, bool is_source) {
    std::vector<size_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = order.size() - 1 - i;
        std::swap(order[i], order[static_cast<size_t>(random->between(0, static_cast<int64_t>(i)))]);
    }
    TestLayout layout;
    layout.steps.resize(shape.size());
    int64_t unit = item + (random->chance(4) ? random->between(1, 2 * item) : 0);
    for (const size_t axis : order) {
        const bool still = is_source && random->chance(6);
        layout.steps[axis] = still ? 0 : random->chance(4) ? -unit : unit;
        unit = still ? unit : unit * shape[axis] + (random->chance(4) ? random->between(1, 3 * item) : 0);
    }
    measure_layout(shape, item, &layout);
    return layout;
}

// Visits the offsets of every element of two layouts.
template <typename Visit>
void for_each_element(const std::vector<int64_t> &shape, const std::vector<int64_t> &a, const std::vector<int64_t> &b,
                      const Visit &visit) {
    std::vector<int64_t> index(shape.size(), 0);
    for (int64_t n = size_of(shape); n > 0; --n) {
        int64_t at_a = 0;
        int64_t at_b = 0;
        for (size_t i = 0; i < shape.size(); ++i) {
            at_a += index[i] * a[i];
            at_b += index[i] * b[i];
        }
        visit(at_a, at_b);
        for (size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];) {
            index[i] = 0;
        }
    }
}

inline void naive_copy(char *dst, const char *src, const std::vector<int64_t> &shape,
                       const std::vector<int64_t> &dst_steps, const std::vector<int64_t> &src_steps, int64_t item) {
    for_each_element(shape, dst_steps, src_steps,
                     [&](int64_t to, int64_t from) { std::memcpy(dst + to, src + from, static_cast<size_t>(item)); });
}

// The dtype with elements of so many bytes.
inline int32_t dtype_of_size(int64_t item) {
    switch (item) {
        case 1:
            return VIA_UINT8;
        case 2:
            return VIA_FLOAT16;
        case 4:
            return VIA_FLOAT32;
        case 8:
            return VIA_FLOAT64;
        case 16:
            return VIA_COMPLEX128;
        default:
            return static_cast<int32_t>(-item);
    }
}
