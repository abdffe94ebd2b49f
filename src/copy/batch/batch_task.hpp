// The copies of a batch as one task.
#pragma once

#include "copy/batch/batch_run.hpp"

namespace via {

// nullptr: after no stream.
VIA_NODISCARD Status submit_prepared(Prepared *prepared, via_stream *stream, via_task **out_task);

}  // namespace via
