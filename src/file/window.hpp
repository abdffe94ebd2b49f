// Windows: strided parts of a file, as files of their own.
#pragma once

#include "file/file.hpp"

namespace via {

// The slice of each axis, as for slice_view.
struct WindowSlice {
    const int64_t *starts;
    const int64_t *counts;
    const int64_t *steps;
};

// Makes a window of the content at byte_offset of a file; of a window, with content and offset 0, in its indices. The
// caller owns the window. Errors: as map_file, without a check of the file's size; VIA_ERROR_INDEX;
// VIA_ERROR_UNSUPPORTED for packed elements.
VIA_NODISCARD Status make_window(via_file *file, int64_t byte_offset, const FileContent &content,
                                 const WindowSlice &slice, via_file **out_window);

// Finds the layout of the content at byte_offset of a file, or that of a window. The caller owns a reference. Errors:
// as map_file, without a check of the file's size.
VIA_NODISCARD Status find_layout(via_file *file, int64_t byte_offset, const FileContent &content,
                                 via_array **out_layout);

// Makes a window of the same elements, which are not converted.
VIA_NODISCARD Status copy_window(via_file *window, via_file **out_window);

VIA_NODISCARD Status describe_window(via_file *window, via_file_properties *out_properties);

// Refuses an offset and a content for a window, which is mapped and transferred as a whole.
VIA_NODISCARD Status check_whole_window(int64_t byte_offset, const FileContent &content);

// Checks a transfer of a .npy file: unless as_bytes is set, it is whole, with an array of the same element type and
// shape, ignoring axes of extent 1. Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE.
VIA_NODISCARD Status check_whole_file(via_file *file, int64_t byte_offset, via_array *array);

// Returns the offset of the layout's first byte from the file's first element. The layout's data pointer is the offset
// of its first element plus a constant, so that none is NULL.
int64_t first_byte(via_array *layout);

// Makes views of array and layout with the same axes, in the order of the file: the last one moves fastest, and all
// steps are positive. The caller owns both. Errors: VIA_ERROR_SHAPE, VIA_ERROR_DTYPE.
VIA_NODISCARD Status order_window(via_file *window, via_array *array, via_array **out_array, via_array **out_layout);

// Bytes of a transfer in the file: rows of adjacent bytes at regular steps. Offsets count the bytes of the rows only.
struct FileExtents {
    int64_t offset;     // of the first byte in the whole file
    int64_t nbytes;     // of all rows
    int64_t row_bytes;  // nbytes if there is one row
    int32_t ndim;       // loops around a row, the last one innermost; merged where possible
    int64_t counts[VIA_MAX_NDIM];
    int64_t steps[VIA_MAX_NDIM];
};

FileExtents adjacent_extents(const FileRange &range);

// Computes the extents of an ordered layout, whose first byte is at `offset` in the whole file.
FileExtents extents_of(via_array *layout, int64_t offset);

}  // namespace via
