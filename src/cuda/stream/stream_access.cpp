#include "cuda/stream_access.hpp"

#include "cuda/stream.hpp"
#include "cuda/stream/capture.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

Status resolve_for(via_array *array, via_stream *stream, ResolvedStream *out_use) {
    VIA_TRY(need_driver("a stream"));
    return resolve(stream, device_at_hand(array), out_use);
}

Status hold_both(const ResolvedStream &use, via_array *dst, via_array *src) {
    VIA_TRY(hold_in_graph(use, dst->storage));
    return src == nullptr || src->storage == dst->storage ? VIA_OK : hold_in_graph(use, src->storage);
}

Status mark_both(const ResolvedStream &use, via_array *dst, via_array *src) {
    UniqueFence fence;
    VIA_TRY(record_fence(use, fence.out()));
    VIA_TRY(set_last_write(dst->storage, fence.get()));
    return src == nullptr || src->storage == dst->storage ? VIA_OK : add_access(src->storage, fence.get());
}

bool is_marked(const ResolvedStream &use, via_array *dst, via_array *src) {
    const CallbackScope unsaid;  // no failure of this is told
    return mark_both(use, dst, src) == VIA_OK;
}

}  // namespace

int32_t device_at_hand(via_array *array) {
    if (array->device_type == VIA_DEVICE_CUDA) {
        return array->device_id;
    }
    return device_of_thread();
}

int32_t device_of_thread() {
    const int32_t device_id = driver_is_usable(false) ? current_device() : 0;
    return device_id >= 0 ? device_id : 0;
}

Status record_use(via_array *array, via_stream *stream) {
    ResolvedStream use{};
    VIA_TRY(resolve_for(array, stream, &use));
    if (use.capturing) {
        return hold_in_graph(use, array->storage);
    }
    UniqueFence fence;
    VIA_TRY(record_fence(use, fence.out()));
    return add_access(array->storage, fence.get());
}

Status record_ready(via_array *array, via_stream *stream) {
    ResolvedStream use{};
    VIA_TRY(resolve_for(array, stream, &use));
    if (use.capturing) {
        return hold_in_graph(use, array->storage);
    }
    UniqueFence fence;
    VIA_TRY(record_fence(use, fence.out()));
    return set_last_write(array->storage, fence.get());
}

Status order_export(via_array *array, via_stream *stream) {
    if (stream == no_sync_stream()) {
        return VIA_OK;
    }
    const UniqueFence ready(last_write(array->storage));
    if (ready.get() == nullptr) [[likely]] {
        return VIA_OK;
    }
    ResolvedStream use{};
    VIA_TRY(resolve_for(array, stream, &use));
    return ready.get()->make_stream_wait(use);
}

Status order_import(via_array *array, via_stream *stream) {
    if (stream == no_sync_stream()) {
        return VIA_OK;
    }
    ResolvedStream use{};
    VIA_TRY(resolve_for(array, stream, &use));
    if (use.capturing || is_idle(use)) {
        return VIA_OK;
    }
    UniqueFence fence;
    VIA_TRY(record_fence(use, fence.out()));
    return set_last_write(array->storage, fence.get());
}

Status wait_until_ready(via_array *array, const ResolvedStream &use) {
    const UniqueFence ready(last_write_before(array->storage, use.capturing ? Timeline{} : use.timeline()));
    return ready.get() != nullptr ? ready.get()->make_stream_wait(use) : VIA_OK;
}

Status note_copy(via_array *dst, via_array *src, const ResolvedStream &use) {
    if (use.capturing) {
        return hold_both(use, dst, src);
    }
    // The copy is under way: where it cannot be marked, it must have ended before anybody goes on, and all is well.
    return is_marked(use, dst, src) ? VIA_OK : wait_for_stream(use);
}

Status join(via_stream *stream, Fence *fence) {
    ResolvedStream use{};
    VIA_TRY(resolve(stream, device_of_thread(), &use));
    return fence->make_stream_wait(use);
}

}  // namespace via::cuda
