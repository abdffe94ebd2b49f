#include "objects/task.hpp"

#include "objects/handles.hpp"
#include "objects/stream_argument.hpp"
#include "support/arguments.hpp"
#include "support/deferred.hpp"
#include "support/wait.hpp"

namespace viapy {

const char kTaskDoc[] =
    "A copy or file transfer in progress.\n\n"
    "Made by copy_submit() and every other call with submit in its name. `await task` waits for it in asyncio. "
    "Releasing a task does not stop it.";

namespace {

via_task *task_in(PyObject *self) { return static_cast<via_task *>(handle_in(self)); }

constexpr PollFunction kPollTpoll = poll_handle<via_task, via_task_poll>;

Signature kWait = {"Task.wait", 1, 0, {"timeout"}};
Signature kResult = {"Task.result", 1, 0, {"timeout"}};
Signature kException = {"Task.exception", 1, 0, {"timeout"}};

// False with TimeoutError set if the task has not ended in time.
bool ends_in_time(const char *function, via_task *task, PyObject *timeout) {
    double seconds = PyFloat_AsDouble(timeout);
    int32_t done = 0;
    if (PyErr_Occurred() != nullptr || !poll_until_done(kPollTpoll, task, seconds, &done)) {
        return false;
    }
    if (done == 0) {
        PyErr_Format(PyExc_TimeoutError, "%s: the task has not ended within %R seconds", function, timeout);
    }
    return done != 0;
}

// Waits for the end. False with an exception set. *out_own is the task's own status if the task failed.
bool wait_for_end(const char *function, PyObject *self, PyObject *timeout, via_status *out_own) {
    via_task *task = task_in(self);
    *out_own = VIA_OK;
    if (is_given(timeout) && !ends_in_time(function, task, timeout)) {
        return false;
    }
    via_status status = VIA_OK;
    if (wait_for(kPollTpoll, task, [&] { return status = via_task_wait(task); })) {
        return true;
    }
    int32_t ended = 0;
    *out_own = via_task_poll(task, &ended) == VIA_OK && ended != 0 ? status : VIA_OK;
    return false;
}

// Implements wait() and result().
template <Signature &signature>
PyObject *wait(PyObject *self, PyObject *(&values)[1]) {
    via_status own = VIA_OK;
    return wait_for_end(signature.function, self, values[0], &own) ? none() : nullptr;
}

// Returns a failure and raises a cancellation, as futures do.
PyObject *exception(PyObject *self, PyObject *(&values)[1]) {
    via_status own = VIA_OK;
    if (wait_for_end("Task.exception", self, values[0], &own)) {
        return none();
    }
    return own != VIA_OK && own != VIA_ERROR_CANCELLED ? take_exception().release() : nullptr;
}

// Stores the task's final status. False if it has not ended. Never waits.
bool has_ended(via_task *task, via_status *out_own) {
    int32_t ended = 0;
    bool good = via_task_poll(task, &ended) == VIA_OK && ended != 0;
    *out_own = good ? via_task_wait(task) : VIA_OK;
    return good;
}

PyObject *cancelled(PyObject *self, PyObject *) {
    via_status own = VIA_OK;
    return boolean(has_ended(task_in(self), &own) && own == VIA_ERROR_CANCELLED);
}

PyObject *repr(PyObject *self) {
    via_task *task = task_in(self);
    via_status own = VIA_OK;
    int64_t moved = 0, total = 0;
    bool ended = has_ended(task, &own);
    if (!ok_or_raise(via_task_progress(task, &moved, &total))) {
        return nullptr;
    }
    if (ended && own == VIA_OK) {
        return PyUnicode_FromFormat("<viaduct.Task done, %lld bytes>", static_cast<long long>(total));
    }
    const bool failed = ended && own != VIA_ERROR_CANCELLED;
    return PyUnicode_FromFormat("<viaduct.Task %s%s, %lld of %lld bytes>",
                                failed  ? "failed with "
                                : ended ? "cancelled"
                                        : "under way",
                                failed ? via_status_name(own) : "", static_cast<long long>(moved),
                                static_cast<long long>(total));
}

PyObject *progress(PyObject *self, PyObject *) {
    int64_t moved = 0, total = 0;
    return ok_or_raise(via_task_progress(task_in(self), &moved, &total))
               ? Py_BuildValue("(LL)", static_cast<long long>(moved), static_cast<long long>(total))
               : nullptr;
}

PyObject *cancel(PyObject *self, PyObject *) { return none_or_raise(via_task_cancel(task_in(self))); }

Signature kJoin = {"Task.join", 1, 0, {"stream"}};

// Waits on the host for work that is not yet queued on the device.
PyObject *join(PyObject *self, PyObject *(&values)[1]) {
    StreamArgument stream;
    if (!stream.parse_or_current("Task.join", values[0], 0)) {
        return nullptr;
    }
    via_task *task = task_in(self);
    via_stream *target = stream.get();
    return none_or_raise(without_gil(true, [=] { return via_task_join(task, target); }));
}

// The library calls back once for a task; the Task then calls every registered function. Holds the Task until then.
struct Completion : Deferred {
    PyObject *task;
};

// Returns the event loop that runs on this thread, or None. Programs without asyncio imported have none.
Ref running_loop() {
    PyObject *asyncio = PyDict_GetItemString(PyImport_GetModuleDict(), "asyncio");
    Ref loop(asyncio != nullptr ? PyObject_CallMethod(asyncio, "_get_running_loop", nullptr) : none());
    if (!loop) {
        PyErr_Clear();  // asyncio is being imported
        loop = Ref(none());
    }
    return loop;
}

// Ignores RuntimeError, which a closed loop raises.
void call_on_loop(PyObject *self, PyObject *function, PyObject *loop) {
    if (Ref(PyObject_CallMethod(loop, "call_soon_threadsafe", "OO", function, self))) {
        return;
    }
    if (PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        PyErr_Clear();
    } else {
        PyErr_WriteUnraisable(function);
    }
}

// Calls one entry: a function, and the loop on whose thread it runs, or None.
void call_one(PyObject *self, PyObject *entry) {
    const Ref function = Ref::share(PyTuple_GetItem(entry, 0));
    const Ref loop = Ref::share(PyTuple_GetItem(entry, 1));
    if (loop.get() != Py_None) {
        call_on_loop(self, function.get(), loop.get());
    } else if (!Ref(PyObject_CallFunctionObjArgs(function.get(), self, nullptr))) {
        PyErr_WriteUnraisable(function.get());
    }
}

void call_all(PyObject *self) {
    PyObject *&callbacks = attached_to(self);
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

// Exit handlers that were registered before the package's own run when no thread calls back any more. They wait here
// for the end of the task.
bool wait_if_nobody_calls(PyObject *self) {
    int32_t ended = 0;
    return !drops_callbacks() || is_inside_callback() || poll_until_done(kPollTpoll, task_in(self), kForever, &ended);
}

PyObject *add_done_callback(PyObject *self, PyObject *function) {
    if (!PyCallable_Check(function)) {
        return raise_type("Task.add_done_callback", "function", function, "a function of one argument, the task");
    }
    Ref loop = running_loop();
    Ref entry(PyTuple_Pack(2, function, loop.get()));
    Ref list(PyList_New(0));
    if (!entry || !list || !wait_if_nobody_calls(self)) {
        return nullptr;
    }
    // From here on no Python code runs on another thread, which might end the task.
    int32_t ended = 0;
    if (!ok_or_raise(via_task_poll(task_in(self), &ended))) {
        return nullptr;
    }
    // Callbacks that were added before may still be due; in a forked child they never are.
    if (ended != 0) {
        call_one(self, entry.get());
        return none();
    }
    PyObject *&callbacks = attached_to(self);
    bool first = callbacks == nullptr;
    callbacks = first ? list.release() : callbacks;
    if (PyList_Append(callbacks, entry.get()) != 0) {
        return nullptr;
    }
    if (first && !ask_to_be_called(self)) {
        Ref forgotten(std::exchange(callbacks, nullptr));
        return nullptr;
    }
    return none();
}

// Returns the number of removed entries. The comparison may run Python code that changes or detaches the list.
PyObject *remove_done_callback(PyObject *self, PyObject *function) {
    const Ref callbacks = Ref::share(attached_to(self));
    long removed = 0;
    for (Py_ssize_t i = callbacks ? PyList_Size(callbacks.get()) : 0; i-- > 0;) {
        const Ref entry = Ref::share(i < PyList_Size(callbacks.get()) ? PyList_GetItem(callbacks.get(), i) : nullptr);
        int same = entry ? PyObject_RichCompareBool(PyTuple_GetItem(entry.get(), 0), function, Py_EQ) : 0;
        bool stays = same == 1 && i < PyList_Size(callbacks.get()) && PyList_GetItem(callbacks.get(), i) == entry.get();
        if (same < 0 || (stays && PyList_SetSlice(callbacks.get(), i, i + 1, nullptr) != 0)) {
            return nullptr;
        }
        removed += stays;
    }
    return PyLong_FromLong(removed);
}

PyObject *await(PyObject *self) { return call_interop("await_task", self).release(); }

PyMethodDef kMethods[] = {
    {"wait", parsed<kWait, wait<kWait>>(), kKeywords,
     "wait($self, timeout=None)\n--\n\n"
     "Waits for the end. Raises the task's error, or TimeoutError after `timeout` seconds.\n\n"
     "Ctrl-C ends the wait, not the task."},
    {"result", parsed<kResult, wait<kResult>>(), kKeywords,
     "result($self, timeout=None)\n--\n\n"
     "Waits as wait() does; the result is None.\n\n"
     "Exists because futures have a method of this name."},
    {"exception", parsed<kException, exception>(), kKeywords,
     "exception($self, timeout=None)\n--\n\n"
     "Waits for the end, and returns the task's error; None if it succeeded.\n\n"
     "Raises CancelledError if the task was cancelled, TimeoutError after `timeout` seconds."},
    {"cancelled", cancelled, METH_NOARGS,
     "cancelled($self)\n--\n\n"
     "Returns whether the task has ended because it was cancelled."},
    {"done", is_done<kPollTpoll>, METH_NOARGS,
     "done($self)\n--\n\n"
     "Returns whether the task has ended."},
    {"progress", progress, METH_NOARGS,
     "progress($self)\n--\n\n"
     "Returns the bytes moved so far and the bytes in all."},
    {"cancel", cancel, METH_NOARGS,
     "cancel($self)\n--\n\n"
     "Requests cancellation; the task ends with CancelledError unless it was done already."},
    {"join", parsed<kJoin, join>(), kKeywords,
     "join($self, stream=None)\n--\n\n"
     "Makes later work of a stream wait, on the device, for the task.\n\n"
     "Uses the current stream of device 0 if none is given."},
    {"add_done_callback", add_done_callback, METH_O,
     "add_done_callback($self, function, /)\n--\n\n"
     "Calls function(task) once the task has ended, on a thread of the library; at once if it has ended.\n\n"
     "If added while an asyncio event loop runs on this thread, that loop calls it."},
    {"remove_done_callback", remove_done_callback, METH_O,
     "remove_done_callback($self, function, /)\n--\n\n"
     "Removes every registration of a function, and returns their number.\n\n"
     "Returns 0 if it has been called, or is about to be."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyType_Slot kTaskSlots[] = {
    {Py_tp_methods, kMethods},
    {Py_tp_repr, slot(repr)},
    {Py_am_await, slot(await)},
    {0, nullptr},
};

}  // namespace viapy
