#include "cuda/route/link_copy.hpp"

#include <algorithm>
#include <cstdlib>

#include "cuda/launch/kernel_copy.hpp"
#include "cuda/layout/packed_order.hpp"
#include "cuda/layout/row_copies.hpp"
#include "cuda/memory/pinned_memory.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/link_copy_plan.hpp"
#include "cuda/staging/staging_plan.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {
namespace {

Status enqueue_pieces(const Transfer &transfer, const PackedOrder &order, int64_t most, void *scratch,
                      const ResolvedStream &stream) {
    const bool to_device = is_to_device(transfer);
    return copy_by_buffer(
        order, most, scratch,
        [&](const Move &move) {
            return to_device ? enqueue_rows(move, true, stream) : enqueue_packing(move, transfer.src_side, stream);
        },
        [&](const Move &move) {
            return to_device ? enqueue_unpacking(move, transfer.dst_side, stream) : enqueue_rows(move, false, stream);
        });
}

// Runs a kernel across the link if the device is full.
Status enqueue_through_scratch(const Transfer &transfer, const LinkCopyPlan &plan, const ResolvedStream &stream) {
    PackedOrder order;
    make_link_order(transfer, plan.route, &order);
    const Slab first = first_piece(order, plan.scratch_bytes);
    Scratch scratch;
    VIA_TRY(scratch.allocate_if_room(buffer_bytes(order, first), stream));
    if (scratch.address() == nullptr) [[unlikely]] {
        return enqueue_kernel(transfer, stream);
    }
    return end_failed(enqueue_pieces(transfer, order, first.nbytes, scratch.address(), stream), stream);
}

}  // namespace

Status enqueue_pinned(const Transfer &transfer, const LinkCopyPlan &plan, const ResolvedStream &stream) {
    if (plan.route != LinkRoute::Rows) {
        return enqueue_through_scratch(transfer, plan, stream);
    }
    Move move;
    make_move(transfer, &move);
    return end_failed(enqueue_rows(move, is_to_device(transfer), stream), stream);
}

namespace {

// The driver reads a pageable source of this size within the call, without waiting for the stream.
constexpr int64_t kBounceBytes = kPinnedBufferBytes;

// A buffer that is page-locked towards the host, if there is one. Towards the device it would have to live until the
// stream has read it, so pageable memory serves.
class BounceBuffer {
public:
    BounceBuffer(int64_t nbytes, bool to_device, int32_t device_id)
        : locked_(to_device ? INT64_MAX : nbytes, device_id),
          plain_(locked_.get() == nullptr ? static_cast<char *>(std::malloc(static_cast<size_t>(nbytes))) : nullptr) {}
    ~BounceBuffer() { std::free(plain_); }
    BounceBuffer(const BounceBuffer &) = delete;
    BounceBuffer &operator=(const BounceBuffer &) = delete;
    char *get() const { return locked_.get() != nullptr ? locked_.get() : plain_; }

private:
    const PinnedBuffer locked_;
    char *const plain_;
};

// Returns once the buffer has been read, so that the next piece may overwrite it.
Status send_rows(const Move &move, const ResolvedStream &stream) {
    VIA_TRY(enqueue_rows(move, true, stream));
    return uses_pageable_later(stream.device_id) ? wait_for_stream(stream) : VIA_OK;
}

Status fetch_rows(const Move &move, const ResolvedStream &stream) {
    VIA_TRY(enqueue_rows(move, false, stream));
    return wait_for_stream(stream);
}

Status copy_on_host(const Transfer &transfer, const Move &move) {
    transfer.host_copy(move, Cache::Through);
    return VIA_OK;
}

Status bounce_pieces(const Transfer &transfer, const PackedOrder &order, int64_t most, char *buffer,
                     const ResolvedStream &stream) {
    const bool to_device = is_to_device(transfer);
    return copy_by_buffer(
        order, most, buffer,
        [&](const Move &move) { return to_device ? copy_on_host(transfer, move) : fetch_rows(move, stream); },
        [&](const Move &move) { return to_device ? send_rows(move, stream) : copy_on_host(transfer, move); });
}

// Returns whether the driver may wait inside the call: copies wait outside then, as driver_copy.cpp says. For rows the
// driver promises nothing.
bool waits_inside(const Transfer &transfer, const PackedOrder &order) {
    Move move;
    make_device_move(order, is_to_device(transfer), transfer.dst, &move);
    return !is_to_device(transfer) || move.ndim > 0;
}

}  // namespace

Status copy_bounced(const Transfer &transfer, const BouncePlan &plan, const ResolvedStream &stream) {
    PackedOrder order;
    make_staged_order(transfer, plan.order, &order);
    if (waits_inside(transfer, order)) {
        VIA_TRY(await_work(stream));
    }
    const int64_t most = std::min(order.nbytes, kBounceBytes);
    const BounceBuffer buffer(most, is_to_device(transfer), stream.device_id);
    if (buffer.get() == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld bytes on their way", static_cast<long long>(most));
    }
    return end_failed(bounce_pieces(transfer, order, most, buffer.get(), stream), stream);
}

int64_t count_bounce_calls(const Transfer &transfer, const BouncePlan &plan) {
    PackedOrder order;
    Move move;
    make_staged_order(transfer, plan.order, &order);
    make_device_move(order, is_to_device(transfer), transfer.dst, &move);
    return count_row_calls(move);
}

}  // namespace via::cuda
