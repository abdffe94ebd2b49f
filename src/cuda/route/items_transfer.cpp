#include "cuda/items_transfer.hpp"

#include "core/array/access_tracker.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/index_fence.hpp"
#include "cuda/route/transfer_order.hpp"
#include "cuda/stream/capture.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream_access.hpp"

namespace via::cuda {
namespace {

Status check_kernels(const ItemsTransfer &items) {
    const Transfer &transfer = items.transfer;
    if (!devices_differ(transfer)) {
        return need_kernels(device_of_transfer(transfer), items.what());
    }
    VIA_TRY(need_kernels(transfer.src_side.device_id, items.what()));
    return need_kernels(transfer.dst_side.device_id, items.what());
}

// `home`: the stream that the kernel runs on.
Status check_list(const char *argument, via_array *list, const ResolvedStream &home) {
    if (list == nullptr || list->device_type != VIA_DEVICE_CUDA) {
        return VIA_OK;
    }
    const Side side{list->device_type, list->device_id};
    const Transfer reads{list->data, list->data, 1, kPinned, side};
    return reaches_memory(reads, home)
               ? VIA_OK
               : fail(VIA_ERROR_UNSUPPORTED,
                      "%s is memory of another context than the one whose kernels copy the rows; expected the same one",
                      argument);
}

// Refuses a capture in which the host or another device has a part, and what no kernel reaches. Loads kernels.
Status check(const ItemsTransfer &items, const ResolvedStream &stream) {
    VIA_TRY(check_kernels(items));
    const ItemsRoute route = items_route(items.transfer);
    if (stream.capturing && route != ItemsRoute::Kernel) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is being captured, and %s; expected memory that one device reaches",
                    route == ItemsRoute::Peer              ? "dst and src are on two devices"
                    : is_pageable(items.transfer.dst_side) ? "dst is pageable memory"
                                                           : "src is pageable memory");
    }
    if (route == ItemsRoute::Peer) {
        return VIA_OK;  // each device launches its part where its list is reached
    }
    ResolvedStream home;
    VIA_TRY(prepare_kernel(items.transfer, stream, &home));
    VIA_TRY(check_list("dst_index", items.dst_index, home));
    return check_list("src_index", items.src_index, home);
}

// Waits for both arrays, and on the host for the stream's work if the host has a part. Lists are waited for where a
// kernel reads them.
Status wait_before(const ItemsTransfer &items, const ResolvedStream &stream) {
    if (items_route(items.transfer) == ItemsRoute::Staged) {
        VIA_TRY(wait_for_arrays(items.transfer));
        VIA_TRY(await_work(stream));
    } else {
        VIA_TRY(wait_for_arrays(items.transfer, stream));
    }
    for (via_array *list : {items.dst_index, items.src_index}) {
        VIA_TRY(list != nullptr ? wait_until_ready(list, stream) : VIA_OK);
    }
    return VIA_OK;
}

// Reports what a kernel found, after it has ended.
Status check_faults(const UniqueIndexFence &faults) { return faults.get() != nullptr ? faults.get()->check() : VIA_OK; }

// Records the end of the work, with the faults that it finds. Waits for it if no fence can be recorded.
Status record_end(const ItemsTransfer &items, const ResolvedStream &stream, UniqueIndexFence *faults,
                  Fence **out_fence) {
    UniqueFence end;
    VIA_TRY(record_or_wait(stream, end.out()));
    if (end.get() == nullptr) {
        return check_faults(*faults);
    }
    items.note_run(end.get());
    if (faults->get() != nullptr) {
        faults->get()->complete_with(end.get());
        *out_fence = faults->release();
    } else {
        *out_fence = end.release();
    }
    return VIA_OK;
}

Status capture(const ItemsTransfer &items, const ResolvedStream &stream) {
    VIA_TRY(wait_before(items, stream));
    for (via_array *array : {items.transfer.dst_array, items.transfer.src_array, items.dst_index, items.src_index}) {
        VIA_TRY(array != nullptr ? hold_in_graph(stream, &array->storage) : VIA_OK);
    }
    UniqueIndexFence none;
    return items.enqueue(stream, nullptr, none.out());
}

}  // namespace

Status check_items(const ItemsTransfer &items) {
    VIA_TRY(need_driver(items.what()));
    return check_kernels(items);
}

Status prepare_items(const ItemsTransfer &items, via_stream *stream) {
    ResolvedStream resolved;
    VIA_TRY(resolve_for(items.transfer, items.what(), stream, &resolved));
    return check(items, resolved);
}

Status items_now(const ItemsTransfer &items) {
    ResolvedStream stream;
    VIA_TRY(resolve_for(items.transfer, items.what(), nullptr, &stream));
    VIA_TRY(check(items, stream));
    VIA_TRY(follow_other_device(items.transfer, stream));
    const RelaxedCapture relaxed;
    VIA_TRY(wait_before(items, stream));
    UniqueIndexFence faults;
    VIA_TRY(end_failed(items.enqueue(stream, nullptr, faults.out()), stream));
    VIA_TRY(wait_for_stream(stream));
    return check_faults(faults);
}

// Readers of dst learn of faults.
Status items_on(const ItemsTransfer &items, via_stream *stream) {
    ResolvedStream resolved;
    VIA_TRY(resolve_for(items.transfer, items.what(), stream, &resolved));
    VIA_TRY(check(items, resolved));
    if (resolved.capturing) {
        return capture(items, resolved);
    }
    VIA_TRY(wait_before(items, resolved));
    UniqueIndexFence faults;
    VIA_TRY(end_failed(items.enqueue(resolved, nullptr, faults.out()), resolved));
    UniqueFence end;
    VIA_TRY(record_end(items, resolved, &faults, end.out()));
    return end.get() != nullptr ? set_last_copy(items.transfer.dst_array,
                                                {items.transfer.src_array, items.dst_index, items.src_index}, end.get())
                                : VIA_OK;
}

Status items_for_task(const ItemsTransfer &items, via_task *task, Fence **out_fence) {
    ResolvedStream stream;
    VIA_TRY(internal_stream(device_of_transfer(items.transfer), kTaskStream, &stream));
    const RelaxedCapture relaxed;
    VIA_TRY(check(items, stream));
    UniqueIndexFence faults;
    VIA_TRY(end_failed(items.enqueue(stream, task, faults.out()), stream));
    return record_end(items, stream, &faults, out_fence);
}

}  // namespace via::cuda
