// The two ends of a staged copy: what workers do with the caller's memory, and what the device does with its own. Bytes
// are numbered in the order in which they pass through slots.
#pragma once

#include <cstdint>

#include "cuda/layout/packed_order.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/staging/staging_plan.hpp"

namespace via::cuda {

class StagingEndpoints {
public:
    // `helped`: whether other threads than the one that gathers or scatters a piece may help it.
    StagingEndpoints(const StagedCopy &copy, int64_t slot_bytes, bool helped = false);
    StagingEndpoints(const StagingEndpoints &) = delete;
    StagingEndpoints &operator=(const StagingEndpoints &) = delete;

    int64_t nbytes() const { return cut_.nbytes; }
    bool to_device() const { return is_to_device(copy_.transfer); }
    bool has_new_pages() const { return new_pages_; }
    // Asks whether the destination's pages are there yet. Pieces are cut accordingly.
    void find_new_pages();
    bool is_io() const { return copy_.io.endpoint != nullptr; }
    // Returns whether the host's bytes can be read or written where they are.
    bool is_adjacent_on_host() const { return !is_io() && copy_.plan.adjacent_on_host; }

    // Converts bytes that passed into bytes of the caller's: broadcast ones pass once.
    int64_t progress(int64_t done) const;

    int64_t chunk_length(int64_t offset) const;
    int64_t piece_length(int64_t chunk_offset, int64_t chunk_length, int64_t start) const;
    // Returns the most bytes from there on that a slot holds, for copies without chunks.
    int64_t whole_piece(int64_t offset) const;

    // Packs a part of what is not adjacent in the caller's memory.
    VIA_NODISCARD Status gather(char *buffer, int64_t offset, int64_t nbytes) const;

    // Copies a part between a slot and the caller's memory. prepare() does what needs no slot yet.
    void prepare(int64_t offset, int64_t nbytes) const;
    VIA_NODISCARD Status fill(char *slot, int64_t offset, int64_t nbytes) const;
    VIA_NODISCARD Status empty(const char *slot, int64_t offset, int64_t nbytes) const;

    // Queues the device's part: from a slot to the device's memory, or into a slot. `scratch` is as large as the slot.
    // With nullptr, where the device is full, kernels read and write the slot itself.
    VIA_NODISCARD Status send(void *slot, void *scratch, int64_t offset, int64_t nbytes,
                              const ResolvedStream &stream) const;
    VIA_NODISCARD Status fetch(void *slot, void *scratch, int64_t offset, int64_t nbytes,
                               const ResolvedStream &stream) const;

    // Returns the address of bytes that are adjacent on the host.
    char *host(int64_t offset) const { return host_ + offset; }

private:
    VIA_NODISCARD Status gather_for_device(char *slot, int64_t offset, int64_t nbytes) const;

    const StagedCopy copy_;
    const bool helped_;
    const PackedOrder order_;
    char *const host_;
    Cut cut_;
    bool new_pages_ = false;
};

// Copies into memory that a device reads next, past the caches where possible. The device sees all of it on return.
void store_for_device(void *dst, const void *src, int64_t nbytes);

}  // namespace via::cuda
