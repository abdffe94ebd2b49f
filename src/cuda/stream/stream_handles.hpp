// The structs behind the handles of streams.
#pragma once

#include "core/base/reference_count.hpp"
#include "core/diagnostics/handle_registry.hpp"
#include "cuda/driver/context.hpp"

namespace via::cuda {

// The first three are static: shared ones, and one legacy and per-thread stream for each device.
enum class StreamKind : int32_t { Legacy, PerThread, NoSync, Foreign, Owned };

constexpr int32_t kDeviceAtHand = -1;

}  // namespace via::cuda

struct via_stream {
    CUstream handle = nullptr;  // of a foreign or owned stream
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

// Releases a stream on a thread that is ending and must not call the driver.
void release_stream_later(via_stream *stream);

}  // namespace via::cuda
