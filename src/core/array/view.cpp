#include "core/array/view.hpp"

#include <algorithm>

#include "core/base/checked.hpp"
#include "core/layout/axes.hpp"

namespace via {
namespace {

// Makes a view that starts `first` steps away.
Status view_from(via_array *array, int64_t first, const Layout &layout, via_array **out_view) {
    int64_t bytes = first;
    if (array->is_packed()) {
        const int64_t bits = first * array->item_bits;
        if (bits % 8 != 0) {
            return fail(VIA_ERROR_NEEDS_COPY,
                        "the start of the view is inside a byte of %s elements; expected a byte boundary",
                        DtypeName(array->dtype).text);
        }
        bytes = bits / 8;
    }
    return make_view(array, static_cast<char *>(array->data) + bytes, array->dtype, layout, array->flags, out_view);
}

// Resolves a negative axis; false if it is none of the `count` axes.
bool find_axis(int32_t axis, int32_t count, int32_t *out_axis) {
    *out_axis = axis < 0 ? axis + count : axis;
    return axis >= -count && axis < count;
}

Status resolve_listed_axis(const int32_t *axes, int32_t at, int32_t count, int32_t *out_axis) {
    return find_axis(axes[at], count, out_axis)
               ? VIA_OK
               : fail(VIA_ERROR_INDEX, "axes[%d] is %d; expected %d to %d", at, axes[at], -count, count - 1);
}

void remove_axis(Layout *layout, int32_t axis) {
    std::copy(layout->shape + axis + 1, layout->shape + layout->ndim, layout->shape + axis);
    std::copy(layout->steps + axis + 1, layout->steps + layout->ndim, layout->steps + axis);
    layout->ndim--;
}

void insert_axis(Layout *layout, int32_t axis, int64_t extent, int64_t step) {
    std::copy_backward(layout->shape + axis, layout->shape + layout->ndim, layout->shape + layout->ndim + 1);
    std::copy_backward(layout->steps + axis, layout->steps + layout->ndim, layout->steps + layout->ndim + 1);
    layout->shape[axis] = extent;
    layout->steps[axis] = step;
    layout->ndim++;
}

struct AxisSlice {
    int64_t start;
    int64_t count;
    int64_t step;
};

// Counts the elements from `start` to the end in the direction of `step`.
int64_t reachable(int64_t extent, int64_t start, int64_t step) {
    if (start < 0 || start >= extent) {
        return 0;
    }
    if (step == INT64_MIN) {
        return 1;  // its negation does not fit; check_slice refuses it
    }
    return step > 0 ? (extent - 1 - start) / step + 1 : start / -step + 1;
}

Status check_slice(int32_t axis, int64_t extent, const AxisSlice &slice) {
    if (slice.step == 0 || slice.step == INT64_MIN) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "step[%d] is %lld; expected a number %s", axis, as_printed(slice.step),
                    slice.step == 0 ? "other than 0" : "above -2^63");
    }
    if (slice.count < 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "count[%d] is %lld; expected 0 or more", axis, as_printed(slice.count));
    }
    const bool none = slice.count == 0 && slice.start >= 0 && slice.start <= extent;
    if (!none && (slice.start < 0 || slice.start >= extent)) {
        return fail(VIA_ERROR_INDEX, "start[%d] is %lld; expected 0 to %lld", axis, as_printed(slice.start),
                    as_printed(extent - 1));
    }
    if (slice.count > reachable(extent, slice.start, slice.step)) {
        return fail(VIA_ERROR_INDEX, "count[%d] is %lld; expected at most %lld from start %lld with step %lld", axis,
                    as_printed(slice.count), as_printed(reachable(extent, slice.start, slice.step)),
                    as_printed(slice.start), as_printed(slice.step));
    }
    return VIA_OK;
}

