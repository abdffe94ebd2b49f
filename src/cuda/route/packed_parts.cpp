#include "cuda/route/packed_parts.hpp"

#include "core/async/task.hpp"
#include "core/base/thread_state.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/link_copy.hpp"
#include "cuda/staging/staging.hpp"

namespace via::cuda {
namespace {

// Items go so many bytes at a time through scratch memory: enough to keep the link busy, and to lose little in between.
constexpr int64_t kPartBytes = int64_t{128} << 20;

// Of items that chunks hold whole.
constexpr int64_t kMostOfElement = 16;

// A staged copy under way.
class StagedItems {
public:
    StagedItems(PackedItems &items, const ResolvedStream &stream, via_task *task)
        : transfer_(items.reached()),
          items_(items),
          stream_(stream),
          task_(task),
          to_device_(is_to_device(items.reached())) {}

    VIA_NODISCARD Status run() {
        const Part all{0, items_.nbytes()};
        char *array = items_.packed_array();
        if (array != nullptr) {
            return transfer(all, array, task_);
        }
        const Transfer dense = dense_transfer(all, device_array());
        StagedPlan plan;
        if (are_whole_in_chunks() && can_stage_io(dense, &plan)) {
            return cross({dense, plan, task_, io_of(all), &items_});
        }
        return in_parts();
    }

private:
    // Bytes of packed items.
    struct Part {
        int64_t offset;
        int64_t nbytes;
    };

    char *device_array() const {
        return static_cast<char *>(to_device_ ? transfer_.dst : const_cast<void *>(transfer_.src));
    }

    // Returns whether no chunk cuts an item: the device does its part of one chunk while others cross.
    bool are_whole_in_chunks() const {
        const int64_t item = items_.item_bytes();
        return item <= kMostOfElement && (item & (item - 1)) == 0;
    }

    Status in_parts() {
        Part part{0, 0};
        for (; part.offset < items_.nbytes(); part.offset += part.nbytes) {
            part.nbytes = items_.length(part.offset, kPartBytes);
            VIA_TRY(is_cancelled(task_) ? fail_cancelled(part.offset / items_.item_bytes(), items_.count(), "items")
                                        : run_part(part));
        }
        return VIA_OK;
    }

    Status run_part(const Part &part) {
        Scratch scratch;
        VIA_TRY(scratch.allocate(part.nbytes, stream_));
        auto *packed = static_cast<char *>(scratch.address());
        if (to_device_) {
            VIA_TRY(transfer(part, packed, nullptr));
            return end_failed(items_.unpack(packed, part.offset, part.nbytes, stream_), stream_);
        }
        VIA_TRY(end_failed(items_.pack(packed, part.offset, part.nbytes, stream_), stream_));
        return end_failed(transfer(part, packed, nullptr), stream_);
    }

    // Of packed bytes. No byte of the host's address is touched.
    Transfer dense_transfer(const Part &part, char *packed) const {
        const Side device{VIA_DEVICE_CUDA, stream_.device_id};
        return {to_device_ ? packed : transfer_.dst, to_device_ ? transfer_.src : packed, part.nbytes,
                to_device_ ? device : kPageable, to_device_ ? kPageable : device};
    }

    IoPart io_of(const Part &part) const { return {items_.host(), items_.workers(), part.offset}; }

    // Brings packed bytes across the link, after the stream's work and before what follows on it. This thread and the
    // driver do so where there is no ring.
    Status transfer(const Part &part, char *packed, via_task *task) {
        const Transfer dense = dense_transfer(part, packed);
        StagedPlan plan;
        if (can_stage_io(dense, &plan)) {
            return cross({dense, plan, task, io_of(part)});
        }
        VIA_TRY(wait_for_stream(stream_));
        ContextScope scope;
        VIA_TRY(scope.enter(stream_.context));
        return bounce({dense, {}, task, io_of(part)}, stream_);
    }

    Status cross(const StagedCopy &copy) {
        VIA_TRY(wait_for_stream(stream_));
        UniqueFence fence;
        VIA_TRY(run_staged(copy, fence.out()));
        return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
    }

    const Transfer &transfer_;
    PackedItems &items_;
    const ResolvedStream &stream_;
    via_task *const task_;
    const bool to_device_;
};

}  // namespace

ItemsRoute items_route(const Transfer &transfer) {
    if (devices_differ(transfer)) {
        return ItemsRoute::Peer;
    }
    return has_pageable(transfer) && !is_straight(transfer) ? ItemsRoute::Staged : ItemsRoute::Kernel;
}

Status stage_items(PackedItems &items, const ResolvedStream &stream, via_task *task) {
    return StagedItems(items, stream, task).run();
}

Status enqueue_items(PackedItems &items, const ResolvedStream &stream, via_task *task) {
    count(Counter::PlannedRoutes, 1);
    const Transfer &transfer = items.reached();
    switch (items_route(transfer)) {
        case ItemsRoute::Peer: {
            const bool direct = can_reach_scratch(transfer.dst_side.device_id, transfer.src_side.device_id);
            return enqueue_peer_parts(items, plan_packed_pieces(direct), stream);
        }
        case ItemsRoute::Staged:
            return stage_items(items, stream, task);
        default:
            break;
    }
    VIA_TRY(items.copy_on_device(stream));
    // Pageable memory may go away, or be read, when the call has returned.
    return has_pageable(transfer) ? wait_for_stream(stream) : VIA_OK;
}

}  // namespace via::cuda
