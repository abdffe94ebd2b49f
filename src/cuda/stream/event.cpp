#include "cuda/event.hpp"

#include <atomic>

#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

// The last record of a handle. A foreign event is unknown until it is recorded through the handle.
constexpr uint64_t kNothing = 0;
constexpr uint64_t kUnknown = UINT64_MAX;
constexpr uint64_t kPointInTime = UINT64_MAX - 1;

}  // namespace
}  // namespace via::cuda

struct via_event {
    int32_t device_id;
    CUevent handle;
    bool owned;
    via::cuda::ContextKey key;     // of an owned event
    std::atomic<uint64_t> marked;  // one of the above, or the number of a capture
    via::ReferenceCount references = {};

    static void operator delete(void *block) { via::delete_handle(block); }
};

namespace via::cuda {
namespace {

constexpr char kEvent[] = "an event";

bool is_capture(uint64_t marked) { return marked != kNothing && marked < kPointInTime; }

Status make_handle(int32_t device_id, CUevent handle, const ContextKey *key, via_event **out_event) {
    const bool owned = key != nullptr;
    return make_object("an event's handle", out_event, device_id, handle, owned, owned ? *key : ContextKey{},
                       owned ? kNothing : kUnknown);
}

// Refuses an event whose context is gone: the driver would crash.
Status check_event(const via_event &marker) {
    VIA_TRY(need_driver(kEvent));
    if (marker.owned && context_id(marker.key.context) != marker.key.id) {
        return context_gone("marker", marker.device_id);
    }
    return VIA_OK;
}

// Refuses questions about an event that a graph will record: they would break the capture.
Status check_marks_time(const via_event &marker) {
    VIA_TRY(check_event(marker));
    if (is_capture(marker.marked.load(std::memory_order_acquire))) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "marker was last recorded on a stream being captured; expected one recorded on another stream");
    }
    return VIA_OK;
}

Status find_capture_id(const ResolvedStream &stream, uint64_t *out_id) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    VIA_TRY_CUDA(cuStreamGetCaptureInfo(stream.handle, &status, &id, nullptr, nullptr, nullptr));
    *out_id = id;
    return VIA_OK;
}

// Refuses to wait across the border of a capture, which would break it, as far as that is known.
Status check_same_capture(const ResolvedStream &stream, uint64_t marked) {
    if (marked == kNothing || marked == kUnknown || (!stream.capturing && marked == kPointInTime)) {
        return VIA_OK;
    }
    if (!stream.capturing) {
        return stream.handle != CU_STREAM_LEGACY ? VIA_OK
                                                 : fail(VIA_ERROR_STREAM_CAPTURE,
                                                        "stream is the legacy stream, and marker was recorded in a "
                                                        "capture; expected a stream that can join it");
    }
    uint64_t id = 0;
    VIA_TRY(find_capture_id(stream, &id));
    return marked == id ? VIA_OK
                        : fail(VIA_ERROR_STREAM_CAPTURE,
                               "stream is being captured, and marker was recorded elsewhere; expected an event of the "
                               "same capture");
}

}  // namespace

Status create_event(int32_t device_id, via_event **out_event) {
    VIA_TRY(need_device(kEvent, device_id));
    ContextKey key{};
    ContextScope scope;
    VIA_TRY(scope.enter_device(device_id, &key));
    CUevent handle = nullptr;
    VIA_TRY_CUDA(cuEventCreate(&handle, CU_EVENT_DISABLE_TIMING));
    const Status status = make_handle(device_id, handle, &key, out_event);
    if (status != VIA_OK) {
        (void)driver().cuEventDestroy(handle);
    }
    return status;
}

Status wrap_event(void *native, int32_t device_id, via_event **out_event) {
    VIA_TRY(need_device(kEvent, device_id));
    if (native == nullptr) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "native_event is NULL; expected a CUevent");
    }
    return make_handle(device_id, static_cast<CUevent>(native), nullptr, out_event);
}

void retain_event(via_event *marker) { marker->references.retain(); }

void release_event(via_event *marker) {
    if (marker->references.release()) {
        if (marker->owned) {
            destroy_native({nullptr, marker->handle, marker->key});
        }
        delete marker;
    }
}

void *native_event(via_event *marker) { return marker->handle; }

Status record_event(via_event *marker, via_stream *stream) {
    VIA_TRY(check_event(*marker));
    ResolvedStream resolved{};
    VIA_TRY(resolve(stream, marker->device_id, &resolved));
    if (resolved.device_id != marker->device_id) {
        return fail(VIA_ERROR_DEVICE, "stream is of device %d and marker of device %d; expected both of one",
                    resolved.device_id, marker->device_id);
    }
    ContextScope scope;
    VIA_TRY(enter_for(resolved, &scope));
    uint64_t marked = kPointInTime;
    if (resolved.capturing) {
        VIA_TRY(find_capture_id(resolved, &marked));
    }
    const CUresult result = driver().cuEventRecord(marker->handle, resolved.handle);
    if (result == CUDA_ERROR_INVALID_HANDLE) {
        return fail_with_code(VIA_ERROR_INVALID_ARGUMENT, result,
                              "stream and marker are of different contexts; expected both of one");
    }
    VIA_TRY(check_driver(result, "cuEventRecord"));
    marker->marked.store(marked, std::memory_order_release);
    return VIA_OK;
}

Status query_event(via_event *marker, int32_t *out_done) {
    VIA_TRY(check_marks_time(*marker));
    const RelaxedCapture relaxed;
    const CUresult result = driver().cuEventQuery(marker->handle);
    *out_done = result == CUDA_SUCCESS ? 1 : 0;
    return result == CUDA_ERROR_NOT_READY ? VIA_OK : check_driver(result, "cuEventQuery");
}

Status synchronize_event(via_event *marker) {
    VIA_TRY(check_marks_time(*marker));
    const RelaxedCapture relaxed;
    VIA_TRY_CUDA(cuEventSynchronize(marker->handle));
    return VIA_OK;
}

Status make_stream_wait(via_stream *stream, via_event *marker) {
    VIA_TRY(check_event(*marker));
    ResolvedStream resolved{};
    VIA_TRY(resolve(stream, marker->device_id, &resolved));
    ContextScope scope;
    VIA_TRY(enter_for(resolved, &scope));
    VIA_TRY(check_same_capture(resolved, marker->marked.load(std::memory_order_acquire)));
    VIA_TRY_CUDA(cuStreamWaitEvent(resolved.handle, marker->handle, 0));
    return VIA_OK;
}

}  // namespace via::cuda