// Multiplies a step by that of the slice. The step of an axis of at most one element is never taken and may be any
// number. So may one that does not fit: it occurs only in arrays without elements. Packed elements count bits.
int64_t scaled_step(via_array *array, int64_t step, const AxisSlice &slice) {
    int64_t scaled = step;
    int64_t bits = 0;
    const bool fits =
        multiply(step, slice.step, &scaled) && multiply(scaled, array->is_packed() ? array->item_bits : 1, &bits);
    return slice.count > 1 && fits ? scaled : step;
}

}  // namespace

Status resolve_axis(int32_t axis, int32_t count, int32_t *out_axis) {
    if (count == 0) {
        return fail(VIA_ERROR_INDEX, "axis is %d; expected an array with dimensions", axis);
    }
    return find_axis(axis, count, out_axis)
               ? VIA_OK
               : fail(VIA_ERROR_INDEX, "axis is %d; expected %d to %d", axis, -count, count - 1);
}

Status slice_view(via_array *array, const int64_t *start, const int64_t *count, const int64_t *step,
                  via_array **out_view) {
    Layout layout = layout_of(array);
    int64_t first = 0;
    bool empty = array->size == 0;
    for (int32_t i = 0; i < array->ndim; ++i) {
        AxisSlice slice{start != nullptr ? start[i] : 0, 0, step != nullptr ? step[i] : 1};
        slice.count = count != nullptr  ? count[i]
                      : slice.step == 0 ? 0
                                        : reachable(layout.shape[i], slice.start, slice.step);
        VIA_TRY(check_slice(i, layout.shape[i], slice));
        empty |= slice.count == 0;
        first += empty ? 0 : slice.start * layout.steps[i];
        layout.steps[i] = scaled_step(array, layout.steps[i], slice);
        layout.shape[i] = slice.count;
    }
    return view_from(array, empty ? 0 : first, layout, out_view);
}

Status select_view(via_array *array, int32_t axis, int64_t index, via_array **out_view) {
    VIA_TRY(resolve_axis(axis, array->ndim, &axis));
    const int64_t extent = array->shape()[axis];
    if (extent == 0) {
        return fail(VIA_ERROR_INDEX, "index is %lld along axis %d, which has no elements; expected some",
                    as_printed(index), axis);
    }
    if (index < -extent || index >= extent) {
        return fail(VIA_ERROR_INDEX, "index is %lld; expected %lld to %lld along axis %d", as_printed(index),
                    as_printed(-extent), as_printed(extent - 1), axis);
    }
    Layout layout = layout_of(array);
    const int64_t first = array->size == 0 ? 0 : (index < 0 ? index + extent : index) * layout.steps[axis];
    remove_axis(&layout, axis);
    return view_from(array, first, layout, out_view);
}

Status permute_view(via_array *array, const int32_t *axes, via_array **out_view) {
    Layout layout;
    layout.ndim = array->ndim;
    bool taken[VIA_MAX_NDIM] = {};
    for (int32_t i = 0; i < array->ndim; ++i) {
        int32_t axis = array->ndim - 1 - i;
        if (axes != nullptr) {
            VIA_TRY(resolve_listed_axis(axes, i, array->ndim, &axis));
        }
        if (taken[axis]) {
            return fail(VIA_ERROR_INDEX, "axes[%d] is %d, which occurs before; expected each axis once", i, axes[i]);
        }
        taken[axis] = true;
        layout.shape[i] = array->shape()[axis];
        layout.steps[i] = array->steps()[axis];
    }
    return view_from(array, 0, layout, out_view);
}

