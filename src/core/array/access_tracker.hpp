// What a storage knows of work that runs behind: when its content is ready, and until when it is used.
//
// Ready is not use. One fence, `ready`, is what readers and exports wait for; the others are uses, which only the
// release waits for. The newest use lies in the storage too, since nearly always it is the only one: the next takes its
// place. Older ones are in an Order, which most storages never get: it is made when the first fence is set, so that the
// release needs no memory.
#pragma once

#include "core/array/array.hpp"
#include "core/async/fence.hpp"

namespace via {

// The fence that the content is ready at, retained for the caller; nullptr if there is none or it has been reached.
Fence *last_write(Storage *storage);

// The same for `later`, which goes on behind it and need not know whether it has been reached; nullptr if it is of that
// timeline.
Fence *last_write_before(Storage *storage, const Timeline &later);

// From now on readers wait for `fence`; it is a use too, since writing is one. Retains the fence.
VIA_NODISCARD Status set_last_write(Storage *storage, Fence *fence);

// The release waits for `fence` as well. Retains the fence. Fences that have been reached are dropped on the way, so
// that an array which is used for ever does not grow. Where there is no memory to remember it by, the fence is waited
// for on the host; so in set_last_write.
VIA_NODISCARD Status add_access(Storage *storage, Fence *fence);

// Of many storages at once, best if neighbours are not the same.

// Waits on the host until the content is ready.
VIA_NODISCARD Status wait_until_ready(Storage *storage);

// For release_storage, when nobody owns the storage any more: first the order takes over the storage's fences; then,
// the storage being gone, the deleter runs now if every fence has been reached or it follows them on its device, else
// later, from a thread of the library, once they have. Ends the order.
void detach_fences(Storage *storage, AccessTracker *order);
void defer_release(AccessTracker *order, const Deleter &deleter);

}  // namespace via
