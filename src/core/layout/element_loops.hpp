// The normal form of two arrays whose elements differ in size: loops over elements, instead of runs of bytes.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "core/layout/axis.hpp"

namespace via {

// Axes of extent 1 are gone, those that continue one another in both arrays are merged, and steps of the array that
// gives the order are positive and ascending. There is always one axis.
struct ElementLoops {
    static constexpr int32_t kMostAxes = VIA_MAX_NDIM + 2;  // with lanes, and with the parts of complex numbers

    char *dst;
    const char *src;
    int64_t count;
    int32_t ndim;
    Axis axes[kMostAxes];
};

// Goes through elements first to first + count - 1 as boxes: `visit` takes a box as loops of its own.
template <class Visit>
void for_each_box(const ElementLoops &loops, int64_t first, int64_t count, const Visit &visit) {
    int64_t inner = 1;  // elements of all axes below the outermost
    for (int32_t i = 0; i + 1 < loops.ndim; ++i) {
        inner *= loops.axes[i].extent;
    }
    const Axis &outer = loops.axes[loops.ndim - 1];
    const auto below = [&](int64_t index, int64_t from, int64_t some) {
        ElementLoops part = loops;
        part.dst += index * outer.dst_step;
        part.src += index * outer.src_step;
        part.count = inner;
        part.ndim = loops.ndim - 1;
        for_each_box(part, from, some, visit);
    };
    if (first % inner != 0) {
        const int64_t some = first % inner + count < inner ? count : inner - first % inner;
        below(first / inner, first % inner, some);
        first += some;
        count -= some;
    }
    if (const int64_t whole = count / inner; whole > 0) {
        ElementLoops box = loops;
        box.dst += first / inner * outer.dst_step;
        box.src += first / inner * outer.src_step;
        box.count = whole * inner;
        box.axes[loops.ndim - 1].extent = whole;
        visit(box);
        first += whole * inner;
        count -= whole * inner;
    }
    if (count > 0) {
        below(first / inner, 0, count);
    }
}

// Puts a dense buffer in the place of one array, in the order of the loops.
inline ElementLoops packed_to(const ElementLoops &loops, void *packed, int64_t item) {
    ElementLoops result = loops;
    result.dst = static_cast<char *>(packed);
    for (int32_t i = 0; i < loops.ndim; ++i) {
        result.axes[i].dst_step = item;
        item *= loops.axes[i].extent;
    }
    return result;
}

inline ElementLoops unpacked_from(const ElementLoops &loops, const void *packed, int64_t item) {
    ElementLoops result = loops;
    result.src = static_cast<const char *>(packed);
    for (int32_t i = 0; i < loops.ndim; ++i) {
        result.axes[i].src_step = item;
        item *= loops.axes[i].extent;
    }
    return result;
}

}  // namespace via