namespace {

// Replaces an extent of -1 by the number that makes the sizes equal.
Status complete_shape(via_array *array, int32_t ndim, const int64_t *shape, int64_t *out_shape) {
    int32_t unknown = -1;
    int64_t known = 1;
    for (int32_t i = 0; i < ndim; ++i) {
        out_shape[i] = shape[i];
        if (shape[i] == -1 && unknown < 0) {
            unknown = i;
        } else if (shape[i] < 0) {
            return fail(VIA_ERROR_SHAPE, "shape[%d] is %lld; expected 0 or more, or -1 once", i, as_printed(shape[i]));
        } else if (!multiply(known, shape[i], &known)) {
            return fail(VIA_ERROR_OVERFLOW, "the product of shape is over 2^63 - 1; expected %lld elements",
                        as_printed(array->size));
        }
    }
    if (unknown >= 0 && (known == 0 || array->size % known != 0)) {
        return fail(VIA_ERROR_SHAPE,
                    "shape[%d] is -1; expected other extents whose product divides %lld, and it is %lld", unknown,
                    as_printed(array->size), as_printed(known));
    }
    if (unknown >= 0) {
        out_shape[unknown] = array->size / known;
    } else if (known != array->size) {
        return fail(VIA_ERROR_SHAPE, "shape has %lld elements; expected %lld", as_printed(known),
                    as_printed(array->size));
    }
    return VIA_OK;
}

// Lists the axes of more than one index, the innermost first, and merges those that continue one another.
int32_t collapse(via_array *array, Axis *merged) {
    int32_t count = 0;
    for (int32_t i = array->ndim - 1; i >= 0; --i) {
        if (array->shape()[i] != 1) {
            merged[count++] = {array->shape()[i], array->steps()[i], array->steps()[i]};
        }
    }
    int64_t no_run = INT64_MIN;  // no step is: there are elements
    merge_axes(&no_run, merged, &count);
    return count;
}

// Splits the merged axes into the new extents, from the last one on; false if an extent crosses two of them.
bool split_axes(const Axis *merged, int32_t count, int64_t unit, Layout *layout) {
    int32_t at = 0;
    int64_t left = count > 0 ? merged[0].extent : 1;
    int64_t step = count > 0 ? merged[0].dst_step : unit;
    for (int32_t i = layout->ndim - 1; i >= 0; --i) {
        const int64_t extent = layout->shape[i];
        if (left == 1 && at + 1 < count && extent > 1) {
            left = merged[++at].extent;
            step = merged[at].dst_step;
        }
        if (left % extent != 0) {
            return false;
        }
        layout->steps[i] = step;
        left /= extent;
        // Only extents of 1 follow past the end of a merged axis: any step will do.
        if (!multiply(step, extent, &step)) {
            step = unit;
        }
    }
    return true;
}

// Sets the steps from axis `first` on to those of adjacent elements.
void row_major_steps(int32_t first, int64_t unit, Layout *layout) {
    for (int32_t i = layout->ndim - 1; i >= first; --i) {
        layout->steps[i] = unit;
        unit *= std::max<int64_t>(layout->shape[i], 1);
    }
}

}  // namespace

Status reshape_view(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_view) {
    VIA_TRY(check_rank(ndim, shape));
    Layout layout;
    layout.ndim = ndim;
    VIA_TRY(complete_shape(array, ndim, shape, layout.shape));
    if (array->size == 0) {
        // With an extent of 0 the others may be of any size.
        int64_t size = 0;
        VIA_TRY(check_shape(array->dtype, ndim, layout.shape, array->flags, &size));
        row_major_steps(0, array->step_unit(), &layout);
        return view_from(array, 0, layout, out_view);
    }
    Axis merged[VIA_MAX_NDIM];
    if (!split_axes(merged, collapse(array, merged), array->step_unit(), &layout)) {
        return fail(VIA_ERROR_NEEDS_COPY, "shape crosses axes that are not adjacent in memory; expected a copy");
    }
    return view_from(array, 0, layout, out_view);
}

