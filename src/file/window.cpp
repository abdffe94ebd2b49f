#include "file/window.hpp"

#include <algorithm>

#include "core/array/view.hpp"
#include "file/file_conversion.hpp"

namespace via {
namespace {

bool is_column_major(via_file *file, const FileContent &content) {
    return file->header.column_major || content.is_column_major;
}

Status make_layout(via_file *file, int64_t byte_offset, const FileContent &given, via_array **out_layout) {
    FileContent content{};
    VIA_TRY(find_content(file, byte_offset, given, &content));
    int64_t size = 0;
    int64_t end = 0;
    FileRange range{};
    VIA_TRY(check_shape(content.dtype, content.ndim, content.shape, 0, &size));
    VIA_TRY(place_range(file, byte_offset, dense_bytes(size, dtype_bits(content.dtype)), &range, &end));
    // Cannot overflow: check_shape has multiplied the same numbers.
    int64_t column_major[VIA_MAX_NDIM];
    int64_t stride = 1;
    for (int32_t i = 0; i < content.ndim; ++i) {
        column_major[i] = stride;
        stride *= std::max<int64_t>(content.shape[i], 1);
    }
    const ArraySpec spec{.data = reinterpret_cast<void *>(kLayoutAddress + static_cast<uintptr_t>(byte_offset)),
                         .dtype = content.dtype,
                         .ndim = content.ndim,
                         .shape = content.shape,
                         .strides = column_major,
                         .unit = is_column_major(file, given) ? StrideUnit::Elements : StrideUnit::RowMajor};
    return make_array(spec, Deleter{}, out_layout);
}

Status check_bytes(via_array *layout) {
    return layout->is_packed() ? fail(VIA_ERROR_UNSUPPORTED, "dtype is %s, which is packed; expected whole bytes",
                                      DtypeName(layout->dtype).text)
                               : VIA_OK;
}

// The extents of a shape without those of 1.
struct Extents {
    Extents(int32_t given, const int64_t *shape) {
        for (int32_t i = 0; i < given; ++i) {
            if (shape[i] != 1) {
                extents[ndim++] = shape[i];
            }
        }
    }
    int32_t ndim = 0;
    int64_t extents[VIA_MAX_NDIM];
};

Status shape_differs(const char *what, int64_t found, int64_t expected, const char *whose) {
    return fail(VIA_ERROR_SHAPE, "%s of the array is %lld; expected %lld, that of the %s (ignoring axes of extent 1)",
                what, as_printed(found), as_printed(expected), whose);
}

Status check_shape_of(via_array *array, const FileContent &content, const char *whose) {
    const Extents found(array->ndim, array->shape());
    const Extents expected(content.ndim, content.shape);
    if (found.ndim != expected.ndim) {
        return shape_differs("the number of axes", found.ndim, expected.ndim, whose);
    }
    for (int32_t i = 0; i < found.ndim; ++i) {
        if (found.extents[i] != expected.extents[i]) {
            return shape_differs("an extent", found.extents[i], expected.extents[i], whose);
        }
    }
    return VIA_OK;
}

// Compares the element types; with as_bytes, their sizes only.
Status check_dtype(via_array *array, int32_t expected, bool as_bytes, const char *whose) {
    const bool fits = as_bytes ? array->item_bits == dtype_bits(expected) : array->dtype == expected;
    return fits ? VIA_OK
                : fail(VIA_ERROR_DTYPE, "the dtype of the array is %s; expected %s%s, that of the %s",
                       DtypeName(array->dtype).text, as_bytes ? "the size of " : "", DtypeName(expected).text, whose);
}

Status check_array(via_array *array, const FileContent &content, bool as_bytes, const char *whose) {
    VIA_TRY(check_dtype(array, content.dtype, as_bytes, whose));
    return check_shape_of(array, content, whose);
}

// Slices that reverse the axes along which the layout has negative steps.
struct AxisFlips {
    explicit AxisFlips(via_array *layout) {
        for (int32_t i = 0; i < layout->ndim; ++i) {
            const bool backwards = layout->size > 0 && layout->steps()[i] < 0;
            start[i] = backwards ? layout->shape()[i] - 1 : 0;
            step[i] = backwards ? -1 : 1;
        }
    }
    int64_t start[VIA_MAX_NDIM];
    int64_t step[VIA_MAX_NDIM];
};

Status order_view(via_array *array, const AxisFlips &flips, bool column_major, via_array **out_view) {
    UniqueArray forwards;
    VIA_TRY(slice_view(array, flips.start, array->shape(), flips.step, forwards.out()));
    if (column_major) {
        return permute_view(forwards.get(), nullptr, out_view);
    }
    *out_view = forwards.release();
    return VIA_OK;
}

}  // namespace

Status find_layout(via_file *file, int64_t byte_offset, const FileContent &content, via_array **out_layout) {
    if (file->whole == nullptr) {
        return make_layout(file, byte_offset, content, out_layout);
    }
    VIA_TRY(check_whole_window(byte_offset, content));
    *out_layout = retained(file->layout);
    return VIA_OK;
}

Status check_whole_window(int64_t byte_offset, const FileContent &content) {
    if (byte_offset != 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "byte_offset is %lld; expected 0 for a window, which is transferred as a whole",
                    as_printed(byte_offset));
    }
    return content.dtype == 0 && content.ndim == 0
               ? VIA_OK
               : fail(VIA_ERROR_INVALID_ARGUMENT,
                      "dtype is %s and ndim is %d; expected 0 for a window, which is transferred as a whole",
                      content.dtype == 0 ? "0" : DtypeName(content.dtype).text, content.ndim);
}

