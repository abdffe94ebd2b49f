#include "cuda/batch/batch_copies.hpp"

namespace via::cuda {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;

// Sizes from which the driver copies, measured on an H200. On the device the driver takes 3.5 us for each copy. It is
// no slower than the kernel only if the copy itself takes that long. Across the link the copy engine is up to 8 %
// faster than the kernel if it need not wait for the next copy. That is so from 1 MiB on, or from 256 KiB on if one
// call takes many copies.
constexpr uint64_t kLargeWithin = 64 * kMiB;
constexpr uint64_t kLargeLink = kMiB;
constexpr uint64_t kLargeLinkFused = 256 * kKiB;

// Copies across the link for which the driver takes as long as one launch. A copy on the device counts as two.
constexpr int64_t kLeastLink = 4;
constexpr int64_t kLeastLinkFused = 8;

// Sizes of pieces. A group of threads has kPieceBytes in flight. About kPieces pieces keep a device busy and the table
// small.
constexpr uint64_t kPieceBytes = 4 * kKiB;
constexpr uint64_t kMostPieceBytes = 1024 * kMiB;
constexpr uint64_t kPieces = 65536;

bool is_large(const BatchCopy &copy, bool fused) {
    return copy.nbytes >= (copy.direction == LinkDirection::No ? kLargeWithin : fused ? kLargeLinkFused : kLargeLink);
}

}  // namespace

void BatchCopies::clear() {
    small_.resize(0);
    large_.resize(0);
    piece_bytes_ = piece_count_ = 0;
    nbytes_ = most_bytes_ = 0;
}

template <class Chosen>
bool BatchCopies::split_off(const Chosen &is_chosen) {
    int64_t kept = 0;
    nbytes_ = most_bytes_ = 0;
    for (const BatchCopy &copy : small_) {
        if (!is_chosen(copy)) {
            measure(copy);
            small_[kept++] = copy;
        } else if (!large_.append(copy)) {
            return false;
        }
    }
    small_.resize(kept);
    return true;
}

bool BatchCopies::is_kernel_worth_it(bool fused) const {
    const int64_t least = fused ? kLeastLinkFused : kLeastLink;
    int64_t worth = 0;
    for (const BatchCopy *copy = small_.begin(); copy != small_.end() && worth < least; ++copy) {
        worth += copy->direction == LinkDirection::No ? least / 2 : 1;
    }
    return worth >= least;
}

// Cuts copies at multiples of kPieceBytes, so that all pieces of one have the same alignment.
void BatchCopies::cut() {
    const uint64_t units = std::max<uint64_t>(1, nbytes_ / kPieces / kPieceBytes);
    const uint64_t most = std::min(units * kPieceBytes, kMostPieceBytes);
    piece_bytes_ = static_cast<int64_t>(most);
    piece_count_ = small_.count();
    if (most_bytes_ <= most) [[likely]] {
        return;
    }
    piece_count_ = 0;
    for (const BatchCopy &copy : small_) {
        piece_count_ += static_cast<int64_t>((copy.nbytes + most - 1) / most);
    }
}

bool BatchCopies::decide(bool fused) {
    const auto is_large_one = [&](const BatchCopy &copy) { return is_large(copy, fused); };
    if (most_bytes_ >= kLargeLinkFused && !split_off(is_large_one)) {
        return false;
    }
    if (is_kernel_worth_it(fused)) {
        cut();
        return true;
    }
    return split_off([](const BatchCopy &) { return true; });
}

int64_t Pieces::take_whole(int64_t room, kernels::CopyPiece *out_pieces) {
    const int64_t count = std::min<int64_t>(room, end_ - at_);
    for (int64_t i = 0; i < count; ++i) {
        out_pieces[i] = {at_[i].dst, at_[i].src, at_[i].nbytes};
    }
    at_ += count;
    return count;
}

int64_t Pieces::take(int64_t room, kernels::CopyPiece *out_pieces) {
    if (are_whole_) [[likely]] {
        return take_whole(room, out_pieces);
    }
    int64_t count = 0;
    for (; count < room && at_ != end_; ++count) {
        const uint64_t nbytes = std::min(most_, at_->nbytes - done_);
        out_pieces[count] = {at_->dst + done_, at_->src + done_, nbytes};
        done_ += nbytes;
        if (done_ == at_->nbytes) {
            ++at_;
            done_ = 0;
        }
    }
    return count;
}

}  // namespace via::cuda
