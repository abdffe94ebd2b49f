#include "objects/event.hpp"

#include "objects/handles.hpp"
#include "objects/stream_argument.hpp"
#include "support/arguments.hpp"
#include "support/wait.hpp"

namespace viapy {

const char kEventDoc[] =
    "Event(device=0)\n--\n\n"
    "A point in a stream, without timing.\n\n"
    "Counts as reached until it is recorded.";

namespace {

via_event *event_in(PyObject *self) { return static_cast<via_event *>(handle_in(self)); }

PyObject *create(PyTypeObject *, PyObject *args, PyObject *keywords) {
    PyObject *place = nullptr;
    int32_t device_id = 0;
    static const char *const names[] = {"device", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, keywords, "|O:Event", const_cast<char **>(names), &place) == 0 ||
        !parse_cuda_device("Event", place, 0, &device_id)) {
        return nullptr;
    }
    return handle_from<via_event>(HandleKind::Event, via_event_create, device_id);
}

Signature kWrapEvent = {"Event.wrap", 2, 1, {"event", "device"}};

PyObject *wrap_event(PyObject *, PyObject *(&values)[2]) {
    int32_t device_id = 0;
    if (!parse_cuda_device("Event.wrap", values[1], 0, &device_id)) {
        return nullptr;
    }
    return wrap_foreign_event("Event.wrap", values[0], device_id,
                              "the number of a CUevent, or an event of CuPy, torch or Numba");
}

Signature kRecord = {"Event.record", 1, 0, {"stream"}};

PyObject *record(PyObject *self, PyObject *(&values)[1]) {
    StreamArgument stream;
    if (!stream.parse_or_current("Event.record", values[0], 0)) {
        return nullptr;
    }
    return none_or_raise(via_event_record(event_in(self), stream.get()));
}

constexpr PollFunction kPollEvent = poll_handle<via_event, via_event_query>;

PyObject *synchronize(PyObject *self, PyObject *) {
    via_event *event = event_in(self);
    return wait_for(kPollEvent, event, [=] { return via_event_synchronize(event); }) ? none() : nullptr;
}

PyObject *get_handle(PyObject *self, void *) { return PyLong_FromVoidPtr(via_event_handle(event_in(self))); }

PyObject *repr(PyObject *self) {
    return PyUnicode_FromFormat("<viaduct.Event at %p>", via_event_handle(event_in(self)));
}

PyMethodDef kMethods[] = {
    {"wrap", parsed<kWrapEvent, wrap_event>(), kKeywords | METH_STATIC,
     "wrap(event, device=0)\n--\n\n"
     "Returns an Event for another library's event, or for the number of a CUevent; its owner keeps owning it."},
    {"record", parsed<kRecord, record>(), kKeywords,
     "record($self, stream=None)\n--\n\n"
     "Records the end of a stream's work so far.\n\n"
     "Uses the current stream of device 0 if none is given."},
    {"synchronize", synchronize, METH_NOARGS,
     "synchronize($self)\n--\n\n"
     "Waits until the recorded point is reached."},
    {"done", is_done<kPollEvent>, METH_NOARGS,
     "done($self)\n--\n\n"
     "Returns whether the recorded point has been reached."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kGetters[] = {
    {"handle", get_handle, nullptr, "Returns the number of the CUevent.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

PyObject *wrap_foreign_event(const char *function, PyObject *value, int32_t device_id, const char *expected) {
    const Ref number = call_interop("event_handle", value);
    if (!number) {
        return nullptr;
    }
    if (number.get() == Py_None) {
        return raise_type(function, "event", value, expected);
    }
    void *native = nullptr;
    if (!parse_number_address(function, "event", number.get(), &native)) {
        return nullptr;
    }
    return handle_from<via_event>(HandleKind::Event, via_event_wrap, native, device_id);
}

PyType_Slot kEventSlots[] = {
    {Py_tp_new, slot(create)},
    {Py_tp_methods, kMethods},
    {Py_tp_getset, kGetters},
    {Py_tp_repr, slot(repr)},
    {0, nullptr},
};

}  // namespace viapy
