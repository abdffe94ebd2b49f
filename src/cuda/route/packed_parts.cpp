#include "cuda/route/packed_parts.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "core/async/task.hpp"
#include "core/base/thread_state.hpp"
#include "cuda/io_endpoint.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/route/transfer_order.hpp"
#include "cuda/staging/staging.hpp"

namespace via::cuda {
namespace {

// Items go so many bytes at a time through scratch memory: enough to keep the link busy, and to lose little in between.
constexpr int64_t kPartBytes = int64_t{128} << 20;
constexpr int64_t kBouncedBytes = int64_t{4} << 20;

// Of items that chunks hold whole.
constexpr int64_t kMostOfElement = 16;

constexpr Side kPageable{VIA_DEVICE_CPU, 0};

// The items of a part.
struct Part {
    int64_t first;
    int64_t count;
};

template <class Run>
Status for_each_part(const PackedItems &items, const Run &run) {
    const int64_t each = std::clamp<int64_t>(kPartBytes / items.item_bytes(), 1, items.count());
    for (int64_t first = 0; first < items.count(); first += each) {
        VIA_TRY(run(Part{first, std::min(each, items.count() - first)}));
    }
    return VIA_OK;
}

// The packed items of host memory, as bytes that workers of the ring read and write.
class PackedEndpoint final : public IoEndpoint {
public:
    PackedEndpoint(PackedItems &items, const Part &part) : items_(items), part_(part) {}

    Status read(void *slot, int64_t offset, int64_t nbytes) override {
        return items_.pack(part_.first, part_.count, offset, nbytes, static_cast<char *>(slot));
    }

    Status write(const void *slot, int64_t offset, int64_t nbytes) override {
        return items_.unpack(part_.first, part_.count, offset, nbytes, static_cast<const char *>(slot));
    }

private:
    PackedItems &items_;
    const Part part_;
};

// The device's part of items, chunk by chunk.
class ItemsOfChunks final : public DevicePart {
public:
    ItemsOfChunks(const Transfer &transfer, PackedItems &items) : transfer_(transfer), items_(items) {}

    Status send(const void *packed, int64_t offset, int64_t nbytes, const ResolvedStream &stream) override {
        return items_.unpack_on_device(offset / items_.item_bytes(), nbytes / items_.item_bytes(),
                                       static_cast<const char *>(packed), stream);
    }

    Status fetch(void *packed, int64_t offset, int64_t nbytes, const ResolvedStream &stream) override {
        return items_.pack_on_device(offset / items_.item_bytes(), nbytes / items_.item_bytes(),
                                     static_cast<char *>(packed), stream);
    }

    const Transfer &reached() const override { return transfer_; }

private:
    const Transfer &transfer_;
    PackedItems &items_;
};

// A staged copy under way.
class StagedItems {
public:
    StagedItems(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream, via_task *task)
        : transfer_(transfer), items_(items), stream_(stream), task_(task), to_device_(is_to_device(transfer)) {}

    VIA_NODISCARD Status run() {
        const Part all{0, items_.count()};
        char *array = items_.packed_array();
        if (array != nullptr) {
            return transfer(all, array, task_);
        }
        const Transfer dense = dense_transfer(all, device_array());
        StagedPlan plan;
        if (are_whole_in_chunks() && can_stage_io(dense, &plan)) {
            ItemsOfChunks device_part(transfer_, items_);
            return cross(dense, plan, all, &device_part, task_);
        }
        return for_each_part(items_, [&](const Part &part) {
            return is_cancelled(task_) ? fail_cancelled(part.first, items_.count(), "items") : run_part(part);
        });
    }

private:
    char *device_array() const {
        return static_cast<char *>(to_device_ ? transfer_.dst : const_cast<void *>(transfer_.src));
    }

    // Returns whether no chunk cuts an item: the device does its part of one chunk while others cross.
    bool are_whole_in_chunks() const {
        const int64_t item = items_.item_bytes();
        return item <= kMostOfElement && (item & (item - 1)) == 0;
    }

    Status run_part(const Part &part) {
        Scratch scratch;
        VIA_TRY(scratch.allocate(part.count * items_.item_bytes(), stream_));
        auto *packed = static_cast<char *>(scratch.address());
        if (to_device_) {
            VIA_TRY(transfer(part, packed, nullptr));
            return end_failed(items_.unpack_on_device(part.first, part.count, packed, stream_), stream_);
        }
        VIA_TRY(end_failed(items_.pack_on_device(part.first, part.count, packed, stream_), stream_));
        return end_failed(transfer(part, packed, nullptr), stream_);
    }

    // Of packed bytes. No byte of the host's address is touched.
    Transfer dense_transfer(const Part &part, char *packed) const {
        const Side device{VIA_DEVICE_CUDA, stream_.device_id};
        return {to_device_ ? packed : transfer_.dst,
                to_device_ ? transfer_.src : packed,
                part.count * items_.item_bytes(),
                to_device_ ? device : kPageable,
                to_device_ ? kPageable : device,
                nullptr,
                nullptr};
    }

    // Brings packed bytes across the link, after the stream's work and before what follows on it.
    Status transfer(const Part &part, char *packed, via_task *task) {
        const Transfer dense = dense_transfer(part, packed);
        StagedPlan plan;
        return can_stage_io(dense, &plan) ? cross(dense, plan, part, nullptr, task) : bounce(part, packed);
    }

    Status cross(const Transfer &dense, const StagedPlan &plan, const Part &part, DevicePart *device_part,
                 via_task *task) {
        VIA_TRY(wait_for_stream(stream_));
        PackedEndpoint packing(items_, part);
        StagedCopy copy = staged_copy(dense, plan, task);
        copy.io = &packing;
        copy.io_workers = items_.workers();
        copy.device_part = device_part;
        UniqueFence fence;
        VIA_TRY(run_staged(copy, fence.out()));
        return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
    }

