// A stream as one call uses it: handle, context and whether it is being captured, found out once.
#pragma once

#include "core/array/array.hpp"
#include "core/async/fence.hpp"
#include "cuda/driver/context.hpp"
#include "cuda/driver/resource_limits.h"

namespace via {

// The special handles, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD (never NULL), mean those of the current context: enter
// `context` before every call that is given one. For other handles the driver does not care which context is current.
struct ResolvedStream {
    CUstream handle;
    CUcontext context;
    uint64_t context_id;
    int32_t device_id;
    bool capturing;
    uint64_t timeline_number;  // 0: not known

    Timeline timeline() const { return {timeline_number, context_id, context}; }
};

}  // namespace via

namespace via::cuda {

// Resolves a handle for the calling thread. nullptr means legacy. `device_id` is the device at hand, for the streams
// that do not say theirs: where the current context is of that device it is theirs, else the primary one is.
// no_sync is no stream: VIA_ERROR_INVALID_ARGUMENT. VIA_ERROR_STREAM_CAPTURE if the legacy stream cannot be used
// because a blocking stream of its context is being captured; asking breaks nothing.
VIA_NODISCARD Status resolve(via_stream *stream, int32_t device_id, ResolvedStream *out_use);

// Makes the context current where the handle needs that; costs nothing for other handles.
VIA_NODISCARD Status enter_for(const ResolvedStream &use, ContextScope *scope);

// Waits on the host until the stream's work so far is done; the stream must not be capturing.
VIA_NODISCARD Status wait_for_stream(const ResolvedStream &use);

// For work of several parts: what the stream was given of it before a failure ends before anybody hears of that.
VIA_NODISCARD Status end_failed(Status status, const ResolvedStream &use);

// True if the stream's work so far is done: then nothing needs to be recorded.
bool is_idle(const ResolvedStream &use);

}  // namespace via::cuda
