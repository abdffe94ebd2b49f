// Pages of the caller's memory that are not there yet. Faulting them in is the greater part of a copy into a new
// array: several threads do it ahead of the copy, and with huge pages. No byte of the caller's is ever written by it.
#pragma once

#include <cstdint>

namespace via::cuda {

// Whether some of the memory is not there yet, from a sample of its pages: about 0.3 us each.
bool looks_new(const void *memory, int64_t nbytes);

// Asks for huge pages where the memory holds whole ones.
void advise_huge_pages(void *memory, int64_t nbytes);

// Makes the pages there as a write would, those at the ends included; false where the kernel cannot.
bool populate(void *memory, int64_t nbytes);

// The same if a page is missing.
void populate_missing(void *memory, int64_t nbytes);

}  // namespace via::cuda
