#include "cuda/stream/resolved_stream.hpp"

#include "cuda/device.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

Status resolve_special(const via_stream &stream, int32_t device_id, ResolvedStream *out_stream) {
    ContextKey key{};
    const int32_t device = stream.device_id != kDeviceAtHand ? stream.device_id : device_id;
    VIA_TRY(context_at_hand(device, &key));
    const bool is_legacy = stream.kind == StreamKind::Legacy;
    *out_stream = {is_legacy ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD,
                   key.context,
                   key.id,
                   device,
                   false,
                   is_legacy ? kLegacyTimeline : 0};
    return VIA_OK;
}

// Refuses a stream whose context is gone: the driver would crash.
Status resolve_counted(const via_stream &stream, ResolvedStream *out_stream) {
    if (context_id(stream.key.context) != stream.key.id) {
        return context_gone("stream", stream.device_id);
    }
    *out_stream = {stream.handle, stream.key.context, stream.key.id, stream.device_id, false, stream.timeline};
    return VIA_OK;
}

// Says which stream NULL is: the caller may not know that it named one.
Status need_driver_for(const via_stream *stream) {
    const Status status = need_driver("a stream");
    return status == VIA_ERROR_UNSUPPORTED && stream == nullptr
               ? fail(status, "stream is NULL, the legacy stream; expected a usable CUDA driver: %s", why_none())
               : status;
}

Status find_capture(ResolvedStream *stream) {
    ContextScope scope;
    VIA_TRY(enter_for(*stream, &scope));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = driver().cuStreamIsCapturing(stream->handle, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
        return fail_with_code(VIA_ERROR_STREAM_CAPTURE, result,
                              "stream is the legacy stream, and a blocking stream of its context is being captured; "
                              "expected another stream");
    }
    VIA_TRY(check_driver(result, "cuStreamIsCapturing"));
    if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
        return fail_with_code(VIA_ERROR_STREAM_CAPTURE, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                              "stream is in an invalidated capture; expected one whose capture is valid");
    }
    stream->capturing = status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return VIA_OK;
}

}  // namespace

Status enter_for(const ResolvedStream &stream, ContextScope *scope) {
    return stream.is_special() ? scope->enter(stream.context) : VIA_OK;
}

Status resolve(via_stream *stream, int32_t device_id, ResolvedStream *out_stream) {
    VIA_TRY(need_driver_for(stream));
    const via_stream &given = stream != nullptr ? *stream : *legacy_stream();
    if (given.kind == StreamKind::NoSync) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "stream is via_stream_no_sync(); expected a stream");
    }
    VIA_TRY(given.is_counted() ? resolve_counted(given, out_stream) : resolve_special(given, device_id, out_stream));
    return find_capture(out_stream);
}

// Enters a second time, as wait_for_work waits: what was queued must not run on after the failure is returned.
Status wait_for_stream(const ResolvedStream &stream) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    const Status entered = enter_for(stream, &scope);
    VIA_TRY(entered == VIA_OK ? VIA_OK : enter_for(stream, &scope));
    return first_of(entered, check_driver(wait_for_work(stream.handle), "cuStreamSynchronize"));
}

bool is_of_primary_context(const ResolvedStream &stream) {
    const CallbackScope quiet;  // reports no failure
    CUcontext primary = nullptr;
    return primary_context(stream.device_id, &primary) == VIA_OK && stream.context == primary;
}

Status end_failed(Status status, const ResolvedStream &stream) {
    if (status == VIA_OK || stream.capturing) [[likely]] {
        return status;
    }
    const CallbackScope quiet;  // reports no failure
    const RelaxedCapture relaxed;
    ContextScope scope;
    if (enter_for(stream, &scope) == VIA_OK) {
        (void)wait_for_work(stream.handle);
    }
    return status;
}

bool is_idle(const ResolvedStream &stream) {
    if (stream.capturing) {
        return false;
    }
    const CallbackScope quiet;  // reports no failure
    const RelaxedCapture relaxed;
    ContextScope scope;
    return enter_for(stream, &scope) == VIA_OK && driver().cuStreamQuery(stream.handle) == CUDA_SUCCESS;
}

}  // namespace via::cuda
