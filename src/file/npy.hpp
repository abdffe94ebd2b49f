// The header of a .npy file, versions 1.0 to 3.0 of NumPy's format.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/array/array.hpp"
#include "file/open_file.hpp"

namespace via {

struct NpyHeader {
    int32_t dtype;
    int32_t ndim;
    bool column_major;
    bool swapped;         // numbers are in another byte order than this machine's
    int64_t data_offset;  // of the first element in the file, of any alignment
    int64_t shape[VIA_MAX_NDIM];
};

// The fixed part of the header: position, length and encoding of its text.
struct NpyPreamble {
    int64_t text_offset;
    int64_t text_bytes;
    bool is_utf8;  // version 3.0; Latin-1 before
};

inline constexpr int64_t kNpyMagicBytes = 6;
inline constexpr int64_t kNpyMostPreamble = 12;

// Far longer than NumPy's headers; a record of thousands of fields fits.
inline constexpr int64_t kNpyMostText = int64_t{1} << 20;

bool is_npy(std::string_view start);

// Parses the first kNpyMostPreamble bytes of the file, or all of a shorter one. Errors: VIA_ERROR_FORMAT,
// VIA_ERROR_VERSION.
VIA_NODISCARD Status parse_npy_preamble(std::string_view start, NpyPreamble *out_preamble);

// Parses the text, and fills all fields but data_offset. Errors: VIA_ERROR_FORMAT, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE,
// VIA_ERROR_OVERFLOW.
VIA_NODISCARD Status parse_npy_text(std::string_view text, bool is_utf8, NpyHeader *out_header);

// Reads the header that begins at byte `begin` of a file and ends at `end` or before; data_offset counts from the
// beginning of the file. Errors: those of both; VIA_ERROR_IO.
VIA_NODISCARD Status read_npy(OpenFile *open, int64_t begin, int64_t end, NpyHeader *out_header);

inline constexpr int64_t kNpyMostWritten = 2048;

// Writes the whole header, and sets data_offset to its length, a multiple of 64 as in NumPy. Errors: VIA_ERROR_DTYPE
// for elements without a typestr.
VIA_NODISCARD Status write_npy(NpyHeader *header, char (&out_bytes)[kNpyMostWritten]);

}  // namespace via
