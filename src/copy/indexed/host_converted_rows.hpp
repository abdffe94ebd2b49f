// Copies rows by index on the host, and converts them on the way.
//
// How it works. Long rows are converted one by one, from array to array. Of short ones as many as a core's cache holds
// are brought together in a scratch, converted as one run, and spread out.
#pragma once

#include "core/async/task.hpp"
#include "core/layout/converted_rows.hpp"

namespace via {

// Converts the rows on as many threads as they are worth. Every number of the lists has been checked.
void convert_rows(const ConvertedRows &rows);

// Does the same in pieces, for a task. Reports `done_before` and the bytes of dst as progress. Errors:
// VIA_ERROR_CANCELLED.
VIA_NODISCARD Status convert_rows_in_pieces(const ConvertedRows &rows, int64_t done_before, via_task *task);

// Convert bytes of the packed rows: byte 0 is the first of row 0, and elements are whole. On the calling thread.
void pack_converted_rows(const ConvertedRows &rows, int64_t offset, int64_t nbytes, char *packed);
void unpack_converted_rows(const ConvertedRows &rows, int64_t offset, int64_t nbytes, const char *packed);

}  // namespace via
