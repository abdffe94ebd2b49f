#include "module.hpp"

#include "array.hpp"
#include "array_data.hpp"
#include "devices.hpp"
#include "dtypes.hpp"
#include "errors.hpp"
#include "exchange.hpp"
#include "handles.hpp"
#include "loan.hpp"
#include "structs.hpp"
#include "wait.hpp"

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
     "An array on memory that exists; nothing is copied and nothing is touched.\n\n"
     "`ptr` is an address: an integer, a pointer of ctypes or cffi, or an object with `ptr` or `data_ptr`. `strides` "
     "are in bytes, row-major if not given. `owner` is kept alive until the last view and export is gone; then "
     "`release`, if given, is called once without arguments. On failure it is not called. With `check`, a device "
     "address is looked up in the driver, and the first and last byte of host memory must be readable. With "
     "`nbytes`, no element may lie outside of as many bytes from the address on. With `to`, a type as Array.to() takes "
     "it, returns an object of that: the quickest way from a pointer to a torch.Tensor, whose "
     "content is taken as ready now."},
    {"asarray", method(asarray), METH_FASTCALL | METH_KEYWORDS,
     "asarray(x, /, dtype=None, *, device=None, copy=None)\n--\n\n"
     "An array on the memory of another library's array.\n\n"
     "By DLPack, the CUDA array interface, the buffer protocol, the array interface or Arrow: whichever works first. "
     "Copies only if `copy` is True, or if `device` is another one than that of x and `copy` is not False. Raises "
     "DTypeError for another `dtype` than that of x, since elements are not converted."},
    {"from_dlpack", method(from_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
     "An array on the memory of an object with __dlpack__, or of a DLPack capsule. `copy` True always copies, False "
     "never, None only where it must."},
    {"from_arrow", from_arrow, METH_O,
     "from_arrow(x, /)\n--\n\n"
     "A read-only array on the memory of an Arrow array without nulls (or of its pair of capsules)."},
    {"import_ipc", import_ipc, METH_O,
     "import_ipc(description, /)\n--\n\n"
     "An array on the memory that another process described by Array.export_ipc().\n\n"
     "`description` is those bytes, or whatever lends them. Nothing is copied. The array holds the memory, and may "
     "outlive the other process. Memory of a device cannot be imported by the process it is of."},
    {"empty", method(empty), METH_FASTCALL | METH_KEYWORDS,
     "empty(shape, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "A new row-major array, its elements not initialised.\n\n"
     "`memory` is a Memory, or \"host\", \"pinned\", \"device\", \"pool\", \"managed\" or \"shared\", which other "
     "processes can use too. `stream` orders the allocation of a pool, or is handed to the caller's own."},
    {"zeros", method(zeros), METH_FASTCALL | METH_KEYWORDS,
     "zeros(shape, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "A new array as empty() makes it, of zero bytes; on a stream once that gets there."},
    {"ones", method(ones), METH_FASTCALL | METH_KEYWORDS,
     "ones(shape, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "A new array as empty() makes it, of ones; on a stream once that gets there."},
    {"full", method(full), METH_FASTCALL | METH_KEYWORDS,
     "full(shape, fill_value, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "A new array as empty() makes it, of one number, or of the bytes of one element."},
    {"empty_like", method(empty_like), METH_FASTCALL | METH_KEYWORDS,
     "empty_like(x, /, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "A new row-major array of the shape, dtype and device of x, its elements not initialised.\n\n"
     "x is whatever asarray() takes. Another `dtype`, `device` or `memory` may be given."},
    {"zeros_like", method(zeros_like), METH_FASTCALL | METH_KEYWORDS,
     "zeros_like(x, /, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "A new array as empty_like() makes it, of zero bytes."},
    {"ones_like", method(ones_like), METH_FASTCALL | METH_KEYWORDS,
     "ones_like(x, /, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "A new array as empty_like() makes it, of ones."},
    {"full_like", method(full_like), METH_FASTCALL | METH_KEYWORDS,
     "full_like(x, /, fill_value, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "A new array as empty_like() makes it, of one number, or of the bytes of one element."},
    {"copyto", method(copyto), METH_FASTCALL | METH_KEYWORDS,
     "copyto(dst, src, stream=None)\n--\n\n"
     "Copies src into dst as numpy.copyto does: src is repeated to the shape of dst, and may be a number.\n\n"
     "Each may be whatever asarray() takes; the dtypes must be equal. Returns when done; with a stream, once the copy "
     "is queued."},
    {"copy", method(copy), METH_FASTCALL | METH_KEYWORDS,
     "copy(dst, src, stream=None)\n--\n\n"
     "Copies as copyto() does between two arrays whose shapes are equal, as via_copy demands; repeats nothing.\n\n"
     "Returns when done; with a stream, once the copy is queued."},
    {"copy_submit", method(copy_submit), METH_FASTCALL | METH_KEYWORDS,
     "copy_submit(dst, src, stream=None)\n--\n\n"
     "Starts a copy as copy() makes it, after the stream's work so far, and returns at once with a Task."},
    {"fill", method(fill), METH_FASTCALL | METH_KEYWORDS,
     "fill(dst, value, stream=None)\n--\n\nSets every element to a number, or to the bytes of one element."},
    {"copy_explain", method(copy_explain), METH_FASTCALL | METH_KEYWORDS,
     "copy_explain(dst, src)\n--\n\nHow copy(dst, src) would be done, as text; nothing is copied."},
    {"device_count", method(device_count), METH_FASTCALL | METH_KEYWORDS,
     "device_count(kind='cuda')\n--\n\nHow many devices can be used; 0 on a machine without."},
    {"device_info", method(device_info), METH_FASTCALL | METH_KEYWORDS,
     "device_info(device='cuda')\n--\n\nWhat a device is, and which copy routes are on and why the others are not."},
    {"pointer_info", pointer_info, METH_O,
     "pointer_info(ptr, /)\n--\n\n"
     "What an address points to, as a dict: device, base and nbytes of the allocation, readonly."},
    {"memory", method(memory), METH_FASTCALL | METH_KEYWORDS,
     "memory(kind=None, device='cpu', *, alloc=None, free=None)\n--\n\n"
     "A place to allocate from, for empty(): of a kind, or the usual one of the device.\n\n"
     "With `alloc(nbytes, alignment, stream) -> address` and `free(address, nbytes, stream)`, the caller's own."},
    {"version", version, METH_NOARGS, "version()\n--\n\nThe version of the library: (major, minor, patch)."},
    {"stats", stats, METH_NOARGS, "stats()\n--\n\nWhat is alive now, as a dict of counts."},
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads(count, /)\n--\n\n"
     "Sets how many threads, the caller's included, one host copy may use; 0 goes back to the default."},
    {"_is_inside_callback", inside_callback, METH_NOARGS, nullptr},
    {"_dtype_number", dtype_number, METH_VARARGS, nullptr},
    {"_extents", extents_tuple, METH_VARARGS, nullptr},
    {"num_threads", num_threads, METH_NOARGS, "num_threads()\n--\n\nHow many threads one host copy may use now."},
    {nullptr, nullptr, 0, nullptr},
};

// Types, exceptions and the table of C functions belong to the one interpreter that imported them first.
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

}  // namespace

int init_module(PyObject *module) {
    bool good = is_main_interpreter() && library_serves_this_module() && init_loans() && init_interfaces() &&
                add_exceptions(module) && add_array_type(module) && add_handle_types(module) &&
                PyModule_AddFunctions(module, kFunctions) == 0;
    return good ? 0 : -1;
}

}  // namespace viapy
