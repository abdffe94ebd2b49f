#include "ipc/lease.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "core/array/access_tracker.hpp"
#include "core/base/lock.hpp"

namespace via {
namespace {

// Locks belong to the open file, not to the process, and go with it. False if somebody else's lock is in the way.
bool lock_file(int descriptor, short how) {
    struct flock whole{};
    whole.l_type = how;
    whole.l_whence = SEEK_SET;
    return fcntl(descriptor, F_OFD_SETLK, &whole) == 0;
}

class Lease;

ForkSafeMutex mutex;
constinit Lease *leases = nullptr;  // of all storages that still have an owner

// A use of the memory: once its storage has no owner, it ends when nobody else holds a lock on the file. Taking the one
// that excludes all others ends it for good, for whoever comes too late as well.
class Lease final : public Fence {
public:
    Lease(Storage *storage, const FileName &file) : storage_(storage), file_(file) {}

    const FileName &file() const { return file_; }

    // With the lock held.
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
        left_ = true;
    }

    // A forked child shares the open file with its parent, whose lock this would be.
    bool is_complete() override {
        return unheeded_ || (left_ && (file_.process != getpid() || lock_file(file_.descriptor, F_WRLCK)));
    }

    // Only where there is no memory to remember it by, and then nobody may rely on it.
    Status wait() override {
        unheeded_ = true;
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to remember by that the array is shared");
    }

    Status make_stream_wait(const ResolvedStream &) override { return VIA_OK; }

private:
    // Storages forget a use that they have no memory for, while they have an owner too.
    ~Lease() override {
        delist();
        close(file_.descriptor);
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
    bool left_ = false;
    bool unheeded_ = false;
};

Status make_lease(Storage *storage, Lease **out_lease) {
    FileName file{};
    VIA_TRY(make_shared_file(0, &file));
    *out_lease = new (std::nothrow) Lease(storage, file);
    if (*out_lease == nullptr) {
        close(file.descriptor);
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a lease of %zu bytes", sizeof(Lease));
    }
    return VIA_OK;
}

// The one that is there already, or `made` from now on. One that another thread was quicker than stays a use that
// nobody joins.
FileName agree(Storage *storage, Lease *made) {
    const std::lock_guard lock(mutex);
    Lease *found = Lease::find(storage);
    if (found == nullptr) {
        made->enlist();
        found = made;
    }
    return found->file();
}

bool find_lease(Storage *storage, FileName *out_file) {
    const std::lock_guard lock(mutex);
    const Lease *found = Lease::find(storage);
    if (found != nullptr) {
        *out_file = found->file();
    }
    return found != nullptr;
}

}  // namespace

Status lease_storage(Storage *storage, FileName *out_file) {
    if (find_lease(storage, out_file)) {
        return VIA_OK;
    }
    Lease *made = nullptr;
    VIA_TRY(make_lease(storage, &made));
    const UniqueFence holder(made);
    VIA_TRY(add_access(storage, made));
    *out_file = agree(storage, made);
    return VIA_OK;
}

Status join_lease(const FileName &file, int *out_descriptor) {
    int descriptor = -1;
    int64_t nbytes = 0;
    VIA_TRY(open_shared_file(file, true, &descriptor, &nbytes));
    if (!lock_file(descriptor, F_RDLCK)) {
        const int code = errno;
        close(descriptor);
        return code == EAGAIN || code == EACCES
                   ? fail(VIA_ERROR_EXCHANGE, "process %d has released the memory; expected it to hold an array of it",
                          file.process)
                   : fail_with_code(VIA_ERROR_IO, code, "locking the lease of process %d: %s", file.process,
                                    std::strerror(code));
    }
    *out_descriptor = descriptor;
    return VIA_OK;
}

}  // namespace via
