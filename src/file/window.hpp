// Windows of files: some of the indices of each axis, as a file of its own that the others lie around.
#pragma once

#include "file/file.hpp"

namespace via {

// What is taken of each axis: as slice_view has it.
struct WindowSlice {
    const int64_t *starts;
    const int64_t *counts;
    const int64_t *steps;
};

// A window of a file, of what lies there from byte_offset on; of another window, in its indices, with content and
// offset 0. Retained for the caller. Errors: as map_file, but for bytes that are not there; VIA_ERROR_INDEX; for
// elements that are packed VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status make_window(via_file *file, int64_t byte_offset, const FileContent &content,
                                 const WindowSlice &slice, via_file **out_window);

VIA_NODISCARD Status describe_window(via_file *window, via_file_properties *out_properties);

// A window is mapped and moved as it is.
VIA_NODISCARD Status check_whole_window(int64_t byte_offset, const FileContent &content);

// What a transfer of a file that has a header must be: all of it, from an array of the same shape (axes of extent 1
// aside) and element type, unless the file is taken as bytes. Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DTYPE,
// VIA_ERROR_SHAPE.
VIA_NODISCARD Status check_whole_file(via_file *file, int64_t byte_offset, via_array *array);

// How far behind the file's first element the first byte of the layout lies. The layout's data pointer is the offset of
// its first element, moved to where no address is NULL.
int64_t first_byte(via_array *layout);

// Array and layout with the same axes, as the file has them: the last one moves fastest, and all of them go forwards.
// Both are retained for the caller. Errors: VIA_ERROR_SHAPE, VIA_ERROR_DTYPE for elements of another type.
VIA_NODISCARD Status order_window(via_file *window, via_array *array, via_array **out_array, via_array **out_layout);

// Where the bytes of a transfer are: rows of adjacent ones at even distances, numbered as they follow one another
// there.
struct FileExtents {
    int64_t offset;     // of the first byte in the whole file
    int64_t nbytes;     // of all rows
    int64_t row_bytes;  // nbytes if there is one row
    int32_t ndim;       // loops around a row, the last of which is the innermost; no two of them could be one
    int64_t counts[VIA_MAX_NDIM];
    int64_t steps[VIA_MAX_NDIM];
};

FileExtents adjacent_extents(const FileRange &range);

// Of an ordered layout, whose first byte is at `offset` in the whole file.
FileExtents extents_of(via_array *layout, int64_t offset);

}  // namespace via
