// The bytes of a binary header, read from a file as they are asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/little_endian.hpp"
#include "file/open_file.hpp"

namespace via {

class HeaderBytes {
public:
    // Reads bytes [begin, end) of a file, at least `chunk` at once. Holds nothing.
    HeaderBytes(OpenFile *open, int64_t begin, int64_t end, int64_t chunk)
        : open_(open), begin_(begin), end_(end), chunk_(chunk) {}

    // Stores the next bytes, valid until the next call. Errors: VIA_ERROR_FORMAT beyond the end, or if the header
    // exceeds kMostArchiveText; VIA_ERROR_IO.
    VIA_NODISCARD Status take(uint64_t nbytes, std::string_view *out_bytes);

    // Stores the next number, of T's bytes.
    template <class T>
    VIA_NODISCARD Status take_number(T *out_number) {
        std::string_view bytes;
        VIA_TRY(take(sizeof(T), &bytes));
        *out_number = static_cast<T>(little_endian(bytes));
        return VIA_OK;
    }

    // Returns the offset of the next byte in the file.
    int64_t at() const { return begin_ + taken_; }

    // Returns how many bytes may still be taken.
    int64_t remaining() const;

private:
    OpenFile *const open_;
    const int64_t begin_;
    const int64_t end_;
    const int64_t chunk_;
    int64_t taken_ = 0;  // from the first byte
    int64_t first_ = 0;  // of the buffer's first byte, from the same
    std::string buffer_;
};

}  // namespace via
