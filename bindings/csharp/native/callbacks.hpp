// What the library is given to call in the place of managed functions.
#pragma once

#include "viaduct/viaduct.h"

namespace viacs {

// Returns a number for the managed functions of one AppDomain. Every context that the library is given carries it above
// the lower 48 bits: each domain has functions and objects of its own.
int32_t open_domain();

// Each takes the managed function of a domain, once, and returns the one to give to the library in its place. It first
// lets the signals through that a managed runtime lives by: threads of the library block all of them. Mono stops every
// thread that it has met by a signal, and would wait for one that blocks it for ever; both runtimes make exceptions of
// faults.
via_release_fn release_borrowed_callback(int32_t domain, via_release_fn managed);
via_release_fn forget_callback(int32_t domain, via_release_fn managed);
via_complete_fn complete_callback(int32_t domain, via_complete_fn managed);
via_alloc_fn allocate_callback(int32_t domain, via_alloc_fn managed);
via_free_fn free_callback(int32_t domain, via_free_fn managed);

// Called as the last of a domain that is unloaded: calls of its functions have ended then, and none is begun any more.
void close_domain(int32_t domain);

// Called as the runtime begins to end, by the thread that ends it: the other threads' calls of managed functions have
// ended then, and none is begun any more, nor on this thread once the runtime is gone. Mono would end the
// process, or a thread in the middle of such a call. What those calls would release stays.
void runtime_is_ending();

}  // namespace viacs
