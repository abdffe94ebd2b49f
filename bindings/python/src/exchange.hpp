// Taking arrays from other libraries, and lending them.
#pragma once

#include "array.hpp"

namespace viapy {

// Names of DLPack's capsules; a consumer puts "used_" in front.
inline constexpr char kVersioned[] = "dltensor_versioned";
inline constexpr char kLegacy[] = "dltensor";

// What the caller of from_dlpack() or asarray() wants beside the array itself.
struct Wish {
    bool has_device = false;
    Device device;
    int32_t copy = VIA_COPY_IF_NEEDED;
};

// Outcomes of trying one protocol: an Array; nothing, because the object does not speak it; or an exception.
enum class Tried { Done, Absent, Failed };

Tried try_exchange_api(const char *function, PyObject *object, PyObject **out_array);
Tried try_dlpack(const char *function, PyObject *object, const Wish &wish, PyObject **out_array);
Tried try_cuda_array_interface(const char *function, PyObject *object, PyObject **out_array);
Tried try_buffer(const char *function, PyObject *object, PyObject **out_array);
Tried try_array_interface(const char *function, PyObject *object, PyObject **out_array);
Tried try_arrow(const char *function, PyObject *object, PyObject **out_array);

// The array of a DLPack capsule, which is marked as used from the start and left as it was on failure.
PyObject *take_capsule(const char *function, PyObject *capsule, const Wish &wish);

// The newest version that a consumer takes; None and versions before 1 mean the unversioned form.
bool parse_max_version(const char *function, PyObject *value, via_dlpack_options *options);

// Whether a stride of some length is negative.
bool goes_backwards(via_array *array);

// The array as an object of another library's type; ready on the stream that the library works on, unless it is taken
// as ready anyhow. `where` is "function: argument 'x'".
PyObject *give(const char *where, via_array *array, PyObject *kind, bool is_ready);

// The array lent as a capsule, of the form that the options' version says.
PyObject *new_capsule(via_array *array, const via_dlpack_options &options, via_stream *stream);

// asarray(): an Array of whatever lends its memory; each protocol in turn.
PyObject *as_array(const char *function, PyObject *object, const char *argument = "x");

// An attribute, NULL without an exception if there is none (or if asking for it says so by AttributeError).
PyObject *optional_attribute(PyObject *object, const char *name, bool *out_failed);

// Makes the keys of the array interfaces.
bool init_interfaces();

// Puts __dlpack_c_exchange_api__ on the type.
bool add_exchange_api(PyObject *type);

PyObject *wrap(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *asarray(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *from_dlpack(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *from_arrow(PyObject *, PyObject *object);
PyObject *import_ipc(PyObject *, PyObject *object);

}  // namespace viapy
