// Python objects for the library's other handles: memory, streams, events, tasks, batches, files.
#pragma once

#include "arguments.hpp"
#include "python.hpp"

namespace viapy {

enum class HandleKind { Memory, Stream, Event, Task, Batch, File };

// An object of the kind that takes the handle over, or holds it once more if it is borrowed. NULL is None.
PyObject *new_handle(HandleKind kind, void *owned);
PyObject *share_handle(HandleKind kind, void *borrowed);

// The handle in an object; false with TypeError set if it is none of that kind. None is refused.
bool handle_of_kind(HandleKind kind, const char *function, const char *argument, PyObject *object, void **out);

// The handle in an object that is of the kind.
void *handle_in(PyObject *object);
bool is_kind(HandleKind kind, PyObject *object);

// Releases the handle now; NULL takes its place.
void end_handle(HandleKind kind, PyObject *object);

// What goes with the handle: who wants to hear of a task's end, what a file was opened with, the pairs of a batch.
// NULL: nothing.
PyObject *&kept_of(PyObject *object);

bool add_handle_types(PyObject *module);

// A place to allocate from for the length of a call; NULL inside means plain host memory.
class MemoryHandle {
public:
    MemoryHandle() = default;
    ~MemoryHandle() { via_memory_release(memory_); }
    MemoryHandle(const MemoryHandle &) = delete;
    MemoryHandle &operator=(const MemoryHandle &) = delete;
    via_memory *get() const { return memory_; }

    // The usual memory of a device; of_device() leaves out the handle of the host's, which needs none.
    bool create_usual(const char *function, const Device &device);
    bool of_device(const char *function, const Device &device);

    // "host", "pinned", "device", "pool", "managed" or "shared", on the device; or a Memory, which must be on the
    // device if one was named.
    bool of_value(const char *function, PyObject *value, bool device_named, const Device &device);

    bool create(int32_t kind, int32_t device_id);
    via_memory *give() { return std::exchange(memory_, nullptr); }

private:
    via_memory *memory_ = nullptr;
};

// Has multiprocessing pass arrays of shared memory by description, from the first such memory on. In share.cpp.
bool share_with_multiprocessing();

// memory(kind=None, device='cpu', *, alloc=None, free=None)
PyObject *memory(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

}  // namespace viapy
