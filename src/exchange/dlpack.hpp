// DLPack 1.x and the form before it, out and in. Deciding whether an array can be lent as it is, and making the copy
// where it cannot, are apart: the second is the caller's.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>

#include "core/array/array.hpp"
#include "exchange/target.hpp"

namespace via {

// Newest version whose every field and flag this library knows.
inline constexpr uint32_t kDlpackMajor = 1;
inline constexpr uint32_t kDlpackMinor = 3;

enum class DlpackForm { Versioned, Legacy };

}  // namespace via
