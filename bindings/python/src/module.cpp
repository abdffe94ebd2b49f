#include "module.hpp"

#include "batch.hpp"
#include "copy.hpp"
#include "creation.hpp"
#include "devices.hpp"
#include "interop/interop.hpp"
#include "objects/handles.hpp"
#include "objects/memory.hpp"
#include "support/deferred.hpp"
#include "support/dtypes.hpp"
#include "support/structs.hpp"
#include "support/wait.hpp"

namespace viapy {
namespace {

PyObject *version(PyObject *, PyObject *) {
    int number = via_version();
    return Py_BuildValue("(iii)", number / 1000000, number / 1000 % 1000, number % 1000);
}

PyObject *stats(PyObject *, PyObject *) {
    drain();
    via_stats_info info = VIA_STATS_INFO_INIT;
    via_status status = via_stats(&info);
    return status == VIA_OK ? dict_of_struct(kStatsInfo, &info) : raise_status(status);
}

PyObject *set_num_threads(PyObject *, PyObject *given) {
    int64_t count = 0;
    if (!parse_int64("set_num_threads", "count", given, &count)) {
        return nullptr;
    }
    int32_t clamped = static_cast<int32_t>(count < -1 ? -1 : count > 1 << 30 ? 1 << 30 : count);
    via_status status = via_set_num_threads(clamped);
    return status == VIA_OK ? none() : raise_status(status);
}

PyObject *inside_callback(PyObject *, PyObject *) { return boolean(is_inside_callback()); }

PyObject *num_threads(PyObject *, PyObject *) { return PyLong_FromLong(via_num_threads()); }

PyMethodDef kFunctions[] = {
    {"wrap", method(wrap), METH_FASTCALL | METH_KEYWORDS,
     "wrap(ptr, shape, dtype, *, strides=None, device='cpu', owner=None, release=None, readonly=False, check=True, "
     "nbytes=None, to=None)\n--\n\n"
     "Returns an array on existing memory; copies nothing and accesses nothing.\n\n"
     "`ptr` is an address: an integer, a pointer of ctypes or cffi, or an object with `ptr` or `data_ptr`. "
     "`strides` are in bytes, row-major if not given. `owner` is kept alive until the last view and export is "
     "released. Then `release`, if given, is called once without arguments. It is not called if wrap() fails. "
     "`check` looks a device address up in the driver, and requires the first and last byte of host memory to "
     "be readable. `nbytes` requires every element to lie within that many bytes of the address. `to`, a type "
     "as for Array.to(), returns an object of that type. That is the fastest way from a pointer to a "
     "torch.Tensor; the content counts as ready."},
    {"asarray", method(asarray), METH_FASTCALL | METH_KEYWORDS,
     "asarray(x, /, dtype=None, *, device=None, copy=None)\n--\n\n"
     "Returns an array on the memory of another library's array.\n\n"
     "Tries DLPack, the CUDA array interface, the buffer protocol, the array interface and Arrow in turn. "
     "Copies only if `copy` is True, or if `device` differs from that of x and `copy` is not False. Raises "
     "DTypeError if `dtype` differs from that of x: elements are not converted."},
    {"from_dlpack", method(from_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
     "Returns an array on the memory of an object with __dlpack__, or of a DLPack capsule.\n\n"
     "`copy` True always copies, False never, None only if required."},
    {"from_arrow", from_arrow, METH_O,
     "from_arrow(x, /)\n--\n\n"
     "Returns a read-only array on the memory of an Arrow array without nulls, or of its pair of capsules."},
    {"import_ipc", import_ipc, METH_O,
     "import_ipc(description, /)\n--\n\n"
     "Returns an array on the memory that another process described by Array.export_ipc().\n\n"
     "`description` is those bytes, or an object with a buffer of them. Copies nothing. The array keeps the "
     "memory alive, and may outlive the other process. A process cannot import its own device memory."},
    {"empty", method(empty), METH_FASTCALL | METH_KEYWORDS,
     "empty(shape, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "Returns a new row-major array with uninitialised elements.\n\n"
     "`memory` is a Memory, or \"host\", \"pinned\", \"device\", \"pool\", \"managed\" or \"shared\" (which other "
     "processes can use too). `stream` orders the allocation of a pool, and is passed to a custom allocator."},
    {"zeros", method(zeros), METH_FASTCALL | METH_KEYWORDS,
     "zeros(shape, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty() does, with all bytes zero; a stream orders the fill."},
    {"ones", method(ones), METH_FASTCALL | METH_KEYWORDS,
     "ones(shape, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty() does, with all elements one; a stream orders the fill."},
    {"full", method(full), METH_FASTCALL | METH_KEYWORDS,
     "full(shape, fill_value, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty() does, with all elements set to a number, or to the bytes of one element."},
    {"empty_like", method(empty_like), METH_FASTCALL | METH_KEYWORDS,
     "empty_like(x, /, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "Returns a new row-major array with the shape, dtype and device of x and uninitialised elements.\n\n"
     "x is any object that asarray() accepts. `dtype`, `device` and `memory` override those of x."},
    {"zeros_like", method(zeros_like), METH_FASTCALL | METH_KEYWORDS,
     "zeros_like(x, /, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty_like() does, with all bytes zero."},
    {"ones_like", method(ones_like), METH_FASTCALL | METH_KEYWORDS,
     "ones_like(x, /, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty_like() does, with all elements one."},
    {"full_like", method(full_like), METH_FASTCALL | METH_KEYWORDS,
     "full_like(x, /, fill_value, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty_like() does, with all elements set to a number, or to the bytes of one "
     "element."},
    {"copyto", method(copyto), METH_FASTCALL | METH_KEYWORDS,
     "copyto(dst, src, stream=None)\n--\n\n"
     "Copies src into dst as numpy.copyto does: broadcasts src to the shape of dst, and accepts a number.\n\n"
     "Both may be any object that asarray() accepts. The dtypes must be equal. Returns when done; with a "
     "stream, once the copy is queued."},
    {"copy", method(copy), METH_FASTCALL | METH_KEYWORDS,
     "copy(dst, src, stream=None)\n--\n\n"
     "Copies between two arrays of equal shape and dtype, as via_copy does; use copyto() to broadcast.\n\n"
     "Returns when done; with a stream, once the copy is queued."},
    {"copy_submit", method(copy_submit), METH_FASTCALL | METH_KEYWORDS,
     "copy_submit(dst, src, stream=None)\n--\n\n"
     "Starts a copy as copy() does, after the stream's work so far, and returns a Task at once."},
    {"fill", method(fill), METH_FASTCALL | METH_KEYWORDS,
     "fill(dst, value, stream=None)\n--\n\n"
     "Sets every element to a number, or to the bytes of one element."},
    {"copy_explain", method(copy_explain), METH_FASTCALL | METH_KEYWORDS,
     "copy_explain(dst, src)\n--\n\n"
     "Returns a text that says how copy(dst, src) would be done; copies nothing."},
    {"device_count", method(device_count), METH_FASTCALL | METH_KEYWORDS,
     "device_count(kind='cuda')\n--\n\n"
     "Returns the number of usable devices."},
    {"device_info", method(device_info), METH_FASTCALL | METH_KEYWORDS,
     "device_info(device='cuda')\n--\n\n"
     "Returns the properties of a device, its copy routes, and why a route is off."},
    {"pointer_info", pointer_info, METH_O,
     "pointer_info(ptr, /)\n--\n\n"
     "Returns what an address points to, as a dict: device, base and nbytes of the allocation, readonly."},
    {"memory", method(memory), METH_FASTCALL | METH_KEYWORDS,
     "memory(kind=None, device='cpu', *, alloc=None, free=None)\n--\n\n"
     "Returns memory to allocate from, for empty(): of a kind, or the usual kind of the device.\n\n"
     "With `alloc(nbytes, alignment, stream) -> address` and `free(address, nbytes, stream)`, allocates by "
     "these functions."},
    {"version", version, METH_NOARGS,
     "version()\n--\n\n"
     "Returns the version of the library: (major, minor, patch)."},
    {"stats", stats, METH_NOARGS,
     "stats()\n--\n\n"
     "Returns counts of live objects and bytes, as a dict."},
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads(count, /)\n--\n\n"
     "Sets how many threads, including the caller's, one host copy may use; 0 restores the default."},
    {"_is_inside_callback", inside_callback, METH_NOARGS, nullptr},
    {"_dtype_number", dtype_number, METH_VARARGS, nullptr},
    {"_extents", extents_tuple, METH_VARARGS, nullptr},
    {"num_threads", num_threads, METH_NOARGS,
     "num_threads()\n--\n\n"
     "Returns how many threads one host copy may use now."},
    {nullptr, nullptr, 0, nullptr},
};

// Types, exceptions and the table of C functions belong to the first interpreter that imports them.
bool is_main_interpreter() {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) {
        return true;
    }
    PyErr_SetString(PyExc_ImportError,
                    "viaduct cannot be imported in a subinterpreter: its arrays belong to the main interpreter");
    return false;
}

bool library_serves_this_module() {
    if (via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR) == VIA_OK) {
        return true;
    }
    PyErr_SetString(PyExc_ImportError, via_last_error());
    return false;
}

bool add_array(PyObject *module) {
    const ArrayTypeParts parts = {
        {kBufferMethods, kDlpackMethods, kConvertMethods, kArrowMethods, kIpcMethods},
        {kInterfaceGetters},
        {{Py_mp_ass_subscript, slot(array_assign)},
         {Py_bf_getbuffer, slot(get_buffer)},
         {Py_bf_releasebuffer, slot(release_buffer)}},
    };
    return add_array_type(module, parts) && add_exchange_table(reinterpret_cast<PyObject *>(g_array_type));
}

}  // namespace

int init_module(PyObject *module) {
    bool good = is_main_interpreter() && library_serves_this_module() && init_deferred() && init_interfaces() &&
                add_exceptions(module) && add_array(module) && add_handle_types(module) && add_batch_type(module) &&
                PyModule_AddFunctions(module, kFunctions) == 0;
    return good ? 0 : -1;
}

}  // namespace viapy
