#include "handles.hpp"

#include <vector>

#include "errors.hpp"
#include "order.hpp"

namespace viapy {
namespace {

struct HandleObject {
    PyObject_HEAD void *handle;
    PyObject *kept;  // of a task: who wants to hear of its end; of a file: what open() was told; of a batch: its pairs
};

struct Kind {
    const char *name;
    const char *doc;
    void (*retain)(void *);
    void (*release)(void *);
    PyType_Slot *slots;  // what its objects can do; nullptr: they are only passed about
    PyTypeObject *type;
};

template <class T, void (*function)(T *)>
void erased(void *handle) {
    function(static_cast<T *>(handle));
}

Kind g_kinds[] = {
    {"viaduct.Memory", "A place to allocate from; made by memory().", erased<via_memory, via_memory_retain>,
     erased<via_memory, via_memory_release>, nullptr, nullptr},
    {"viaduct.Stream", kStreamDoc, erased<via_stream, via_stream_retain>, erased<via_stream, via_stream_release>,
     kStreamSlots, nullptr},
    {"viaduct.Event", kEventDoc, erased<via_event, via_event_retain>, erased<via_event, via_event_release>, kEventSlots,
     nullptr},
    {"viaduct.Task", kTaskDoc, erased<via_task, via_task_retain>, erased<via_task, via_task_release>, kTaskSlots,
     nullptr},
    {"viaduct.Batch", kBatchDoc, erased<via_batch, via_batch_retain>, erased<via_batch, via_batch_release>, kBatchSlots,
     nullptr},
    {"viaduct.File", kFileDoc, erased<via_file, via_file_retain>, erased<via_file, via_file_release>, kFileSlots,
     nullptr},
};

Kind &row(HandleKind kind) { return g_kinds[static_cast<int>(kind)]; }

void dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(kept_of(self));
    for (const Kind &kind : g_kinds) {
        if (kind.type == type) {
            keeping_error([&] { kind.release(reinterpret_cast<HandleObject *>(self)->handle); });
        }
    }
    PyObject_Free(self);
    Py_DECREF(type);
}

// The type's own slots behind those that all have; one that says how it is made can be called.
bool add_type(PyObject *module, Kind &kind) {
    std::vector<PyType_Slot> slots = {
        {Py_tp_doc, const_cast<char *>(kind.doc)},
        {Py_tp_dealloc, slot(dealloc)},
    };
    unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    for (PyType_Slot *slot = kind.slots; slot != nullptr && slot->slot != 0; ++slot) {
        flags = slot->slot == Py_tp_new ? Py_TPFLAGS_DEFAULT : flags;
        slots.push_back(*slot);
    }
    slots.push_back({0, nullptr});
    PyType_Spec spec = {kind.name, sizeof(HandleObject), 0, flags, slots.data()};
    kind.type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return kind.type != nullptr && PyModule_AddType(module, kind.type) == 0;
}

const char *bare_name(const Kind &kind) { return kind.name + sizeof "viaduct." - 1; }

struct MemoryName {
    const char *name;
    int32_t kind;
};
const MemoryName kMemoryNames[] = {
    {"host", VIA_MEMORY_HOST},        {"pinned", VIA_MEMORY_PINNED},   {"device", VIA_MEMORY_DEVICE},
    {"pool", VIA_MEMORY_DEVICE_POOL}, {"managed", VIA_MEMORY_MANAGED}, {"shared", VIA_MEMORY_SHARED},
};

int32_t usual_memory(int32_t device_type) {
    switch (device_type) {
        case VIA_DEVICE_CPU:
            return VIA_MEMORY_HOST;
        case VIA_DEVICE_CUDA:
            return VIA_MEMORY_DEVICE;
        case VIA_DEVICE_CUDA_HOST:
            return VIA_MEMORY_PINNED;
        case VIA_DEVICE_CUDA_MANAGED:
            return VIA_MEMORY_MANAGED;
        default:
            return 0;
    }
}

bool is_on(via_memory *memory, const Device &device) {
    return via_memory_device_type(memory) == device.type && via_memory_device_id(memory) == device.id;
}

}  // namespace

