#include "cuda/stream_access.hpp"

#include "cuda/stream.hpp"
#include "cuda/stream/capture.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

Status resolve_for(via_array *array, via_stream *stream, ResolvedStream *out_stream) {
    VIA_TRY(need_driver("a stream"));
    return resolve(stream, device_at_hand(array), out_stream);
}

Status hold_both(const ResolvedStream &stream, via_array *dst, via_array *src) {
    VIA_TRY(hold_in_graph(stream, &dst->storage));
    return src == nullptr || src->storage == dst->storage ? VIA_OK : hold_in_graph(stream, &src->storage);
}

bool is_marked(const ResolvedStream &stream, via_array *dst, via_array *src) {
    const CallbackScope quiet;  // reports no failure
    UniqueFence fence;
    return record_fence(stream, fence.out()) == VIA_OK && set_last_copy(dst, {src}, fence.get()) == VIA_OK;
}

// Notes the work of the stream so far on the storage. In a capture the graph holds the storage instead.
Status record(via_array *array, via_stream *stream, Status (*note)(Storage *, Fence *)) {
    ResolvedStream resolved{};
    VIA_TRY(resolve_for(array, stream, &resolved));
    if (resolved.capturing) {
        return hold_in_graph(resolved, &array->storage);
    }
    UniqueFence fence;
    VIA_TRY(record_fence(resolved, fence.out()));
    return note(array->storage, fence.get());
}

}  // namespace

int32_t device_at_hand(via_array *array) {
    return array->device_type == VIA_DEVICE_CUDA ? array->device_id : device_of_thread();
}

int32_t device_of_thread() {
    const int32_t device_id = driver_is_usable(false) ? current_device() : 0;
    return device_id >= 0 ? device_id : 0;
}

Status record_use(via_array *array, via_stream *stream) { return record(array, stream, add_access); }

Status record_ready(via_array *array, via_stream *stream) { return record(array, stream, set_last_write); }

Status order_export(via_array *array, via_stream *stream) {
    if (stream == no_sync_stream()) {
        return VIA_OK;
    }
    const UniqueFence ready(last_write(array->storage));
    if (ready.get() == nullptr) [[likely]] {
        return VIA_OK;
    }
    ResolvedStream resolved{};
    VIA_TRY(resolve_for(array, stream, &resolved));
    return ready.get()->make_stream_wait(resolved);
}

Status order_import(via_array *array, via_stream *stream) {
    if (stream == no_sync_stream()) {
        return VIA_OK;
    }
    ResolvedStream resolved{};
    VIA_TRY(resolve_for(array, stream, &resolved));
    if (resolved.capturing || is_idle(resolved)) {
        return VIA_OK;
    }
    UniqueFence fence;
    VIA_TRY(record_fence(resolved, fence.out()));
    return set_last_write(array->storage, fence.get());
}

Status wait_until_ready(via_array *array, const ResolvedStream &stream) {
    const UniqueFence ready(last_write_before(array->storage, stream.capturing ? Timeline{} : stream.timeline()));
    const bool waits = ready.get() != nullptr && ready.get()->holds_up_streams();
    return waits ? ready.get()->make_stream_follow(stream) : VIA_OK;
}

Status note_copy(via_array *dst, via_array *src, const ResolvedStream &stream) {
    if (stream.capturing) {
        return hold_both(stream, dst, src);
    }
    // Waits for the copy if its fence cannot be recorded.
    return is_marked(stream, dst, src) ? VIA_OK : wait_for_stream(stream);
}

Status join(via_stream *stream, Fence *fence) {
    ResolvedStream resolved{};
    VIA_TRY(resolve(stream, device_of_thread(), &resolved));
    return fence->make_stream_wait(resolved);
}

}  // namespace via::cuda
