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

// A buffer that is page-locked if a kernel reaches for it, and towards the host if there is one. Towards the device it
// would have to live until the stream has read it, so pageable memory serves copy engines.
class BounceBuffer {
public:
    BounceBuffer(int64_t nbytes, bool locked, int32_t device_id)
        : locked_(locked ? nbytes : INT64_MAX, device_id),
          plain_(locked_.get() == nullptr ? static_cast<char *>(std::malloc(static_cast<size_t>(nbytes))) : nullptr) {}
    ~BounceBuffer() { std::free(plain_); }
    BounceBuffer(const BounceBuffer &) = delete;
    BounceBuffer &operator=(const BounceBuffer &) = delete;
    char *get() const { return locked_.get() != nullptr ? locked_.get() : plain_; }
    bool is_locked() const { return locked_.get() != nullptr; }

private:
    const PinnedBuffer locked_;
    char *const plain_;
};

// A bounced copy under way.
struct Bounce {
    const Transfer &transfer;
    const ResolvedStream &stream;
    DeviceStep step;
    bool to_device;
    PackedOrder order;

    // Returns once the buffer has been read, so that the next piece may overwrite it.
    Status send(const Move &move) const {
        const bool by_kernel = step == DeviceStep::Kernel;
        VIA_TRY(by_kernel ? enqueue_unpacking(move, transfer.dst_side, stream) : enqueue_rows(move, true, stream));
        return by_kernel || uses_pageable_later(stream.device_id) ? wait_for_stream(stream) : VIA_OK;
    }

    Status fetch(const Move &move) const {
        VIA_TRY(step == DeviceStep::Kernel ? enqueue_packing(move, transfer.src_side, stream)
                                           : enqueue_rows(move, false, stream));
        return wait_for_stream(stream);
    }

    Status on_host(const Move &move) const {
        transfer.host_copy(move, Cache::Through);
        return VIA_OK;
    }

    Status run(int64_t most, char *buffer) const {
        return copy_by_buffer(
            order, most, buffer, [&](const Move &move) { return to_device ? on_host(move) : fetch(move); },
            [&](const Move &move) { return to_device ? send(move) : on_host(move); });
    }

    // Returns whether the driver may wait inside the call: copies wait outside then, as driver_copy.cpp says. For rows
    // the driver promises nothing.
    bool waits_inside() const {
        Move move;
        make_device_move(order, to_device, transfer.dst, &move);
        return !to_device || move.ndim > 0;
    }
};

}  // namespace

// Without a buffer that kernels reach, copy engines serve.
Status copy_bounced(const Transfer &transfer, const BouncePlan &plan, const ResolvedStream &stream) {
    const bool to_device = is_to_device(transfer);
    const int64_t most = std::min(transfer.nbytes, kBounceBytes);
    const BounceBuffer buffer(most, !to_device || plan.order.step == DeviceStep::Kernel, stream.device_id);
    if (buffer.get() == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld bytes on their way", static_cast<long long>(most));
    }
    StagedPlan by = plan.order;
    by.step = buffer.is_locked() ? by.step : DeviceStep::Engine;
    Bounce bounce{transfer, stream, by.step, to_device, {}};
    make_staged_order(transfer, by, &bounce.order);
    if (bounce.waits_inside()) {
        VIA_TRY(await_work(stream));
    }
    return end_failed(bounce.run(most, buffer.get()), stream);
}

int64_t count_bounce_calls(const Transfer &transfer, const BouncePlan &plan) {
    PackedOrder order;
    Move move;
    make_staged_order(transfer, plan.order, &order);
    make_device_move(order, is_to_device(transfer), transfer.dst, &move);
    return count_row_calls(move);
}

}  // namespace via::cuda
