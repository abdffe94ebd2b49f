#include "loan.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <new>

#include "wait.hpp"

namespace viapy {
namespace {

using CurrentThreadState = PyThreadState *(*)();

CurrentThreadState g_current = nullptr;
PyInterpreterState *g_interpreter = nullptr;

std::atomic<Deferred *> g_waiting{nullptr};  // newest first
Deferred *g_ready = nullptr;                 // oldest first; only for who holds the GIL
std::atomic<bool> g_scheduled{false};        // a pending call will drain
std::atomic<bool> g_closed{false};           // the interpreter is ending
std::atomic<int> g_schedulers{0};            // threads inside Py_AddPendingCall, or waiting for the GIL

// PyGILState_Check answers 1 where subinterpreters are about, so the thread's state is compared with the current one.
// The function that tells the current one is public from 3.13 on and had another name before.
CurrentThreadState find_current_thread_state() {
    for (const char *name : {"PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet"}) {
        if (void *found = dlsym(RTLD_DEFAULT, name)) {
            return reinterpret_cast<CurrentThreadState>(found);
        }
    }
    return nullptr;
}

int drain_from_interpreter(void *) {
    drain();
    return 0;
}

// A thread that counted itself before the interpreter closed is waited for; later ones see that it has.
void schedule_drain() {
    g_schedulers.fetch_add(1);
    if (!g_closed.load() && !g_scheduled.exchange(true)) {
        if (Py_AddPendingCall(drain_from_interpreter, nullptr) != 0) {
            g_scheduled.store(false);  // the queue is full: the next call of ours drains
        }
    }
    g_schedulers.fetch_sub(1);
}

void defer(Deferred *work) {
    work->next = g_waiting.load();
    while (!g_waiting.compare_exchange_weak(work->next, work)) {
    }
    schedule_drain();
}

// Moves what is waiting to the end of what is ready.
void collect() {
    Deferred *newest = g_waiting.exchange(nullptr);
    Deferred *oldest = nullptr;
    while (newest != nullptr) {
        Deferred *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    Deferred **end = &g_ready;
    while (*end != nullptr) {
        end = &(*end)->next;
    }
    *end = oldest;
}

void run(Deferred *work) {
    ErrorScope errors;
    work->run(work);
}

// A call of Python code on a thread of the library's, which the program's end waits for. Only for who holds the GIL.
struct Running {
    unsigned long thread;
    Running *next;
};
Running *g_running = nullptr;

// While one that comes again from inside its call runs, the list is as it was.
class RunningScope {
public:
    RunningScope() : running_{PyThread_get_thread_ident(), g_running} { g_running = &running_; }
    ~RunningScope() {
        Running **link = &g_running;
        while (*link != &running_) {
            link = &(*link)->next;
        }
        *link = running_.next;
    }
    RunningScope(const RunningScope &) = delete;
    RunningScope &operator=(const RunningScope &) = delete;

private:
    Running running_;
};

void run_counted(Deferred *work) {
    const RunningScope scope;
    run(work);
}

// The other threads that a child of fork lost may have been counted.
void after_fork_in_child() {
    g_schedulers.store(0);
    g_running = nullptr;
}

via_status ask_schedulers(void *, int32_t *out_done) {
    *out_done = g_schedulers.load() == 0 ? 1 : 0;
    return VIA_OK;
}

// How long the program's end waits for callbacks, and then for those that have been told to end.
constexpr double kPatience = 5;
constexpr double kLastPatience = 1;

// One that goes on for ever is told to end: a thread that comes back for the GIL of an interpreter that is gone would
// be unwound through frames that need it.
bool wait_for_callbacks() {
    int32_t done = 0;
    if (!poll_until_done(ask_schedulers, nullptr, kPatience, &done)) {
        return false;
    }
    for (Running *at = g_running; at != nullptr; at = at->next) {
        PyThreadState_SetAsyncExc(at->thread, PyExc_SystemExit);
    }
    return done != 0 || poll_until_done(ask_schedulers, nullptr, kLastPatience, &done);
}

PyObject *close(PyObject *, PyObject *) {
    drain();
    g_closed.store(true);
    return wait_for_callbacks() ? none() : nullptr;
}

PyMethodDef kClose = {"_close", close, METH_NOARGS, nullptr};

bool register_at_exit() {
    Ref atexit(PyImport_ImportModule("atexit"));
    Ref function(PyCFunction_New(&kClose, nullptr));
    if (!atexit || !function) {
        return false;
    }
    return bool(Ref(PyObject_CallMethod(atexit.get(), "register", "O", function.get())));
}

void free_loan(Loan *loan) {
    Py_XDECREF(loan->owner);
    Py_XDECREF(loan->release);
    delete loan;
}

void run_loan(Deferred *self) {
    Loan *loan = static_cast<Loan *>(self);
    if (loan->view != nullptr) {
        PyBuffer_Release(loan->view);
        delete loan->view;
    }
    if (loan->release != nullptr && !Ref(PyObject_CallNoArgs(loan->release))) {
        PyErr_WriteUnraisable(loan->release);
    }
    free_loan(loan);
}

}  // namespace

bool init_loans() {
    g_current = find_current_thread_state();
    g_interpreter = PyInterpreterState_Get();
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
    return register_at_exit();
}

bool holds_gil() {
    PyThreadState *mine = PyGILState_GetThisThreadState();
    return mine != nullptr && g_current != nullptr && mine == g_current() &&
           PyThreadState_GetInterpreter(mine) == g_interpreter;
}

// Earlier work first: it may use what this work ends.
void run_or_defer(Deferred *work) {
    if (holds_gil()) {
        drain();
        run(work);
    } else {
        defer(work);
    }
}

void run_with_gil(Deferred *work) {
    if (holds_gil()) {
        run(work);
        return;
    }
    g_schedulers.fetch_add(1);
    if (!g_closed.load()) {
        PyGILState_STATE state = PyGILState_Ensure();
        run_counted(work);
        PyGILState_Release(state);
    }
    g_schedulers.fetch_sub(1);
}

// The work may run Python code that comes here again: it then goes on where this call is.
void drain() {
    if (g_waiting.load(std::memory_order_relaxed) != nullptr) {
        g_scheduled.store(false);
        collect();
    }
    while (g_ready != nullptr) {
        run(std::exchange(g_ready, g_ready->next));
    }
}

Loan *new_loan(PyObject *owner, PyObject *release, Py_buffer *view) {
    Loan *loan = new (std::nothrow) Loan;
    if (loan == nullptr) {
        PyErr_NoMemory();
        return nullptr;
    }
    Py_XINCREF(owner);
    Py_XINCREF(release);
    loan->run = run_loan;
    loan->owner = owner;
    loan->release = release;
    loan->view = view;
    return loan;
}

void end_loan(void *loan) {
    const InsideCallback scope;
    run_or_defer(static_cast<Loan *>(loan));
}

void cancel_loan(Loan *loan) {
    if (loan->view != nullptr) {
        PyBuffer_Release(loan->view);
        delete loan->view;
    }
    free_loan(loan);
}

}  // namespace viapy
