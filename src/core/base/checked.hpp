// Checked arithmetic on extents and addresses.
#pragma once

#include <cstdint>

namespace via {

// Return false, and leave *out unspecified, if the exact result does not fit an int64_t.
[[nodiscard]] inline bool multiply(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
[[nodiscard]] inline bool add(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

// Moves an address; false if it would leave the address space at either end.
[[nodiscard]] inline bool advance(const void *address, int64_t nbytes, const void **out) {
    auto start = reinterpret_cast<uintptr_t>(address);
    uintptr_t end = start + static_cast<uintptr_t>(nbytes);
    *out = reinterpret_cast<const void *>(end);
    return nbytes >= 0 ? end >= start : end < start;
}

}  // namespace via
