// Transfers between an array in host memory and extents of a file, in chunks that several threads move in parallel.
#pragma once

#include <algorithm>

#include "copy/copy_plan.hpp"
#include "core/array/array.hpp"
#include "core/base/rounding.hpp"
#include "file/file_extents.hpp"

namespace via {

// Makes a view of adjacent bytes of an array.
VIA_NODISCARD inline Status view_bytes(via_array *array, int64_t first, int64_t nbytes, via_array **out_view) {
    return make_view(array, static_cast<char *>(array->data) + first, VIA_UINT8, {1, {nbytes}, {1}}, array->flags,
                     out_view);
}

// How chunks are moved: by up to `threads` threads, the caller's included. Progress is reported to `task`, which may be
// nullptr and may be cancelled; `done_before` of its `total` bytes are done already.
struct IoRun {
    int32_t threads;
    int64_t done_before;
    int64_t total;
    via_task *task;
};

// Moves one chunk, and stores how many bytes it has.
using MoveChunk = Status (*)(const void *context, int64_t number, int64_t *out_nbytes);

// Moves all chunks. The text of a failure states how many bytes were moved.
VIA_NODISCARD Status parallel_io(int64_t count, MoveChunk move, const void *context, const IoRun &run);

template <class Move>
VIA_NODISCARD Status parallel_io(int64_t count, const Move &move, const IoRun &run) {
    const MoveChunk call = [](const void *context, int64_t number, int64_t *out_nbytes) {
        return (*static_cast<const Move *>(context))(number, out_nbytes);
    };
    return parallel_io(count, call, &move, run);
}

// Moves `total` bytes or elements in chunks that end at borders, `each` apart, by move(first, count, &nbytes). The
// first begins `before` past a border.
template <class Move>
VIA_NODISCARD Status aligned_io(int64_t total, int64_t each, int64_t before, const Move &move, const IoRun &run) {
    const int64_t past = before % each;
    const auto move_part = [&](int64_t number, int64_t *out_nbytes) {
        const int64_t first = std::max<int64_t>(number * each - past, 0);
        return move(first, std::min((number + 1) * each - past, total) - first, out_nbytes);
    };
    return parallel_io(total > 0 ? divide_up(past + total, each) : 0, move_part, run);
}

// Moves adjacent memory to or from an offset in the extents of a file.
VIA_NODISCARD Status move_adjacent(ExtentIo &extent_io, Direction direction, int64_t offset, void *memory,
                                   int64_t nbytes, const IoRun &run);

// Reads adjacent memory from any endpoint, in chunks that are aligned in memory: see FileIo::kPieceBytes.
VIA_NODISCARD Status read_adjacent(cuda::IoEndpoint &io, int64_t offset, void *memory, int64_t nbytes,
                                   const IoRun &run);

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

// Moves an array in row-major order to or from the extents of a file. Gathers and scatters slabs through buffers.
VIA_NODISCARD Status move_slabs(ExtentIo &extent_io, Direction direction, via_array *array, const IoRun &run);

// Moves an array of a device in row-major order to or from an endpoint, through the ring of pinned slots. Stores
// whether the ring serves; otherwise nothing was moved, and the bytes go through bounce_slabs. `begin` is the offset
// outside of the endpoint's first byte. See cuda::transfer_io.
VIA_NODISCARD Status move_staged(via_array *array, Direction direction, cuda::IoEndpoint *io, int64_t begin,
                                 const IoRun &run, bool *out_served, Fence **out_fence);

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

}  // namespace via
