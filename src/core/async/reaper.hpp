// The reaper: one thread, started when first needed, that polls fences and then has something done. It sleeps while
// nothing is watched, and ends when that takes long.
#pragma once

#include "core/async/fence.hpp"
#include "core/async/task_executor.hpp"

namespace via {

// Once all fences have been reached, `invoke` is called, exactly once, on a thread of the background pool.
struct DeferredCallback {
    Fence **fences;  // count of them, each owned by the watch; may be nullptr if count is 0
    int32_t count;
    void (*invoke)(DeferredCallback *deferred);  // owns the watch from then on, its fences having been released
    DeferredCallback *next;                      // the reaper's own, and so are the rest
    int32_t passed = 0;                          // this many of the fences have been reached
    Job job{};
};

// Hands the watch over, from any thread; waits for nothing. Never fails: where no thread can be had now, the next call
// tries again, and the watch stays unfired at worst. Never calls invoke on the calling thread.
void defer(DeferredCallback *given);

// True if there is the thread, which is started where there is none: for those who would wait for a watch to invoke.
VIA_NODISCARD bool has_reaper();

// A forked child has the watches of its parent but no thread to look after them; this starts one if so.
void resume_deferred();

}  // namespace via
