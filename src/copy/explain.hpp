// The plan of a copy as text.
#pragma once

#include "core/array/array.hpp"
#include "core/base/text_buffer.hpp"
#include "core/layout/axis.hpp"

namespace via {

// The plan of a copy as text; at most `capacity` bytes with the ending 0, the whole length to *out_length.
VIA_NODISCARD Status explain_copy(via_array *dst, via_array *src, int64_t capacity, char *text, int64_t *out_length);

// Adds a line of loops: "loops: 3 (dst +4, src +12)".
void describe_axes(const Axis *axes, int32_t ndim, bool in_bits, TextBuffer *text);

}  // namespace via
