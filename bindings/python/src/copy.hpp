// Module functions that copy between arrays of any library, and assignment to an Array.
#pragma once

#include "array/array.hpp"
#include "array/array_convert.hpp"
#include "objects/handles.hpp"
#include "support/gil.hpp"

namespace viapy {

extern PyMethodDef kCopyFunctions[];

// The arguments dst and src: any objects that asarray() accepts.
struct ArrayPair {
    Ref dst_object;
    Ref src_object;

    bool parse(const char *function, PyObject *given_dst, PyObject *given_src);
    via_array *dst() const { return handle_of(dst_object.get()); }
    via_array *src() const { return handle_of(src_object.get()); }
};

// The arguments of copies by index, in this order. Any of CONVERSION_OPTIONS asks for a conversion.
#define INDEXED_PARAMETERS "dst", "dst_index", "src", "src_index", "axis"

struct IndexedRows : ArrayPair {
    Ref dst_indices;
    Ref src_indices;
    int32_t axis = 0;

    bool parse(const char *function, PyObject *const *values);
    bool parse_options(const char *function, PyObject *const *values);

    // Returns NULL if both arrays have one dtype.
    const via_convert_options *options() const { return converts_ ? &options_.get() : nullptr; }

    // Return the handle of an index, NULL for None.
    via_array *dst_index() const { return dst_indices ? handle_of(dst_indices.get()) : nullptr; }
    via_array *src_index() const { return src_indices ? handle_of(src_indices.get()) : nullptr; }

private:
    bool converts_ = false;
    ConversionOptions options_;
};

// Returns the Task that submit(&task) makes.
template <class Submit>
PyObject *start_task(bool unlock, const Submit &submit) {
    via_task *task = nullptr;
    const via_status status = without_gil(unlock, [&] { return submit(&task); });
    return handle_or_raise(HandleKind::Task, status, task);
}

// Returns the text that explain(capacity, text, &length) writes.
template <class Explain>
PyObject *explanation(const Explain &explain) {
    char text[4096];
    int64_t length = 0;
    return ok_or_raise(explain(sizeof text, text, &length)) ? PyUnicode_FromString(text) : nullptr;
}

// array[key] = value
int array_assign(PyObject *self, PyObject *key, PyObject *value);

}  // namespace viapy
