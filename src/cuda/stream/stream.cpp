#include "cuda/stream.hpp"

#include <atomic>

#include "core/base/thread_exit.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

constexpr char kStream[] = "a stream";

std::atomic<uint64_t> last_timeline{kLegacyTimeline};

// Handles for each device, so that wrapping a special stream allocates nothing.
struct SpecialStreams {
    via_stream of_device[kMostDevices];

    constexpr explicit SpecialStreams(StreamKind kind) noexcept {
        for (int32_t i = 0; i < kMostDevices; ++i) {
            of_device[i].kind = kind;
            of_device[i].device_id = i;
        }
    }
};

constinit SpecialStreams legacy_streams{StreamKind::Legacy};
constinit SpecialStreams per_thread_streams{StreamKind::PerThread};
constinit via_stream shared_legacy{nullptr, 0, StreamKind::Legacy};
constinit via_stream shared_per_thread{nullptr, 0, StreamKind::PerThread};
constinit via_stream shared_no_sync{nullptr, 0, StreamKind::NoSync};

Status make_handle(StreamKind kind, int32_t device_id, CUstream handle, const ContextKey &key,
                   via_stream **out_stream) {
    return make_object("a stream's handle", out_stream, handle, new_timeline(), kind, device_id, key);
}

Status wrap_foreign(CUstream native, int32_t device_id, via_stream **out_stream) {
    ContextKey key{};
    VIA_TRY_CUDA(cuStreamGetCtx(native, &key.context));
    key.id = context_id(key.context);
    int32_t device_of_native = -1;
    VIA_TRY(device_of_context(key.context, &device_of_native));
    if (device_id != kDeviceAtHand && device_of_native != device_id) {
        return fail(VIA_ERROR_DEVICE, "device_id is %d; expected that of stream, device %d", device_id,
                    device_of_native);
    }
    return make_handle(StreamKind::Foreign, device_of_native, native, key, out_stream);
}

void release_by(void (*destroy)(const NativeHandle &), via_stream *stream) {
    if (stream->is_counted() && stream->references.release()) {
        if (stream->kind == StreamKind::Owned) {
            destroy({stream->handle, nullptr, stream->key});
        }
        delete stream;
    }
}

Status being_captured(const char *what) {
    return fail(VIA_ERROR_STREAM_CAPTURE, "stream is being captured; expected one that can be %s", what);
}

}  // namespace

uint64_t new_timeline() { return last_timeline.fetch_add(1, std::memory_order_relaxed) + 1; }

via_stream *legacy_stream() { return &shared_legacy; }
via_stream *per_thread_stream() { return &shared_per_thread; }
via_stream *no_sync_stream() { return &shared_no_sync; }
bool is_shared_stream(via_stream *stream) { return !stream->is_counted(); }
via_stream *legacy_stream_of(int32_t device_id) { return &legacy_streams.of_device[device_id]; }

Status create_stream(int32_t device_id, via_stream **out_stream) {
    VIA_TRY(need_device(kStream, device_id));
    ContextKey key{};
    ContextScope scope;
    VIA_TRY(scope.enter_device(device_id, &key));
    CUstream native = nullptr;
    VIA_TRY_CUDA(cuStreamCreate(&native, CU_STREAM_NON_BLOCKING));
    if (Status status = make_handle(StreamKind::Owned, device_id, native, key, out_stream); status != VIA_OK) {
        (void)driver().cuStreamDestroy(native);
        return status;
    }
    return VIA_OK;
}

Status wrap_stream(void *native, int32_t device_id, via_stream **out_stream) {
    const bool at_hand = device_id == kDeviceAtHand;
    VIA_TRY(at_hand ? need_driver(kStream) : need_device(kStream, device_id));
    const auto handle = static_cast<CUstream>(native);
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        *out_stream = at_hand ? &shared_legacy : &legacy_streams.of_device[device_id];
        return VIA_OK;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        *out_stream = at_hand ? &shared_per_thread : &per_thread_streams.of_device[device_id];
        return VIA_OK;
    }
    return wrap_foreign(handle, device_id, out_stream);
}

void retain_stream(via_stream *stream) {
    if (stream->is_counted()) {
        stream->references.retain();
    }
}

void release_stream(via_stream *stream) { release_by(destroy_native, stream); }

void *native_stream(via_stream *stream) {
    return stream->kind == StreamKind::Legacy      ? CU_STREAM_LEGACY
           : stream->kind == StreamKind::PerThread ? CU_STREAM_PER_THREAD
                                                   : stream->handle;
}

int32_t device_of_stream(via_stream *stream) { return stream->device_id != kDeviceAtHand ? stream->device_id : 0; }

Status synchronize_stream(via_stream *stream) {
    VIA_TRY(need_driver(kStream));
    ResolvedStream resolved{};
    VIA_TRY(resolve(stream, device_of_thread(), &resolved));
    return resolved.capturing ? being_captured("waited for") : wait_for_stream(resolved);
}

Status query_stream(via_stream *stream, int32_t *out_done) {
    VIA_TRY(need_driver(kStream));
    ResolvedStream resolved{};
    VIA_TRY(resolve(stream, device_of_thread(), &resolved));
    if (resolved.capturing) {
        return being_captured("asked");
    }
    const RelaxedCapture relaxed;
    ContextScope scope;
    VIA_TRY(enter_for(resolved, &scope));
    const CUresult result = driver().cuStreamQuery(resolved.handle);
    *out_done = result == CUDA_SUCCESS ? 1 : 0;
    return result == CUDA_ERROR_NOT_READY ? VIA_OK : check_driver(result, "cuStreamQuery");
}

namespace {

// Current streams, one for each device; nullptr means the legacy stream. Allocated when a thread first sets one.
struct CurrentStreams {
    via_stream *of_device[kMostDevices];
};

// Initial-exec for the same reason as current_thread_state.
__thread CurrentStreams *current __attribute__((tls_model("initial-exec"))) = nullptr;

// Runs at the end of a thread, perhaps inside the driver's own clean-up. Must not call the driver.
void release_all(void *streams) {
    current = nullptr;
    auto *ending = static_cast<CurrentStreams *>(streams);
    for (via_stream *stream : ending->of_device) {
        if (stream != nullptr) {
            release_by(destroy_native_later, stream);
        }
    }
    delete ending;
}

constinit ThreadExit thread_exit(release_all);

Status need_streams() {
    if (current != nullptr) {
        return VIA_OK;
    }
    CurrentStreams *streams = nullptr;
    VIA_TRY(make_object("the thread's current streams", &streams));
    if (!thread_exit.defer(streams)) {
        delete streams;
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no thread-specific storage for the current stream");
    }
    current = streams;
    return VIA_OK;
}

Status check_stream(int32_t device_id, via_stream *stream) {
    if (stream->kind == StreamKind::NoSync) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "stream is via_stream_no_sync(); expected a stream");
    }
    if (stream->device_id != kDeviceAtHand && stream->device_id != device_id) {
        return fail(VIA_ERROR_DEVICE, "device_id is %d; expected that of stream, device %d", device_id,
                    stream->device_id);
    }
    return VIA_OK;
}

}  // namespace

Status set_current_stream(int32_t device_id, via_stream *stream) {
    VIA_TRY(need_device(kStream, device_id));
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
    VIA_TRY(need_device(kStream, device_id));
    via_stream *set = current != nullptr ? current->of_device[device_id] : nullptr;
    *out_stream = set != nullptr ? set : legacy_stream_of(device_id);
    retain_stream(*out_stream);
    return VIA_OK;
}

}  // namespace via::cuda
