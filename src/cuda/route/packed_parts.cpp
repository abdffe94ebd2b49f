#include "cuda/route/packed_parts.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "core/async/task.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/io_endpoint.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/route/transfer_order.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"

namespace via::cuda {
namespace {

// Items go so many bytes at a time through scratch memory: enough to keep the link busy, and to lose little in between.
constexpr int64_t kPartBytes = int64_t{128} << 20;
constexpr int64_t kBouncedBytes = int64_t{4} << 20;

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
        items_.pack(part_.first, part_.count, offset, nbytes, static_cast<char *>(slot));
        return VIA_OK;
    }

    Status write(const void *slot, int64_t offset, int64_t nbytes) override {
        items_.unpack(part_.first, part_.count, offset, nbytes, static_cast<const char *>(slot));
        return VIA_OK;
    }

private:
    PackedItems &items_;
    const Part part_;
};

// A staged copy under way.
class StagedItems {
public:
    StagedItems(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream, via_task *task)
        : transfer_(transfer), items_(items), stream_(stream), task_(task), to_device_(is_to_device(transfer)) {}

    VIA_NODISCARD Status run() {
        if (char *array = items_.as_they_cross(); array != nullptr) {
            return cross({0, items_.count()}, array, task_);
        }
        return for_each_part(items_, [&](const Part &part) {
            return is_cancelled(task_) ? fail(VIA_ERROR_CANCELLED, "the task was cancelled after %lld of %lld items",
                                              as_printed(part.first), as_printed(items_.count()))
                                       : run_part(part);
        });
    }

private:
    Status run_part(const Part &part) {
        Scratch scratch;
        VIA_TRY(scratch.allocate(part.count * items_.item_bytes(), stream_));
        auto *packed = static_cast<char *>(scratch.address());
        if (to_device_) {
            VIA_TRY(cross(part, packed, nullptr));
            return end_failed(items_.unpack_on_device(part.first, part.count, packed, stream_), stream_);
        }
        VIA_TRY(end_failed(items_.pack_on_device(part.first, part.count, packed, stream_), stream_));
        return end_failed(cross(part, packed, nullptr), stream_);
    }

    // Brings packed bytes across the link, after the stream's work and before what follows on it.
    Status cross(const Part &part, char *packed, via_task *task) {
        VIA_TRY(wait_for_stream(stream_));
        const Side device{VIA_DEVICE_CUDA, stream_.device_id};
        // No byte of the host's address is touched.
        Transfer dense{to_device_ ? packed : transfer_.dst,
                       to_device_ ? transfer_.src : packed,
                       part.count * items_.item_bytes(),
                       to_device_ ? device : kPageable,
                       to_device_ ? kPageable : device,
                       nullptr,
                       nullptr};
        StagedPlan plan;
        if (!can_stage_io(dense, &plan)) {
            return bounce(part, packed);
        }
        PackedEndpoint packing(items_, part);
        UniqueFence fence;
        VIA_TRY(transfer_io({&dense, &packing, num_threads(), 0, task, plan}, fence.out()));
        return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
    }

    // Does the same by this thread and the driver, where there is no ring.
    Status bounce(const Part &part, char *packed) {
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
            items_.pack(part.first, part.count, at, nbytes, buffer);
            VIA_TRY_CUDA(cuMemcpyHtoDAsync(number_of(packed), buffer, size, stream_.handle));
            return wait_for_stream(stream_);
        }
        VIA_TRY_CUDA(cuMemcpyDtoHAsync(buffer, number_of(packed), size, stream_.handle));
        VIA_TRY(wait_for_stream(stream_));
        items_.unpack(part.first, part.count, at, nbytes, buffer);
        return VIA_OK;
    }

    const Transfer &transfer_;
    PackedItems &items_;
    const ResolvedStream &stream_;
    via_task *const task_;
    const bool to_device_;
};

// A copy between two devices under way. Each stream is of its device.
class PeerItems {
public:
    PeerItems(const Transfer &transfer, PackedItems &items, const ResolvedStream &src, const ResolvedStream &dst)
        : transfer_(transfer), items_(items), src_(src), dst_(dst) {}

    VIA_NODISCARD Status run() {
        return for_each_part(items_, [&](const Part &part) { return run_part(part); });
    }

private:
    // Scratch memory is freed in the order of its own stream: packed bytes behind the copy that reads them.
    Status run_part(const Part &part) {
        const int64_t nbytes = part.count * items_.item_bytes();
        Scratch packed;
        Scratch landing;
        VIA_TRY(packed.allocate(nbytes, src_));
        VIA_TRY(landing.allocate(nbytes, dst_));
        return end_failed(end_failed(enqueue_part(part, static_cast<char *>(packed.address()),
                                                  static_cast<char *>(landing.address())),
                                     src_),
                          dst_);
    }

    Status enqueue_part(const Part &part, char *packed, char *landing) {
        VIA_TRY(items_.pack_on_device(part.first, part.count, packed, src_));
        VIA_TRY(follow(src_, dst_));  // which allocates
        const Transfer dense{landing, packed, part.count * items_.item_bytes(), transfer_.dst_side, transfer_.src_side,
                             nullptr, nullptr};
        {
            ContextScope scope;
            VIA_TRY(enter_for(src_, &scope));
            VIA_TRY(copy_to_peer(dense, src_));
        }
        VIA_TRY(follow(dst_, src_));
        return items_.unpack_on_device(part.first, part.count, landing, dst_);
    }

    const Transfer &transfer_;
    PackedItems &items_;
    const ResolvedStream &src_;
    const ResolvedStream &dst_;
};

// Queues a copy between two devices, whose kernels pack and unpack.
Status copy_peer_items(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream) {
    const int32_t dst = transfer.dst_side.device_id;
    const int32_t src = transfer.src_side.device_id;
    VIA_TRY(check_peer_stream(transfer, stream));
    const bool is_src = stream.device_id == src;
    SideStream side;
    VIA_TRY(side.take(is_src ? dst : src, stream));
    VIA_TRY(follow(side.get(), stream));
    const Status status = PeerItems(transfer, items, is_src ? stream : side.get(), is_src ? side.get() : stream).run();
    const Status joined = follow(stream, side.get());
    return end_failed(end_failed(status == VIA_OK ? joined : status, side.get()), stream);
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

Status enqueue_items(const Transfer &transfer, PackedItems &items, const ResolvedStream &stream, via_task *task) {
    switch (items_route(transfer)) {
        case ItemsRoute::Peer:
            return copy_peer_items(transfer, items, stream);
        case ItemsRoute::Staged:
            return StagedItems(transfer, items, stream, task).run();
        default:
            break;
    }
    VIA_TRY(items.copy_on_device(stream));
    // Pageable memory may go away, or be read, when the call has returned.
    return has_pageable(transfer) ? wait_for_stream(stream) : VIA_OK;
}

}  // namespace via::cuda
