#include "copy/trailing_bits.hpp"

#include <cstring>

namespace via {

void copy_trailing_bits(char *dst, const char *src, int32_t bits) {
    const int32_t whole = bits / 8;
    std::memcpy(dst, src, static_cast<size_t>(whole));
    if (bits % 8 != 0) {
        const int mask = (1 << bits % 8) - 1;
        dst[whole] = static_cast<char>((dst[whole] & ~mask) | (src[whole] & mask));
    }
}

}  // namespace via
