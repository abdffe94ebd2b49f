// Copies to another dtype.
//
// How it works. Conversion is one such copy, checked and planned: how an element becomes another (ElementConversion),
// and the normal form of both arrays (ElementLoops).
//
//   core/layout/convert_scalar  converts one element, for the host and for GPUs
//   conversions_*               loops of that, once per instruction set
//   convert_host                converts within host memory, and packs elements for the ring of a device
//   element_plan                both, with what refuses a conversion
//   convert                     the value, and its runs
//   convert_transfer (src/cuda) does what involves a device
#pragma once

#include "copy/planned_copy.hpp"
#include "core/array/array.hpp"

namespace via {

// Converts. With a stream in stream order; without one it is complete on return.
VIA_NODISCARD Status convert_array(via_array *dst, via_array *src, const via_convert_options &options,
                                   via_stream *stream);

// Checks and plans a conversion for a task or a batch; see planned_copy.hpp. Stores nullptr if a copy does the same.
VIA_NODISCARD Status plan_convert(via_array *dst, via_array *src, const via_convert_options &options,
                                  PlannedCopy **out_copy);

// Submits the conversion as a task, after the work of the stream unless that is nullptr or no_sync.
VIA_NODISCARD Status submit_convert(via_array *dst, via_array *src, const via_convert_options &options,
                                    via_stream *stream, via_task **out_task);

// Describes it in text.
VIA_NODISCARD Status explain_convert(via_array *dst, via_array *src, const via_convert_options &options,
                                     int64_t capacity, char *out_text, int64_t *out_length);

}  // namespace via
