#include "objects/handles.hpp"

#include <structmember.h>
#include <cstddef>
#include <vector>

#include "objects/event.hpp"
#include "objects/file.hpp"
#include "objects/memory.hpp"
#include "objects/stream.hpp"
#include "objects/task.hpp"
#include "support/errors.hpp"

namespace viapy {
namespace {

struct HandleObject {
    PyObject_HEAD void *handle;
    PyObject *attached;  // see attached_to()
    PyObject *weak_references;
};

struct Kind {
    const char *name;
    void (*retain)(void *);
    void (*release)(void *);
    PyTypeObject *type;
};

template <class T, void (*function)(T *)>
void erased(void *handle) {
    function(static_cast<T *>(handle));
}

Kind g_kinds[] = {
    {"viaduct.Memory", erased<via_memory, via_memory_retain>, erased<via_memory, via_memory_release>, nullptr},
    {"viaduct.Stream", erased<via_stream, via_stream_retain>, erased<via_stream, via_stream_release>, nullptr},
    {"viaduct.Event", erased<via_event, via_event_retain>, erased<via_event, via_event_release>, nullptr},
    {"viaduct.Task", erased<via_task, via_task_retain>, erased<via_task, via_task_release>, nullptr},
    {"viaduct.Batch", erased<via_batch, via_batch_retain>, erased<via_batch, via_batch_release>, nullptr},
    {"viaduct.File", erased<via_file, via_file_retain>, erased<via_file, via_file_release>, nullptr},
    {"viaduct.ArchiveHandle", erased<via_archive, via_archive_retain>, erased<via_archive, via_archive_release>,
     nullptr},
};

constexpr char kArchiveDoc[] = "The handle of an Archive.";

Kind &row(HandleKind kind) { return g_kinds[static_cast<int>(kind)]; }

PyMemberDef kMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(HandleObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

void dealloc(PyObject *self) {
    if (reinterpret_cast<HandleObject *>(self)->weak_references != nullptr) {
        PyObject_ClearWeakRefs(self);
    }
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(attached_to(self));
    for (const Kind &kind : g_kinds) {
        if (kind.type == type) {
            keeping_error([&] { kind.release(reinterpret_cast<HandleObject *>(self)->handle); });
        }
    }
    PyObject_Free(self);
    Py_DECREF(type);
}

const char *bare_name(const Kind &kind) { return kind.name + sizeof "viaduct." - 1; }

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
    object->attached = nullptr;
    object->weak_references = nullptr;
    return reinterpret_cast<PyObject *>(object);
}

PyObject *handle_or_raise(HandleKind kind, via_status status, void *owned) {
    return status == VIA_OK ? new_handle(kind, owned) : raise_status(status);
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

void release_handle(HandleKind kind, PyObject *object) {
    row(kind).release(std::exchange(reinterpret_cast<HandleObject *>(object)->handle, nullptr));
}

PyObject *&attached_to(PyObject *object) { return reinterpret_cast<HandleObject *>(object)->attached; }

bool is_kind(HandleKind kind, PyObject *object) { return Py_TYPE(object) == row(kind).type; }

// A type that defines tp_new can be called; the others are made by functions.
bool add_handle_type(PyObject *module, HandleKind handle_kind, const char *doc, const PyType_Slot *own_slots) {
    Kind &kind = row(handle_kind);
    std::vector<PyType_Slot> slots = {
        {Py_tp_doc, const_cast<char *>(doc)},
        {Py_tp_dealloc, slot(dealloc)},
        {Py_tp_members, kMembers},
    };
    unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    for (const PyType_Slot *slot = own_slots; slot != nullptr && slot->slot != 0; ++slot) {
        flags = slot->slot == Py_tp_new ? Py_TPFLAGS_DEFAULT : flags;
        slots.push_back(*slot);
    }
    slots.push_back({0, nullptr});
    PyType_Spec spec = {kind.name, sizeof(HandleObject), 0, flags, slots.data()};
    kind.type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return kind.type != nullptr && PyModule_AddType(module, kind.type) == 0;
}

bool add_handle_types(PyObject *module) {
    return add_handle_type(module, HandleKind::Memory, kMemoryDoc, nullptr) &&
           add_handle_type(module, HandleKind::Stream, kStreamDoc, kStreamSlots) &&
           add_handle_type(module, HandleKind::Event, kEventDoc, kEventSlots) &&
           add_handle_type(module, HandleKind::Task, kTaskDoc, kTaskSlots) &&
           add_handle_type(module, HandleKind::File, kFileDoc, kFileSlots) &&
           add_handle_type(module, HandleKind::Archive, kArchiveDoc, nullptr) &&
           add_shared_streams(reinterpret_cast<PyObject *>(row(HandleKind::Stream).type));
}

}  // namespace viapy
