// The type viaduct.Task.
#include "errors.hpp"
#include "gil.hpp"
#include "loan.hpp"
#include "order.hpp"
#include "wait.hpp"

namespace viapy {

const char kTaskDoc[] =
    "A copy or file transfer under way.\n\n"
    "Made by copy_submit(), File.read_submit() and File.write_submit(). `await task` waits for it in asyncio. Letting "
    "go of a task does not stop it.";

namespace {

via_task *task_in(PyObject *self) { return static_cast<via_task *>(handle_in(self)); }

via_status ask_task(void *task, int32_t *out_done) { return via_task_poll(static_cast<via_task *>(task), out_done); }

Signature kWait = {"Task.wait", 1, 0, {"timeout"}};

// False with TimeoutError set if the task has not ended in time.
bool ends_in_time(via_task *task, PyObject *timeout) {
    double seconds = PyFloat_AsDouble(timeout);
    int32_t done = 0;
    if (PyErr_Occurred() != nullptr || !poll_until_done(ask_task, task, seconds, &done)) {
        return false;
    }
    if (done == 0) {
        PyErr_Format(PyExc_TimeoutError, "Task.wait: the task has not ended within %S seconds", shown(timeout).get());
    }
    return done != 0;
}

PyObject *wait(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *timeout = nullptr;
    via_task *task = task_in(self);
    if (!parse_arguments(kWait, args, nargs, kwnames, &timeout) ||
        (is_given(timeout) && !ends_in_time(task, timeout))) {
        return nullptr;
    }
    return wait_for(ask_task, task, [=] { return via_task_wait(task); }) ? none() : nullptr;
}

PyObject *done(PyObject *self, PyObject *) {
    int32_t answer = 0;
    via_status status = via_task_poll(task_in(self), &answer);
    return status == VIA_OK ? boolean(answer != 0) : raise_status(status);
}

PyObject *progress(PyObject *self, PyObject *) {
    int64_t moved = 0, total = 0;
    via_status status = via_task_progress(task_in(self), &moved, &total);
    return status == VIA_OK ? Py_BuildValue("(LL)", static_cast<long long>(moved), static_cast<long long>(total))
                            : raise_status(status);
}

PyObject *cancel(PyObject *self, PyObject *) { return none_or_raise(via_task_cancel(task_in(self))); }

Signature kJoin = {"Task.join", 1, 0, {"stream"}};

// Work that has not been handed to the device yet is waited for on the host.
PyObject *join(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *given = nullptr;
    StreamArgument stream;
    if (!parse_arguments(kJoin, args, nargs, kwnames, &given) || !stream.parse_or_current("Task.join", given, 0)) {
        return nullptr;
    }
    via_task *task = task_in(self);
    via_stream *target = stream.get();
    return none_or_raise(without_gil(true, [=] { return via_task_join(task, target); }));
}

// The library calls back once for a task, and the Task calls all who asked. It is held until then.
struct Completion : Deferred {
    PyObject *task;
};

void call_one(PyObject *self, PyObject *function) {
    if (!Ref(PyObject_CallFunctionObjArgs(function, self, nullptr))) {
        PyErr_WriteUnraisable(function);
    }
}

void call_all(PyObject *self) {
    PyObject *&callbacks = kept_of(self);
    Ref waiting(std::exchange(callbacks, nullptr));
    for (Py_ssize_t i = 0; i < PyList_Size(waiting.get()); ++i) {
        call_one(self, PyList_GetItem(waiting.get(), i));
    }
}

void run_completion(Deferred *self) {
    Completion *completion = static_cast<Completion *>(self);
    call_all(completion->task);
    Py_DECREF(completion->task);
    delete completion;
}

void complete(int32_t, const char *, void *context) {
    const InsideCallback scope;
    run_with_gil(static_cast<Completion *>(context));
}

bool ask_to_be_called(PyObject *self) {
    auto *completion = new (std::nothrow) Completion;
    if (completion == nullptr) {
        PyErr_NoMemory();
        return false;
    }
    completion->run = run_completion;
    completion->task = self;
    Py_INCREF(self);
    via_status status = via_task_on_complete(task_in(self), complete, completion);
    if (status == VIA_OK) {
        return true;
    }
    raise_status(status);
    Py_DECREF(self);
    delete completion;
    return false;
}

PyObject *add_done_callback(PyObject *self, PyObject *function) {
    if (!PyCallable_Check(function)) {
        return raise_type("Task.add_done_callback", "function", function, "a function of one argument, the task");
    }
    int32_t ended = 0;
    via_status status = via_task_poll(task_in(self), &ended);
    if (status != VIA_OK) {
        return raise_status(status);
    }
    PyObject *&callbacks = kept_of(self);
    if (callbacks == nullptr && ended != 0) {
        call_one(self, function);
        return none();
    }
    bool first = callbacks == nullptr;
    callbacks = first ? PyList_New(0) : callbacks;
    if (callbacks == nullptr || PyList_Append(callbacks, function) != 0) {
        return nullptr;
    }
    if (first && !ask_to_be_called(self)) {
        Ref forgotten(std::exchange(callbacks, nullptr));
        return nullptr;
    }
    return none();
}

PyObject *await(PyObject *self) {
    Ref module(PyImport_ImportModule("viaduct._interop"));
    return module ? PyObject_CallMethod(module.get(), "await_task", "O", self) : nullptr;
}

PyMethodDef kMethods[] = {
    {"wait", method(wait), METH_FASTCALL | METH_KEYWORDS,
     "wait($self, timeout=None)\n--\n\n"
     "Waits for the end; raises what the task failed with, or TimeoutError after so many seconds.\n\n"
     "Ctrl-C ends the wait, not the task."},
    {"done", done, METH_NOARGS, "done($self)\n--\n\nWhether the task has ended."},
    {"progress", progress, METH_NOARGS, "progress($self)\n--\n\nThe bytes moved so far and the bytes in all."},
    {"cancel", cancel, METH_NOARGS,
     "cancel($self)\n--\n\nAsks the task to stop; it ends with CancelledError unless it was done already."},
    {"join", method(join), METH_FASTCALL | METH_KEYWORDS,
     "join($self, stream=None)\n--\n\n"
     "Makes later work of a stream wait, on the device, for the task.\n\n"
     "Of the current stream of device 0 if none is given."},
    {"add_done_callback", add_done_callback, METH_O,
     "add_done_callback($self, function, /)\n--\n\n"
     "Has function(task) called once the task has ended, on a thread of the library; at once if it has ended."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyType_Slot kTaskSlots[] = {
    {Py_tp_methods, kMethods},
    {Py_am_await, slot(await)},
    {0, nullptr},
};

PyObject *new_task_or_raise(via_status status, via_task *task) {
    return status == VIA_OK ? new_handle(HandleKind::Task, task) : raise_status(status);
}

}  // namespace viapy
