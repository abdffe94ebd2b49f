// Rows that are copied by index and converted: brought together, converted, and spread out. Plain numbers only, for the
// host and for devices.
#pragma once

#include "core/layout/element_loops.hpp"
#include "core/layout/indexed_rows.hpp"

namespace via {

struct ConvertedRows {
    IndexedRows rows;  // numbers, extents and steps of rows; `run` and `axes` are not used
    ElementLoops row;  // the elements of row 0
    ElementConversion elements;

    // Returns rows first to first + count - 1.
    ConvertedRows part(int64_t first, int64_t count) const { return {part_of(rows, first, count), row, elements}; }

    // Returns the same rows with another conversion.
    ConvertedRows with(const ElementConversion &other) const { return {rows, row, other}; }
};

// The side of a conversion whose elements come from one array, or go to one.
enum class RowSide : int32_t { Src, Dst };

inline int64_t item_of(const ConvertedRows &rows, RowSide side) {
    return bytes_of(side == RowSide::Src ? rows.elements.src : rows.elements.dst);
}

inline int64_t packed_row_bytes(const ConvertedRows &rows, RowSide side) {
    return rows.row.count * item_of(rows, side);
}

// Returns whether the rows of a side are one after the other in its array, so that they need not be packed.
inline bool is_straight(const ConvertedRows &rows, RowSide side) {
    return side == RowSide::Src ? rows.rows.src_index.at == nullptr
                                : rows.rows.dst_index.at == nullptr && rows.rows.dst_step > 0;
}

// Returns the rows of one side as a copy by index between its array and packed elements, in the order of `row`.
inline IndexedRows rows_of(const ConvertedRows &given, RowSide side) {
    const int64_t item = item_of(given, side);
    const auto step = side == RowSide::Src ? &Axis::src_step : &Axis::dst_step;
    IndexedRows rows = given.rows;
    rows.run = item;
    rows.row_bytes = packed_row_bytes(given, side);
    rows.ndim = 0;
    for (int32_t i = 0; i < given.row.ndim; ++i) {
        const Axis &axis = given.row.axes[i];
        if (rows.ndim == 0 && axis.*step == rows.run) {
            rows.run *= axis.extent;
        } else if (axis.extent > 1) {
            rows.axes[rows.ndim++] = {axis.extent, axis.*step, axis.*step};
        }
    }
    return rows;
}

// Returns the loops of all rows. `src` and `dst` are packed elements, or nullptr for those of the arrays, whose rows
// are straight.
inline ElementLoops loops_of(const ConvertedRows &given, const char *src, char *dst) {
    ElementLoops loops = given.row;
    loops.src = src != nullptr ? src : given.rows.src;
    loops.dst = dst != nullptr ? dst : given.rows.dst;
    if (src != nullptr) {
        pack_steps(item_of(given, RowSide::Src), &Axis::src_step, loops.axes, loops.ndim);
    }
    if (dst != nullptr) {
        pack_steps(item_of(given, RowSide::Dst), &Axis::dst_step, loops.axes, loops.ndim);
    }
    const Axis all{given.rows.count, dst != nullptr ? packed_row_bytes(given, RowSide::Dst) : given.rows.dst_step,
                   src != nullptr ? packed_row_bytes(given, RowSide::Src) : given.rows.src_step};
    const int32_t at = insert_axis(all, loops.axes, &loops.ndim);
    loops.numbered += loops.numbered >= at ? 1 : 0;
    loops.count = given.row.count * given.rows.count;
    return loops;
}

}  // namespace via
