// Bytes of a file, all of them or an answer why not: what read(2) and write(2) do by halves is done to the end.
#pragma once

#include "file/open_file.hpp"

namespace via {

// Fewer only where the file ends. Errors: VIA_ERROR_IO.
VIA_NODISCARD Status read_up_to(OpenFile *file, void *memory, int64_t offset, int64_t nbytes, int64_t *out_length);

// Errors: VIA_ERROR_IO, also if the file ends before.
VIA_NODISCARD Status read_all(OpenFile *file, void *memory, int64_t offset, int64_t nbytes);
// The same for one of many short reads by several threads.
VIA_NODISCARD Status read_short(OpenFile *file, void *memory, int64_t offset, int64_t nbytes);

VIA_NODISCARD Status write_all(OpenFile *file, const void *memory, int64_t offset, int64_t nbytes);

// Whether the process may write bytes up to `end`. Errors: VIA_ERROR_IO with EFBIG where RLIMIT_FSIZE says no.
VIA_NODISCARD Status check_size_limit(OpenFile *file, int64_t end);
VIA_NODISCARD Status resize(OpenFile *file, int64_t nbytes);

// Has the file system set blocks aside for what is going to be written, so that writers need not wait for one another
// while it looks for some. Errors: VIA_ERROR_IO where it has not enough; a file system that cannot is left alone.
VIA_NODISCARD Status reserve_blocks(OpenFile *file, int64_t offset, int64_t nbytes);

// Past the page cache: memory, offset and length are multiples of the file's direct alignment. Where the file system
// refuses (EINVAL) nothing more of the file is asked for so, and the length is 0, or *out_done false.
VIA_NODISCARD Status read_blocks(OpenFile *file, void *memory, int64_t offset, int64_t nbytes, int64_t *out_length);
VIA_NODISCARD Status write_blocks(OpenFile *file, const void *memory, int64_t offset, int64_t nbytes, bool *out_done);

}  // namespace via
