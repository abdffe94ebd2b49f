// Transfers of files whose numbers are in another byte order.
//
// A read maps the file, and converts from the mapping: for a device, while the ring is filled. A truncated file ends
// the process then, as every access of a mapping does. A write swaps a copy first.
#pragma once

#include "file/file_transfer.hpp"

namespace via {

// The transfers are those of whole files with arrays of their type: see check_whole_file.
VIA_NODISCARD Status transfer_swapped(const FileTransfer &transfer, via_stream *stream);
VIA_NODISCARD Status submit_swapped(const FileTransfer &transfer, via_stream *stream, via_task **out_task);

}  // namespace via
