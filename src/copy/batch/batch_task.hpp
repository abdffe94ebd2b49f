// The copies of a batch as one task.
#pragma once

#include "copy/batch/batch_run.hpp"

namespace via {

// Submits the copies as one task, after the work of the stream unless that is nullptr.
VIA_NODISCARD Status submit_prepared(PreparedBatch *prepared, via_stream *stream, via_task **out_task);

}  // namespace via
