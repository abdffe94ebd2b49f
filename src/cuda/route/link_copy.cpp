#include "cuda/route/link_copy.hpp"

#include <algorithm>

#include "core/base/cached_objects.hpp"
#include "core/base/rounding.hpp"
#include "core/base/unique_handle.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/layout/packed_order.hpp"
#include "cuda/layout/row_copies.hpp"
#include "cuda/memory/pinned_memory.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/link_copy_plan.hpp"
#include "cuda/staging/staging_endpoints.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/piece_relay.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {
namespace {

// How a transfer is cut into pieces, and the buffers that they pass through.
struct LinkPieces {
    PackedOrder order;
    Slab first{};
    int64_t buffer_bytes = 0;
    char *buffers = nullptr;
};

// Copies piece by piece: the engine goes on while a kernel places, or has packed, another piece. Each has its stream if
// there are several pieces.
Status enqueue_pieces(const Transfer &transfer, const LinkPieces &pieces, const ResolvedStream &engine,
                      const ResolvedStream &kernels) {
    const bool to_device = is_to_device(transfer);
    const PackedOrder &order = pieces.order;
    const int64_t most = pieces.first.nbytes;
    PieceRelay relay(to_device ? engine : kernels, to_device ? kernels : engine);
    Slab piece = pieces.first;
    for (int64_t number = 0, offset = 0; offset < order.nbytes; ++number, offset += piece.nbytes) {
        piece = cut_slab(order, offset, order.nbytes, most, most);
        char *buffer = pieces.buffers + PieceRelay::buffer_of(number) * pieces.buffer_bytes;
        const Move in = make_packing(order, piece, buffer);
        const Move out = make_unpacking(order, piece, buffer);
        VIA_TRY(relay.pass(
            number, offset + piece.nbytes == order.nbytes,
            [&] {
                return to_device ? enqueue_rows(in, true, engine)
                                 : enqueue_move(in.transfer(kPinned, transfer.src_side), kernels);
            },
            [&] {
                return to_device ? enqueue_move(out.transfer(transfer.dst_side, kPinned), kernels)
                                 : enqueue_rows(out, false, engine);
            }));
    }
    return VIA_OK;
}

// Orders the side stream after the caller's, and that after the side stream, whatever failed.
Status enqueue_with_side(const Transfer &transfer, const LinkPieces &pieces, const ResolvedStream &stream) {
    SideStream side;
    VIA_TRY(side.take(stream.device_id, stream));
    VIA_TRY(follow(side.get(), stream));
    const Status status = enqueue_pieces(transfer, pieces, side.get(), stream);
    return end_failed(first_of(status, follow(stream, side.get())), side.get());
}

// Runs a kernel across the link if the device is full. Side streams are of the primary context, and may not reach the
// memory of another one.
Status enqueue_through_scratch(const Transfer &transfer, const LinkCopyPlan &plan, const ResolvedStream &stream) {
    LinkPieces pieces{.order = make_link_order(transfer, plan.route)};
    pieces.first = first_piece(pieces.order, plan.scratch_bytes);
    pieces.buffer_bytes = round_up(buffer_bytes(pieces.order, pieces.first), PieceRelay::kAlignment);
    const int32_t buffers = PieceRelay::count_buffers(pieces.first.nbytes, pieces.order.nbytes);
    Scratch scratch;
    VIA_TRY(scratch.allocate_if_room(buffers * pieces.buffer_bytes, stream));
    pieces.buffers = static_cast<char *>(scratch.address());
    if (pieces.buffers == nullptr) [[unlikely]] {
        return enqueue_kernel(transfer, stream);
    }
    const Status status = buffers > 1 && is_of_primary_context(stream)
                              ? enqueue_with_side(transfer, pieces, stream)
                              : enqueue_pieces(transfer, pieces, stream, stream);
    return end_failed(status, stream);
}

}  // namespace

Status enqueue_pinned(const Transfer &transfer, const LinkCopyPlan &plan, const ResolvedStream &stream) {
    if (plan.route != LinkRoute::Rows) {
        return enqueue_through_scratch(transfer, plan, stream);
    }
    return end_failed(enqueue_rows(make_move(transfer), is_to_device(transfer), stream), stream);
}

namespace {

// Ordinary memory for one piece. A new allocation of that size would begin with page faults.
struct PlainBuffer {
    char bytes[kBounceBytes];
};

constinit CachedObjects<PlainBuffer, 4> plain_buffers;

void keep_buffer(PlainBuffer *buffer) { plain_buffers.give_back(buffer); }

// The host's side of a piece: the caller's memory if its bytes are adjacent there, otherwise a buffer. Towards the host
// that is pinned if it can be, as the driver would wait for the stream inside copies to other memory.
class BounceBuffer {
public:
    BounceBuffer(int64_t nbytes, bool to_device, bool adjacent, int32_t device_id)
        : locked_(to_device ? nullptr : take_pinned_buffer(nbytes, device_id)),
          plain_(adjacent || locked_.get() != nullptr ? nullptr : plain_buffers.take()) {}

