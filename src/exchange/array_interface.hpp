// NumPy's __array_interface__ and the __cuda_array_interface__, version 3: the same description of memory, one for the
// host's and one for the devices'.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"

namespace via {

// The array described for one of the protocols, which have the same fields; *description must be zero-initialised.
VIA_NODISCARD Status describe_interface(via_array *array, via_array_interface *description);

// The spec of what is described; its pointers are into *description, which must be complete (see read_struct).
VIA_NODISCARD Status read_interface(const via_array_interface &description, ArraySpec *out_spec);

}  // namespace via
