// Opening regular files, and nothing else: a FIFO would hold up whoever opens it, and a device may act on it.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace via {

// What a file is, for texts: "a directory", "a FIFO".
const char *name_of_kind(mode_t mode);

// Opens an existing regular file; `flags` as in open(2). Returns the descriptor, or -1: then *out_kind says what else
// was found there, or is nullptr and errno has the error. Waits for a lease on the file, as open(2) does.
int open_regular(const char *path, int flags, const char **out_kind);

// The absolute path of what `path` names, links followed, to be freed; there need not be a file yet. nullptr and errno
// if there can be none: a link that leads nowhere is ENOENT, as it is for open(2).
char *find_target(const char *path);

// The most bytes that this process may make a file of (RLIMIT_FSIZE). The kernel kills a process that asks for more.
uint64_t most_file_bytes();

// ftruncate, with EFBIG for an answer in place of the signal.
bool set_file_size(int descriptor, int64_t nbytes);

}  // namespace via
