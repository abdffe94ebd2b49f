// Page sizes, and rounding to whole units.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace via {

constexpr int64_t kHugePage = int64_t{2} << 20;

inline int64_t page_bytes() { return getpagesize(); }

constexpr int64_t round_down(int64_t value, int64_t unit) { return value / unit * unit; }
constexpr int64_t round_up(int64_t value, int64_t unit) { return round_down(value + unit - 1, unit); }

}  // namespace via
