// The bytes of a binary header, read from a file as they are asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "archive/archive_paths.hpp"
#include "core/base/little_endian.hpp"
#include "file/read_write.hpp"

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
    int64_t remaining() const { return std::min(end_ - begin_, kMostArchiveText) - taken_; }

private:
    OpenFile *const open_;
    const int64_t begin_;
    const int64_t end_;
    const int64_t chunk_;
    int64_t taken_ = 0;  // from the first byte
    int64_t first_ = 0;  // of the buffer's first byte, from the same
    std::string buffer_;
};

inline Status HeaderBytes::take(uint64_t nbytes, std::string_view *out_bytes) {
    const int64_t left = remaining();
    if (std::cmp_greater(nbytes, left)) {
        return fail(VIA_ERROR_FORMAT, "the header needs %llu bytes at byte %lld; expected at most %lld there",
                    static_cast<unsigned long long>(nbytes), as_printed(at()), as_printed(left));
    }
    const auto count = static_cast<int64_t>(nbytes);
    if (taken_ + count > first_ + static_cast<int64_t>(buffer_.size())) {
        buffer_.resize(static_cast<size_t>(std::min(std::max(count, chunk_), left)));
        VIA_TRY(read_all(open_, buffer_.data(), at(), static_cast<int64_t>(buffer_.size())));
        first_ = taken_;
    }
    *out_bytes = std::string_view(buffer_).substr(static_cast<size_t>(taken_ - first_), static_cast<size_t>(nbytes));
    taken_ += count;
    return VIA_OK;
}

}  // namespace via
