#include "archive/header_bytes.hpp"

#include <algorithm>

#include "archive/archive_paths.hpp"
#include "file/read_write.hpp"

namespace via {

int64_t HeaderBytes::remaining() const { return std::min(end_ - begin_, kMostArchiveText) - taken_; }

Status HeaderBytes::take(uint64_t nbytes, std::string_view *out_bytes) {
    const int64_t left = remaining();
    if (nbytes > static_cast<uint64_t>(std::max<int64_t>(left, 0))) {
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
