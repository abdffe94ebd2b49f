// Rows that are copied by index: from where to where. Plain numbers only, since GPU kernels are planned from them.
#pragma once

#include <cstdint>

#include "core/layout/axes.hpp"
#include "viaduct/viaduct.h"

namespace via {

// Numbers of rows. The address may be one of a device.
struct IndexList {
    const void *at = nullptr;  // nullptr: 0, 1, 2 ...
    int64_t step = 0;          // bytes
    int32_t bytes = 0;         // of a number: 4 or 8

    int64_t operator[](int64_t k) const {
        if (at == nullptr) {
            return k;
        }
        const char *number = static_cast<const char *>(at) + k * step;
        return bytes == 4 ? *reinterpret_cast<const int32_t *>(number) : *reinterpret_cast<const int64_t *>(number);
    }

    // Returns the list from number k on, unless it is that of all rows.
    IndexList from(int64_t k) const {
        return at == nullptr ? *this : IndexList{static_cast<const char *>(at) + k * step, step, bytes};
    }
};

// `count` rows. Row k goes from row src_index[k] of the source to row dst_index[k] of the destination. A row is `run`
// adjacent bytes for each index of its loops, which are in normal form: steps of dst are positive and ascend.
struct IndexedRows {
    char *dst;  // row 0
    const char *src;
    int64_t count;
    IndexList dst_index;
    IndexList src_index;
    int64_t dst_extent;  // rows of the array
    int64_t src_extent;
    int64_t dst_step;  // bytes from a row to the next
    int64_t src_step;
    int64_t run;
    int64_t row_bytes;  // more than 0
    int32_t ndim;
    Axis axes[VIA_MAX_NDIM];

    char *dst_row(int64_t k) const { return dst + dst_index[k] * dst_step; }
    const char *src_row(int64_t k) const { return src + src_index[k] * src_step; }
    int64_t nbytes() const { return count * row_bytes; }
};

// Returns rows first to first + count - 1. Lists of all rows become steps of the addresses.
inline IndexedRows part_of(const IndexedRows &rows, int64_t first, int64_t count) {
    IndexedRows part = rows;
    part.count = count;
    part.dst += rows.dst_index.at == nullptr ? first * rows.dst_step : 0;
    part.src += rows.src_index.at == nullptr ? first * rows.src_step : 0;
    part.dst_extent -= rows.dst_index.at == nullptr ? first : 0;
    part.src_extent -= rows.src_index.at == nullptr ? first : 0;
    part.dst_index = rows.dst_index.from(first);
    part.src_index = rows.src_index.from(first);
    return part;
}

// Sets the steps of one side to those of packed rows, one after the other.
inline void pack_side(IndexedRows *rows, int64_t IndexedRows::*row_step, int64_t Axis::*step) {
    rows->*row_step = rows->row_bytes;
    pack_steps(rows->run, step, rows->axes, rows->ndim);
}

// Return the rows between an array and adjacent memory that holds them packed.
inline IndexedRows packed_from(const IndexedRows &rows, char *packed) {
    IndexedRows packing = rows;
    packing.dst = packed;
    packing.dst_index = {};
    packing.dst_extent = rows.count;
    pack_side(&packing, &IndexedRows::dst_step, &Axis::dst_step);
    return packing;
}

inline IndexedRows unpacked_from(const IndexedRows &rows, const char *packed) {
    IndexedRows unpacking = rows;
    unpacking.src = packed;
    unpacking.src_index = {};
    unpacking.src_extent = rows.count;
    pack_side(&unpacking, &IndexedRows::src_step, &Axis::src_step);
    return unpacking;
}

}  // namespace via