    bool is_locked() const { return locked_.get() != nullptr; }
    // Returns nullptr for the caller's memory, or without memory.
    char *get() const { return is_locked() ? locked_.get() : plain_.get() != nullptr ? plain_.get()->bytes : nullptr; }

private:
    const PinnedBuffer locked_;
    const UniqueHandle<PlainBuffer, keep_buffer> plain_;
};

bool is_adjacent_on_device(const StagedCopy &copy) {
    const Transfer &transfer = copy.transfer;
    return make_device_move(make_staged_order(transfer, copy.plan), is_to_device(transfer), transfer.dst).ndim == 0;
}

// A bounced copy under way.
class Bounce {
public:
    Bounce(const StagedCopy &copy, const ResolvedStream &stream)
        : copy_(copy),
          stream_(stream),
          ends_(copy, kBounceBytes, true),
          buffer_(std::min(ends_.nbytes(), kBounceBytes), ends_.to_device(), ends_.is_adjacent_on_host(),
                  stream.device_id) {}

    // Returns whether its kernel needs scratch memory, as it does not reach the host's side.
    bool needs_scratch() const {
        return copy_.needs_kernel() && !(buffer_.is_locked() && kernels_reach_pinned_buffers());
    }

    Status run(char *scratch) const {
        if (buffer_.get() == nullptr && !ends_.is_adjacent_on_host()) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld bytes on their way", as_printed(kBounceBytes));
        }
        VIA_TRY(waits_inside() ? await_work(stream_) : VIA_OK);
        return end_failed(run_pieces(scratch), stream_);
    }

private:
    // Returns whether the driver may wait inside its calls for the stream's earlier work, which driver_copy.cpp says
    // how to avoid. It reads a piece of adjacent bytes at once. For rows it promises nothing.
    bool waits_inside() const {
        if (ends_.to_device()) {
            return copy_.transfer.ndim > 0 && !copy_.needs_kernel() && !is_adjacent_on_device(copy_);
        }
        return !buffer_.is_locked();
    }

    Status run_pieces(char *scratch) const {
        for (int64_t offset = 0, nbytes = 0; offset < ends_.nbytes(); offset += nbytes) {
            nbytes = ends_.whole_piece(offset);
            VIA_TRY(ends_.to_device() ? send(scratch, offset, nbytes) : fetch(scratch, offset, nbytes));
        }
        return VIA_OK;
    }

    // The driver has read pageable memory on return, so that the next piece may overwrite the buffer.
    Status send(char *scratch, int64_t offset, int64_t nbytes) const {
        char *buffer = buffer_.get();
        VIA_TRY(buffer != nullptr ? ends_.gather(buffer, offset, nbytes) : VIA_OK);
        VIA_TRY(ends_.send(host(offset), scratch, offset, nbytes, stream_));
        return uses_pageable_later(stream_.device_id) ? wait_for_stream(stream_) : VIA_OK;
    }

    Status fetch(char *scratch, int64_t offset, int64_t nbytes) const {
        const char *buffer = buffer_.get();
        VIA_TRY(ends_.fetch(host(offset), scratch, offset, nbytes, stream_));
        VIA_TRY(wait_briefly(stream_));
        return buffer != nullptr ? ends_.empty(buffer, offset, nbytes) : VIA_OK;
    }

    char *host(int64_t offset) const { return buffer_.get() != nullptr ? buffer_.get() : ends_.host(offset); }

    const StagedCopy &copy_;
    const ResolvedStream &stream_;
    const StagingEndpoints ends_;
    const BounceBuffer buffer_;
};

}  // namespace

Status bounce(const StagedCopy &copy, const ResolvedStream &stream) { return Bounce(copy, stream).run(nullptr); }

// Copy engines place the elements if the device is full.
Status copy_bounced(const Transfer &transfer, const BouncePlan &plan, const ResolvedStream &stream) {
    const StagedCopy copy{transfer, plan.order};
    const Bounce bounced(copy, stream);
    if (!bounced.needs_scratch()) {
        return bounced.run(nullptr);
    }
    Scratch scratch;
    VIA_TRY(scratch.allocate_if_room(std::min(transfer.nbytes, kBounceBytes), stream));
    if (scratch.address() != nullptr) {
        return bounced.run(static_cast<char *>(scratch.address()));
    }
    return bounce({transfer, plan_staged(transfer, false)}, stream);
}

}  // namespace via::cuda
