// Opens regular files only: opening a FIFO may block, and opening a device may have effects.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace via {

// Names the kind of a file, for texts: "a directory", "a FIFO".
const char *name_of_kind(mode_t mode);

// Opens an existing regular file; `flags` as in open(2). Returns the descriptor, or -1. *out_kind then names what was
// found instead, or is nullptr and errno holds the error. Waits for a lease on the file, as open(2) does.
int open_regular(const char *path, int flags, const char **out_kind);

// Returns the absolute path of the file that `path` names, following links, to be freed. The file need not exist.
// Returns nullptr and sets errno if it cannot exist: ENOENT for a dangling link, as open(2) does.
char *find_target(const char *path);

// Returns the file size limit of this process (RLIMIT_FSIZE). The kernel kills a process that exceeds it.
uint64_t most_file_bytes();

// Calls ftruncate, and fails with EFBIG instead of a signal.
bool set_file_size(int descriptor, int64_t nbytes);

}  // namespace via
