// Module functions that copy between arrays of any library, and assignment to an Array.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern PyMethodDef kCopyFunctions[];

// The arguments of copies by index: dst, dst_index, src, src_index and axis, in this order.
struct IndexedRows {
    Ref dst;
    Ref dst_index;
    Ref src;
    Ref src_index;
    int32_t axis = 0;

    bool parse(const char *function, PyObject *const *values);

    // Returns the handle of an index, NULL for None.
    static via_array *list(const Ref &index);
};

// array[key] = value
int array_assign(PyObject *self, PyObject *key, PyObject *value);

}  // namespace viapy
