// Kernels that go element by element, whatever the steps.
#pragma once

#include "copy/host/piece.hpp"

namespace via {

// For elements of `nbytes` bytes.
Kernel element_kernel(int64_t nbytes);

// Writes the one element of the source to each place; the places of the inner axis are adjacent.
void repeat_element(const Piece &piece);

}  // namespace via
