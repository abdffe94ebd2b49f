// Cuts a staged copy into chunks, and these into pieces. A chunk passes through one slot by one copy of the device. A
// piece is what one worker copies between the slot and the caller's memory.
//
// A copy of the device costs about 3 us beside its bytes, so chunks are large: 4 MiB lose 4 % of the link, 256 KiB lose
// 40 %. The first chunk must be ready soon and the last one done soon, so chunks grow from 256 KiB and shrink again.
// Several workers share each of them.
#pragma once

#include <cstdint>

namespace via::cuda {

struct Cut {
    int64_t nbytes;
    int64_t slot_bytes;
    // True for a destination whose pages are not there yet. Pieces then end at the borders of huge pages: two threads
    // that fault in the same page both clear it, and small pages of one page table share its lock.
    bool by_huge_pages;
    intptr_t address;  // of the destination, then
};

// Returns the length of the chunk at `offset`, which is less than nbytes.
int64_t chunk_length(const Cut &cut, int64_t offset);

// Returns the length of the piece at `start`, which is less than chunk_length, in that chunk.
int64_t piece_length(const Cut &cut, int64_t chunk_offset, int64_t chunk_length, int64_t start);

}  // namespace via::cuda
