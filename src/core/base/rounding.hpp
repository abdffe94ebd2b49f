// Division and rounding to whole units.
#pragma once

#include <cstdint>

namespace via {

constexpr int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
constexpr int64_t round_down(int64_t value, int64_t unit) { return value / unit * unit; }
constexpr int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }

}  // namespace via
