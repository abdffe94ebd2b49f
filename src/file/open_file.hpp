// One file as the operating system has it open: a via_file's, and its transfers' while they run. An atomic write gives
// the via_file another one.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "core/base/reference_count.hpp"
#include "core/base/status.hpp"
#include "core/base/unique_handle.hpp"
#include "file/forked.hpp"

namespace via {

// "what PATH: ENOSPC (No space left on device)", with the code. `what` is a verb: "writing".
VIA_NODISCARD Status io_failed(const char *what, const char *path, int error);

// Of a path that leads to something else, which name_of_kind says.
VIA_NODISCARD Status not_regular(const char *path, const char *kind);

// How many arrays are mapped from one file. They may outlive it.
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
    // Opens a regular file that is there; `flags` as in open(2). Retained for the caller.
    // Errors: VIA_ERROR_IO, VIA_ERROR_UNSUPPORTED for what is no regular file, VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD static Status open(const char *path, int flags, OpenFile **out_file);

    // Makes one where there is nothing, to be read and written. Errors: as open, with EEXIST.
    VIA_NODISCARD static Status make(const char *path, mode_t permissions, OpenFile **out_file);

    // Takes over a descriptor of a regular file, or says by errno why there is none; on failure it is closed.
    VIA_NODISCARD static Status adopt(int descriptor, const char *path, OpenFile **out_file);

    void retain() { references_.retain(); }
    void release();

    OpenFile(const OpenFile &) = delete;
    OpenFile &operator=(const OpenFile &) = delete;

    int descriptor() const { return descriptor_; }
    const char *path() const { return path_; }
    MapCount *maps() const { return maps_; }

    // Of a file that this process made under a name for the meantime: whether that is so, and taking it away. A child
    // of fork leaves it alone.
    bool is_made_here() const { return maker_.is_this_process(); }
    void remove_part();

    // As large as it is now.
    VIA_NODISCARD Status size(int64_t *out_nbytes) const;

    // A second descriptor, past the page cache; -1 where the file system has no such. Opened when first asked for.
    int direct_descriptor();

    // One of several more, for those who ask often: two threads that use the same one pass its reference count between
    // them, which takes longer than reading a page. The first where there can be no more. Opened when first asked for.
    int own_descriptor();

    // What addresses, offsets and lengths of direct transfers are multiples of.
    int64_t direct_alignment() const { return direct_alignment_.load(std::memory_order_relaxed); }

    // Some file systems say no only when they are read.
    void give_up_direct() { may_go_direct_.store(false, std::memory_order_relaxed); }

private:
    static constexpr unsigned kMostOwn = 32;

    OpenFile() = default;
    ~OpenFile();
    static constexpr int kUnopened = -2;
    VIA_NODISCARD Status prepare(const char *path);
    int open_again(int flags) const;
    int open_direct();

    ReferenceCount references_;
    const Maker maker_;
    int descriptor_ = -1;
    std::atomic<int> direct_descriptor_{kUnopened};
    std::atomic<int64_t> direct_alignment_{0};
    std::atomic<bool> may_go_direct_{true};
    std::atomic<int> own_descriptors_[kMostOwn] = {};  // each and 1; 0: not opened
    char *path_ = nullptr;                             // for texts
    MapCount *maps_ = nullptr;
};

inline void release_open_file(OpenFile *file) { file->release(); }
using UniqueOpenFile = UniqueHandle<OpenFile, release_open_file>;

}  // namespace via
