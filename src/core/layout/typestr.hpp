// NumPy's short names of element types, "<f4" or "|V12": byte order, kind and bytes. The array interfaces and .npy
// files are written in them.
#pragma once

#include <cstdint>

namespace via {

// Room for any typestr.
inline constexpr int32_t kTypestrCapacity = 16;

// The typestr of a dtype; false if it has none.
bool typestr_of(int32_t dtype, char *out_typestr);

// The dtype of a typestr. nullptr, or what had been expected instead.
const char *dtype_of_typestr(const char *typestr, int32_t *out_dtype);

}  // namespace via
