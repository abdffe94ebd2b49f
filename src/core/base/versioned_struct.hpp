// Copies structs from and to callers, whose header may be older or newer than this library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/base/status.hpp"

namespace via {

// Copies as many bytes as both sides have. `member` names struct_size in the error.
template <class Struct>
VIA_NODISCARD Status copy_struct(const char *argument, const char *member, int32_t size, const Struct &from,
                                 Struct *to) {
    constexpr auto kSize = static_cast<int32_t>(sizeof(Struct));
    if (size == kSize) [[likely]] {
        *to = from;
        return VIA_OK;
    }
    if (size < static_cast<int32_t>(sizeof(int32_t))) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "%s%s is %d; expected the size of the struct, as its _INIT macro sets it", argument, member, size);
    }
    std::memcpy(static_cast<void *>(to), &from, static_cast<size_t>(std::min(size, kSize)));
    return VIA_OK;
}

// Copies the fields that both sides know. The rest keeps its default, zero: zero-initialise `*out_struct`.
template <class Struct>
VIA_NODISCARD Status read_struct(const char *argument, const Struct &given, Struct *out_struct) {
    VIA_TRY(copy_struct(argument, ".struct_size", given.struct_size, given, out_struct));
    out_struct->struct_size = static_cast<int32_t>(sizeof(Struct));
    return VIA_OK;
}

// Copies the result out, as far as the caller's struct reaches, and leaves its struct_size unchanged.
template <class Struct>
VIA_NODISCARD Status write_struct(const char *argument, const Struct &result, Struct *out_struct) {
    const int32_t size = out_struct->struct_size;
    VIA_TRY(copy_struct(argument, "->struct_size", size, result, out_struct));
    out_struct->struct_size = size;
    return VIA_OK;
}

}  // namespace via
