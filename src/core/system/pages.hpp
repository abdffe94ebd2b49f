// Page sizes.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "core/base/rounding.hpp"

namespace via {

constexpr int64_t kHugePage = int64_t{2} << 20;

inline int64_t page_bytes() { return getpagesize(); }

}  // namespace via
