// The two ends of a staged copy: what its workers do with the caller's memory, and its device with its own, for any
// part of the bytes that pass through slots. These are numbered in the order in which they pass.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/staging/staging_chunks.hpp"

namespace via::cuda {

class StagingEndpoints {
public:
    StagingEndpoints(const StagedCopy &copy, int64_t slot_bytes);
    StagingEndpoints(const StagingEndpoints &) = delete;
    StagingEndpoints &operator=(const StagingEndpoints &) = delete;

    int64_t nbytes() const { return cut_.nbytes; }
    bool to_device() const { return copy_.direction == Direction::ToDevice; }
    bool has_new_pages() const { return new_pages_; }

    // How many of the caller's bytes so many are: those that stand still pass once for all.
    int64_t progress(int64_t done) const;

    int64_t chunk_length(int64_t offset) const;
    int64_t piece_length(int64_t chunk_offset, int64_t chunk_length, int64_t start) const;

    // A worker's part, between a slot and the caller's memory; what can be done of it before the slot is there.
    void prepare(int64_t offset, int64_t nbytes) const;
    VIA_NODISCARD Status fill(char *slot, int64_t offset, int64_t nbytes) const;
    VIA_NODISCARD Status empty(const char *slot, int64_t offset, int64_t nbytes) const;

    // The device's part: gives the stream what brings a slot's bytes to where they belong, or into the slot. `scratch`
    // is as large as the slot; nullptr: the device has no room, and kernels reach for the slot.
    VIA_NODISCARD Status send(void *slot, void *scratch, int64_t offset, int64_t nbytes,
                              const ResolvedStream &use) const;
    VIA_NODISCARD Status fetch(void *slot, void *scratch, int64_t offset, int64_t nbytes,
                               const ResolvedStream &use) const;

private:
    bool is_io() const { return copy_.io != nullptr; }
    bool is_strided() const { return copy_.strided != nullptr; }
    bool is_adjacent_on_host() const { return !is_strided() || copy_.plan.adjacent_on_host; }
    bool needs_kernel() const { return copy_.plan.step == DeviceStep::Kernel; }
    char *host(int64_t offset) const { return host_ + offset; }
    Status send_slab(const Slab &slab, void *slot, void *scratch, const ResolvedStream &use) const;
    Status fetch_slab(const Slab &slab, void *slot, void *scratch, const ResolvedStream &use) const;

    const StagedCopy copy_;
    char *host_;
    Cut cut_{};
    bool new_pages_ = false;
    PackedOrder order_;  // of a strided copy
};

}  // namespace via::cuda
