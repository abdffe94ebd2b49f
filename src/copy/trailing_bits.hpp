// The end of packed elements that stop inside a byte.
#pragma once

#include <cstdint>

namespace via {

// Copies `bits` bits, the low ones of the last byte; the others of that byte are kept in dst.
void copy_trailing_bits(char *dst, const char *src, int32_t bits);

}  // namespace via
