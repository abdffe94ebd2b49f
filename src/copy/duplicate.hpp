// A fresh array with the elements of another.
#pragma once

#include "core/array.hpp"

namespace via {

// A row-major host array with the elements of `src`, writable whatever `src` is.
VIA_NODISCARD Status duplicate(via_array *src, via_array **out_array);

}  // namespace via
