// Tracks the asynchronous work that writes and uses a storage.
//
// How it works
//
// A fence (core/async/fence.hpp) stands for the end of asynchronous work. A storage remembers fences for two purposes:
//   - its last write: readers, copies and exports wait for this one fence;
//   - its accesses, writes included: only the release of the memory waits for them.
//
// Storage::last_write and Storage::last_access hold the two newest fences inline, since most storages never have
// another pending one. Older accesses lie in AccessTracker::older_accesses. The tracker is allocated with the first
// fence: the release, which must not fail, then allocates nothing.
//
// Recording an access takes one of three paths:
//   1. The new fence is reached after the last access (same stream): it replaces it. This is the usual case.
//   2. It is reached after one of the last few older accesses: it replaces that one.
//   3. Otherwise the last access moves to the list. A full list is taken out of the storage, completed fences are
//      dropped from it, and it is put back. Fences are queried outside the lock, because a query asks the driver.
// A stream that uses an array again and again therefore takes one place, and the list stays short.
//
// Recording a write replaces the last one if the new work comes after it: on its stream, or because it has waited. A
// call waits for the last write of its arrays; so a fence that it makes comes after all writes that were recorded
// before the call began. Recorded writes are numbered, and a fence knows the number at the beginning of its call
// (see_writes). Threads that write one array at once may have seen nothing of each other: their fences are joined.
//
// Without memory for the tracker or the list, the call waits on the host for the fence instead of remembering it.
//
// The release (release_storage) has three steps:
//   1. detach_fences moves the inline fences into the tracker, and calls detach() of each fence.
//   2. The storage is freed. A storage without tracker runs its deleter here, at once.
//   3. defer_release drops completed fences. If none is left, or if the device frees the memory in stream order
//      (Deleter::free_after), the deleter runs at once. Otherwise the reaper runs it after the last fence.
//
// Every storage uses the same mutex, access_mutex. It is held for a few instructions, never while a fence is queried or
// released. The functions for many storages take it once for several of them.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "core/array/array.hpp"
#include "core/async/fence.hpp"
#include "core/base/list.hpp"

namespace via {

// Returns the fence of the last write, retained for the caller; nullptr if there is none or it has completed. Keeps one
// that has failed until wait_until_ready has reported it.
Fence *last_write(Storage *storage);

// Returns the same without querying the fence; nullptr if it belongs to the timeline `later`, whose work runs after it
// anyway.
Fence *last_write_before(Storage *storage, const Timeline &later);

// Records a write, which is an access too: readers wait for `fence` from now on. Retains the fence.
VIA_NODISCARD Status set_last_write(Storage *storage, Fence *fence);

// Records an access: the release waits for `fence`. Retains the fence, and drops completed ones when the list is full.
// Without memory, waits on the host for the fence instead; so does set_last_write.
VIA_NODISCARD Status add_access(Storage *storage, Fence *fence);

// Records a copy that ends with the fence: a write of dst, and an access of each source; nullptr stands for none.
VIA_NODISCARD Status set_last_copy(via_array *dst, std::initializer_list<via_array *> srcs, Fence *fence);

// Waits on the host for the last write. Returns the failure of one that has failed, once.
VIA_NODISCARD Status wait_until_ready(Storage *storage);

// Waits on the host for the last write, before the content is read or written. Ignores the failure of a task.
VIA_NODISCARD Status wait_for_last_write(Storage *storage);

// Collects the fences of the last writes of many storages, each fence once. Remembers the last few fences, since
// storages that are used together tend to share them.
class LastWriteFences {
public:
    LastWriteFences() = default;
    ~LastWriteFences();
    LastWriteFences(const LastWriteFences &) = delete;
    LastWriteFences &operator=(const LastWriteFences &) = delete;

    // Adds a storage's last write. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status add(Storage *storage) {
        const Fence *fence = storage->last_write.load(std::memory_order_acquire);
        return fence == nullptr || is_recent(fence) ? VIA_OK : append(last_write_before(storage, {}));
    }

    // Joins the pending fences to one, retained for the caller; nullptr if there are none. Leaves out those of the
    // timeline `later`, whose work runs after them anyway. Empties the collection. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status join(const Timeline &later, Fence **out_fence);

private:
    static constexpr int32_t kRecent = 4;

    bool is_recent(const Fence *fence) const {
        return std::find(recent_, recent_ + kRecent, fence) != recent_ + kRecent;
    }

    VIA_NODISCARD Status append(Fence *fence) __attribute__((cold));

    const Fence *recent_[kRecent] = {};
    int32_t next_ = 0;
    List<Fence *> fences_;  // owned
};

// Returns a number that changes with every recorded write.
uint64_t write_changes();

// Joins the pending last writes of all storages to one fence, retained for the caller; nullptr if there are none.
// Leaves out those of the timeline `later`, whose work runs after them anyway. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status last_writes(Storage *const *storages, int64_t count, const Timeline &later, Fence **out_fence);

// Records a write of many storages, as set_last_write does, but not as an access: call add_accesses too, unless the
// caller holds them. `fence` must be reached after their last writes. Retains the fence. Goes on with the other
// storages if one fails. Adds one to write_changes() if every storage has a tracker already.
VIA_NODISCARD Status set_last_writes(Storage *const *storages, int64_t count, Fence *fence);

// Records an access of many storages, as add_access does.
VIA_NODISCARD Status add_accesses(Storage *const *storages, int64_t count, Fence *fence);

// Moves the storage's fences into its tracker. For release_storage, when the storage has no owner.
void detach_fences(Storage *storage, AccessTracker *tracker);

// Runs the deleter: at once if every fence has completed or the device frees in stream order, otherwise on a thread of
// the library after the last fence. Frees the tracker.
void defer_release(AccessTracker *tracker, const Deleter &deleter);

}  // namespace via