Status broadcast_view(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_view) {
    VIA_TRY(check_rank(ndim, shape));
    const int32_t added = ndim - array->ndim;
    if (added < 0) {
        return fail(VIA_ERROR_SHAPE, "ndim is %d; expected at least %d, that of the array", ndim, array->ndim);
    }
    Layout layout;
    layout.ndim = ndim;
    for (int32_t i = 0; i < ndim; ++i) {
        const int64_t extent = i < added ? 1 : array->shape()[i - added];
        if (shape[i] != extent && (extent != 1 || shape[i] < 0)) {
            return fail(VIA_ERROR_SHAPE, "shape[%d] is %lld; expected %lld, that of the array", i, as_printed(shape[i]),
                        as_printed(extent));
        }
        layout.shape[i] = shape[i];
        layout.steps[i] = extent == shape[i] && i >= added ? array->steps()[i - added] : 0;
    }
    return make_view(array, array->data, array->dtype, layout, array->flags | VIA_ARRAY_READ_ONLY, out_view);
}

Status squeeze_view(via_array *array, int32_t count, const int32_t *axes, via_array **out_view) {
    if (count < 0 || (axes == nullptr && count > 0)) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "count is %d and axes is %s; expected the number of axes", count,
                    axes == nullptr ? "NULL" : "not NULL");
    }
    if (count > VIA_MAX_NDIM) {
        return fail(VIA_ERROR_SHAPE, "count is %d; expected at most %d", count, VIA_MAX_NDIM);
    }
    bool drop[VIA_MAX_NDIM] = {};
    for (int32_t i = 0; i < count; ++i) {
        int32_t axis = 0;
        VIA_TRY(resolve_listed_axis(axes, i, array->ndim, &axis));
        if (array->shape()[axis] != 1) {
            return fail(VIA_ERROR_SHAPE, "axes[%d] is %d, whose extent is %lld; expected extent 1", i, axes[i],
                        as_printed(array->shape()[axis]));
        }
        drop[axis] = true;
    }
    Layout layout = layout_of(array);
    for (int32_t i = array->ndim - 1; i >= 0; --i) {
        if (axes == nullptr ? layout.shape[i] == 1 : drop[i]) {
            remove_axis(&layout, i);
        }
    }
    return view_from(array, 0, layout, out_view);
}

Status expand_view(via_array *array, int32_t axis, via_array **out_view) {
    if (array->ndim == VIA_MAX_NDIM) {
        return fail(VIA_ERROR_SHAPE, "the array's ndim is %d; expected less", array->ndim);
    }
    VIA_TRY(resolve_axis(axis, array->ndim + 1, &axis));
    Layout layout = layout_of(array);
    const bool last = axis == array->ndim;
    int64_t step = array->step_unit();
    if (!last && !multiply(layout.steps[axis], std::max<int64_t>(layout.shape[axis], 1), &step)) {
        step = layout.steps[axis];
    }
    insert_axis(&layout, axis, 1, step);
    return view_from(array, 0, layout, out_view);
}

namespace {

// Rescales the extent of the last axis, which must be dense, to elements of other bits.
Status rescale_last_axis(via_array *array, int32_t dtype, int64_t new_bits, bool new_packed, Layout *layout) {
    if (array->ndim == 0) {
        return fail(VIA_ERROR_SHAPE, "dtype is %s of %lld bits; expected %lld bits, since the array has no dimensions",
                    DtypeName(dtype).text, as_printed(new_bits), as_printed(array->item_bits));
    }
    const int32_t last = array->ndim - 1;
    int64_t bits = 0;
    if (!multiply(layout->shape[last], array->item_bits, &bits) || bits % new_bits != 0) {
        return fail(VIA_ERROR_SHAPE,
                    "dtype is %s; expected a type whose size divides the last axis of %lld elements of %lld bits",
                    DtypeName(dtype).text, as_printed(layout->shape[last]), as_printed(array->item_bits));
    }
    if (layout->shape[last] > 1 && layout->steps[last] != array->step_unit()) {
        return fail(VIA_ERROR_NEEDS_COPY, "the last axis is strided; expected a dense one for another element size");
    }
    layout->shape[last] = bits / new_bits;
    layout->steps[last] = new_packed ? 1 : new_bits / 8;
    return VIA_OK;
}

// Converts the steps of the other axes from bytes to packed elements or back.
bool convert_steps(via_array *array, int64_t new_bits, bool new_packed, int32_t axes, Layout *layout) {
    if (!array->is_packed() && !new_packed) {
        return true;
    }
    const int64_t unit = array->is_packed() ? array->item_bits : 8;
    const int64_t new_unit = new_packed ? new_bits : 8;
    for (int32_t i = 0; i < axes; ++i) {
        int64_t bits = 0;
        const bool exact = multiply(layout->steps[i], unit, &bits) && bits % new_unit == 0;
        if (!exact && layout->shape[i] > 1) {
            return false;
        }
        layout->steps[i] = exact ? bits / new_unit : 1;
    }
    return true;
}

}  // namespace

