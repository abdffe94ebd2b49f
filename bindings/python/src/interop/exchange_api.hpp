// DLPack's tables of C functions on the types of other libraries.
#pragma once

#include <dlpack/dlpack.h>

#include "interop/protocol.hpp"

namespace viapy {

// Properties of a type.
struct KnownType {
    PyObject *type;
    const DLPackExchangeAPI *api;  // NULL if it has none that is understood here
    bool is_numpy;                 // whose arrays are host memory: they need not be asked
    bool is_prepared;              // to make objects of CUDA memory
    bool has_lazy_views;           // see is_exportable()
    bool has_mask;                 // see has_no_mask()
    bool is_immutable;             // whose arrays nobody writes
    bool is_tensorflow;            // see is_exportable()
};

// Returns the cached properties of a type.
KnownType known_type(PyObject *type);

// Does the same anew: a package may have changed the type since.
KnownType look_at(PyObject *type);

// Records that a type is_prepared.
void mark_prepared(PyObject *type);

// Returns an attribute of a loaded module; empty, without an exception, if there is none.
Ref loaded(const char *module, const char *name);

// Refuses PyTorch's lazily negated or conjugated views, whose memory holds other numbers, and tensors that require a
// gradient. PyTorch's __dlpack__ refuses them too, but its other exports do not. Refuses TensorFlow's tensors of texts
// and resources, for which its __dlpack__ ends the process. False with an exception set.
bool is_exportable(const char *function, PyObject *object, bool may_be_complex);

// Refuses arrays of NumPy's whose mask hides an element, since no protocol says which. False with an exception set.
bool has_no_mask(const char *function, PyObject *object);

inline PyObject *type_of(PyObject *object) { return reinterpret_cast<PyObject *>(Py_TYPE(object)); }

// The current stream of another library. The functions of its table do not synchronise: what they import or export is
// ready there.
class WorkStream {
public:
    // Leaves the stream NULL for host memory, and for libraries without the function. False with an exception set on
    // failure.
    bool ask(const DLPackExchangeAPI *api, const DLDevice &device);

    via_stream *get() const { return stream_.get(); }

private:
    OwnedStream stream_;
};

}  // namespace viapy
