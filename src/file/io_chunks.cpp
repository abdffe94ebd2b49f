#include "file/io_chunks.hpp"

#include <algorithm>

#include "copy/choose_loops.hpp"
#include "copy/normalise.hpp"
#include "copy/plan.hpp"
#include "copy/run.hpp"

namespace via {
namespace {

int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

// On this thread alone: others are at work on other parts.
Status copy_singles(via_array *dst, via_array *src) {
    Plan plan;
    VIA_TRY(normalise_copy(dst, src, &plan));
    choose_loops_single(&plan, false);
    run_plan(plan);
    return VIA_OK;
}

}  // namespace

AdjacentChunks::AdjacentChunks(Rows &rows, Towards towards, int64_t offset, void *memory, int64_t nbytes)
    : Parts(rows, towards, offset),
      memory_(static_cast<char *>(memory)),
      nbytes_(nbytes),
      piece_(rows.piece_bytes()),
      before_((towards == Towards::File ? rows.bytes_from_border(offset) : reinterpret_cast<intptr_t>(memory)) %
              piece_) {}

int64_t AdjacentChunks::count() const { return nbytes_ > 0 ? divide_up(before_ + nbytes_, piece_) : 0; }

Status AdjacentChunks::move(int64_t number, int64_t *out_nbytes) {
    const int64_t from = std::max<int64_t>(number * piece_ - before_, 0);
    const int64_t to = std::min((number + 1) * piece_ - before_, nbytes_);
    *out_nbytes = to - from;
    return pass(memory_ + from, offset_ + from, to - from);
}

SlabParts::SlabParts(Rows &rows, Towards towards, int64_t offset, via_array *array, int64_t most_bytes)
    : Parts(rows, towards, offset),
      array_(array),
      inner_bytes_(array->item_bytes()),
      buffers_(std::max(most_bytes, inner_bytes_)) {
    const int64_t *shape = array->shape();
    level_ = std::max(array->ndim - 1, 0);
    while (level_ > 0 && inner_bytes_ * shape[level_] <= most_bytes) {
        inner_bytes_ *= shape[level_--];
    }
    const int64_t extent = array->ndim > 0 ? shape[level_] : 1;
    block_ = std::clamp<int64_t>(most_bytes / inner_bytes_, 1, extent);
    blocks_ = divide_up(extent, block_);
    std::for_each_n(shape, level_, [&](int64_t outer) { outer_ *= outer; });
}

Status SlabParts::view(int64_t number, via_array **out_view, int64_t *out_offset) const {
    const int64_t first = number % blocks_ * block_;
    const int64_t *steps = array_->steps();
    const int64_t extent = array_->shape()[level_];
    char *data = static_cast<char *>(array_->data) + first * steps[level_];
    int64_t outer = number / blocks_;
    *out_offset = offset_ + (outer * extent + first) * inner_bytes_;
    for (int32_t i = level_ - 1; i >= 0; --i) {
        data += outer % array_->shape()[i] * steps[i];
        outer /= array_->shape()[i];
    }
    Layout layout{};
    layout.ndim = array_->ndim - level_;
    std::copy_n(array_->shape() + level_, layout.ndim, layout.shape);
    std::copy_n(steps + level_, layout.ndim, layout.steps);
    layout.shape[0] = std::min(block_, extent - first);
    return make_view(array_, data, array_->dtype, layout, array_->flags, out_view);
}

Status SlabParts::move(int64_t number, int64_t *out_nbytes) {
    UniqueArray box;
    UniqueArray dense;
    Buffer buffer(buffers_);
    int64_t offset = 0;
    VIA_TRY(view(number, box.out(), &offset));
    VIA_TRY(buffer.take());
    VIA_TRY(make_dense(box.get(), buffer.get(), dense.out()));
    *out_nbytes = box.get()->nbytes();
    if (towards_ == Towards::Memory) {
        VIA_TRY(pass(buffer.get(), offset, *out_nbytes));
        return copy_singles(box.get(), dense.get());
    }
    VIA_TRY(copy_singles(dense.get(), box.get()));
    return pass(buffer.get(), offset, *out_nbytes);
}

Status make_dense(via_array *like, void *memory, via_array **out_array) {
    const ArraySpec spec{.data = memory,
                         .dtype = like->dtype,
                         .ndim = like->ndim,
                         .shape = like->shape(),
                         .flags = like->flags & VIA_ARRAY_SUBBYTE_PADDED};
    return make_array(spec, Deleter{}, out_array);
}

// No address is NULL, and none is memory.
Status make_stand_in(via_array *like, via_array **out_array) {
    return make_dense(like, reinterpret_cast<void *>(uintptr_t{1} << 12), out_array);
}

}  // namespace via
