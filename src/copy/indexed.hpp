// Copies rows by index: from where to where along one axis.
//
// How it works. IndexedCopy is one such copy, checked and planned: the normal form of a row, the distance between rows,
// and two lists of row numbers. Lists of host memory are copied when it is made, narrowed to 32 bits where they fit,
// and checked once; nobody can change them afterwards. Lists on a device stay there if a kernel of that device does the
// copy, which checks them as it goes. Otherwise they are fetched and checked at each run.
//
//   host_rows         copies within host memory, and packs rows for the ring of a device
//   host_converted_rows  does the same to another dtype
//   check_indexed     refuses everything that can be refused without touching an element
//   indexed           the value, and its runs
//   indexed_transfer  (src/cuda) does what involves a device
#pragma once

#include "copy/planned_copy.hpp"
#include "core/array/array.hpp"

namespace via {

struct IndexedArguments {
    via_array *dst;
    via_array *dst_index;  // nullptr: 0, 1, 2 ...
    via_array *src;
    via_array *src_index;
    int32_t axis;
    const via_convert_options *options = nullptr;  // complete, and only read by the call; nullptr: equal dtypes
};

// Copies. With a stream in stream order; without one it is complete on return.
VIA_NODISCARD Status copy_indexed(const IndexedArguments &arguments, via_stream *stream);

// Checks and plans a copy for a task or a batch; see planned_copy.hpp.
VIA_NODISCARD Status plan_indexed(const IndexedArguments &arguments, PlannedCopy **out_copy);

// Submits the copy as a task, after the work of the stream unless that is nullptr or no_sync.
VIA_NODISCARD Status submit_indexed(const IndexedArguments &arguments, via_stream *stream, via_task **out_task);

}  // namespace via
