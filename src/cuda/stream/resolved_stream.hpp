// A stream as one call uses it: its handle, its context, and whether it is being captured.
#pragma once

#include "core/array/array.hpp"
#include "core/async/fence.hpp"
#include "cuda/driver/context.hpp"
#include "cuda/driver/resource_limits.h"

namespace via {

// The special handles, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD (never NULL), mean those of the current context: enter
// `context` before every call with one. Other handles name their context, but copies by address look the addresses up
// in the current one.
struct ResolvedStream {
    CUstream handle;
    CUcontext context;
    uint64_t context_id;
    int32_t device_id;
    bool capturing;
    uint64_t timeline_number;  // 0: not known

    bool is_special() const { return handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD; }
    Timeline timeline() const { return {timeline_number, context_id, context}; }
    cuda::ContextKey key() const { return {context, context_id}; }
};

}  // namespace via

namespace via::cuda {

// Resolves a handle for the calling thread. nullptr means legacy. Streams without a device are those of `device_id`: in
// the current context if it belongs to that device, otherwise in the primary one. Errors: VIA_ERROR_INVALID_ARGUMENT
// for no_sync; VIA_ERROR_STREAM_CAPTURE for a legacy stream while a blocking stream of its context is being captured.
// Asking breaks no capture.
VIA_NODISCARD Status resolve(via_stream *stream, int32_t device_id, ResolvedStream *out_stream);

// Makes the context current for special handles. Costs nothing for others.
VIA_NODISCARD Status enter_for(const ResolvedStream &resolved, ContextScope *scope);

// Waits on the host until the stream's work so far is done. The stream must not be capturing.
VIA_NODISCARD Status wait_for_stream(const ResolvedStream &resolved);

// Returns whether the stream is of its device's primary context.
bool is_of_primary_context(const ResolvedStream &resolved);

// Waits for the stream if `status` is a failure, so that nothing runs any more when the caller sees it. Returns
// `status`.
VIA_NODISCARD Status end_failed(Status status, const ResolvedStream &resolved);

// Returns true if the stream's work so far is done.
bool is_idle(const ResolvedStream &resolved);

}  // namespace via::cuda
