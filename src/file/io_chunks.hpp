// Transfers between an array in host memory and extents of a file, in chunks that several threads move in parallel.
#pragma once

#include <algorithm>

#include "copy/submit.hpp"
#include "core/array/array.hpp"
#include "core/base/rounding.hpp"
#include "file/file_extents.hpp"

namespace via {

// Makes a view of adjacent bytes of an array.
VIA_NODISCARD inline Status view_bytes(via_array *array, int64_t first, int64_t nbytes, via_array **out_view) {
    return make_view(array, static_cast<char *>(array->data) + first, VIA_UINT8, {1, {nbytes}, {1}}, array->flags,
                     out_view);
}

class IoChunks {
public:
    IoChunks() = default;
    IoChunks(const IoChunks &) = delete;
    IoChunks &operator=(const IoChunks &) = delete;

    virtual int64_t count() const = 0;
    VIA_NODISCARD virtual Status move(int64_t number, int64_t *out_nbytes) = 0;

protected:
    ~IoChunks() = default;
};

// Chunks of bytes or elements that end at borders, `each` apart. The first begins `before` past a border.
class AlignedChunks : public IoChunks {
public:
    AlignedChunks(int64_t total, int64_t each, int64_t before) : total_(total), each_(each), before_(before % each) {}

    int64_t count() const final { return total_ > 0 ? divide_up(before_ + total_, each_) : 0; }

    VIA_NODISCARD Status move(int64_t number, int64_t *out_nbytes) final {
        const int64_t first = std::max<int64_t>(number * each_ - before_, 0);
        return move_part(first, std::min((number + 1) * each_ - before_, total_) - first, out_nbytes);
    }

protected:
    ~AlignedChunks() = default;

private:
    VIA_NODISCARD virtual Status move_part(int64_t first, int64_t count, int64_t *out_nbytes) = 0;

    const int64_t total_;
    const int64_t each_;
    const int64_t before_;
};

// Chunks of adjacent memory, at an offset in the extents of one file.
class AdjacentChunks final : public AlignedChunks {
public:
    AdjacentChunks(ExtentIo &extent_io, Direction direction, int64_t offset, void *memory, int64_t nbytes);

private:
    VIA_NODISCARD Status move_part(int64_t first, int64_t count, int64_t *out_nbytes) override;

    ExtentIo &extent_io_;
    const Direction direction_;
    const int64_t offset_;
    char *const memory_;
};

// Cuts a strided array of whole bytes into slabs, whose elements are adjacent in a row-major copy of it.
class Slabs {
public:
    Slabs(via_array *array, int64_t most_bytes);

    int64_t count() const { return outer_ * blocks_; }

    // Makes a view of a slab.
    VIA_NODISCARD Status view(int64_t number, via_array **out_view) const;

    // Moves a slab through memory of the host that holds it. `pass` reads or writes its bytes there, which are at an
    // offset in the copy; `copy` copies between that memory and the array.
    template <class Copy, class Pass>
    VIA_NODISCARD Status move(int64_t number, Direction direction, char *memory, const Copy &copy,
                              const Pass &pass) const {
        UniqueArray slab;
        UniqueArray dense;
        VIA_TRY(view(number, slab.out()));
        VIA_TRY(make_dense(slab.get(), slab.get()->dtype, memory, dense.out()));
        if (direction == Direction::Read) {
            VIA_TRY(pass(memory, offset(number), dense.get()->nbytes()));
            return copy(slab.get(), dense.get());
        }
        VIA_TRY(copy(dense.get(), slab.get()));
        return pass(memory, offset(number), dense.get()->nbytes());
    }

    // Returns the offset of its bytes in the copy; for count(), that of the end.
    int64_t offset(int64_t number) const {
        return (number / blocks_ * extent_ + number % blocks_ * block_) * inner_bytes_;
    }

    // Returns the size of the largest slab: at most `most_bytes`, or one element.
    int64_t slab_bytes() const { return block_ * inner_bytes_; }

private:
    via_array *const array_;
    int32_t level_ = 0;        // the axis that is cut; later axes are whole
    int64_t inner_bytes_ = 0;  // of one index of that axis
    int64_t extent_ = 1;       // of that axis
    int64_t block_ = 1;        // its indices in a slab
    int64_t blocks_ = 1;
    int64_t outer_ = 1;  // product of the axes before it
};

// Slabs of an array, in row-major order in the file. Gathers and scatters each slab through a buffer.
class SlabChunks final : public IoChunks {
public:
    SlabChunks(ExtentIo &extent_io, Direction direction, via_array *array, int64_t most_bytes)
        : extent_io_(extent_io),
          direction_(direction),
          slabs_(array, most_bytes),
          buffers_(std::max(most_bytes, slabs_.slab_bytes())) {}

    int64_t count() const override { return slabs_.count(); }
    VIA_NODISCARD Status move(int64_t number, int64_t *out_nbytes) override;

private:
    ExtentIo &extent_io_;
    const Direction direction_;
    const Slabs slabs_;
    BufferPool buffers_;
};

// Moves the slabs of a device's array through one buffer of the host, for copies that cannot be staged. `pass` as in
// Slabs.
template <class Pass>
VIA_NODISCARD Status bounce_slabs(via_array *array, Direction direction, const Pass &pass) {
    constexpr int64_t kBytes = int64_t{8} << 20;
    const Slabs slabs(array, kBytes);
    BufferPool buffers(std::max(slabs.slab_bytes(), kBytes));
    Buffer buffer(buffers);
    VIA_TRY(buffer.acquire());
    for (int64_t i = 0; i < slabs.count(); ++i) {
        VIA_TRY(slabs.move(i, direction, buffer.get(), copy_and_wait, pass));
    }
    return VIA_OK;
}

// Moves all chunks with up to `threads` threads, the caller's included. Reports progress to `task`, which may be
// nullptr and may be cancelled; `done_before` of its `total` bytes are done already. The text of a failure states how
// many bytes were moved.
VIA_NODISCARD Status parallel_io(IoChunks *chunks, int32_t threads, int64_t done_before, int64_t total, via_task *task);

}  // namespace via
