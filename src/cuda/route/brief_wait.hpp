// Waits for work that takes microseconds.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Waits until the stream's work so far is done, like cuStreamSynchronize. With a single device the stream writes a word
// of page-locked memory behind its work, and the thread watches it: on an H200 that takes 0.3 to 0.6 us less. Call with
// the stream's context entered and in relaxed capture mode. The stream must not be capturing.
VIA_NODISCARD Status wait_briefly(const ResolvedStream &stream);

}  // namespace via::cuda
