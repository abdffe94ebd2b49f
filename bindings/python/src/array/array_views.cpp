#include "array/array_views.hpp"

#include "support/arguments.hpp"
#include "support/dtypes.hpp"

namespace viapy {
namespace {

// Accepts numbers as f(1, 2, 3) and as f((1, 2, 3)).
PyObject *packed(PyObject *const *args, Py_ssize_t nargs) {
    if (nargs == 1) {
        Py_INCREF(args[0]);
        return args[0];
    }
    Ref tuple(PyTuple_New(nargs));
    for (Py_ssize_t i = 0; tuple && i < nargs; ++i) {
        Py_INCREF(args[i]);
        if (PyTuple_SetItem(tuple.get(), i, args[i]) != 0) {
            return nullptr;
        }
    }
    return tuple.release();
}

PyObject *transpose(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Ref given(packed(args, nargs));
    int32_t count = 0;
    int32_t axes[VIA_MAX_NDIM];
    bool reversed = nargs == 0 || given.get() == Py_None;
    if (!given || (!reversed && !parse_axes("Array.transpose", "axes", given.get(), &count, axes))) {
        return nullptr;
    }
    int32_t ndim = via_array_ndim(handle_of(self));
    if (!reversed && count != ndim) {
        return raise(VIA_ERROR_SHAPE, "Array.transpose: axes has %d entries; expected one for each of %d axes",
                     static_cast<int>(count), static_cast<int>(ndim));
    }
    return view_of(self, via_array_permute, reversed ? nullptr : axes);
}

PyObject *reshape(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Ref given(packed(args, nargs));
    Extents shape;
    if (!given || !parse_extents("Array.reshape", "shape", given.get(), &shape)) {
        return nullptr;
    }
    return view_of(self, via_array_reshape, shape.count, shape.values);
}

PyObject *broadcast_to(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Ref given(packed(args, nargs));
    Extents shape;
    if (!given || !parse_extents("Array.broadcast_to", "shape", given.get(), &shape)) {
        return nullptr;
    }
    return view_of(self, via_array_broadcast, shape.count, shape.values);
}

Signature kSqueeze = {"Array.squeeze", 1, 0, {"axis"}};

PyObject *squeeze(PyObject *self, PyObject *(&values)[1]) {
    int32_t count = 0;
    int32_t axes[VIA_MAX_NDIM];
    if ((is_given(values[0]) && !parse_axes("Array.squeeze", "axis", values[0], &count, axes))) {
        return nullptr;
    }
    if (is_given(values[0]) && count == 0) {
        Py_INCREF(self);
        return self;
    }
    return view_of(self, via_array_squeeze, count, count > 0 ? axes : nullptr);
}

PyObject *expand_dims(PyObject *self, PyObject *axis) {
    int32_t count = 0;
    int32_t axes[VIA_MAX_NDIM];
    if (!parse_axes("Array.expand_dims", "axis", axis, &count, axes)) {
        return nullptr;
    }
    if (count != 1) {
        return raise(VIA_ERROR_INDEX, "Array.expand_dims: axis names %d axes; expected one", static_cast<int>(count));
    }
    return view_of(self, via_array_expand, axes[0]);
}

PyObject *view_as(PyObject *self, PyObject *given) {
    const int32_t dtype = parse_dtype("Array.view", given);
    return dtype != 0 ? view_of(self, via_array_reinterpret, dtype) : nullptr;
}

Signature kField = {"Array.field", 3, 2, {"offset", "dtype", "shape"}};

PyObject *field(PyObject *self, PyObject *(&values)[3]) {
    int64_t offset = 0;
    if (!parse_int64("Array.field", "offset", values[0], &offset)) {
        return nullptr;
    }
    int32_t dtype = parse_dtype("Array.field", values[1]);
    Extents shape;
    if (dtype == 0 || (is_given(values[2]) && !parse_extents("Array.field", "shape", values[2], &shape))) {
        return nullptr;
    }
    return view_of(self, via_array_field, offset, dtype, shape.count, shape.values);
}

PyObject *as_readonly(PyObject *self, PyObject *) { return view_of(self, via_array_as_read_only); }

}  // namespace

PyMethodDef kViewMethods[] = {
    {"transpose", method(transpose), METH_FASTCALL,
     "transpose($self, *axes)\n--\n\n"
     "Returns a view with the axes in another order, reversed if none is given."},
    {"reshape", method(reshape), METH_FASTCALL,
     "reshape($self, *shape)\n--\n\n"
     "Returns a view of the same elements, in row-major order, with another shape; one extent may be -1.\n\n"
     "Raises NeedsCopyError if only a copy could have that shape."},
    {"broadcast_to", method(broadcast_to), METH_FASTCALL,
     "broadcast_to($self, *shape)\n--\n\n"
     "Returns a read-only view that repeats extents of 1, and adds axes in front, by strides of 0."},
    {"squeeze", parsed<kSqueeze, squeeze>(), kKeywords,
     "squeeze($self, axis=None)\n--\n\n"
     "Returns a view without the named axes of extent 1, or without all of them."},
    {"expand_dims", expand_dims, METH_O,
     "expand_dims($self, axis, /)\n--\n\n"
     "Returns a view with a new axis of extent 1 at position `axis`."},
    {"view", view_as, METH_O,
     "view($self, dtype, /)\n--\n\n"
     "Returns a view of the same bytes as elements of another type.\n\n"
     "If the element size differs, the last axis must be dense and hold a whole number of new elements."},
    {"field", parsed<kField, field>(), kKeywords,
     "field($self, offset, dtype, shape=())\n--\n\n"
     "Returns a view of one field of every element, `offset` bytes into it.\n\n"
     "`shape` appends the axes of a field that is itself a row-major array."},
    {"as_readonly", as_readonly, METH_NOARGS,
     "as_readonly($self)\n--\n\n"
     "Returns a view that refuses writes."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
