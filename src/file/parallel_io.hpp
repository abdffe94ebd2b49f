// Chunks of a file read or written by several threads.
#pragma once

#include "file/io_chunks.hpp"

namespace via {

// Moves all parts with up to so many threads, of which the caller is one. Progress and cancellation through `task`,
// which may be nullptr; `total` are its bytes, of which `done_before` are done. A failure tells how far it got.
VIA_NODISCARD Status parallel_io(Parts *parts, int32_t threads, int64_t done_before, int64_t total, via_task *task);

}  // namespace via
