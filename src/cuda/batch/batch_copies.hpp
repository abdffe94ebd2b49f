// Splits the copies of a batch between a kernel, in pieces, and the driver: values, made without a GPU.
#pragma once

#include <algorithm>

#include "core/base/list.hpp"
#include "cuda/device_batch.hpp"
#include "cuda/kernels/batch.cuh"

namespace via::cuda {

struct BatchCopy {
    uint64_t dst;
    uint64_t src;
    uint64_t nbytes;  // more than 0
    LinkDirection direction;
};

class BatchCopies {
public:
    // Reserve room and add a copy. Both return false if memory is short.
    VIA_NODISCARD bool reserve(int64_t count) { return small_.reserve(count); }
    VIA_NODISCARD bool add(const BatchCopy &copy) {
        measure(copy);
        return small_.append(copy);
    }

    // Decides, after the last copy. `fused` says whether one call of the driver takes many copies.
    VIA_NODISCARD bool decide(bool fused);

    // Returns the number of copies that there is room for.
    int64_t room() const { return std::max(small_.room(), large_.room()); }
    void clear();

    // Return the copies of the kernel, which moves at most piece_bytes() at a time, and those of the driver.
    const List<BatchCopy> &small() const { return small_; }
    const List<BatchCopy> &large() const { return large_; }
    int64_t piece_bytes() const { return piece_bytes_; }
    int64_t piece_count() const { return piece_count_; }

private:
    void measure(const BatchCopy &copy) {
        nbytes_ += copy.nbytes;
        most_bytes_ = std::max(most_bytes_, copy.nbytes);
    }

    bool is_kernel_worth_it(bool fused) const;
    template <class Chosen>
    VIA_NODISCARD bool split_off(const Chosen &is_chosen);
    void cut();

    List<BatchCopy> small_;
    List<BatchCopy> large_;
    int64_t piece_bytes_ = 0;
    int64_t piece_count_ = 0;
    uint64_t nbytes_ = 0;      // of the small ones in all
    uint64_t most_bytes_ = 0;  // of one of them
};

// Lists the pieces of the kernel's copies, one after the other.
class Pieces {
public:
    explicit Pieces(const BatchCopies &copies)
        : at_(copies.small().begin()),
          end_(copies.small().end()),
          most_(static_cast<uint64_t>(copies.piece_bytes())),
          are_whole_(copies.piece_count() == copies.small().count()) {}

    // Stores the next pieces, at most `room`, and returns their number.
    int64_t take(int64_t room, kernels::CopyPiece *out_pieces);

private:
    int64_t take_whole(int64_t room, kernels::CopyPiece *out_pieces);

    const BatchCopy *at_;
    const BatchCopy *const end_;
    const uint64_t most_;
    const bool are_whole_;  // each copy is one piece
    uint64_t done_ = 0;     // bytes of the one that is at_
};

}  // namespace via::cuda
