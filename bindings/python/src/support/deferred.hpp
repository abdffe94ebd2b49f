// Work that needs the GIL, from threads that do not hold it.
#pragma once

#include "support/python.hpp"

namespace viapy {

// One piece of work that needs the GIL.
struct Deferred {
    Deferred *next = nullptr;
    void (*run)(Deferred *self) = nullptr;  // ends the node too
};

// Runs the work now if this thread holds the GIL, otherwise defers it to the main thread. Drops it once the interpreter
// is finalizing, when nothing can run it safely.
void run_or_defer(Deferred *work);

// Runs the work on this thread, which acquires the GIL and must hold nothing that another holder of the GIL may wait
// for. Drops it once the interpreter is finalizing; finalization waits for running work.
void run_with_gil(Deferred *work);

// Returns whether run_with_gil drops its work by now.
bool drops_callbacks();

// Runs work that other threads deferred. Cheap if there is none.
void drain();

// Returns whether this thread holds the GIL of the interpreter that imported the package.
bool holds_gil();

// Called at import: finds the interpreter, and registers with `atexit`.
bool init_deferred();

}  // namespace viapy
