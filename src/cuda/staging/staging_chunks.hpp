// How a staged copy is cut: into chunks, each of which is one copy of the device's through one slot, and these into
// pieces, each of which one worker copies between the slot and the caller's memory.
//
// A copy of the device's costs some 3 us beside its bytes, so chunks are large: 4 MiB lose 4 % of the link, 256 KiB
// 40 %. The first must be ready soon, though, and the last done with soon: they grow from 256 KiB and shrink again,
// and several workers share each.
#pragma once

#include <cstdint>

namespace via::cuda {

struct Cut {
    int64_t nbytes;
    int64_t slot_bytes;
    // Of a destination whose pages are not there yet: pieces end at the borders of huge pages then, since two threads
    // that fault in one and the same both clear it, and small pages under one table of the kernel's share its lock.
    bool by_huge_pages;
    intptr_t address;  // of the destination, then
};

// The length of the chunk at `offset`, which is less than nbytes.
int64_t chunk_length(const Cut &cut, int64_t offset);

// The length of the piece at `start` in the chunk of that offset and length; `start` is less than the length.
int64_t piece_length(const Cut &cut, int64_t chunk_offset, int64_t chunk_length, int64_t start);

}  // namespace via::cuda
