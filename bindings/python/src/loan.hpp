// Python objects that lend memory to the library, and how they are let go on threads that do not hold the GIL.
#pragma once

#include "python.hpp"

namespace viapy {

// Work that needs the GIL and was met on a thread that may not hold it.
struct Deferred {
    Deferred *next = nullptr;
    void (*run)(Deferred *self) = nullptr;  // ends the node too
};

// Runs the work now if this thread holds the GIL; else leaves it to the main thread. Once the interpreter is on its
// way out the work is dropped: there is nobody left to do it safely.
void run_or_defer(Deferred *work);

// Runs the work on this thread, which takes the GIL for it and holds nothing that a holder of the GIL could wait for.
// Once the interpreter is on its way out the work is dropped; it waits for work that has begun.
void run_with_gil(Deferred *work);

// Runs what was left by other threads. Cheap if nothing was.
void drain();

// Whether this thread holds the GIL of the interpreter that imported the package.
bool holds_gil();

// Taken with the module: finds the interpreter, and hears of its end through `atexit`.
bool init_loans();

// What keeps lent memory alive: an owner, a function to call without arguments, a buffer to release; each may be NULL.
struct Loan : Deferred {
    PyObject *owner = nullptr;
    PyObject *release = nullptr;
    Py_buffer *view = nullptr;
};

// Takes new references to owner and release, and the view itself. NULL with MemoryError set if there is no memory.
Loan *new_loan(PyObject *owner, PyObject *release, Py_buffer *view = nullptr);

// A via_release_fn whose context is a Loan: ends it, exactly once, on whichever thread.
void end_loan(void *loan);

// Takes a loan back that the library never accepted: nothing is called.
void cancel_loan(Loan *loan);

// The loan behind an array, NULL if its memory was not lent by Python.
inline Loan *loan_of(via_array *array) { return static_cast<Loan *>(via_array_context(array, end_loan)); }

}  // namespace viapy
