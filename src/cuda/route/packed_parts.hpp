// Copies of items (rows, elements). A kernel copies where one device reaches both sides. Elsewhere items are packed,
// cross a link as adjacent bytes, and are unpacked, a part at a time: between pageable memory and a device, and between
// two devices.
#pragma once

#include "cuda/stream/resolved_stream.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

class PackedItems {
public:
    PackedItems(int64_t count, int64_t item_bytes) : count_(count), item_bytes_(item_bytes) {}

    int64_t count() const { return count_; }
    int64_t item_bytes() const { return item_bytes_; }  // of one that is packed

    // Do the host's part. Bytes are numbered from the first of item `first` on, and end with item first + count - 1.
    // Workers of the ring call them.
    VIA_NODISCARD virtual Status pack(int64_t first, int64_t count, int64_t offset, int64_t nbytes, char *packed) = 0;
    VIA_NODISCARD virtual Status unpack(int64_t first, int64_t count, int64_t offset, int64_t nbytes,
                                        const char *packed) = 0;
    virtual int32_t workers() const = 0;

    // Queues the whole copy, by one kernel that reaches both sides.
    VIA_NODISCARD virtual Status copy_on_device(const ResolvedStream &stream) = 0;

    // Queue the device's part: from the array to packed items, and back.
    VIA_NODISCARD virtual Status pack_on_device(int64_t first, int64_t count, char *packed,
                                                const ResolvedStream &stream) = 0;
    VIA_NODISCARD virtual Status unpack_on_device(int64_t first, int64_t count, const char *packed,
                                                  const ResolvedStream &stream) = 0;

    // Returns the device's array if its items are packed there already; the device then has no part.
    virtual char *packed_array() const { return nullptr; }

protected:
    ~PackedItems() = default;

private:
    int64_t count_;
    int64_t item_bytes_;
};

// Refuses a capture in which the host or another device has a part, and what no kernel reaches. Loads kernels.
VIA_NODISCARD Status check_items(const Transfer &transfer, const ResolvedStream &stream);

// Refuses devices that run no kernels. Errors: VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status need_kernels_of_items(const Transfer &transfer, const char *what);

// Waits for both arrays, and on the host for the stream's work if the host has a part.
VIA_NODISCARD Status wait_for_items(const Transfer &transfer, const ResolvedStream &stream);

// Copies by the route. Everything before has been waited for. What the host has a part in is done on return: a pageable
// source has been read, and a pageable destination written. Errors: VIA_ERROR_CANCELLED.
VIA_NODISCARD Status enqueue_items(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream,
                                   via_task *task);

// Copies between a device and packed items of the host by the ring, on whatever route items_route would choose.
VIA_NODISCARD Status stage_items(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream,
                                 via_task *task);

// A kernel's part of one side: the rest is memory that every kernel reaches.
Transfer with_dst_only(const Transfer &transfer);
Transfer with_src_only(const Transfer &transfer);

}  // namespace via::cuda