Status check_whole_file(via_file *file, int64_t byte_offset, via_array *array) {
    if (!file->is_npy || file->as_bytes) {
        return VIA_OK;
    }
    if (byte_offset != 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "byte_offset is %lld; expected 0 for a .npy file without as_bytes: use a window for a part",
                    as_printed(byte_offset));
    }
    const NpyHeader &header = file->header;
    return check_array(array, {header.dtype, header.ndim, header.shape}, false, "file");
}

namespace {

Status make_handle(via_file *whole, via_array *layout, bool column_major, via_file **out_window) {
    via_file *window = nullptr;
    VIA_TRY(make_object("a file's handle", &window));
    whole->references.retain();
    window->whole = whole;
    window->layout = retained(layout);
    window->header.column_major = column_major;
    *out_window = window;
    return VIA_OK;
}

// Numbers in another byte order are swapped by transfers as what they are.
Status check_order(via_file *file, int32_t dtype) {
    return !file->swaps() || dtype == file->header.dtype
               ? VIA_OK
               : fail(VIA_ERROR_DTYPE,
                      "dtype is %s for a part of %s in another byte order; expected these, or as_bytes",
                      DtypeName(dtype).text, DtypeName(file->header.dtype).text);
}

bool only_swaps(via_file *file) {
    const FileConversion *conversion = file->conversion;
    return conversion != nullptr && conversion->dtype == file->layout->dtype && !is_affine(conversion->options);
}

}  // namespace

Status make_window(via_file *file, int64_t byte_offset, const FileContent &content, const WindowSlice &slice,
                   via_file **out_window) {
    UniqueArray all;
    UniqueArray layout;
    const bool swaps = only_swaps(file);
    VIA_TRY(swaps ? VIA_OK : check_converts_nothing(file, "a window"));
    VIA_TRY(find_layout(file, byte_offset, content, all.out()));
    VIA_TRY(check_order(file->root(), all.get()->dtype));
    VIA_TRY(check_bytes(all.get()));
    VIA_TRY(slice_view(all.get(), slice.starts, slice.counts, slice.steps, layout.out()));
    auto conversion = swaps ? std::make_unique<FileConversion>(*file->conversion) : nullptr;
    VIA_TRY(make_handle(file->root(), layout.get(), is_column_major(file, content), out_window));
    (*out_window)->conversion = conversion.release();
    return VIA_OK;
}

Status copy_window(via_file *window, via_file **out_window) {
    return make_handle(window->whole, window->layout, window->header.column_major, out_window);
}

int64_t first_byte(via_array *layout) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(layout->data) - kLayoutAddress) + byte_span(layout).low;
}

Status describe_window(via_file *window, via_file_properties *out_properties) {
    via_array *layout = window->layout;
    VIA_TRY(describe_file(window->whole, out_properties));
    out_properties->dtype = window->array_dtype();
    out_properties->byte_order = window->conversion != nullptr ? VIA_BYTE_ORDER_NATIVE : out_properties->byte_order;
    out_properties->ndim = layout->ndim;
    out_properties->column_major = window->header.column_major ? 1 : 0;
    out_properties->byte_offset += first_byte(layout) - byte_span(layout).low;
    std::copy_n(layout->shape(), layout->ndim, out_properties->shape);
    return VIA_OK;
}

Status order_window(via_file *window, via_array *array, via_array **out_array, via_array **out_layout) {
    UniqueArray short_array;
    UniqueArray short_layout;
    via_array *layout = window->layout;
    const bool as_bytes = window->whole->as_bytes && window->conversion == nullptr;
    VIA_TRY(check_array(array, {window->array_dtype(), layout->ndim, layout->shape()}, as_bytes, "window"));
    VIA_TRY(squeeze_view(array, 0, nullptr, short_array.out()));
    VIA_TRY(squeeze_view(layout, 0, nullptr, short_layout.out()));
    const AxisFlips flips(short_layout.get());
    const bool column_major = window->header.column_major;
    VIA_TRY(order_view(short_array.get(), flips, column_major, out_array));
    return order_view(short_layout.get(), flips, column_major, out_layout);
}

FileExtents adjacent_extents(const FileRange &range) {
    FileExtents extents;
    extents.offset = range.offset;
    extents.nbytes = extents.row_bytes = range.nbytes;
    extents.ndim = 0;
    return extents;
}

// Goes from the last axis on. Each axis either continues the row or the loop before, or is a new loop; then reverses
// the loops.
FileExtents extents_of(via_array *layout, int64_t offset) {
    FileExtents extents = adjacent_extents({offset, layout->nbytes()});
    extents.row_bytes = layout->item_bytes();
    int64_t next = extents.row_bytes;  // the step that would continue
    for (int32_t i = layout->ndim - 1; i >= 0; --i) {
        const int64_t count = layout->shape()[i];
        const int64_t step = layout->steps()[i];
        if (step != next) {
            extents.counts[extents.ndim] = count;
            extents.steps[extents.ndim++] = step;
        } else if (extents.ndim == 0) {
            extents.row_bytes *= count;
        } else {
            extents.counts[extents.ndim - 1] *= count;
        }
        next = step * count;
    }
    std::reverse(extents.counts, extents.counts + extents.ndim);
    std::reverse(extents.steps, extents.steps + extents.ndim);
    return extents;
}

}  // namespace via
