// Python objects for the library's other handles: memory, streams, events, tasks, batches, files, archives.
#pragma once

#include "support/wait.hpp"

namespace viapy {

enum class HandleKind { Memory, Stream, Event, Task, Batch, File, Archive };

// Return an object of the kind. The first owns the handle; the second retains it. NULL is None.
PyObject *new_handle(HandleKind kind, void *owned);
// Returns the same if the status is VIA_OK, otherwise raises the status's exception.
PyObject *handle_or_raise(HandleKind kind, via_status status, void *owned);
PyObject *share_handle(HandleKind kind, void *borrowed);

// Returns an object on the handle that function(arguments..., &handle) stores, or raises the exception of its status.
template <class Handle, class... Parameters, class... Arguments>
PyObject *handle_from(HandleKind kind, via_status (*function)(Parameters...), Arguments... arguments) {
    Handle *handle = nullptr;
    const via_status status = function(arguments..., &handle);
    return handle_or_raise(kind, status, handle);
}

// Stores the handle of an object of the kind. False with TypeError set for any other object, None included.
bool handle_of_kind(HandleKind kind, const char *function, const char *argument, PyObject *object, void **out);

// Returns the handle of an object that is of the kind.
void *handle_in(PyObject *object);
bool is_kind(HandleKind kind, PyObject *object);

// The method done() of a kind: returns whether its work is done.
template <PollFunction poll>
PyObject *is_done(PyObject *self, PyObject *) {
    int32_t done = 0;
    return ok_or_raise(poll(handle_in(self), &done)) ? boolean(done != 0) : nullptr;
}

// Releases the handle now, and stores NULL in its place.
void release_handle(HandleKind kind, PyObject *object);

// The Python object attached to the handle: a task's callbacks, a file's options, a batch's pairs. NULL: none.
PyObject *&attached_to(PyObject *object);

// Makes the type of a kind, and adds it to the module. `slots` may be NULL.
bool add_handle_type(PyObject *module, HandleKind kind, const char *doc, const PyType_Slot *slots);

// Adds the types of this room.
bool add_handle_types(PyObject *module);

}  // namespace viapy
