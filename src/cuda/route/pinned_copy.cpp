#include "cuda/route/pinned_copy.hpp"

#include "cuda/launch/kernel_copy.hpp"
#include "cuda/layout/row_copies.hpp"
#include "cuda/memory/stream_scratch.hpp"

namespace via::cuda {
namespace {

// Into the scratch memory, and on to where it belongs.
Status send_piece(const Transfer &transfer, const PackedOrder &order, const Slab &piece, void *scratch,
                  const ResolvedStream &use) {
    Move move;
    make_packing(order, piece, scratch, &move);
    VIA_TRY(enqueue_rows(move, true, use));
    make_unpacking(order, piece, scratch, &move);
    return enqueue_unpacking(move, transfer.dst_side, use);
}

Status fetch_piece(const Transfer &transfer, const PackedOrder &order, const Slab &piece, void *scratch,
                   const ResolvedStream &use) {
    Move move;
    make_packing(order, piece, scratch, &move);
    VIA_TRY(enqueue_packing(move, transfer.src_side, use));
    make_unpacking(order, piece, scratch, &move);
    return enqueue_rows(move, false, use);
}

Status enqueue_pieces(const Transfer &transfer, const PackedOrder &order, const Slab &first, void *scratch,
                      const ResolvedStream &use) {
    for (int64_t offset = 0; offset < order.nbytes;) {
        const Slab piece = cut_slab(order, offset, order.nbytes, first.nbytes, first.nbytes);
        VIA_TRY(is_to_device(transfer) ? send_piece(transfer, order, piece, scratch, use)
                                       : fetch_piece(transfer, order, piece, scratch, use));
        offset += piece.nbytes;
    }
    return VIA_OK;
}

// Where the device is full, the kernel goes across the link instead.
Status enqueue_through_scratch(const Transfer &transfer, const PinnedCopyPlan &plan, const ResolvedStream &use) {
    PackedOrder order;
    make_pinned_order(transfer, plan.route, &order);
    const Slab first = first_piece(order, plan.scratch_bytes);
    Scratch scratch;
    VIA_TRY(scratch.allocate_if_room(buffer_bytes(order, first), use));
    if (scratch.address() == nullptr) [[unlikely]] {
        return enqueue_kernel(transfer, use);
    }
    return end_failed(enqueue_pieces(transfer, order, first, scratch.address(), use), use);
}

}  // namespace

Status enqueue_pinned(const Transfer &transfer, const PinnedCopyPlan &plan, const ResolvedStream &use) {
    if (plan.route != PinnedRoute::Rows) {
        return enqueue_through_scratch(transfer, plan, use);
    }
    Move move;
    make_move(transfer, &move);
    return end_failed(enqueue_rows(move, is_to_device(transfer), use), use);
}

}  // namespace via::cuda