PyObject *new_handle(HandleKind kind, void *owned) {
    if (owned == nullptr) {
        return none();
    }
    HandleObject *object = PyObject_New(HandleObject, row(kind).type);
    if (object == nullptr) {
        keeping_error([&] { row(kind).release(owned); });
        return nullptr;
    }
    object->handle = owned;
    object->kept = nullptr;
    return reinterpret_cast<PyObject *>(object);
}

PyObject *share_handle(HandleKind kind, void *borrowed) {
    row(kind).retain(borrowed);
    return new_handle(kind, borrowed);
}

bool handle_of_kind(HandleKind kind, const char *function, const char *argument, PyObject *object, void **out) {
    if (Py_TYPE(object) != row(kind).type) {
        raise_type(function, argument, object, bare_name(row(kind)));
        return false;
    }
    *out = handle_in(object);
    return true;
}

void *handle_in(PyObject *object) { return reinterpret_cast<HandleObject *>(object)->handle; }

void end_handle(HandleKind kind, PyObject *object) {
    row(kind).release(std::exchange(reinterpret_cast<HandleObject *>(object)->handle, nullptr));
}

PyObject *&kept_of(PyObject *object) { return reinterpret_cast<HandleObject *>(object)->kept; }

bool is_kind(HandleKind kind, PyObject *object) { return Py_TYPE(object) == row(kind).type; }

bool add_handle_types(PyObject *module) {
    for (Kind &kind : g_kinds) {
        if (!add_type(module, kind)) {
            return false;
        }
    }
    return add_shared_streams(reinterpret_cast<PyObject *>(row(HandleKind::Stream).type));
}

bool MemoryHandle::create(int32_t kind, int32_t device_id) {
    if (kind == VIA_MEMORY_SHARED && !share_with_multiprocessing()) {
        return false;
    }
    via_status status = via_memory_create(kind, device_id, &memory_);
    return status == VIA_OK || (raise_status(status), false);
}

bool MemoryHandle::create_usual(const char *function, const Device &device) {
    int32_t kind = usual_memory(device.type);
    if (kind == 0) {
        raise(VIA_ERROR_DEVICE, "%s: argument 'device': found device type %d, expected one that has memory here",
              function, static_cast<int>(device.type));
        return false;
    }
    return create(kind, device.id);
}

// Host memory needs no handle, but that there is only one device of it is still said by the library.
bool MemoryHandle::of_device(const char *function, const Device &device) {
    return (device.type == VIA_DEVICE_CPU && device.id == 0) || create_usual(function, device);
}

bool MemoryHandle::of_value(const char *function, PyObject *value, bool device_named, const Device &device) {
    if (PyUnicode_Check(value)) {
        for (const MemoryName &candidate : kMemoryNames) {
            if (PyUnicode_CompareWithASCIIString(value, candidate.name) == 0) {
                return create(candidate.kind, device.id);
            }
        }
        raise(VIA_ERROR_INVALID_ARGUMENT,
              "%s: argument 'memory': found %S, expected \"host\", \"pinned\", \"device\", \"pool\", \"managed\", "
              "\"shared\" or a Memory",
              function, shown(value).get());
        return false;
    }
    void *handle = nullptr;
    if (!handle_of_kind(HandleKind::Memory, function, "memory", value, &handle)) {
        return false;
    }
    via_memory *memory = static_cast<via_memory *>(handle);
    if (device_named && !is_on(memory, device)) {
        raise(VIA_ERROR_DEVICE, "%s: argument 'device': found another device than that of argument 'memory'", function);
        return false;
    }
    via_memory_retain(memory);
    memory_ = memory;
    return true;
}

}  // namespace viapy
