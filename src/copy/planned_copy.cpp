#include "copy/planned_copy.hpp"

#include "copy/copy_plan.hpp"
#include "core/array/access_tracker.hpp"
#include "cuda/device.hpp"

namespace via {
namespace {

cuda::Side side_of(via_array *array, via_array *other) {
    const bool asked = is_plain(array) && other->device_type == VIA_DEVICE_CUDA;
    return {asked ? VIA_DEVICE_ANY : array->device_type, array->device_id};
}

}  // namespace

PlannedCopy::PlannedCopy(const char *what, via_array *dst, via_array *src, via_array *dst_index, via_array *src_index)
    : what_(what),
      dst_(retained(dst)),
      src_(retained(src)),
      dst_index_(retained(dst_index)),
      src_index_(retained(src_index)) {}

Status PlannedCopy::make_transfer(char *dst, const char *src, cuda::Transfer *out_transfer) const {
    via_array *to = dst_.get();
    via_array *from = src_.get();
    *out_transfer = {dst, src, nbytes_, side_of(to, from), side_of(from, to), to, from};
    return cuda::find_sides(out_transfer);
}

Status PlannedCopy::await_before(via_stream *stream) const {
    if (stream != nullptr || !are_plain(dst(), src(), dst_index_.get(), src_index_.get())) {
        VIA_TRY(await_stream(stream, what_));
    }
    VIA_TRY(await_arrays(dst(), src()));
    return await_arrays(dst_index_.get(), src_index_.get());
}

Status PlannedCopy::prepare_on(via_stream *stream) {
    return is_empty_ || device_ == nullptr ? VIA_OK : cuda::prepare_items(*device_, stream);
}

Status PlannedCopy::run_on(via_stream *stream) {
    if (is_empty_) {
        return stream != nullptr ? cuda::need("a stream") : VIA_OK;
    }
    if (device_ != nullptr) {
        return cuda::items_on(*device_, stream);
    }
    VIA_TRY(await_before(stream));
    run_on_host();
    return VIA_OK;
}

Status PlannedCopy::run_now() {
    return !is_empty_ && device_ != nullptr ? cuda::items_now(*device_) : PlannedCopy::run_on(nullptr);
}

Status PlannedCopy::find_dependency(via_stream *stream, Fence **out_dependency) {
    return dependency_of_copy(dst(), src(), stream, out_dependency, dst_index_.get(), src_index_.get());
}

Status PlannedCopy::run_in_task(int64_t done_before, via_task *task, Fence **out_fence) {
    if (is_empty_) {
        return VIA_OK;
    }
    return device_ != nullptr ? cuda::items_for_task(*device_, task, out_fence) : run_in_pieces(done_before, task);
}

// Readers of dst wait for the task, and so does the release of any array.
Status PlannedCopy::note_task(Fence *end) {
    return set_last_copy(dst(), {src(), dst_index_.get(), src_index_.get()}, end);
}

bool PlannedCopy::is_immediate() const {
    return !is_empty_ && device_ != nullptr && cuda::items_route(device_->transfer) == cuda::ItemsRoute::Kernel;
}

Status submit_planned(PlannedCopy *copy, via_stream *stream, via_task **out_task) {
    UniqueFence dependency;
    VIA_TRY(copy->find_dependency(stream, dependency.out()));
    copy->retain();
    return submit_work(
        copy, copy->nbytes(), dependency.get(), copy->is_immediate(), [&](Fence *end) { return copy->note_task(end); },
        out_task);
}

}  // namespace via
