#include "exchange/stream_order.hpp"

#include "core/array/access_tracker.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream_access.hpp"

namespace via {
namespace {

bool is_stream(via_stream *stream) { return stream != nullptr && stream != cuda::no_sync_stream(); }

}  // namespace

Status check_no_stream(via_stream *stream) {
    if (is_stream(stream)) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "stream is not NULL; expected NULL for host memory");
    }
    return VIA_OK;
}

Status order_any_consumer(via_array *array, int32_t device_type, via_stream *stream) {
    if (device_type == VIA_DEVICE_CPU) {
        VIA_TRY(check_no_stream(stream));
    }
    if (!array->storage->may_be_pending()) {
        return VIA_OK;
    }
    const bool on_stream = is_stream(stream) || device_type == VIA_DEVICE_CUDA;
    return on_stream ? cuda::order_export(array, stream) : wait_until_ready(array->storage);
}

Status order_producer(via_array *array, via_stream *stream) {
    if (array->device_type == VIA_DEVICE_CPU) {
        return check_no_stream(stream);
    }
    const bool ready_now = stream == cuda::no_sync_stream() ||
                           (stream == nullptr && array->device_type == VIA_DEVICE_CUDA_HOST) || array->size == 0;
    return ready_now ? VIA_OK : cuda::order_import(array, stream);
}

}  // namespace via
