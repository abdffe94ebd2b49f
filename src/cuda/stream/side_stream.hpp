// Internal streams that one copy has to itself, kept for later copies.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

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

private:
    ResolvedStream stream_{};
    ResolvedStream origin_{};
};

}  // namespace via::cuda
