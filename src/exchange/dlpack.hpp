// DLPack 1.x and the form before it: what export and import share.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>

#include "core/array/array.hpp"
#include "exchange/exchange_plan.hpp"

namespace via {

// Newest DLPack version whose fields and flags this library knows.
inline constexpr uint32_t kDlpackMajor = 1;
inline constexpr uint32_t kDlpackMinor = 3;

enum class DlpackForm { Versioned, Legacy };

}  // namespace via
