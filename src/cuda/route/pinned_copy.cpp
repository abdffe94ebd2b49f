#include "cuda/route/pinned_copy.hpp"

#include "cuda/launch/kernel_copy.hpp"
#include "cuda/layout/row_copies.hpp"
#include "cuda/memory/stream_scratch.hpp"

namespace via::cuda {
namespace {

// Into the scratch memory, and on to where it belongs.
Status send_piece(const Transfer &transfer, const Crossing &crossing, const Box &piece, void *scratch,
                  const StreamUse &use) {
    Move move;
    make_packing(crossing, piece, scratch, &move);
    VIA_TRY(enqueue_rows(move, true, use));
    make_unpacking(crossing, piece, scratch, &move);
    return enqueue_unpacking(move, transfer.dst_side, use);
}

Status fetch_piece(const Transfer &transfer, const Crossing &crossing, const Box &piece, void *scratch,
                   const StreamUse &use) {
    Move move;
    make_packing(crossing, piece, scratch, &move);
    VIA_TRY(enqueue_packing(move, transfer.src_side, use));
    make_unpacking(crossing, piece, scratch, &move);
    return enqueue_rows(move, false, use);
}

Status enqueue_pieces(const Transfer &transfer, const Crossing &crossing, const Box &first, void *scratch,
                      const StreamUse &use) {
    for (int64_t offset = 0; offset < crossing.nbytes;) {
        const Box piece = cut_box(crossing, offset, crossing.nbytes, first.nbytes, first.nbytes);
        VIA_TRY(is_to_device(transfer) ? send_piece(transfer, crossing, piece, scratch, use)
                                       : fetch_piece(transfer, crossing, piece, scratch, use));
        offset += piece.nbytes;
    }
    return VIA_OK;
}

// Where the device is full, the kernel goes across the link instead.
Status enqueue_through_scratch(const Transfer &transfer, const LinkPlan &plan, const StreamUse &use) {
    Crossing crossing;
    make_link_crossing(transfer, plan.route, &crossing);
    const Box first = first_piece(crossing, plan.scratch_bytes);
    Scratch scratch;
    VIA_TRY(scratch.allocate_if_room(buffer_bytes(crossing, first), use));
    if (scratch.address() == nullptr) [[unlikely]] {
        return enqueue_kernel(transfer, use);
    }
    return end_failed(enqueue_pieces(transfer, crossing, first, scratch.address(), use), use);
}

}  // namespace

Status enqueue_link(const Transfer &transfer, const LinkPlan &plan, const StreamUse &use) {
    if (plan.route != LinkRoute::Rows) {
        return enqueue_through_scratch(transfer, plan, use);
    }
    Move move;
    make_move(transfer, &move);
    return end_failed(enqueue_rows(move, is_to_device(transfer), use), use);
}

}  // namespace via::cuda
