// Copies rows by index on the host.
#pragma once

#include "copy/plan.hpp"
#include "core/async/task.hpp"
#include "core/layout/indexed_rows.hpp"

namespace via {

// Copies the rows on as many threads as the bytes are worth. Every number of the lists has been checked.
void copy_rows(const IndexedRows &rows);

// Does the same on the calling thread.
void copy_rows_here(const IndexedRows &rows);

// Does the same as copy_rows in pieces of about 8 MiB, for a task. Reports `done_before` and the bytes copied as
// progress. Errors: VIA_ERROR_CANCELLED.
VIA_NODISCARD Status copy_rows_in_pieces(const IndexedRows &rows, int64_t done_before, via_task *task);

// Copies bytes of the packed rows: byte 0 is the first of row 0. On the calling thread.
void pack_rows(const IndexedRows &rows, int64_t offset, int64_t nbytes, char *packed);
void unpack_rows(const IndexedRows &rows, int64_t offset, int64_t nbytes, const char *packed);

// Copies rows of packed elements that are no whole bytes, one by one. `row` is row 0 in normal form; steps are in bits.
void copy_rows_of_bits(const Plan &row, const IndexedRows &rows);

}  // namespace via
