#include "cuda/route/pinned_copy.hpp"

#include "cuda/launch/kernel_copy.hpp"
#include "cuda/layout/row_copies.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/copy_pieces.hpp"

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

}  // namespace via::cuda
