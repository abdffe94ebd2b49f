// Passes the pieces of a copy from one stream to another.
#pragma once

#include <cstdint>

#include "core/async/fence.hpp"
#include "cuda/stream/event_fence.hpp"

namespace via::cuda {

// Two buffers: the first stream fills one while the second empties the other. With one stream there are no waits.
class PieceRelay {
public:
    static constexpr int64_t kAlignment = 512;  // of a buffer

    // Returns how many buffers a copy needs whose first piece has `first` of its `nbytes`.
    static int32_t count_buffers(int64_t first, int64_t nbytes) { return first < nbytes ? kBuffers : 1; }
    static int64_t buffer_of(int64_t number) { return number % kBuffers; }

    PieceRelay(const ResolvedStream &first, const ResolvedStream &second) : first_(first), second_(second) {}

    bool has_two_streams() const { return first_.handle != second_.handle || first_.context != second_.context; }

    // Queues a piece: fill() on the first stream, after its buffer has been emptied, then empty() on the second.
    // `is_last`: no piece follows, so that nobody waits for the buffer again.
    template <class Fill, class Empty>
    VIA_NODISCARD Status pass(int64_t number, bool is_last, const Fill &fill, const Empty &empty) {
        UniqueFence &emptied = emptied_[buffer_of(number)];
        if (emptied.get() != nullptr) {
            VIA_TRY(make_stream_wait(first_, emptied.get()));
        }
        VIA_TRY(fill());
        if (!has_two_streams()) {
            return empty();
        }
        VIA_TRY(follow(second_, first_));
        VIA_TRY(empty());
        if (is_last) {
            return VIA_OK;
        }
        Fence *fence = nullptr;
        VIA_TRY(record_fence(second_, &fence));
        emptied.reset(fence);
        return VIA_OK;
    }

private:
    static constexpr int32_t kBuffers = 2;

    const ResolvedStream &first_;
    const ResolvedStream &second_;
    UniqueFence emptied_[kBuffers];
};

}  // namespace via::cuda
