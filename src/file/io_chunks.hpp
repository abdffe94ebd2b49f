// One transfer between an array in memory that the host reaches and a range of a file, cut into parts that any number
// of threads move at a time.
#pragma once

#include "core/array/array.hpp"
#include "file/file_extents.hpp"

namespace via {

class Parts {
public:
    Parts(Rows &rows, Towards towards, int64_t offset) : rows_(rows), towards_(towards), offset_(offset) {}
    Parts(const Parts &) = delete;
    Parts &operator=(const Parts &) = delete;

    virtual int64_t count() const = 0;
    VIA_NODISCARD virtual Status move(int64_t number, int64_t *out_nbytes) = 0;

protected:
    ~Parts() = default;

    VIA_NODISCARD Status pass(char *memory, int64_t offset, int64_t nbytes) {
        return towards_ == Towards::Memory ? rows_.read(memory, offset, nbytes) : rows_.write(memory, offset, nbytes);
    }

    Rows &rows_;
    const Towards towards_;
    const int64_t offset_;  // in the rows
};

// Bytes that are adjacent in memory too.
class AdjacentChunks final : public Parts {
public:
    AdjacentChunks(Rows &rows, Towards towards, int64_t offset, void *memory, int64_t nbytes);

    int64_t count() const override;
    VIA_NODISCARD Status move(int64_t number, int64_t *out_nbytes) override;

private:
    char *const memory_;
    const int64_t nbytes_;
    const int64_t piece_;
    const int64_t before_;  // from the last border of a piece to the first byte
};

// A strided array whose elements, whole bytes each, follow one another in the file as in row-major order: boxes of
// neighbouring indices, gathered and scattered on the way.
class SlabParts final : public Parts {
public:
    SlabParts(Rows &rows, Towards towards, int64_t offset, via_array *array, int64_t most_bytes);

    int64_t count() const override { return outer_ * blocks_; }
    VIA_NODISCARD Status move(int64_t number, int64_t *out_nbytes) override;

    // A box as a view of its own, and where its bytes are in the file.
    VIA_NODISCARD Status view(int64_t number, via_array **out_view, int64_t *out_offset) const;

    // The most bytes that a box has: what was asked for, or one element.
    int64_t slab_bytes() const { return block_ * inner_bytes_; }

private:
    via_array *const array_;
    int32_t level_ = 0;        // of the axis that is cut; those behind it are whole
    int64_t inner_bytes_ = 0;  // of one index of that axis
    int64_t block_ = 1;        // indices of it in a box
    int64_t blocks_ = 1;
    int64_t outer_ = 1;  // of all axes before it
    Buffers buffers_;
};

// A row-major array of the shape and type of another, on memory that it only borrows.
VIA_NODISCARD Status make_dense(via_array *like, void *memory, via_array **out_array);

// The same for a range of a file, of which only the layout is looked at.
VIA_NODISCARD Status make_stand_in(via_array *like, via_array **out_array);

}  // namespace via