Status reinterpret_view(via_array *array, int32_t dtype, via_array **out_view) {
    VIA_TRY(check_dtype("dtype", dtype));
    const int64_t new_bits = dtype_bits(dtype);
    const bool new_packed = new_bits % 8 != 0;
    Layout layout = layout_of(array);
    int32_t axes = array->ndim;
    if (new_bits != array->item_bits) {
        VIA_TRY(rescale_last_axis(array, dtype, new_bits, new_packed, &layout));
        axes--;
    }
    if (!convert_steps(array, new_bits, new_packed, axes, &layout)) {
        return fail(VIA_ERROR_NEEDS_COPY, "a stride is in bytes; expected whole elements of %s", DtypeName(dtype).text);
    }
    return make_view(array, array->data, dtype, layout, array->flags & ~VIA_ARRAY_SUBBYTE_PADDED, out_view);
}

namespace {

// Checks that a field is whole bytes inside one element.
Status check_field(via_array *array, int64_t byte_offset, int32_t dtype, int64_t count) {
    const int64_t bits = dtype_bits(dtype);
    if (array->is_packed() || bits % 8 != 0) {
        return fail(VIA_ERROR_DTYPE, "dtype is %s in elements of %s; expected whole bytes of both",
                    DtypeName(dtype).text, DtypeName(array->dtype).text);
    }
    int64_t end = 0;
    if (byte_offset < 0 || !multiply(count, bits / 8, &end) || !add(end, byte_offset, &end) ||
        end > array->item_bytes()) {
        return fail(VIA_ERROR_INDEX, "byte_offset is %lld for %lld elements of %s; expected them within %lld bytes",
                    as_printed(byte_offset), as_printed(count), DtypeName(dtype).text, as_printed(array->item_bytes()));
    }
    return VIA_OK;
}

}  // namespace

Status field_view(via_array *array, int64_t byte_offset, int32_t dtype, int32_t ndim, const int64_t *shape,
                  via_array **out_view) {
    int64_t count = 0;
    VIA_TRY(check_shape(dtype, ndim, shape, 0, &count));
    VIA_TRY(check_field(array, byte_offset, dtype, count));
    if (array->ndim + ndim > VIA_MAX_NDIM) {
        return fail(VIA_ERROR_SHAPE, "ndim is %d in addition to the array's %d; expected at most %d in all", ndim,
                    array->ndim, VIA_MAX_NDIM);
    }
    Layout layout = layout_of(array);
    std::copy_n(shape, ndim, layout.shape + array->ndim);
    layout.ndim += ndim;
    row_major_steps(array->ndim, dtype_bits(dtype) / 8, &layout);
    void *data = array->data == nullptr ? nullptr : static_cast<char *>(array->data) + byte_offset;
    return make_view(array, data, dtype, layout, array->flags & ~VIA_ARRAY_SUBBYTE_PADDED, out_view);
}

Status read_only_view(via_array *array, via_array **out_view) {
    const int32_t flags = array->flags | VIA_ARRAY_READ_ONLY;
    return make_view(array, array->data, array->dtype, layout_of(array), flags, out_view);
}

}  // namespace via
