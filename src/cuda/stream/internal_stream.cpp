#include <mutex>

#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

struct OwnStream {
    ContextKey key;
    CUstream handle;
    uint64_t timeline;
};

OwnStream internal_streams[kMostDevices][kInternalStreams];
std::mutex making;

// Makes a stream. The one of a context that was reset is gone.
Status make_stream(const ContextKey &key, OwnStream *stream) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    VIA_TRY(scope.enter(key.context));
    CUstream handle = nullptr;
    VIA_TRY_CUDA(cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING));
    *stream = {key, handle, new_timeline()};
    return VIA_OK;
}

}  // namespace

Status internal_stream(int32_t device_id, int32_t number, ResolvedStream *out_stream) {
    CUcontext context = nullptr;
    VIA_TRY(primary_context(device_id, &context));
    const ContextKey key{context, context_id(context)};
    if (key.id == 0) {
        return fail(VIA_ERROR_CUDA, "cuCtxGetId: the primary context of device %d cannot be told from others",
                    device_id);
    }
    const std::lock_guard<std::mutex> lock(making);
    OwnStream &stream = internal_streams[device_id][number];
    if (stream.handle == nullptr || stream.key.id != key.id) [[unlikely]] {
        VIA_TRY(make_stream(key, &stream));
    }
    *out_stream = {stream.handle, key.context, key.id, device_id, false, stream.timeline};
    return VIA_OK;
}

}  // namespace via::cuda
