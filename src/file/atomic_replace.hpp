// Atomic writes: a temporary file in the directory of the target replaces it when it is complete.
//
// How it works
//
// An opened file: begin() creates a temporary file, copies owner, permissions and attributes of the target to it, and
// then the content except the range to be written. The caller writes the range. commit() flushes it (`durable`), checks
// under a lock of the directory that the target is still the file that was copied, and renames the temporary file.
//
// A created file (via_file_create): via_file_create makes the temporary file already, and the first write goes straight
// to it. Until commit() renames it, the file is "unnamed". A write that fails leaves it dirty; the next one wipes it.
//
// The destructor of a write that was not committed removes the temporary file. A killed process leaves it behind.
#pragma once

#include <sys/stat.h>

#include "file/buffer_pool.hpp"
#include "file/file.hpp"

namespace via {

// Returns the absolute path of the file that `path` names, following links, to be freed. The file need not exist.
// Errors: VIA_ERROR_IO with ENOENT for a dangling link, as for open(2).
VIA_NODISCARD Status resolve_target(const char *path, char **out_target);

// Flush the content of a file, and its directory entry, to disk.
VIA_NODISCARD Status make_durable(OpenFile *file);
VIA_NODISCARD Status make_name_durable(const char *path);

// Creates an empty file in the directory of the target, under a temporary name: see OpenFile::remove_temporary. Gives
// it the permissions and attributes of an existing target. Errors: VIA_ERROR_UNSUPPORTED if the target is no regular
// file.
VIA_NODISCARD Status create_temporary(const char *target, OpenFile **out_file);

class AtomicReplace {
public:
    explicit AtomicReplace(via_file *file) : file_(file) {}
    ~AtomicReplace();
    AtomicReplace(const AtomicReplace &) = delete;
    AtomicReplace &operator=(const AtomicReplace &) = delete;

    // Prepares the file to be written, with the current content outside the range.
    VIA_NODISCARD Status begin(const FileRange &range);
    OpenFile *open() const { return open_; }
    // Replaces the target, and the file that the via_file has open.
    VIA_NODISCARD Status commit();

private:
    VIA_NODISCARD Status begin_named(const FileRange &range);
    VIA_NODISCARD Status begin_unnamed();
    bool wipe();
    VIA_NODISCARD Status check_target() const;
    VIA_NODISCARD Status rename_to_target();
    VIA_NODISCARD Status copy_rest(OpenFile *from, const FileRange &range);
    VIA_NODISCARD Status copy_bytes(OpenFile *from, int64_t start, int64_t end);
    VIA_NODISCARD Status copy_data(OpenFile *from, int64_t start, int64_t end);

    via_file *const file_;
    OpenFile *open_ = nullptr;
    bool is_new_ = false;   // to be removed unless it is committed
    struct stat before_{};  // of the target, when it was copied
};

}  // namespace via
