// Copies in which items (rows, elements) are packed, cross a link as adjacent bytes, and are unpacked, a part at a
// time: between pageable memory and a device, and between two devices.
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
    virtual void pack(int64_t first, int64_t count, int64_t offset, int64_t nbytes, char *packed) = 0;
    virtual void unpack(int64_t first, int64_t count, int64_t offset, int64_t nbytes, const char *packed) = 0;

    // Queue the device's part: from the array to packed items, and back.
    VIA_NODISCARD virtual Status pack_on_device(int64_t first, int64_t count, char *packed,
                                                const ResolvedStream &stream) = 0;
    VIA_NODISCARD virtual Status unpack_on_device(int64_t first, int64_t count, const char *packed,
                                                  const ResolvedStream &stream) = 0;

    // Returns the device's array if its items lie there as they cross; the device then has no part.
    virtual char *as_they_cross() const { return nullptr; }

protected:
    ~PackedItems() = default;

private:
    int64_t count_;
    int64_t item_bytes_;
};

// Copies between pageable memory, which workers of the host pack or unpack, and a device. Everything before has been
// waited for. Towards the device the source has been read on return, and the kernels follow on the stream; towards the
// host the items have arrived. Errors: VIA_ERROR_CANCELLED.
VIA_NODISCARD Status copy_staged_items(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream,
                                       via_task *task);

// Queues a copy between two devices, whose kernels pack and unpack.
VIA_NODISCARD Status copy_peer_items(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream);

// A kernel's part of one side: the rest is memory that every kernel reaches.
Transfer with_dst_only(const Transfer &transfer);
Transfer with_src_only(const Transfer &transfer);

}  // namespace via::cuda
