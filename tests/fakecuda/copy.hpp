// Copies: where from, where to, and what shape; all of the driver's copy calls come down to this.
#ifndef FAKECUDA_COPY_HPP
#define FAKECUDA_COPY_HPP

#include "memory.hpp"

namespace fake {

// One side of a copy. A plain side is host memory that the driver knows nothing of.
struct Side {
    CUdeviceptr address = 0;
    size_t pitch = 0;  // from row to row
    size_t slice = 0;  // from plane to plane
    bool plain = false;
    bool device = false;  // device or managed memory

    // Bytes from the first to behind the last.
    size_t reach(size_t width, size_t height, size_t depth) const {
        return (depth - 1) * slice + (height - 1) * pitch + width;
    }
};

struct Transfer {
    Side to, from;
    size_t width = 0, height = 1, depth = 1;

    bool empty() const { return width == 0 || height == 0 || depth == 0; }
    size_t bytes() const { return width * height * depth; }
};

// What a call says of one side: any memory, or such as the device can reach.
enum class Where { anywhere, on_device };

// Finds out what the memory is and whether it holds the whole side.
void resolve(Driver &state, const Transfer &transfer, Side &side, Where where);

// Contiguous bytes.
Transfer line(CUdeviceptr to, CUdeviceptr from, size_t bytes);

enum class When { in_order, before_return };

// Brings a resolved transfer on its way by the rules for its kinds of memory.
void transfer_on(Call &call, const std::shared_ptr<Stream> &stream, const Transfer &transfer, When when);

// Moves the bytes, now, as work in a context.
void run_transfer(const Transfer &transfer, Context &context);

}  // namespace fake

#endif
