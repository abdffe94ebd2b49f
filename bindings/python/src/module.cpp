#include "module.hpp"

#include "batch.hpp"
#include "conversion.hpp"
#include "copy.hpp"
#include "creation.hpp"
#include "devices.hpp"
#include "interop/interop.hpp"
#include "objects/handles.hpp"
#include "objects/memory.hpp"
#include "support/deferred.hpp"
#include "support/dtypes.hpp"
#include "support/versioned_struct.hpp"
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
    return ok_or_raise(via_stats(&info)) ? dict_of_struct(kStatsInfo, &info) : nullptr;
}

PyObject *set_num_threads(PyObject *, PyObject *given) {
    int64_t count = 0;
    if (!parse_int64("set_num_threads", "count", given, &count)) {
        return nullptr;
    }
    int32_t clamped = static_cast<int32_t>(count < -1 ? -1 : count > 1 << 30 ? 1 << 30 : count);
    return none_or_raise(via_set_num_threads(clamped));
}

PyObject *inside_callback(PyObject *, PyObject *) { return boolean(is_inside_callback()); }

PyObject *num_threads(PyObject *, PyObject *) { return PyLong_FromLong(via_num_threads()); }

PyMethodDef kModuleFunctions[] = {
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

bool add_functions(PyObject *module) {
    for (PyMethodDef *functions :
         {kWrapFunctions, kAsarrayFunctions, kDlpackFunctions, kArrowFunctions, kIpcFunctions, kCreationFunctions,
          kConvertFunctions, kCopyFunctions, kDeviceFunctions, kMemoryFunctions, kModuleFunctions}) {
        if (PyModule_AddFunctions(module, functions) != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace

int init_module(PyObject *module) {
    bool good = is_main_interpreter() && library_serves_this_module() && init_deferred() && init_interfaces() &&
                add_exceptions(module) && add_array(module) && add_handle_types(module) && add_batch_type(module) &&
                add_functions(module);
    return good ? 0 : -1;
}

}  // namespace viapy
