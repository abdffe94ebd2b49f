// Plans how a strided copy passes through the ring, from its layout alone, and cuts staged copies.
#pragma once

#include <cstdint>

#include "cuda/layout/packed_order.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {

constexpr int64_t kHostLine = 64;  // bytes of a line of the host's caches

// Bytes a nanosecond that a copy engine moves of adjacent pinned memory, on PCIe 5 x16.
constexpr double kLink = 54;

// Returns how many bytes cross the link by copy engine: lines of the host's memory cross whole, and rows that begin
// anywhere touch one more.
double bytes_across(const Move &move, bool host_is_src);

// `kernels`: whether the device runs the library's kernels.
StagedPlan plan_staged(const Transfer &transfer, bool kernels);

// Makes the order in which such a copy passes.
PackedOrder make_staged_order(const Transfer &transfer, const StagedPlan &plan);

// Returns whether the caller has copied adjacent bytes of the host by the time that a helper wakes, 20 to 70 us later
// on a virtual machine.
bool is_soon_done(const Transfer &transfer);

// Returns how many threads, at most `most`, are worth waking for a strided copy.
int32_t worth_waking(const Transfer &transfer, const StagedPlan &plan, int32_t most);

// Most threads that gain something. Eight fill the link. Faulting in new huge pages takes more, and so do strided
// copies to the host. Gathering or scattering takes most.
constexpr int32_t kMostWorkers = 8;
constexpr int32_t kMostWorkersOfSlow = 12;
constexpr int32_t kMostWorkersOfStrided = 16;
constexpr int64_t kBytesOfWorker = int64_t{128} << 10;

// Makes the host's part, and the device's, as one move. `buffer` stands for the slot.
Move make_host_move(const PackedOrder &order, bool to_device, void *buffer);
Move make_device_move(const PackedOrder &order, bool to_device, void *buffer);

// Sizes of chunks and pieces. A chunk passes through one slot by one copy of the device. A piece is what one worker
// copies between the slot and the caller's memory.
//
// A copy of the device costs about 3 us besides its bytes, so chunks are large: 4 MiB lose 4 % of the link, 256 KiB
// lose 40 %. The first chunk must be ready soon and the last one done soon, so chunks grow from 256 KiB and shrink
// again, or from 1 MiB where a worker also launches a kernel for each. Several workers share each of them.
constexpr int64_t kLeastChunk = int64_t{256} << 10;
constexpr int64_t kLeastWithKernel = int64_t{1} << 20;

struct Cut {
    int64_t nbytes;
    int64_t slot_bytes;
    // Set for a destination whose pages are not there yet. Pieces then end at the borders of huge pages. Two threads
    // that fault in the same page both clear it, and small pages of one page table share its lock.
    bool by_huge_pages;
    intptr_t address;  // of the destination, then
    int64_t least_chunk = kLeastChunk;
};

// Returns the length of the chunk at `offset`, which is less than nbytes.
int64_t chunk_length(const Cut &cut, int64_t offset);

// Returns the length of the piece at `start`, which is less than chunk_length, in that chunk.
int64_t piece_length(const Cut &cut, int64_t chunk_offset, int64_t chunk_length, int64_t start);

}  // namespace via::cuda
