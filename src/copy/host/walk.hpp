// The order in which loops are walked, and the kernel that does it.
#pragma once

#include "copy/host/piece.hpp"

namespace via {

// How a tile is walked, or an array that is not cut into tiles.
enum class Walk : int32_t {
    Rows,       // runs of bytes, or one
    Transpose,  // elements adjacent in dst along one axis, in src along another: transposed in registers
    Shuffle,    // elements of a line in dst that are close together in src: put together by byte shuffles
    Spread,     // the same the other way: elements of a line in src that are close together in dst
    Elements,   // element by element
    Repeat      // one element, again and again, to adjacent places
};

// Loops in the order of a kernel.
struct WalkOrder {
    Walk walk;
    bool flipped;  // axes go the other way: their steps are negated, dst's are less than 0, where they start is left
};

// The axis along which src moves least, other than not at all; -1 if it only repeats.
int32_t find_source_axis(const Axis *axes, int32_t ndim);

// Brings loops into the order of the kernel that is best for them: `axes`, two at least, and `of`, which moves along.
// The destination's steps ascend before. `into_scratch`: only the source is far away.
WalkOrder order_walk(int64_t run, int32_t ndim, Axis *axes, int32_t *of, bool into_scratch);

// How far from the first element of each array a walk starts, along axes some of which go the other way.
struct WalkStart {
    int64_t dst;
    int64_t src;
};

WalkStart start_of(const Axis *axes, int32_t ndim);

Kernel walk_kernel(Walk walk, int64_t run, bool streaming);

const char *walk_name(Walk walk);

// Whether elements of this size are transposed in registers.
constexpr bool is_simd_element(int64_t run) { return run <= 16 && (run & (run - 1)) == 0; }

// The part of a vector that a transpose in registers fills.
inline constexpr int64_t kLaneBytes = 16;

// From here on a run is copied as bytes, not as an element of its own size.
inline constexpr int64_t kRowBytes = 64;

}  // namespace via
