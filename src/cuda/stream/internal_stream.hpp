// Streams of the library: shared ones by number, and side streams that one copy has to itself.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

constexpr int32_t kInternalStreams = via_max_internal_streams;

// The number of the stream of tasks. Those that copy from the host to a device have stream 0.
constexpr int32_t kTaskStream = 1;

// Returns a non-blocking stream in the device's primary context, for staging, tasks and frees. Makes it at the first
// call, and again after a reset of the context.
VIA_NODISCARD Status internal_stream(int32_t device_id, int32_t number, ResolvedStream *out_stream);

// A stream in the primary context of a device, for a copy that was given a stream of another device. No other copy uses
// it before its work has ended, so waiting for one caller's stream delays no other copy.
class SideStream {
public:
    SideStream() = default;
    ~SideStream();
    SideStream(const SideStream &) = delete;
    SideStream &operator=(const SideStream &) = delete;

    // Takes an idle stream or makes one. If `origin` is being captured, this one joins the capture once it waits for
    // `origin`.
    VIA_NODISCARD Status take(int32_t device_id, const ResolvedStream &origin);
    const ResolvedStream &get() const { return stream_; }

    // Waits for its work. No more may be queued.
    VIA_NODISCARD Status wait();

private:
    ResolvedStream stream_{};
    ResolvedStream origin_{};
    bool is_idle_ = false;  // which the next to take it need not ask
};

}  // namespace via::cuda
