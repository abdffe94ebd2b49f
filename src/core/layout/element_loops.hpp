// The normal form of two arrays whose elements differ in size: loops over elements, instead of runs of bytes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/status.hpp"
#include "core/layout/axes.hpp"
#include "core/layout/scalar_kinds.hpp"

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
    int32_t numbered = -1;  // the axis that an affine step goes along, which is not merged; -1: none
    int64_t number = 0;     // of its first index
};

// Moves the beginning along an axis.
inline void move_along(int32_t axis, int64_t indices, ElementLoops *loops) {
    loops->dst += indices * loops->axes[axis].dst_step;
    loops->src += indices * loops->axes[axis].src_step;
    loops->number += axis == loops->numbered ? indices : 0;
}

// Goes through elements first to first + count - 1 as boxes: `visit` takes a box as loops of its own.
template <class Visit>
void for_each_box(const ElementLoops &loops, int64_t first, int64_t count, const Visit &visit) {
    int64_t inner = 1;  // elements of all axes below the outermost
    for (int32_t i = 0; i + 1 < loops.ndim; ++i) {
        inner *= loops.axes[i].extent;
    }
    const auto below = [&](int64_t index, int64_t from, int64_t some) {
        ElementLoops part = loops;
        move_along(loops.ndim - 1, index, &part);
        part.count = inner;
        part.ndim = loops.ndim - 1;
        part.numbered = part.numbered == part.ndim ? -1 : part.numbered;  // `number` is that of all that is left
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
        move_along(loops.ndim - 1, first / inner, &box);
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

// Merges axes that continue one another in both arrays, but for the one that is numbered.
inline void merge_loops(ElementLoops *loops) {
    int64_t no_run = INT64_MIN;  // no step is: an axis along which nothing moves is an axis too
    if (loops->numbered < 0) {
        merge_axes(&no_run, loops->axes, &loops->ndim);
        return;
    }
    int32_t below = loops->numbered;
    int32_t above = loops->ndim - loops->numbered - 1;
    merge_axes(&no_run, loops->axes, &below);
    merge_axes(&no_run, loops->axes + loops->numbered + 1, &above);
    std::copy_n(loops->axes + loops->numbered, 1 + above, loops->axes + below);
    loops->numbered = below;
    loops->ndim = below + 1 + above;
}

// Merges axes next to a dense buffer, where pixels whose channels are apart in the other array continue one another. No
// axis stays apart for the sake of numbers that nothing uses.
inline ElementLoops merged(const ElementLoops &loops, const ElementConversion &elements) {
    ElementLoops result = loops;
    result.numbered = elements.affine == nullptr ? -1 : loops.numbered;
    merge_loops(&result);
    return result;
}

// Puts a dense buffer in the place of one array, in the order of the loops.
inline ElementLoops packed_to(const ElementLoops &loops, void *packed, int64_t item) {
    ElementLoops result = loops;
    result.dst = static_cast<char *>(packed);
    pack_steps(item, &Axis::dst_step, result.axes, result.ndim);
    return result;
}

inline ElementLoops unpacked_from(const ElementLoops &loops, const void *packed, int64_t item) {
    ElementLoops result = loops;
    result.src = static_cast<const char *>(packed);
    pack_steps(item, &Axis::src_step, result.axes, result.ndim);
    return result;
}

}  // namespace via
