// Division, rounding to whole units, and alignment.
#pragma once

#include <cstdint>

namespace via {

constexpr int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
constexpr int64_t round_down(int64_t value, int64_t unit) { return value / unit * unit; }
constexpr int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }

// Returns the largest power of two that divides a value, or several of them joined by OR; 0 for 0.
constexpr int64_t alignment_in(uint64_t values) { return static_cast<int64_t>(values & (~values + 1)); }

}  // namespace via
