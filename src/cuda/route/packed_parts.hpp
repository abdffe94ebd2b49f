// Copies of items (rows, elements). A kernel copies where one device reaches both sides. Elsewhere items are packed,
// cross a link as adjacent bytes, and are unpacked, a part at a time: between pageable memory and a device, and between
// two devices.
#pragma once

#include <algorithm>

#include "core/system/thread_count.hpp"
#include "cuda/io_endpoint.hpp"
#include "cuda/route/peer_copy.hpp"

namespace via::cuda {

class PackedItems : public PeerParts {
public:
    // `host` does the host's part: it reads and writes packed items. `workers` as of ConvertTransfer.
    PackedItems(const Transfer &reached, int64_t count, int64_t item_bytes, IoEndpoint *host, int32_t workers = 0)
        : PeerParts(reached), count_(count), item_bytes_(item_bytes), host_(host), workers_(workers) {}

    int64_t count() const { return count_; }
    int64_t item_bytes() const { return item_bytes_; }  // of one that is packed
    IoEndpoint *host() const { return host_; }
    int32_t workers() const { return workers_ > 0 ? workers_ : num_threads(); }

    int64_t nbytes() const final { return count_ * item_bytes_; }
    int64_t length(int64_t offset, int64_t most) const final {
        return std::min(std::max<int64_t>(most / item_bytes_, 1) * item_bytes_, nbytes() - offset);
    }

    VIA_NODISCARD Status pack(void *packed, int64_t offset, int64_t nbytes, const ResolvedStream &stream) final {
        return pack_items(offset / item_bytes_, nbytes / item_bytes_, static_cast<char *>(packed), stream);
    }
    VIA_NODISCARD Status unpack(const void *packed, int64_t offset, int64_t nbytes,
                                const ResolvedStream &stream) final {
        return unpack_items(offset / item_bytes_, nbytes / item_bytes_, static_cast<const char *>(packed), stream);
    }

    // Queues the whole copy, by one kernel that reaches both sides.
    VIA_NODISCARD virtual Status copy_on_device(const ResolvedStream &stream) = 0;

    // Returns the device's array if its items are packed there already; the device then has no part.
    virtual char *packed_array() const { return nullptr; }

protected:
    ~PackedItems() = default;

private:
    // Queue the device's part of whole items.
    VIA_NODISCARD virtual Status pack_items(int64_t first, int64_t count, char *packed,
                                            const ResolvedStream &stream) = 0;
    VIA_NODISCARD virtual Status unpack_items(int64_t first, int64_t count, const char *packed,
                                              const ResolvedStream &stream) = 0;

    const int64_t count_;
    const int64_t item_bytes_;
    IoEndpoint *const host_;
    const int32_t workers_;
};

// Copies by the route. Everything before has been waited for. What the host has a part in is done on return: a pageable
// source has been read, and a pageable destination written. Errors: VIA_ERROR_CANCELLED.
VIA_NODISCARD Status enqueue_items(PackedItems &items, const ResolvedStream &stream, via_task *task);

// Copies between a device and packed items of the host by the ring, on whatever route items_route would choose.
VIA_NODISCARD Status stage_items(PackedItems &items, const ResolvedStream &stream, via_task *task);

}  // namespace via::cuda
