// memory(): places to allocate from, those that Python functions serve included.
#include <new>

#include "arguments.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "handles.hpp"
#include "loan.hpp"
#include "wait.hpp"

namespace viapy {
namespace {

// The two functions of an allocator. Each block holds it too, since a block may be freed after its Memory is gone.
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

// Called on the thread that asks for memory. One that holds the GIL finds the exception where it left it; for any
// other it is reported, as nobody there could see it.
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

// While the function runs, another thread may find its allocator ended, and let go of it.
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

// The allocator outlives the call: what is deferred runs in order, and before whatever ends directly.
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
        raise(VIA_ERROR_INVALID_ARGUMENT,
              "memory: argument 'kind': found %S beside 'alloc' and 'free', expected one or the other",
              shown(kind).get());
        return false;
    }
    if (!is_given(alloc) || !is_given(free)) {
        raise(VIA_ERROR_INVALID_ARGUMENT, "memory: arguments 'alloc' and 'free': found one, expected both");
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

}  // namespace

PyObject *memory(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[4] = {};
    Device device;
    if (!parse_arguments(kMemory, args, nargs, kwnames, values) || !parse_device("memory", values[1], &device)) {
        return nullptr;
    }
    if (is_given(values[2]) || is_given(values[3])) {
        return check_pair(values[0], values[2], values[3]) ? custom(values[2], values[3], device) : nullptr;
    }
    MemoryHandle made;
    bool good = is_given(values[0]) ? made.of_value("memory", values[0], is_given(values[1]), device)
                                    : made.create_usual("memory", device);
    return good ? new_handle(HandleKind::Memory, made.give()) : nullptr;
}

}  // namespace viapy
