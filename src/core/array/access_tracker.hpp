// What a storage knows of work that runs behind: when its content is ready, and until when it is used.
//
// Ready is not use. One mark, `ready`, is what readers and exports wait for; the others are uses, which only the
// release waits for. The newest use lies in the storage too, since nearly always it is the only one: the next takes its
// place. Older ones are in an Order, which most storages never get: it is made when the first mark is set, so that the
// release needs no memory.
#pragma once

#include "core/array/array.hpp"
#include "core/async/fence.hpp"

namespace via {

// The mark that the content is ready at, retained for the caller; nullptr if there is none or it has been reached.
Mark *ready_mark(Storage *storage);

// The same for `later`, which goes on behind it and need not know whether it has been reached; nullptr if it is of that
// timeline.
Mark *ready_mark_before(Storage *storage, const Timeline &later);

// From now on readers wait for `mark`; it is a use too, since writing is one. Retains the mark.
VIA_NODISCARD Status set_ready_mark(Storage *storage, Mark *mark);

// The release waits for `mark` as well. Retains the mark. Marks that have been reached are dropped on the way, so that
// an array which is used for ever does not grow. Where there is no memory to remember it by, the mark is waited for on
// the host; so in set_ready_mark.
VIA_NODISCARD Status add_use_mark(Storage *storage, Mark *mark);

// Of many storages at once, best if neighbours are not the same.

// As long as this number stays, no storage has been given another ready mark.
uint64_t ready_changes();

// The marks that the contents of all of them are ready at, as one, retained for the caller; nullptr if there are none.
// Those of `later` are left out, which is what goes on behind them. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status ready_marks(Storage *const *storages, int64_t count, const Timeline &later, Mark **out_mark);

// As set_ready_mark and add_use_mark, `mark` coming after the ready marks that there were. Retain the mark. All are
// marked even if one cannot be. set_ready_marks changes ready_changes() by one where no storage is new to marks.
VIA_NODISCARD Status set_ready_marks(Storage *const *storages, int64_t count, Mark *mark);
VIA_NODISCARD Status add_use_marks(Storage *const *storages, int64_t count, Mark *mark);

// Waits on the host until the content is ready.
VIA_NODISCARD Status wait_until_ready(Storage *storage);

// For release_storage, when nobody owns the storage any more: first the order takes over the storage's marks; then, the
// storage being gone, the disposal runs now if every mark has been reached or it follows them on its device, else
// later, from a thread of the library, once they have. Ends the order.
void leave_marks(Storage *storage, Order *order);
void retire(Order *order, const Disposal &disposal);

}  // namespace via
