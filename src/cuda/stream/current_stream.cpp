#include <new>

#include "core/base/thread_exit.hpp"
#include "cuda/current_stream.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

// One for each device; nullptr means the legacy stream. Allocated when a thread first sets one.
struct CurrentStreams {
    via_stream *of_device[kMostDevices];
};

// Initial-exec for the same reason as current_thread_state.
__thread CurrentStreams *current __attribute__((tls_model("initial-exec"))) = nullptr;

// Runs at the end of a thread, perhaps inside the driver's own clean-up. Must not call the driver.
void let_go(void *streams) {
    current = nullptr;
    auto *ending = static_cast<CurrentStreams *>(streams);
    for (via_stream *stream : ending->of_device) {
        if (stream != nullptr) {
            release_stream_later(stream);
        }
    }
    delete ending;
}

constinit ThreadExit thread_exit(let_go);

Status watch_exit(CurrentStreams *streams) {
    if (!thread_exit.defer(streams)) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no thread-specific storage for the current stream");
    }
    return VIA_OK;
}

Status need_streams() {
    if (current != nullptr) {
        return VIA_OK;
    }
    auto *streams = new (std::nothrow) CurrentStreams{};
    if (streams == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for the thread's current streams");
    }
    if (Status status = watch_exit(streams); status != VIA_OK) {
        delete streams;
        return status;
    }
    current = streams;
    return VIA_OK;
}

Status check_stream(int32_t device_id, via_stream *stream) {
    if (stream->kind == StreamKind::NoSync) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "stream is via_stream_no_sync(), which is no stream");
    }
    if (stream->device_id != kDeviceAtHand && stream->device_id != device_id) {
        return fail(VIA_ERROR_DEVICE, "device_id is %d, but the stream is of device %d", device_id, stream->device_id);
    }
    return VIA_OK;
}

}  // namespace

Status set_current_stream(int32_t device_id, via_stream *stream) {
    VIA_TRY(need_driver("a stream"));
    CUdevice device = 0;
    VIA_TRY(find_device("device_id", device_id, &device));
    if (stream == nullptr && current == nullptr) {
        return VIA_OK;
    }
    VIA_TRY(need_streams());
    if (stream != nullptr) {
        VIA_TRY(check_stream(device_id, stream));
        retain_stream(stream);
    }
    via_stream *before = current->of_device[device_id];
    current->of_device[device_id] = stream;
    if (before != nullptr) {
        release_stream(before);
    }
    return VIA_OK;
}

Status current_stream(int32_t device_id, via_stream **out_stream) {
    VIA_TRY(need_driver("a stream"));
    CUdevice device = 0;
    VIA_TRY(find_device("device_id", device_id, &device));
    via_stream *set = current != nullptr ? current->of_device[device_id] : nullptr;
    *out_stream = set != nullptr ? set : legacy_stream_of(device_id);
    retain_stream(*out_stream);
    return VIA_OK;
}

}  // namespace via::cuda
