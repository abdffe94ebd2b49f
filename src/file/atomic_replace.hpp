// A file that takes another one's place once it is whole: how a write is all or nothing.
#pragma once

#include <sys/stat.h>

#include "file/buffers.hpp"
#include "file/file.hpp"

namespace via {

// The absolute path of what `path` names, links followed; there need not be a file yet, but a link that leads nowhere
// is VIA_ERROR_IO with ENOENT, as it is for open(2). To be freed.
VIA_NODISCARD Status resolve_target(const char *path, char **out_target);

// Has the system write down what it was given, and under which name if the file is new.
VIA_NODISCARD Status make_durable(OpenFile *file);
VIA_NODISCARD Status make_name_durable(const char *path);

class AtomicReplace {
public:
    explicit AtomicReplace(via_file *file) : file_(file) {}
    ~AtomicReplace();
    AtomicReplace(const AtomicReplace &) = delete;
    AtomicReplace &operator=(const AtomicReplace &) = delete;

    // What the file holds outside the range is there afterwards.
    VIA_NODISCARD Status begin(const FileRange &range);
    OpenFile *open() const { return open_; }
    // The target is the new file, for the via_file too.
    VIA_NODISCARD Status commit();

private:
    VIA_NODISCARD Status begin_named(const FileRange &range);
    VIA_NODISCARD Status begin_unnamed();
    bool wipe();
    VIA_NODISCARD Status check_target() const;
    VIA_NODISCARD Status take_name();
    VIA_NODISCARD Status copy_rest(OpenFile *from, const FileRange &range);
    VIA_NODISCARD Status copy_bytes(OpenFile *from, int64_t start, int64_t end);

    via_file *const file_;
    OpenFile *open_ = nullptr;
    bool is_new_ = false;   // and to be taken away unless it is committed
    struct stat before_{};  // what is replaced, as it was when it was copied
};

}  // namespace via
