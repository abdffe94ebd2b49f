#include "exchange/arrow_event.hpp"

#include "core/array/access_tracker.hpp"
#include "core/base/unique_handle.hpp"
#include "cuda/event.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream_access.hpp"
#include "exchange/consumer.hpp"

namespace via {
namespace {

using UniqueStream = UniqueHandle<via_stream, cuda::release_stream>;
using UniqueEvent = UniqueHandle<via_event, cuda::release_event>;

}  // namespace

Status make_ready_event(via_array *array, via_event **out_event) {
    *out_event = nullptr;
    UniqueFence pending(last_write(array->storage));
    if (pending.get() == nullptr) {
        return VIA_OK;
    }
    // A stream that does nothing but wait, so that no other is held up.
    const int32_t device_id = cuda::device_at_hand(array);
    UniqueStream stream;
    UniqueEvent event;
    VIA_TRY(cuda::create_stream(device_id, stream.out()));
    VIA_TRY(cuda::create_event(device_id, event.out()));
    VIA_TRY(cuda::order_export(array, stream.get()));
    VIA_TRY(cuda::record_event(event.get(), stream.get()));
    *out_event = event.release();
    return VIA_OK;
}

Status follow_event(via_array *array, void *sync_event, via_stream *stream) {
    if (sync_event == nullptr || stream == cuda::no_sync_stream() || array->size == 0) {
        return order_producer(array, sync_event == nullptr && stream == nullptr ? cuda::no_sync_stream() : stream);
    }
    const int32_t device_id = cuda::device_at_hand(array);
    UniqueStream own;
    UniqueEvent event;
    VIA_TRY(cuda::wrap_event(*static_cast<void **>(sync_event), device_id, event.out()));
    if (stream == nullptr) {
        VIA_TRY(cuda::create_stream(device_id, own.out()));
        stream = own.get();
    }
    VIA_TRY(cuda::make_stream_wait(stream, event.get()));
    return cuda::order_import(array, stream);
}

}  // namespace via
