#include "support/deferred.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <atomic>
#include <new>

#include "support/scope_list.hpp"
#include "support/wait.hpp"

namespace viapy {
namespace {

using CurrentThreadState = PyThreadState *(*)();

CurrentThreadState g_current = nullptr;
PyInterpreterState *g_interpreter = nullptr;

std::atomic<Deferred *> g_waiting{nullptr};  // newest first
Deferred *g_ready = nullptr;                 // oldest first; only for who holds the GIL
std::atomic<bool> g_scheduled{false};        // a pending call will drain
std::atomic<bool> g_closed{false};           // the interpreter is ending
std::atomic<int> g_schedulers{0};            // calls inside Py_AddPendingCall, or waiting for the GIL
thread_local int t_schedulers = 0;           // of them, those of this thread

// Counts one of them.
class SchedulerScope {
public:
    SchedulerScope() {
        ++t_schedulers;
        g_schedulers.fetch_add(1);
    }
    ~SchedulerScope() {
        --t_schedulers;
        g_schedulers.fetch_sub(1);
    }
    SchedulerScope(const SchedulerScope &) = delete;
    SchedulerScope &operator=(const SchedulerScope &) = delete;
};

// Finds the function that returns the current thread state, public since Python 3.13. PyGILState_Check returns 1 if
// there are subinterpreters, so states are compared instead.
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

// Counts the calling thread, which the end of the interpreter waits for. Later threads see that it has ended.
void schedule_drain() {
    const SchedulerScope scope;
    if (!g_closed.load() && !g_scheduled.exchange(true)) {
        if (Py_AddPendingCall(drain_from_interpreter, nullptr) != 0) {
            g_scheduled.store(false);  // the queue is full: the next call of ours drains
        }
    }
}

void defer(Deferred *work) {
    work->next = g_waiting.load();
    while (!g_waiting.compare_exchange_weak(work->next, work)) {
    }
    schedule_drain();
}

// Appends waiting work to the ready list.
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

// A call of Python code on a thread of the library, which the end of the program waits for.
struct Running : ScopeList<Running> {
    unsigned long thread = PyThread_get_thread_ident();
};

void run_counted(Deferred *work) {
    const Running scope;
    run(work);
}

// Forgets the counted threads but this one: a forked child does not have them.
void after_fork_in_child() {
    g_schedulers.store(t_schedulers);
    Running::forget();
}

via_status ask_schedulers(void *, int32_t *out_done) {
    *out_done = g_schedulers.load() == 0 ? 1 : 0;
    return VIA_OK;
}

// Seconds that the end of the program waits for callbacks, and then for those that it asked to end.
constexpr double kPatience = 5;
constexpr double kLastPatience = 1;

// Asks endless callbacks to end. A thread that returns for the GIL of a finalized interpreter would be unwound through
// frames that need it.
bool wait_for_callbacks() {
    int32_t done = 0;
    if (!poll_until_done(ask_schedulers, nullptr, kPatience, &done)) {
        return false;
    }
    Running::for_each([](const Running &each) { PyThreadState_SetAsyncExc(each.thread, PyExc_SystemExit); });
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

}  // namespace

bool init_deferred() {
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

// Runs earlier work first, which may use the memory that this work frees.
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
    const SchedulerScope scope;
    if (!g_closed.load()) {
        PyGILState_STATE state = PyGILState_Ensure();
        run_counted(work);
        PyGILState_Release(state);
    }
}

bool drops_callbacks() { return g_closed.load(); }

// The work may run Python code that calls this again, which then continues with the list.
void drain() {
    if (g_waiting.load(std::memory_order_relaxed) != nullptr) {
        g_scheduled.store(false);
        collect();
    }
    while (g_ready != nullptr) {
        run(std::exchange(g_ready, g_ready->next));
    }
}

}  // namespace viapy
