#include "objects/stream.hpp"

#include <vector>

#include "objects/event.hpp"
#include "objects/handles.hpp"
#include "objects/stream_argument.hpp"
#include "support/arguments.hpp"
#include "support/wait.hpp"

namespace viapy {

const char kStreamDoc[] =
    "Stream(device=0)\n--\n\n"
    "A queue of work on a CUDA device.\n\n"
    "Creates a stream that does not synchronise with the legacy stream; Stream.wrap() accepts another "
    "library's. Stream.legacy and Stream.per_thread are CUDA's default streams. Stream.no_sync means: do not "
    "order. As a context manager it is this thread's current stream, which imports and exports use by "
    "default.";

namespace {

via_stream *stream_in(PyObject *self) { return static_cast<via_stream *>(handle_in(self)); }

PyObject *create(PyTypeObject *, PyObject *args, PyObject *keywords) {
    PyObject *place = nullptr;
    int32_t device_id = 0;
    static const char *const names[] = {"device", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, keywords, "|O:Stream", const_cast<char **>(names), &place) == 0 ||
        !parse_cuda_device("Stream", place, 0, &device_id)) {
        return nullptr;
    }
    return handle_from<via_stream>(HandleKind::Stream, via_stream_create, device_id);
}

Signature kWrapStream = {"Stream.wrap", 2, 1, {"stream", "device"}};

PyObject *wrap_stream(PyObject *, PyObject *(&values)[2]) {
    int32_t device_id = -1;
    StreamArgument stream;
    if (!parse_cuda_device("Stream.wrap", values[1], -1, &device_id) ||
        !stream.parse("Stream.wrap", values[0], device_id)) {
        return nullptr;
    }
    via_stream *found = stream.get() != nullptr ? stream.release() : via_stream_legacy();
    return new_handle(HandleKind::Stream, found);
}

Signature kCurrent = {"Stream.current", 1, 0, {"device"}};

PyObject *current(PyObject *, PyObject *(&values)[1]) {
    int32_t device_id = 0;
    return parse_cuda_device("Stream.current", values[0], 0, &device_id)
               ? handle_from<via_stream>(HandleKind::Stream, via_stream_current, device_id)
               : nullptr;
}

constexpr PollFunction kPollStream = poll_handle<via_stream, via_stream_query>;

PyObject *synchronize(PyObject *self, PyObject *) {
    via_stream *stream = stream_in(self);
    return wait_for(kPollStream, stream, [=] { return via_stream_synchronize(stream); }) ? none() : nullptr;
}

// Wraps another library's event for the call.
PyObject *event_of(PyObject *value, via_stream *stream) {
    if (is_kind(HandleKind::Event, value)) {
        Py_INCREF(value);
        return value;
    }
    return wrap_foreign_event("Stream.wait", value, via_stream_device_id(stream),
                              "an Event, the number of a CUevent, or an event of CuPy, torch or Numba");
}

PyObject *wait(PyObject *self, PyObject *value) {
    Ref event(event_of(value, stream_in(self)));
    return event ? none_or_raise(via_stream_wait(stream_in(self), static_cast<via_event *>(handle_in(event.get()))))
                 : nullptr;
}

Signature kRecord = {"Stream.record", 1, 0, {"event"}};

PyObject *record(PyObject *self, PyObject *(&values)[1]) {
    via_stream *stream = stream_in(self);
    void *checked = nullptr;
    if (is_given(values[0]) && !handle_of_kind(HandleKind::Event, "Stream.record", "event", values[0], &checked)) {
        return nullptr;
    }
    Ref event = is_given(values[0])
                    ? Ref::share(values[0])
                    : Ref(handle_from<via_event>(HandleKind::Event, via_event_create, via_stream_device_id(stream)));
    if (!event) {
        return nullptr;
    }
    via_status status = via_event_record(static_cast<via_event *>(handle_in(event.get())), stream);
    return status == VIA_OK ? event.release() : raise_status(status);
}

PyObject *cuda_stream(PyObject *self, PyObject *) {
    return Py_BuildValue("(iN)", 0, PyLong_FromVoidPtr(via_stream_handle(stream_in(self))));
}

// Streams that were current before each unfinished `with` of this thread.
struct Entered {
    int32_t device_id;
    via_stream *before;  // owned
};
thread_local std::vector<Entered> t_entered;

PyObject *enter(PyObject *self, PyObject *) {
    via_stream *stream = stream_in(self);
    Entered entered = {via_stream_device_id(stream), nullptr};
    via_status status = via_stream_current(entered.device_id, &entered.before);
    if (status == VIA_OK) {
        status = via_stream_set_current(entered.device_id, stream);
    }
    if (status != VIA_OK) {
        raise_status(status);
        via_stream_release(entered.before);
        return nullptr;
    }
    t_entered.push_back(entered);
    Py_INCREF(self);
    return self;
}

PyObject *leave(PyObject *, PyObject *) {
    if (t_entered.empty()) {
        return raise(VIA_ERROR_INVALID_ARGUMENT,
                     "Stream.__exit__: this thread entered no stream; expected __enter__ first");
    }
    Entered entered = t_entered.back();
    t_entered.pop_back();
    via_status status = via_stream_set_current(entered.device_id, entered.before);
    PyObject *result = none_or_raise(status);
    via_stream_release(entered.before);
    return result;
}

PyObject *get_handle(PyObject *self, void *) { return PyLong_FromVoidPtr(via_stream_handle(stream_in(self))); }

PyObject *get_device(PyObject *self, void *) {
    return device_name(VIA_DEVICE_CUDA, via_stream_device_id(stream_in(self)));
}

bool is_no_sync(PyObject *self) { return stream_in(self) == via_stream_no_sync(); }

PyObject *compare(PyObject *self, PyObject *other, int operation) {
    if (!is_kind(HandleKind::Stream, other) || (operation != Py_EQ && operation != Py_NE)) {
        Py_INCREF(Py_NotImplemented);
        return Py_NotImplemented;
    }
    bool equal = is_no_sync(self) == is_no_sync(other) &&
                 via_stream_handle(stream_in(self)) == via_stream_handle(stream_in(other));
    return boolean(equal == (operation == Py_EQ));
}

Py_hash_t hash(PyObject *self) {
    auto number = reinterpret_cast<intptr_t>(via_stream_handle(stream_in(self)));
    return static_cast<Py_hash_t>(number >> 4 ^ number << 24);
}

PyObject *repr(PyObject *self) {
    via_stream *stream = stream_in(self);
    void *handle = via_stream_handle(stream);
    auto number = reinterpret_cast<intptr_t>(handle);
    if (is_no_sync(self) || number == 1 || number == 2) {
        return PyUnicode_FromFormat("<viaduct.Stream %s>", is_no_sync(self) ? "no_sync"
                                                           : number == 1    ? "legacy"
                                                                            : "per_thread");
    }
    return PyUnicode_FromFormat("<viaduct.Stream at %p, cuda:%d>", handle,
                                static_cast<int>(via_stream_device_id(stream)));
}

PyMethodDef kMethods[] = {
    {"wrap", parsed<kWrapStream, wrap_stream>(), kKeywords | METH_STATIC,
     "wrap(stream, device=None)\n--\n\n"
     "Returns a Stream for another library's stream, which must live as long as work is queued through it.\n\n"
     "Accepts objects with __cuda_stream__, streams of CuPy, torch and Numba, and the number of a CUstream. 0, "
     "1 and None are the legacy stream, 2 is the calling thread's."},
    {"current", parsed<kCurrent, current>(), kKeywords | METH_STATIC,
     "current(device=0)\n--\n\n"
     "Returns the calling thread's current stream of a device; the legacy stream unless set by `with`."},
    {"synchronize", synchronize, METH_NOARGS,
     "synchronize($self)\n--\n\n"
     "Waits until the stream's work so far is done."},
    {"done", is_done<kPollStream>, METH_NOARGS,
     "done($self)\n--\n\n"
     "Returns whether the stream's work so far is done."},
    {"wait", wait, METH_O,
     "wait($self, event, /)\n--\n\n"
     "Makes later work of the stream wait, on the device, for an event."},
    {"record", parsed<kRecord, record>(), kKeywords,
     "record($self, event=None)\n--\n\n"
     "Records the end of the stream's work so far in an event, a new one if none is given."},
    {"__cuda_stream__", cuda_stream, METH_NOARGS,
     "__cuda_stream__($self)\n--\n\n"
     "Returns the pair of the protocol's version and the number of the CUstream."},
    {"__enter__", enter, METH_NOARGS,
     "__enter__($self)\n--\n\n"
     "Makes it this thread's current stream."},
    {"__exit__", leave, METH_VARARGS,
     "__exit__($self, *exception)\n--\n\n"
     "Restores the previous current stream."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kGetters[] = {
    {"handle", get_handle, nullptr, "Returns the number of the CUstream; 1 and 2 for CUDA's default streams.", nullptr},
    {"device", get_device, nullptr, "Returns the stream's device: \"cuda:0\".", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

bool add_shared(PyObject *type, const char *name, via_stream *stream) {
    Ref object(share_handle(HandleKind::Stream, stream));
    return object && PyObject_SetAttrString(type, name, object.get()) == 0;
}

}  // namespace

PyType_Slot kStreamSlots[] = {
    {Py_tp_new, slot(create)},
    {Py_tp_methods, kMethods},
    {Py_tp_getset, kGetters},
    {Py_tp_repr, slot(repr)},
    {Py_tp_richcompare, slot(compare)},
    {Py_tp_hash, slot(hash)},
    {0, nullptr},
};

bool add_shared_streams(PyObject *type) {
    return add_shared(type, "legacy", via_stream_legacy()) && add_shared(type, "per_thread", via_stream_per_thread()) &&
           add_shared(type, "no_sync", via_stream_no_sync());
}

}  // namespace viapy
