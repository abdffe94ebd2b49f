// Writes arrays on any device to safetensors files.
//
// How it works
//
// Files are written under temporary names, and renamed when all of them are complete, the index last. What a file
// holds is cut into blocks. A large array of host memory is a block, written from where it is. All others are gathered
// into one of two buffers, small arrays together. While one buffer is written, devices fill the other.
#pragma once

#include "archive/save_plan.hpp"

namespace via {

// Implement via_archive_save and via_archive_save_submit.
VIA_NODISCARD Status save_archive(const SaveRequest &request, via_stream *stream);
VIA_NODISCARD Status submit_save(const SaveRequest &request, via_stream *stream, via_task **out_task);

}  // namespace via
