// Reading a caller's struct, which may be of an older or a newer header than this library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/base/status.hpp"

namespace via {

// Copies the fields that both sides know; the rest stays zero, the default. `*out_struct` must be zero-initialised.
template <class Struct>
VIA_NODISCARD Status read_struct(const char *argument, const Struct &given, Struct *out_struct) {
    const int32_t size = given.struct_size;
    if (size == static_cast<int32_t>(sizeof(Struct))) [[likely]] {
        *out_struct = given;
        return VIA_OK;
    }
    if (size < static_cast<int32_t>(sizeof(int32_t))) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "%s.struct_size is %d; expected sizeof, as the _INIT macro sets it",
                    argument, size);
    }
    std::memcpy(static_cast<void *>(out_struct), &given,
                static_cast<size_t>(std::min(size, static_cast<int32_t>(sizeof(Struct)))));
    out_struct->struct_size = static_cast<int32_t>(sizeof(Struct));
    return VIA_OK;
}

// Copies the answer out, as far as the caller's struct reaches; its struct_size stays its own.
template <class Struct>
VIA_NODISCARD Status write_struct(const char *argument, const Struct &answer, Struct *out_struct) {
    const int32_t size = out_struct->struct_size;
    if (size < static_cast<int32_t>(sizeof(int32_t))) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "%s->struct_size is %d; expected sizeof, as the _INIT macro sets it",
                    argument, size);
    }
    std::memcpy(static_cast<void *>(out_struct), &answer,
                static_cast<size_t>(std::min(size, static_cast<int32_t>(sizeof(Struct)))));
    out_struct->struct_size = size;
    return VIA_OK;
}

}  // namespace via
