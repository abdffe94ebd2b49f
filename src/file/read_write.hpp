// Complete reads and writes: read(2) and write(2) may do part of the work.
#pragma once

#include "file/open_file.hpp"

namespace via {

// Reads up to nbytes; fewer only at the end of the file. Errors: VIA_ERROR_IO.
VIA_NODISCARD Status read_up_to(OpenFile *file, void *memory, int64_t offset, int64_t nbytes, int64_t *out_length);

// Reads nbytes. Errors: VIA_ERROR_IO, also if the file ends before.
VIA_NODISCARD Status read_all(OpenFile *file, void *memory, int64_t offset, int64_t nbytes);
// Does the same for one of many short reads by several threads.
VIA_NODISCARD Status read_short(OpenFile *file, void *memory, int64_t offset, int64_t nbytes);

// Rows of adjacent bytes at regular steps, to be adjacent in memory.
struct FileRows {
    int64_t offset;
    int64_t row_bytes;
    int64_t step;
    int64_t count;
};

// Reads at most this many rows at once; see read_rows.
inline constexpr int64_t kMostRows = 512;

// Reads rows by one call, and the bytes between two of them to `gap`. Called by several threads.
VIA_NODISCARD Status read_rows(OpenFile *file, char *memory, char *gap, const FileRows &rows);

VIA_NODISCARD Status write_all(OpenFile *file, const void *memory, int64_t offset, int64_t nbytes);

// Checks the process's file size limit (RLIMIT_FSIZE). Errors: VIA_ERROR_IO with EFBIG.
VIA_NODISCARD Status check_size_limit(OpenFile *file, int64_t end);
VIA_NODISCARD Status resize(OpenFile *file, int64_t nbytes);

// Reserves disk blocks for a write, so that parallel writers do not wait for their allocation. Does nothing on file
// systems that cannot. Errors: VIA_ERROR_IO if there are too few.
VIA_NODISCARD Status reserve_blocks(OpenFile *file, int64_t offset, int64_t nbytes);

// Read and write by direct I/O; memory, offset and length are multiples of the file's direct alignment. If the file
// system refuses (EINVAL), disable direct I/O for the file, and store a length of 0, or false in *out_done.
VIA_NODISCARD Status read_blocks(OpenFile *file, void *memory, int64_t offset, int64_t nbytes, int64_t *out_length);
VIA_NODISCARD Status write_blocks(OpenFile *file, const void *memory, int64_t offset, int64_t nbytes, bool *out_done);

}  // namespace via
