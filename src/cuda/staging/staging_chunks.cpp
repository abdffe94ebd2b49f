#include "cuda/staging/staging_chunks.hpp"

#include <algorithm>

#include "core/system/pages.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kLeastChunk = int64_t{256} << 10;
constexpr int64_t kLeastPiece = int64_t{64} << 10;
constexpr int64_t kMostPiece = int64_t{512} << 10;
constexpr int64_t kPiecesOfChunk = 16;

// Returns the bytes up to the last border of a huge page within `length`, or `length` if there is none.
int64_t to_last_border(int64_t address, int64_t length) {
    const int64_t end = round_down(address + length, kHugePage);
    return end > address ? end - address : length;
}

int64_t to_next_border(int64_t address) { return kHugePage - address % kHugePage; }

}  // namespace

int64_t chunk_length(const Cut &cut, int64_t offset) {
    const int64_t left = cut.nbytes - offset;
    const int64_t least = cut.by_huge_pages ? std::min(kHugePage, cut.slot_bytes) : kLeastChunk;
    const int64_t growing = std::max(offset, least);
    const int64_t shrinking = std::max(round_up(left / 2, kLeastPiece), least);
    const int64_t length = std::min({cut.slot_bytes, growing, shrinking});
    if (left <= length || (left <= length + least / 2 && left <= cut.slot_bytes)) {
        return left;
    }
    return cut.by_huge_pages ? to_last_border(cut.address + offset, length) : round_up(length, kLeastPiece);
}

int64_t piece_length(const Cut &cut, int64_t chunk_offset, int64_t chunk_length, int64_t start) {
    const int64_t left = chunk_length - start;
    if (cut.by_huge_pages) {
        return std::min(left, to_next_border(cut.address + chunk_offset + start));
    }
    const int64_t share = round_up(chunk_length / kPiecesOfChunk, kLeastPiece);
    return std::min(left, std::clamp(share, kLeastPiece, kMostPiece));
}

}  // namespace via::cuda
