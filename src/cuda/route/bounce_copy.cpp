#include "cuda/route/bounce_copy.hpp"

#include <algorithm>
#include <cstdlib>

#include "cuda/layout/row_copies.hpp"
#include "cuda/memory/pinned_buffer.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/pinned_copy_plan.hpp"
#include "cuda/staging/staging_plan.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {
namespace {

// The driver reads as much at once, without waiting for the stream.
constexpr int64_t kBounceBytes = kPinnedBufferBytes;

// Page-locked towards the host, where that is to be had. Towards the device it would have to be kept until the stream
// has got there: there is none of that size.
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

Status send_piece(const Transfer &transfer, const PackedOrder &order, const Slab &piece, char *buffer,
                  const ResolvedStream &use) {
    Move move;
    make_packing(order, piece, buffer, &move);
    transfer.host_copy(move, Cache::Through);
    make_unpacking(order, piece, buffer, &move);
    VIA_TRY(enqueue_rows(move, true, use));
    return uses_pageable_later(use.device_id) ? wait_for_stream(use) : VIA_OK;
}

Status fetch_piece(const Transfer &transfer, const PackedOrder &order, const Slab &piece, char *buffer,
                   const ResolvedStream &use) {
    Move move;
    make_packing(order, piece, buffer, &move);
    VIA_TRY(enqueue_rows(move, false, use));
    VIA_TRY(wait_for_stream(use));
    make_unpacking(order, piece, buffer, &move);
    transfer.host_copy(move, Cache::Through);
    return VIA_OK;
}

Status copy_pieces(const Transfer &transfer, const PackedOrder &order, int64_t most, char *buffer,
                   const ResolvedStream &use) {
    for (int64_t offset = 0; offset < order.nbytes;) {
        const Slab piece = cut_slab(order, offset, order.nbytes, most, most);
        VIA_TRY(is_to_device(transfer) ? send_piece(transfer, order, piece, buffer, use)
                                       : fetch_piece(transfer, order, piece, buffer, use));
        offset += piece.nbytes;
    }
    return VIA_OK;
}

// As driver_copy.cpp has it: what the driver would wait for inside a call is waited for outside. Of rows nothing is
// promised.
bool waits_inside(const Transfer &transfer, const PackedOrder &order) {
    Move move;
    make_device_move(order, is_to_device(transfer), transfer.dst, &move);
    return !is_to_device(transfer) || move.ndim > 0;
}

}  // namespace

Status copy_bounced(const Transfer &transfer, const BouncePlan &plan, const ResolvedStream &use) {
    PackedOrder order;
    make_staged_order(transfer, plan.order, &order);
    if (waits_inside(transfer, order)) {
        VIA_TRY(await_work(use));
    }
    const int64_t most = std::min(order.nbytes, kBounceBytes);
    const BounceBuffer buffer(most, is_to_device(transfer), use.device_id);
    if (buffer.get() == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld bytes on their way", static_cast<long long>(most));
    }
    return end_failed(copy_pieces(transfer, order, most, buffer.get(), use), use);
}

int64_t count_bounce_calls(const Transfer &transfer, const BouncePlan &plan) {
    PackedOrder order;
    Move move;
    make_staged_order(transfer, plan.order, &order);
    make_device_move(order, is_to_device(transfer), transfer.dst, &move);
    return count_row_calls(move);
}

}  // namespace via::cuda
