// Copies and fills of arrays and of raw memory, wherever it is: what the API layer calls.
//
// What is refused has not been touched. Strided fills are the host's, for memory that it can reach.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/async/fence.hpp"
#include "core/base/status.hpp"
#include "core/system/thread_count.hpp"

namespace via {

struct Plan;
struct CopyPlan;

// What may refuse any copy, in the order of what is cheapest to say: first the arrays as such; then, if they are not
// empty, what its normal form tells, which is stored.
VIA_NODISCARD Status check_arrays(via_array *dst, via_array *src);
VIA_NODISCARD Status prepare_loops(via_array *dst, via_array *src, Plan *out_plan);

// VIA_OK if `src` can be copied to `dst`: shapes, dtypes, read-only, overlap. Touches no element.
VIA_NODISCARD Status check_copy(via_array *dst, via_array *src);

// Any two arrays; after the legacy stream's work where memory of CUDA's has a part, and when both are ready.
VIA_NODISCARD Status copy_array(via_array *dst, via_array *src);

// In stream order; nullptr means the legacy stream. See via_copy_async.
VIA_NODISCARD Status copy_array_async(via_array *dst, via_array *src, via_stream *stream);

// The plan of that, of arrays that are not empty: refuses all that it does. Whether the host does it at once, no stream
// having anything of this process's before it.
VIA_NODISCARD Status plan_copy_async(via_array *dst, via_array *src, via_stream *stream, CopyPlan *out_plan);
bool is_behind_nothing(via_array *dst, via_array *src, via_stream *stream);

// Between two addresses of any memory that do not overlap. `stream` nullptr: as copy_array, else as copy_array_async.
VIA_NODISCARD Status copy_bytes(void *dst, const void *src, int64_t nbytes, via_stream *stream);

}  // namespace via
