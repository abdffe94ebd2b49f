// The values of a .npy header: Python literals, of which the element type is a typestr or the list of a record's
// fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.hpp"
#include "core/base/text_scanner.hpp"

namespace via {

// A strict scanner of the Python literals of an untrusted .npy header.
class PythonLiteralScanner : public TextScanner {
public:
    explicit PythonLiteralScanner(std::string_view text) : TextScanner(text, "the .npy header", VIA_ERROR_FORMAT) {}

    VIA_NODISCARD Status expect(std::string_view token);

    // Reads a string without resolving escapes; borrowed from the text.
    VIA_NODISCARD Status read_string(std::string_view *out_string);

    // Reads a string and resolves `\\`, `\'` and `\"`, for comparisons; keeps other escapes. Refuses escapes that
    // Python's repr() does not write, since they would spell one text in two ways.
    VIA_NODISCARD Status read_text(std::string *out_text);
    VIA_NODISCARD Status read_bool(bool *out_value);

    // Reads a whole number of 0 or more. Python 2 wrote an L after large ones.
    VIA_NODISCARD Status read_number(int64_t *out_value);
};

// Reads a record as its number of bytes, after checking every field. Stores whether numbers are in another byte order
// than this machine's. Errors: VIA_ERROR_FORMAT, VIA_ERROR_DTYPE.
VIA_NODISCARD Status read_descr(PythonLiteralScanner *scanner, int32_t *out_dtype, bool *out_swapped);

// Reads a tuple of extents: "()", "(3,)", "(3, 4)". Errors: VIA_ERROR_FORMAT, VIA_ERROR_SHAPE.
VIA_NODISCARD Status read_shape(PythonLiteralScanner *scanner, int32_t most, int32_t *out_ndim, int64_t *out_shape);

}  // namespace via
