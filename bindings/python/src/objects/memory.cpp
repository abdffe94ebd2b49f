#include "objects/memory.hpp"

#include <new>

#include "objects/handles.hpp"
#include "support/deferred.hpp"
#include "support/wait.hpp"

namespace viapy {

const char kMemoryDoc[] = "Memory to allocate from; made by memory().";

namespace {

// The two functions of an allocator. Each block also holds them, since it may be freed after its Memory is released.
struct Allocator {
    PyObject *alloc;
    PyObject *free;
};

PyObject *number(const void *address) { return PyLong_FromVoidPtr(const_cast<void *>(address)); }

bool call_alloc(PyObject *function, int64_t nbytes, int64_t alignment, void *stream, void **out) {
    Ref ordered(number(stream));
    Ref returned(ordered ? PyObject_CallFunction(function, "LLO", static_cast<long long>(nbytes),
                                                 static_cast<long long>(alignment), ordered.get())
                         : nullptr);
    return returned && parse_number_address("empty", "alloc's result", returned.get(), out);
}

// Called on the allocating thread. A holder of the GIL finds the exception where it was set; for any other thread it is
// reported, since nothing could receive it.
int32_t allocate(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    const InsideCallback scope;
    auto *allocator = static_cast<Allocator *>(context);
    if (holds_gil()) {
        return call_alloc(allocator->alloc, nbytes, alignment, stream, out_address) ? 0 : 1;
    }
    PyGILState_STATE state = PyGILState_Ensure();
    bool good = call_alloc(allocator->alloc, nbytes, alignment, stream, out_address);
    if (!good) {
        PyErr_WriteUnraisable(allocator->alloc);
    }
    PyGILState_Release(state);
    return good ? 0 : 1;
}

struct FreeCall : Deferred {
    PyObject *function;
    void *address;
    int64_t nbytes;
    void *stream;
};

// Holds the function: another thread may destroy the allocator meanwhile.
void run_free(Deferred *self) {
    FreeCall *call = static_cast<FreeCall *>(self);
    Ref function = Ref::share(call->function);
    Ref address(number(call->address));
    Ref stream(number(call->stream));
    Ref done(address && stream ? PyObject_CallFunction(function.get(), "OLO", address.get(),
                                                       static_cast<long long>(call->nbytes), stream.get())
                               : nullptr);
    if (!done) {
        PyErr_WriteUnraisable(function.get());
    }
    delete call;
}

// The allocator outlives the call: deferred work runs in order, before anything that ends directly.
void free_block(void *address, int64_t nbytes, void *stream, void *context) {
    auto *call = new (std::nothrow) FreeCall;
    if (call == nullptr) {
        return;
    }
    call->run = run_free;
    call->function = static_cast<Allocator *>(context)->free;
    call->address = address;
    call->nbytes = nbytes;
    call->stream = stream;
    const InsideCallback scope;
    run_or_defer(call);
}

struct AllocatorEnd : Deferred {
    Allocator allocator;
};

void run_end(Deferred *self) {
    AllocatorEnd *end = static_cast<AllocatorEnd *>(self);
    Py_DECREF(end->allocator.alloc);
    Py_DECREF(end->allocator.free);
    delete end;
}

void end_allocator(void *context) {
    const InsideCallback scope;
    run_or_defer(static_cast<AllocatorEnd *>(context));
}

PyObject *custom(PyObject *alloc, PyObject *free, const Device &device) {
    auto *end = new (std::nothrow) AllocatorEnd;
    if (end == nullptr) {
        return PyErr_NoMemory();
    }
    Py_INCREF(alloc);
    Py_INCREF(free);
    end->run = run_end;
    end->allocator = {alloc, free};
    via_memory *made = nullptr;
    via_status status = via_memory_create_custom(device.type, device.id, allocate, &end->allocator, free_block,
                                                 &end->allocator, end_allocator, end, &made);
    if (status != VIA_OK) {
        raise_status(status);
        ErrorScope errors;
        run_end(end);
        return nullptr;
    }
    return new_handle(HandleKind::Memory, made);
}

Signature kMemory = {"memory", 2, 0, {"kind", "device", "alloc", "free"}};

bool check_pair(PyObject *kind, PyObject *alloc, PyObject *free) {
    if (is_given(kind)) {
        raise(VIA_ERROR_INVALID_ARGUMENT, "memory: kind is %S; expected None if alloc and free are given",
              shown(kind).get());
        return false;
    }
    if (!is_given(alloc) || !is_given(free)) {
        raise(VIA_ERROR_INVALID_ARGUMENT, "memory: only one of alloc and free is given; expected both");
        return false;
    }
    for (PyObject *function : {alloc, free}) {
        if (!PyCallable_Check(function)) {
            raise_type("memory", function == alloc ? "alloc" : "free", function, "a function");
            return false;
        }
    }
    return true;
}

struct MemoryName {
    const char *name;
    int32_t kind;
};
const MemoryName kMemoryNames[] = {
    {"host", VIA_MEMORY_HOST},        {"pinned", VIA_MEMORY_PINNED},   {"device", VIA_MEMORY_DEVICE},
    {"pool", VIA_MEMORY_DEVICE_POOL}, {"managed", VIA_MEMORY_MANAGED}, {"shared", VIA_MEMORY_SHARED},
};

bool is_on(via_memory *memory, const Device &device) {
    return via_memory_device_type(memory) == device.type && via_memory_device_id(memory) == device.id;
}

}  // namespace

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

bool share_with_multiprocessing() {
    static bool is_registered = false;
    if (!is_registered) {
        is_registered = bool(call_python("viaduct._pickle", "share_with_multiprocessing"));
    }
    return is_registered;
}

bool MemoryHandle::create(int32_t kind, int32_t device_id) {
    if (kind == VIA_MEMORY_SHARED && !share_with_multiprocessing()) {
        return false;
    }
    takes_stream_ = kind == VIA_MEMORY_DEVICE_POOL;
    return ok_or_raise(via_memory_create(kind, device_id, memory_.out()));
}

bool MemoryHandle::create_usual(const char *function, const Device &device) {
    int32_t kind = usual_memory(device.type);
    if (kind == 0) {
        raise(VIA_ERROR_DEVICE, "%s: device is device type %d; expected one that Viaduct allocates memory on", function,
              static_cast<int>(device.type));
        return false;
    }
    return create(kind, device.id);
}

// Makes no handle for host memory. Invalid device numbers are still refused by the library.
bool MemoryHandle::of_device(const char *function, const Device &device) {
    return (device.type == VIA_DEVICE_CPU && device.id == 0) || create_usual(function, device);
}

namespace {

// Any memory but that of a device is of the host, whatever device reaches it. A device that is a kind of memory, pinned
// or managed, is that kind alone.
bool is_memory_of(int32_t kind, const Device &device) {
    const bool on_host = kind == VIA_MEMORY_HOST || kind == VIA_MEMORY_SHARED;
    const bool on_device = kind == VIA_MEMORY_DEVICE || kind == VIA_MEMORY_DEVICE_POOL;
    if (device.type == VIA_DEVICE_CUDA_HOST || device.type == VIA_DEVICE_CUDA_MANAGED) {
        return kind == usual_memory(device.type);
    }
    return device.type == VIA_DEVICE_CUDA ? !on_host : !on_device;
}

// `device` without its name is where similar memory is.
bool create_named(const char *function, const MemoryName &name, bool device_named, const Device &device,
                  MemoryHandle *out_memory) {
    const bool on_device = name.kind == VIA_MEMORY_DEVICE || name.kind == VIA_MEMORY_DEVICE_POOL;
    if (device_named && !is_memory_of(name.kind, device)) {
        raise(VIA_ERROR_DEVICE, "%s: memory is \"%s\"; expected memory of the device that is named", function,
              name.name);
        return false;
    }
    return out_memory->create(name.kind, device_named || (on_device && device.type == VIA_DEVICE_CUDA) ? device.id : 0);
}

}  // namespace

bool MemoryHandle::of_value(const char *function, PyObject *value, bool device_named, const Device &device) {
    if (PyUnicode_Check(value)) {
        for (const MemoryName &candidate : kMemoryNames) {
            if (PyUnicode_CompareWithASCIIString(value, candidate.name) == 0) {
                return create_named(function, candidate, device_named, device, this);
            }
        }
        raise(VIA_ERROR_INVALID_ARGUMENT,
              "%s: memory is %S; expected \"host\", \"pinned\", \"device\", \"pool\", \"managed\", \"shared\" or a "
              "Memory",
              function, shown(value).get());
        return false;
    }
    void *handle = nullptr;
    if (!handle_of_kind(HandleKind::Memory, function, "memory", value, &handle)) {
        return false;
    }
    via_memory *memory = static_cast<via_memory *>(handle);
    if (device_named && !is_on(memory, device)) {
        raise(VIA_ERROR_DEVICE, "%s: device is not the device of memory; expected the same device", function);
        return false;
    }
    via_memory_retain(memory);
    memory_.reset(memory);
    takes_stream_ = via_memory_device_type(memory) == VIA_DEVICE_CUDA;
    return true;
}

namespace {

PyObject *memory(PyObject *, PyObject *(&values)[4]) {
    Device device;
    if (!parse_device("memory", values[1], &device)) {
        return nullptr;
    }
    if (is_given(values[2]) || is_given(values[3])) {
        return check_pair(values[0], values[2], values[3]) ? custom(values[2], values[3], device) : nullptr;
    }
    MemoryHandle made;
    bool good = is_given(values[0]) ? made.of_value("memory", values[0], is_given(values[1]), device)
                                    : made.create_usual("memory", device);
    return good ? new_handle(HandleKind::Memory, made.release()) : nullptr;
}

}  // namespace

PyMethodDef kMemoryFunctions[] = {
    {"memory", parsed<kMemory, memory>(), kKeywords,
     "memory(kind=None, device='cpu', *, alloc=None, free=None)\n--\n\n"
     "Returns memory to allocate from, for empty(): of a kind, or the usual kind of the device.\n\n"
     "With `alloc(nbytes, alignment, stream) -> address` and `free(address, nbytes, stream)`, allocates by "
     "these functions."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
