// The reaper: one thread, started when first needed, that polls marks and then has something done. It sleeps while
// nothing is watched, and ends when that takes long.
#pragma once

#include "core/async/task_executor.hpp"
#include "core/async/fence.hpp"

namespace via {

// Once all marks have been reached, `fire` is called, exactly once, on a thread of the background pool.
struct Watch {
    Mark **marks;  // count of them, each owned by the watch; may be nullptr if count is 0
    int32_t count;
    void (*fire)(Watch *watch);  // owns the watch from then on, its marks having been released
    Watch *next;                 // the watcher's own, and so are the rest
    int32_t passed = 0;          // this many of the marks have been reached
    Job job{};
};

// Hands the watch over, from any thread; waits for nothing. Never fails: where no thread can be had now, the next call
// tries again, and the watch stays unfired at worst. Never calls fire on the calling thread.
void watch(Watch *given);

// True if there is the thread, which is started where there is none: for those who would wait for a watch to fire.
VIA_NODISCARD bool has_watcher();

// A forked child has the watches of its parent but no thread to look after them; this starts one if so.
void resume_watches();

}  // namespace via
