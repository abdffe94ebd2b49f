#include "ipc/lease.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "core/array/access_tracker.hpp"
#include "core/base/lock.hpp"
#include "core/base/no_cancellation.hpp"

namespace via {
namespace {

// Locks the open file, not the process: the lock ends with the file. Returns false if another lock conflicts.
bool lock_file(int descriptor, short how) {
    struct flock whole{};
    whole.l_type = how;
    whole.l_whence = SEEK_SET;
    return fcntl(descriptor, F_OFD_SETLK, &whole) == 0;
}

class Lease;

ForkSafeMutex mutex;
constinit Lease *leases = nullptr;  // of all storages that have an owner

// An access to the memory. After its storage has lost the last owner, it completes when no process holds a lock on the
// file. Taking the exclusive lock completes it for good: later importers are refused.
class Lease final : public Fence {
public:
    Lease(Storage *storage, const FileName &file) : storage_(storage), file_(file) {}

    const FileName &file() const { return file_; }

    // Call with the mutex held.
    void enlist() {
        next_ = leases;
        leases = this;
    }

    static Lease *find(const Storage *storage) {
        Lease *at = leases;
        while (at != nullptr && at->storage_ != storage) {
            at = at->next_;
        }
        return at;
    }

    void detach() override {
        delist();
        is_detached_ = true;
    }

    // A forked child shares the open file with its parent, and so would share the lock.
    bool is_complete() override {
        return is_abandoned_ || (is_detached_ && (file_.process != getpid() || lock_file(file_.descriptor, F_WRLCK)));
    }

    // Called only without memory to remember the access: no importer may rely on it then.
    Status wait() override {
        is_abandoned_ = true;
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to track that the array is shared");
    }

    Status make_stream_wait(const ResolvedStream &) override { return VIA_OK; }

private:
    // A storage without memory to track the access drops it while it has an owner.
    ~Lease() override {
        delist();
        close_descriptor(file_.descriptor);
    }

    void delist() {
        const std::lock_guard lock(mutex);
        Lease **link = &leases;
        while (*link != this && *link != nullptr) {
            link = &(*link)->next_;
        }
        if (*link == this) {
            *link = next_;
        }
    }

    Storage *const storage_;
    const FileName file_;
    Lease *next_ = nullptr;
    bool is_detached_ = false;
    bool is_abandoned_ = false;
};

Status make_lease(Storage *storage, Lease **out_lease) {
    FileName file{};
    VIA_TRY(make_shared_file(0, &file));
    *out_lease = new (std::nothrow) Lease(storage, file);
    if (*out_lease == nullptr) {
        close_descriptor(file.descriptor);
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a lease of %zu bytes", sizeof(Lease));
    }
    return VIA_OK;
}

// Finds the storage's lease. Without one it is `made`, unless that is nullptr: then returns false. Where another thread
// was quicker, `made` stays an access that no process joins.
bool find_lease(Storage *storage, Lease *made, FileName *out_file) {
    const std::lock_guard lock(mutex);
    Lease *found = Lease::find(storage);
    if (found == nullptr && made != nullptr) {
        made->enlist();
        found = made;
    }
    if (found != nullptr) {
        *out_file = found->file();
    }
    return found != nullptr;
}

}  // namespace

Status lease_storage(Storage *storage, FileName *out_file) {
    if (find_lease(storage, nullptr, out_file)) {
        return VIA_OK;
    }
    Lease *made = nullptr;
    VIA_TRY(make_lease(storage, &made));
    const UniqueFence holder(made);
    VIA_TRY(add_access(storage, made));
    (void)find_lease(storage, made, out_file);
    return VIA_OK;
}

// The owner may have released the memory between the two steps. Its lock then ended with its file, and its descriptor
// is gone: that is looked at after the lock.
Status join_lease(const FileName &file, int *out_descriptor) {
    int descriptor = -1;
    int64_t nbytes = 0;
    VIA_TRY(open_shared_file(file, true, &descriptor, &nbytes));
    const bool locked = lock_file(descriptor, F_RDLCK);
    const int code = errno;
    if (!locked || !is_shared_file(file)) {
        close_descriptor(descriptor);
        return locked || code == EAGAIN || code == EACCES
                   ? fail(VIA_ERROR_EXCHANGE, "process %d has released the memory; expected it to hold an array on it",
                          file.process)
                   : fail_with_errno(VIA_ERROR_IO, code, "locking the lease of process %d", file.process);
    }
    *out_descriptor = descriptor;
    return VIA_OK;
}

}  // namespace via
