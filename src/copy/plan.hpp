// How a copy is to be done: a value made without touching an element, which can be printed, tested, and then run.
#pragma once

#include <cstdint>

#include "copy/host/piece.hpp"
#include "core/array/array.hpp"
#include "core/base/status.hpp"

namespace via {

enum class LoopKind : int32_t {
    Contiguous,  // one run of bytes
    Rows,        // runs of bytes long enough to be copied as such
    Transpose,   // elements adjacent in dst along one axis, in src along another: blocks turned in registers
    Scratch,     // as Transpose, where these axes are short: blocks of more of them, by way of a scratch in the cache
    Tiles,       // as Transpose, where elements have gaps or odd sizes: blocks that stay in the cache
    Elements,    // element by element
    Repeat       // one element, again and again, to adjacent places
};

const char *loop_kind_name(LoopKind loops);

// A copy in normal form. Axes of extent 1 are gone, destination steps are positive and ascending, axes that continue
// one another in both arrays are one, and elements adjacent in both are a run. The first two axes are the panel, which
// kernels walk; the rest are walked around it, the last outermost. Large: axes past the panel and ndim are not set.
struct Plan {
    char *dst;
    const char *src;
    int64_t run;     // bytes adjacent in both
    int64_t nbytes;  // that are written
    int32_t ndim;
    int32_t trailing_bits;  // of packed elements after the last whole run, where they end inside a byte
    bool in_bits;     // of packed elements that do not come in whole bytes: run and steps are bits, no route is chosen
    int64_t dst_bit;  // in_bits: of the first element, behind dst and src
    int64_t src_bit;
    LoopKind loops;
    int32_t threads;    // that may work on it
    bool streaming;     // with stores that bypass the cache
    int64_t run_block;  // what a kernel is given at a time: bytes of the run
    int64_t block[2];   // and indices of the panel
    int32_t held[2];    // Scratch: how many of the last axes are walked whole within a block, beside the panel's two
    Axis axes[VIA_MAX_NDIM];
};

// Brings a copy between non-empty arrays of equal dtype and shape into normal form; no more than that is decided, and
// the two may overlap. VIA_ERROR_UNSUPPORTED between packed and padded elements.
VIA_NODISCARD Status normalise_copy(via_array *dst, via_array *src, Plan *out_plan);

// The same for writing the item_bytes() bytes at `element` (of a non-empty array) everywhere; nullptr means zeros.
// Packed elements: a group of them that makes whole bytes, `group_bits` in all.
VIA_NODISCARD Status normalise_fill(via_array *dst, const char *element, int64_t group_bits, Plan *out_plan);

// A copy of nbytes > 0 adjacent bytes.
void normalise_bytes(void *dst, const void *src, int64_t nbytes, Plan *out_plan);

// Of LoopKind::Elements: whether there is a kernel that shuffles for their gaps, and the lines are long enough for it.
bool has_even_gaps(const Plan &plan);

// Decides how a copy in normal form is to be done.
void choose_loops(Plan *plan);

// The same for one thread among others; `streaming`: with stores that bypass the cache, where there are such.
void choose_loops_single(Plan *plan, bool streaming);

}  // namespace via
