#include "array/array_index.hpp"

#include "support/arguments.hpp"

namespace viapy {
namespace {

// The selection by a key: a slice of every axis, axes to drop (those indexed by an integer), axes to add.
struct Selection {
    int32_t ndim = 0;
    int64_t start[VIA_MAX_NDIM];
    int64_t count[VIA_MAX_NDIM];
    int64_t step[VIA_MAX_NDIM];
    int32_t dropped_count = 0;
    int32_t dropped[VIA_MAX_NDIM];
    int32_t added_count = 0;
    int32_t added[VIA_MAX_NDIM];
    int32_t kept = 0;  // axes of the result so far
};

constexpr char kKeys[] = "integers, slices, ... and None; with others, index its numpy()";
constexpr char kNoNames[] = "integers, slices, ... and None; field(offset, dtype) takes a record's field";

// Asks __index__ of any object. NumPy's arrays have it, and mostly refuse.
bool parse_index(PyObject *item, int64_t *out) {
    Ref number(PyNumber_Index(item));
    if (!number) {
        reword_type("Array.__getitem__", "key", item, kKeys);
        return false;
    }
    return parse_int64("Array.__getitem__", "key", number.get(), out);
}

bool select_one(via_array *array, PyObject *item, Selection *selection) {
    int32_t axis = selection->ndim++;
    int64_t extent = via_array_shape(array)[axis];
    int64_t index = 0;
    if (!parse_index(item, &index)) {
        return false;
    }
    if (index < -extent || index >= extent) {
        raise(VIA_ERROR_INDEX, "Array.__getitem__: key is %lld; expected %lld to %lld on axis %d",
              static_cast<long long>(index), static_cast<long long>(-extent), static_cast<long long>(extent - 1),
              static_cast<int>(axis));
        return false;
    }
    selection->start[axis] = index < 0 ? index + extent : index;
    selection->count[axis] = 1;
    selection->step[axis] = 1;
    selection->dropped[selection->dropped_count++] = axis;
    return true;
}

bool select_range(via_array *array, PyObject *item, Selection *selection) {
    int32_t axis = selection->ndim++;
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
        return false;
    }
    selection->count[axis] = PySlice_AdjustIndices(via_array_shape(array)[axis], &start, &stop, step);
    selection->start[axis] = selection->count[axis] > 0 ? start : 0;
    selection->step[axis] = step;
    selection->kept++;
    return true;
}

void select_all(via_array *array, Selection *selection) {
    int32_t axis = selection->ndim++;
    selection->start[axis] = 0;
    selection->count[axis] = via_array_shape(array)[axis];
    selection->step[axis] = 1;
    selection->kept++;
}

bool add_axis(via_array *array, Selection *selection) {
    if (via_array_ndim(array) + selection->added_count >= VIA_MAX_NDIM) {
        raise(VIA_ERROR_SHAPE, "Array.__getitem__: key adds axes beyond the limit; expected at most %d axes",
              static_cast<int>(VIA_MAX_NDIM));
        return false;
    }
    selection->added[selection->added_count++] = selection->kept++;
    return true;
}

bool select_item(via_array *array, PyObject *item, Selection *selection) {
    if (item == Py_None) {
        return add_axis(array, selection);
    }
    if (PySlice_Check(item)) {
        return select_range(array, item, selection);
    }
    bool is_integer = PyIndex_Check(item) && !PyBool_Check(item);
    if (!is_integer) {
        raise_type("Array.__getitem__", "key", item, PyUnicode_Check(item) ? kNoNames : kKeys);
        return false;
    }
    return select_one(array, item, selection);
}

bool is_key_of_axis(PyObject *item) { return item != Py_None && item != Py_Ellipsis; }

bool count_axes(via_array *array, PyObject *key, int32_t *out_covered) {
    int32_t axes = 0, dots = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(key); ++i) {
        axes += is_key_of_axis(PyTuple_GetItem(key, i));
        dots += PyTuple_GetItem(key, i) == Py_Ellipsis;
    }
    if (dots > 1 || axes > via_array_ndim(array)) {
        raise(VIA_ERROR_INDEX, "Array.__getitem__: key has %d indices and %d '...'; expected at most %d and one",
              static_cast<int>(axes), static_cast<int>(dots), static_cast<int>(via_array_ndim(array)));
        return false;
    }
    *out_covered = axes;
    return true;
}

bool read_key(via_array *array, PyObject *key, Selection *selection) {
    int32_t covered = 0;
    if (!count_axes(array, key, &covered)) {
        return false;
    }
    int32_t uncovered = via_array_ndim(array) - covered;
    for (Py_ssize_t i = 0; i < PyTuple_Size(key); ++i) {
        PyObject *item = PyTuple_GetItem(key, i);
        if (item == Py_Ellipsis) {
            for (; uncovered > 0; --uncovered) {
                select_all(array, selection);
            }
        } else if (!select_item(array, item, selection)) {
            return false;
        }
    }
    while (selection->ndim < via_array_ndim(array)) {
        select_all(array, selection);
    }
    return true;
}

// Replaces the view by the outcome of the next step.
bool advance(OwnedArray *view, via_status status, via_array *next) {
    const bool good = ok_or_raise(status);
    if (good) {
        view->reset(next);
    }
    return good;
}

via_array *apply(via_array *array, const Selection &selection) {
    OwnedArray view;
    via_array *next = nullptr;
    via_status status = via_array_slice(array, selection.start, selection.count, selection.step, &next);
    bool good = advance(&view, status, next);
    if (good && selection.dropped_count > 0) {
        status = via_array_squeeze(view.get(), selection.dropped_count, selection.dropped, &next);
        good = advance(&view, status, next);
    }
    for (int32_t i = 0; good && i < selection.added_count; ++i) {
        status = via_array_expand(view.get(), selection.added[i], &next);
        good = advance(&view, status, next);
    }
    return good ? view.release() : nullptr;
}

via_array *select_by_tuple(via_array *array, PyObject *key) {
    Selection selection;
    return read_key(array, key, &selection) ? apply(array, selection) : nullptr;
}

via_array *select_by_integer(via_array *array, PyObject *key) {
    int64_t index = 0;
    via_array *view = nullptr;
    if (!parse_index(key, &index)) {
        return nullptr;
    }
    via_status status = via_array_select(array, 0, index, &view);
    return status == VIA_OK ? view : (raise_status(status), nullptr);
}

}  // namespace

via_array *select_by_key(via_array *array, PyObject *key) {
    if (PyLong_CheckExact(key)) {
        return select_by_integer(array, key);
    }
    if (PyTuple_Check(key)) {
        return select_by_tuple(array, key);
    }
    Ref tuple(PyTuple_Pack(1, key));
    return tuple ? select_by_tuple(array, tuple.get()) : nullptr;
}

PyObject *array_subscript(PyObject *self, PyObject *key) {
    via_array *view = select_by_key(handle_of(self), key);
    return view != nullptr ? new_array(view, origin_of(self)) : nullptr;
}

// CPython has added the length to a negative index. One that is still negative is out of bounds, and would count from
// the end again.
PyObject *array_item(PyObject *self, Py_ssize_t index) {
    via_array *array = handle_of(self);
    const int64_t given = index < 0 && via_array_ndim(array) > 0 ? index - via_array_shape(array)[0] : index;
    return view_of(self, via_array_select, 0, given);
}

}  // namespace viapy
