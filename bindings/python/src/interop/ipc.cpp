#include "interop/ipc.hpp"

#include "array/array.hpp"
#include "objects/memory.hpp"
#include "support/wait.hpp"

namespace viapy {
namespace {

PyObject *export_ipc(PyObject *self, PyObject *) {
    via_array *array = handle_of(self);
    if (!wait_until_ready(array)) {
        return nullptr;
    }
    char bytes[VIA_IPC_MAX_BYTES];
    int64_t length = 0;
    return ok_or_raise(via_array_export_ipc(array, sizeof bytes, bytes, &length))
               ? PyBytes_FromStringAndSize(bytes, length)
               : nullptr;
}

PyObject *import_ipc(PyObject *, PyObject *object) {
    Bytes given;
    if (!given.parse("import_ipc", "description", object) || !share_with_multiprocessing()) {
        return nullptr;
    }
    return array_from(Origin::Process, via_array_import_ipc, given.data(), given.length());
}

}  // namespace

PyMethodDef kIpcMethods[] = {
    {"export_ipc", export_ipc, METH_NOARGS,
     "export_ipc($self, /)\n--\n\n"
     "Describes the array, in a few hundred bytes, for import_ipc() in other processes of the host.\n\n"
     "Requires memory of empty(..., memory=\"shared\") or of a CUDA device. The memory stays until the last "
     "array of any process is released. An import needs an array here to be alive. Waits until the content is "
     "ready."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kIpcFunctions[] = {
    {"import_ipc", import_ipc, METH_O,
     "import_ipc(description, /)\n--\n\n"
     "Returns an array on the memory that another process described by Array.export_ipc().\n\n"
     "`description` is those bytes, or an object with a buffer of them. Copies nothing. The array keeps the "
     "memory alive, and may outlive the other process. A process cannot import its own device memory."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
