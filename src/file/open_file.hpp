// A file that the system has open, shared by a via_file and its running transfers. An atomic write replaces that of the
// via_file.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "core/base/lock.hpp"
#include "core/base/reference_count.hpp"
#include "core/base/status.hpp"
#include "core/base/unique_handle.hpp"

namespace via {

// Fails with "what PATH: ENOSPC (No space left on device)" and the code. `what` is a verb: "writing".
VIA_NODISCARD Status io_failed(const char *what, const char *path, int error);

// Fails for a path that leads to another kind of file (see name_of_kind).
VIA_NODISCARD Status not_regular(const char *path, const char *kind);

// Counts the arrays mapped from a file, which may outlive it.
class MapCount {
public:
    void add() {
        references_.retain();
        live_.fetch_add(1, std::memory_order_relaxed);
    }
    void remove() {
        live_.fetch_sub(1, std::memory_order_relaxed);
        release();
    }
    void release() {
        if (references_.release()) {
            delete this;
        }
    }
    bool any() const { return live_.load(std::memory_order_relaxed) > 0; }

private:
    ReferenceCount references_;
    std::atomic<int64_t> live_{0};
};

class OpenFile {
public:
    // Opens an existing regular file; `flags` as in open(2). The caller owns a reference.
    // Errors: VIA_ERROR_IO, VIA_ERROR_UNSUPPORTED for another kind of file, VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD static Status open(const char *path, int flags, OpenFile **out_file);

    // Creates a file, to be read and written. Errors: as open; EEXIST if there is one.
    VIA_NODISCARD static Status create(const char *path, mode_t permissions, OpenFile **out_file);

    // Consumes a descriptor of a regular file, on failure too; for -1 reports errno.
    VIA_NODISCARD static Status adopt(int descriptor, const char *path, OpenFile **out_file);

    void retain() { references_.retain(); }
    void release();

    OpenFile(const OpenFile &) = delete;
    OpenFile &operator=(const OpenFile &) = delete;

    int descriptor() const { return descriptor_; }
    const char *path() const { return path_; }
    MapCount *maps() const { return maps_; }

    // For temporary files: return whether this process created the file, and remove it then. A forked child leaves it
    // alone.
    bool is_created_here() const { return creator_.is_this_process(); }
    void remove_temporary();

    // Stores the current size.
    VIA_NODISCARD Status size(int64_t *out_nbytes) const;

    // Returns a second descriptor, for direct I/O; -1 if the file system has none. Opened at first use.
    int direct_descriptor();

    // Returns a descriptor for the current CPU, for frequent short reads: threads that share one pass its reference
    // count between their caches, which takes longer than reading a page. Opened at first use; the first descriptor if
    // that fails.
    int cpu_descriptor();

    // Returns the alignment of addresses, offsets and lengths of direct I/O.
    int64_t direct_alignment() const { return direct_alignment_.load(std::memory_order_relaxed); }

    // Disables direct I/O: some file systems refuse only the first read.
    void disable_direct() { may_go_direct_.store(false, std::memory_order_relaxed); }

private:
    static constexpr unsigned kMostCpus = 32;

    OpenFile() = default;
    ~OpenFile();
    static constexpr int kUnopened = -2;
    int open_again(int flags) const;
    int open_direct();

    ReferenceCount references_;
    const CreatorProcess creator_;
    int descriptor_ = -1;
    std::atomic<int> direct_descriptor_{kUnopened};
    std::atomic<int64_t> direct_alignment_{0};
    std::atomic<bool> may_go_direct_{true};
    std::atomic<int> cpu_descriptors_[kMostCpus] = {};  // descriptor + 1; 0: not opened
    char *path_ = nullptr;                              // for texts
    MapCount *maps_ = nullptr;
};

using UniqueOpenFile = UniqueHandle<OpenFile, &OpenFile::release>;

}  // namespace via
