// Numbers in the bytes of files.
#pragma once

#include <cstdint>
#include <string_view>

namespace via {

// Reads a little-endian number of at most 8 bytes.
inline uint64_t little_endian(std::string_view bytes) {
    uint64_t value = 0;
    for (size_t i = bytes.size(); i-- > 0;) {
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return value;
}

}  // namespace via
