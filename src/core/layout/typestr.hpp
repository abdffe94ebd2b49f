// NumPy's typestrs, "<f4" or "|V12": byte order, kind and bytes. Used by the array interfaces and .npy files.
#pragma once

#include <cstdint>

namespace via {

// Room for any typestr.
inline constexpr int32_t kTypestrCapacity = 16;

// Writes the typestr of a dtype; false if it has none.
bool typestr_of(int32_t dtype, char *out_typestr);

// Finds the dtype of a typestr. Returns nullptr on success, otherwise the text of what was expected.
const char *dtype_of_typestr(const char *typestr, int32_t *out_dtype);

}  // namespace via
