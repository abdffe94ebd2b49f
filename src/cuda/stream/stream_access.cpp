#include "cuda/stream_access.hpp"

#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {
namespace {

Status resolve_for(via_array *array, via_stream *stream, StreamUse *out_use) {
    VIA_TRY(need_driver("a stream"));
    return resolve(stream, device_at_hand(array), out_use);
}

Status hold_both(const StreamUse &use, via_array *dst, via_array *src) {
    VIA_TRY(hold_in_graph(use, dst->storage));
    return src == nullptr || src->storage == dst->storage ? VIA_OK : hold_in_graph(use, src->storage);
}

Status mark_both(const StreamUse &use, via_array *dst, via_array *src) {
    MarkHolder mark;
    VIA_TRY(record_mark(use, mark.out()));
    VIA_TRY(set_ready_mark(dst->storage, mark.get()));
    return src == nullptr || src->storage == dst->storage ? VIA_OK : add_use_mark(src->storage, mark.get());
}

bool is_marked(const StreamUse &use, via_array *dst, via_array *src) {
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
    StreamUse use{};
    VIA_TRY(resolve_for(array, stream, &use));
    if (use.capturing) {
        return hold_in_graph(use, array->storage);
    }
    MarkHolder mark;
    VIA_TRY(record_mark(use, mark.out()));
    return add_use_mark(array->storage, mark.get());
}

Status record_ready(via_array *array, via_stream *stream) {
    StreamUse use{};
    VIA_TRY(resolve_for(array, stream, &use));
    if (use.capturing) {
        return hold_in_graph(use, array->storage);
    }
    MarkHolder mark;
    VIA_TRY(record_mark(use, mark.out()));
    return set_ready_mark(array->storage, mark.get());
}

Status order_export(via_array *array, via_stream *stream) {
    if (stream == no_sync_stream()) {
        return VIA_OK;
    }
    const MarkHolder ready(ready_mark(array->storage));
    if (ready.get() == nullptr) [[likely]] {
        return VIA_OK;
    }
    StreamUse use{};
    VIA_TRY(resolve_for(array, stream, &use));
    return ready.get()->order(use);
}

Status order_import(via_array *array, via_stream *stream) {
    if (stream == no_sync_stream()) {
        return VIA_OK;
    }
    StreamUse use{};
    VIA_TRY(resolve_for(array, stream, &use));
    if (use.capturing || is_idle(use)) {
        return VIA_OK;
    }
    MarkHolder mark;
    VIA_TRY(record_mark(use, mark.out()));
    return set_ready_mark(array->storage, mark.get());
}

Status wait_until_ready(via_array *array, const StreamUse &use) {
    const MarkHolder ready(ready_mark_before(array->storage, use.capturing ? Timeline{} : use.timeline()));
    return ready.get() != nullptr ? ready.get()->order(use) : VIA_OK;
}

Status note_copy(via_array *dst, via_array *src, const StreamUse &use) {
    if (use.capturing) {
        return hold_both(use, dst, src);
    }
    // The copy is under way: where it cannot be marked, it must have ended before anybody goes on, and all is well.
    return is_marked(use, dst, src) ? VIA_OK : wait_for_stream(use);
}

Status join(via_stream *stream, Mark *mark) {
    StreamUse use{};
    VIA_TRY(resolve(stream, device_of_thread(), &use));
    return mark->order(use);
}

}  // namespace via::cuda
