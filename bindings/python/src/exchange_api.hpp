// DLPack's tables of C functions on the types of other libraries.
#pragma once

#include <dlpack/dlpack.h>

#include "exchange.hpp"

namespace viapy {

// What was found on a type.
struct KnownType {
    PyObject *type;
    const DLPackExchangeAPI *api;  // NULL if it has none that is understood here
    bool is_numpy;                 // whose arrays are host memory: they need not be asked
    bool is_prepared;              // to make objects of CUDA memory
    bool has_lazy_views;           // see is_lendable()
    bool has_mask;                 // see hides_nothing()
};

// Of types met lately, kept as the protocol allows.
KnownType known_type(PyObject *type);

// Remembers that a type is_prepared.
void note_prepared(PyObject *type);

// An attribute of a module that is loaded; empty, without an exception, if there is none.
Ref loaded(const char *module, const char *name);

// Refuses views of PyTorch's that are still to be negated or conjugated when they are read, since their memory holds
// other numbers, and tensors that require a gradient, which would miss what is done to them elsewhere: PyTorch's
// __dlpack__ refuses these too, but not every road by which it lends memory does. False with an exception set.
bool is_lendable(const char *function, PyObject *object, bool may_be_complex);

// Refuses arrays of NumPy's whose mask hides an element, since no protocol says which. False with an exception set.
bool hides_nothing(const char *function, PyObject *object);

inline PyObject *type_of(PyObject *object) { return reinterpret_cast<PyObject *>(Py_TYPE(object)); }

// The stream that a library works on now: its functions order nothing, so what they take or give is ready there.
class WorkStream {
public:
    WorkStream() = default;
    ~WorkStream() { via_stream_release(stream_); }
    WorkStream(const WorkStream &) = delete;
    WorkStream &operator=(const WorkStream &) = delete;

    // Of host memory, and of a library that does not tell, none; false with an exception set.
    bool ask(const DLPackExchangeAPI *api, const DLDevice &device);

    via_stream *get() const { return stream_; }

private:
    via_stream *stream_ = nullptr;
};

}  // namespace viapy
