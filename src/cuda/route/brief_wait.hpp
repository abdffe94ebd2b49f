// Waiting for work that takes microseconds.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Returns when the stream's work so far is done, as cuStreamSynchronize does, and sooner where that is soon: the stream
// writes a word of page-locked memory behind its work, and the thread watches it. On an H200 that is seen 0.3 to 0.6 us
// before the driver would say it, where it is the only device. With the stream's context entered, in relaxed capture
// mode; nothing is captured.
VIA_NODISCARD Status wait_briefly(const ResolvedStream &use);

}  // namespace via::cuda
