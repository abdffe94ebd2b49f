// The structs behind the handles of streams.
#pragma once

#include "core/base/reference_count.hpp"
#include "core/diagnostics/handle_registry.hpp"
#include "cuda/driver/context.hpp"
#include "cuda/stream.hpp"

namespace via::cuda {

// The first three are static: shared ones, and one legacy and per-thread stream for each device.
enum class StreamKind : int32_t { Legacy, PerThread, NoSync, Foreign, Owned };

}  // namespace via::cuda

struct via_stream {
    CUstream handle = nullptr;  // of a foreign or owned stream, otherwise nullptr
    uint64_t timeline = 0;      // the number of it; 0: not known
    via::cuda::StreamKind kind = via::cuda::StreamKind::Legacy;
    int32_t device_id = via::cuda::kDeviceAtHand;
    via::cuda::ContextKey key = {};  // of a foreign or owned stream
    via::ReferenceCount references = {};

    bool is_counted() const { return kind == via::cuda::StreamKind::Foreign || kind == via::cuda::StreamKind::Owned; }
    static void operator delete(void *block) { via::delete_handle(block); }
};

namespace via::cuda {

// Each handle has its own timeline number, since a new stream may have the address of a destroyed one. The legacy
// stream of a context is one timeline; per-thread streams are several.
constexpr uint64_t kLegacyTimeline = 1;
uint64_t new_timeline();

via_stream *legacy_stream_of(int32_t device_id);

// Returns the device of the current context, or 0.
int32_t device_of_thread();

// A stream or an event, and its context.
struct NativeHandle {
    CUstream stream;
    CUevent event;
    ContextKey key;
};

// Never fails and never waits. A stream with pending work ends once that has run. Does nothing for handles of a context
// that was reset, and in a forked child. Inside a callback of the driver another thread does it.
void destroy_native(const NativeHandle &native);

// Destroys them on another thread: this one is ending and must not call the driver.
void destroy_native_later(const NativeHandle &native);

}  // namespace via::cuda
