#include "cuda/stream/internal_stream.hpp"

#include <mutex>
#include <new>

#include "cuda/stream/capture.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

struct InternalStream {
    ContextKey key;
    CUstream handle;
    uint64_t timeline;
    bool is_idle;  // false: not known
};

// Makes a stream. The one of a context that was reset is gone.
Status make_stream(const ContextKey &key, InternalStream *out_stream) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    CUstream handle = nullptr;
    VIA_TRY(scope.enter(key.context));
    VIA_TRY_CUDA(cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING));
    *out_stream = {key, handle, new_timeline(), false};
    return VIA_OK;
}

// ------------------------------------------------------------------------------------------------ shared streams

InternalStream internal_streams[kMostDevices][kInternalStreams];
std::mutex making;

}  // namespace

Status internal_stream(int32_t device_id, int32_t number, ResolvedStream *out_stream) {
    ContextKey key{};
    VIA_TRY(primary_context(device_id, &key));
    if (key.id == 0) {
        return fail(VIA_ERROR_CUDA, "cuCtxGetId: the primary context of device %d has no number", device_id);
    }
    const std::lock_guard<std::mutex> lock(making);
    InternalStream &stream = internal_streams[device_id][number];
    if (stream.handle == nullptr || stream.key.id != key.id) [[unlikely]] {
        VIA_TRY(make_stream(key, &stream));
    }
    *out_stream = {stream.handle, key.context, key.id, device_id, false, stream.timeline};
    return VIA_OK;
}

// ------------------------------------------------------------------------------------------------ side streams

namespace {

InternalStream kept[kMostDevices][via_max_side_streams];
std::mutex keeping;

// A stream stays part of a capture until the capture ends. Querying it would break the capture, so that is asked first.
bool can_be_taken(const InternalStream &stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return stream.is_idle || (driver().cuStreamIsCapturing(stream.handle, &status) == CUDA_SUCCESS &&
                              status == CU_STREAM_CAPTURE_STATUS_NONE &&
                              driver().cuStreamQuery(stream.handle) == CUDA_SUCCESS);
}

// Forgets streams of a context that was reset.
bool take_kept(int32_t device_id, const ContextKey &key, InternalStream *out_stream) {
    const std::lock_guard<std::mutex> lock(keeping);
    for (InternalStream &stream : kept[device_id]) {
        if (stream.handle != nullptr && !(stream.key == key)) {
            stream = {};
        }
        if (stream.handle != nullptr && can_be_taken(stream)) {
            *out_stream = stream;
            stream = {};
            return true;
        }
    }
    return false;
}

bool keep(int32_t device_id, const InternalStream &stream) {
    const std::lock_guard<std::mutex> lock(keeping);
    for (InternalStream &place : kept[device_id]) {
        if (place.handle == nullptr) {
            place = stream;
            return true;
        }
    }
    return false;
}

void CUDA_CB destroy_after_graph(void *native) {
    auto *handle = static_cast<NativeHandle *>(native);
    destroy_native_later(*handle);
    delete handle;
}

// Keeps the stream as long as the graph: destroying it now would break the capture. Without memory it stays until its
// context ends.
Status destroy_with_graph(const ResolvedStream &origin, const NativeHandle &native) {
    auto *handle = new (std::nothrow) NativeHandle(native);
    return handle != nullptr ? give_to_graph(origin, handle, destroy_after_graph) : VIA_OK;
}

}  // namespace

Status SideStream::take(int32_t device_id, const ResolvedStream &origin) {
    const RelaxedCapture relaxed;
    ContextKey key{};
    VIA_TRY(primary_context(device_id, &key));
    InternalStream stream{};
    if (!take_kept(device_id, key, &stream)) {
        VIA_TRY(make_stream(key, &stream));
    }
    stream_ = {stream.handle, key.context, key.id, device_id, origin.capturing, stream.timeline};
    origin_ = origin;
    return VIA_OK;
}

Status SideStream::wait() {
    VIA_TRY(wait_for_stream(stream_));
    is_idle_ = true;
    return VIA_OK;
}

// Leaves the thread's last error alone.
SideStream::~SideStream() {
    const ContextKey key{stream_.context, stream_.context_id};
    if (stream_.handle == nullptr || keep(stream_.device_id, {key, stream_.handle, stream_.timeline_number, is_idle_})) {
        return;
    }
    const CallbackScope quiet;
    const NativeHandle native{stream_.handle, nullptr, key};
    if (stream_.capturing) {
        (void)!destroy_with_graph(origin_, native);
    } else {
        destroy_native(native);
    }
}

}  // namespace via::cuda
