// What the library is given to call in the place of managed functions.
#pragma once

#include "viaduct/viaduct.h"

namespace viacs {

// Each takes the managed function, once, and returns the one to give to the library in its place. It first lets the
// signals through that a managed runtime lives by: threads of the library block all of them. Mono stops every thread
// that it has met by a signal, and would wait for one that blocks it for ever; both runtimes make exceptions of faults.
via_release_fn release_borrowed_callback(via_release_fn managed);
via_release_fn forget_callback(via_release_fn managed);
via_complete_fn complete_callback(via_complete_fn managed);
via_alloc_fn allocate_callback(via_alloc_fn managed);
via_free_fn free_callback(via_free_fn managed);

// Called as the runtime begins to end, by the thread that ends it: the other threads' calls of managed functions have
// ended then, and none is begun any more, nor on this thread once the runtime is gone. Mono would end the
// process, or a thread in the middle of such a call. What those calls would release stays.
void runtime_is_ending();

}  // namespace viacs
