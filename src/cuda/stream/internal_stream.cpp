#include "cuda/stream/internal_stream.hpp"

#include <mutex>
#include <new>

#include "cuda/stream/capture.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

// Makes a stream of a device. The one of a context that was reset is gone.
Status make_stream(const ContextKey &key, int32_t device_id, ResolvedStream *out_stream) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    CUstream handle = nullptr;
    VIA_TRY(scope.enter(key.context));
    VIA_TRY_CUDA(cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING));
    *out_stream = {handle, key.context, key.id, device_id, false, new_timeline()};
    return VIA_OK;
}

// ------------------------------------------------------------------------------------------------ shared streams

ResolvedStream internal_streams[kMostDevices][kInternalStreams];
std::mutex making;

}  // namespace

Status internal_stream(int32_t device_id, int32_t number, ResolvedStream *out_stream) {
    ContextKey key{};
    VIA_TRY(primary_context(device_id, &key));
    if (key.id == 0) {
        return fail(VIA_ERROR_CUDA, "cuCtxGetId: the primary context of device %d has no number", device_id);
    }
    const std::lock_guard<std::mutex> lock(making);
    ResolvedStream &stream = internal_streams[device_id][number];
    if (stream.handle == nullptr || stream.context_id != key.id) [[unlikely]] {
        VIA_TRY(make_stream(key, device_id, &stream));
    }
    *out_stream = stream;
    return VIA_OK;
}

// ------------------------------------------------------------------------------------------------ side streams

namespace {

struct KeptStream {
    ResolvedStream stream;
    bool is_idle;  // false: not known
};

KeptStream kept[kMostDevices][via_max_side_streams];
std::mutex keeping;

// A stream stays part of a capture until the capture ends. Querying it would break the capture, so that is asked first.
bool can_be_taken(const KeptStream &place) {
    const CUstream handle = place.stream.handle;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return place.is_idle || (driver().cuStreamIsCapturing(handle, &status) == CUDA_SUCCESS &&
                             status == CU_STREAM_CAPTURE_STATUS_NONE && driver().cuStreamQuery(handle) == CUDA_SUCCESS);
}

// Forgets streams of a context that was reset.
bool take_kept(int32_t device_id, const ContextKey &key, ResolvedStream *out_stream) {
    const std::lock_guard<std::mutex> lock(keeping);
    for (KeptStream &place : kept[device_id]) {
        if (place.stream.handle != nullptr && !(place.stream.key() == key)) {
            place = {};
        }
        if (place.stream.handle != nullptr && can_be_taken(place)) {
            *out_stream = place.stream;
            place = {};
            return true;
        }
    }
    return false;
}

bool keep(const KeptStream &kept_stream) {
    const std::lock_guard<std::mutex> lock(keeping);
    for (KeptStream &place : kept[kept_stream.stream.device_id]) {
        if (place.stream.handle == nullptr) {
            place = kept_stream;
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
    if (!take_kept(device_id, key, &stream_)) {
        VIA_TRY(make_stream(key, device_id, &stream_));
    }
    stream_.capturing = origin.capturing;
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
    if (stream_.handle == nullptr || keep({stream_, is_idle_})) {
        return;
    }
    const CallbackScope quiet;
    const NativeHandle native{stream_.handle, nullptr, stream_.key()};
    if (stream_.capturing) {
        (void)!destroy_with_graph(origin_, native);
    } else {
        destroy_native(native);
    }
}

}  // namespace via::cuda