    // Does the same by this thread and the driver, where there is no ring.
    Status bounce(const Part &part, char *packed) {
        VIA_TRY(wait_for_stream(stream_));
        const int64_t nbytes = part.count * items_.item_bytes();
        const int64_t each = std::min(nbytes, kBouncedBytes);
        const std::unique_ptr<char[]> buffer(new (std::nothrow) char[static_cast<size_t>(each)]);
        if (buffer == nullptr) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld packed bytes", as_printed(each));
        }
        for (int64_t at = 0; at < nbytes; at += each) {
            VIA_TRY(bounce_bytes(part, packed + at, at, std::min(each, nbytes - at), buffer.get()));
        }
        return VIA_OK;
    }

    Status bounce_bytes(const Part &part, char *packed, int64_t at, int64_t nbytes, char *buffer) {
        ContextScope scope;
        VIA_TRY(scope.enter(stream_.context));
        const auto size = static_cast<size_t>(nbytes);
        if (to_device_) {
            VIA_TRY(items_.pack(part.first, part.count, at, nbytes, buffer));
            VIA_TRY_CUDA(cuMemcpyHtoDAsync(number_of(packed), buffer, size, stream_.handle));
            return wait_for_stream(stream_);
        }
        VIA_TRY_CUDA(cuMemcpyDtoHAsync(buffer, number_of(packed), size, stream_.handle));
        VIA_TRY(wait_for_stream(stream_));
        return items_.unpack(part.first, part.count, at, nbytes, buffer);
    }

    const Transfer &transfer_;
    PackedItems &items_;
    const ResolvedStream &stream_;
    via_task *const task_;
    const bool to_device_;
};

// Whole items, as pieces of a copy between two devices.
class PeerItems final : public PeerParts {
public:
    explicit PeerItems(PackedItems &items) : items_(items) {}

    PeerPlan plan_unreached(int32_t) const override { return plan_packed_pieces(false); }
    int64_t nbytes() const override { return items_.count() * items_.item_bytes(); }

    int64_t length(int64_t offset, int64_t most) const override {
        return std::min(std::max<int64_t>(most / items_.item_bytes(), 1) * items_.item_bytes(), nbytes() - offset);
    }

    Status pack(const PeerPiece &piece, void *packed, const ResolvedStream &stream) override {
        return items_.pack_on_device(piece.offset / items_.item_bytes(), piece.nbytes / items_.item_bytes(),
                                     static_cast<char *>(packed), stream);
    }

    Status unpack(const PeerPiece &piece, const void *packed, const ResolvedStream &stream) override {
        return items_.unpack_on_device(piece.offset / items_.item_bytes(), piece.nbytes / items_.item_bytes(),
                                       static_cast<const char *>(packed), stream);
    }

private:
    PackedItems &items_;
};

Status copy_peer_items(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream) {
    PeerItems parts(items);
    const bool direct = can_reach_scratch(transfer.dst_side.device_id, transfer.src_side.device_id);
    return enqueue_peer_parts(transfer, parts, plan_packed_pieces(direct), stream);
}

}  // namespace

Transfer with_dst_only(const Transfer &transfer) {
    Transfer part = transfer;
    part.src_side = kPinned;
    return part;
}

Transfer with_src_only(const Transfer &transfer) {
    Transfer part = transfer;
    part.dst_side = kPinned;
    return part;
}

ItemsRoute items_route(const Transfer &transfer) {
    if (devices_differ(transfer)) {
        return ItemsRoute::Peer;
    }
    return has_pageable(transfer) && !is_straight(transfer) ? ItemsRoute::Staged : ItemsRoute::Kernel;
}

Status need_kernels_of_items(const Transfer &transfer, const char *what) {
    if (!devices_differ(transfer)) {
        return need_kernels(device_of_transfer(transfer), what);
    }
    VIA_TRY(need_kernels(transfer.src_side.device_id, what));
    return need_kernels(transfer.dst_side.device_id, what);
}

Status check_items(const Transfer &transfer, const ResolvedStream &stream) {
    const ItemsRoute route = items_route(transfer);
    if (stream.capturing && route != ItemsRoute::Kernel) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is being captured, and %s; expected memory that one device reaches",
                    route == ItemsRoute::Peer        ? "dst and src are on two devices"
                    : is_pageable(transfer.dst_side) ? "dst is pageable memory"
                                                     : "src is pageable memory");
    }
    return route == ItemsRoute::Peer ? VIA_OK : prepare_kernel(transfer, stream);
}

Status wait_for_items(const Transfer &transfer, const ResolvedStream &stream) {
    if (items_route(transfer) != ItemsRoute::Staged) {
        return wait_for_arrays(transfer, stream);
    }
    VIA_TRY(wait_for_arrays(transfer));
    return await_work(stream);
}

Status stage_items(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream, via_task *task) {
    return StagedItems(transfer, items, stream, task).run();
}

Status enqueue_items(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream, via_task *task) {
    count(Counter::PlannedRoutes, 1);
    switch (items_route(transfer)) {
        case ItemsRoute::Peer:
            return copy_peer_items(transfer, items, stream);
        case ItemsRoute::Staged:
            return stage_items(transfer, items, stream, task);
        default:
            break;
    }
    VIA_TRY(items.copy_on_device(stream));
    // Pageable memory may go away, or be read, when the call has returned.
    return has_pageable(transfer) ? wait_for_stream(stream) : VIA_OK;
}

}  // namespace via::cuda
