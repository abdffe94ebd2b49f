#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/async/reaper.hpp"
#include "cuda/stream/capture.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {
namespace {

// A graph's references, followed in their block by the storages. The driver releases them on a thread that may call
// neither the driver nor an owner, so a deferred callback ends them.
struct Held {
    DeferredCallback deferred;
    int64_t count;

    Storage **begin() { return reinterpret_cast<Storage **>(this + 1); }
    Storage **end() { return begin() + count; }
};

void release_held(DeferredCallback *deferred) {
    auto *held = reinterpret_cast<Held *>(deferred);
    std::for_each(held->begin(), held->end(), release_storage);
    std::free(held);
}

Held *make_held(Storage *const *storages, int64_t count) {
    void *block = std::malloc(sizeof(Held) + static_cast<size_t>(count) * sizeof(Storage *));
    if (block == nullptr) {
        return nullptr;
    }
    auto *held = new (block) Held{{nullptr, 0, release_held, nullptr}, count};
    std::copy_n(storages, count, held->begin());
    std::for_each(held->begin(), held->end(), [](Storage *storage) { storage->references.retain(); });
    return held;
}

void CUDA_CB end_of_graph(void *held) { defer(&static_cast<Held *>(held)->deferred); }

Status find_graph(const ResolvedStream &stream, CUgraph *out_graph) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    ContextScope scope;
    VIA_TRY(enter_for(stream, &scope));
    VIA_TRY_CUDA(cuStreamGetCaptureInfo(stream.handle, &status, nullptr, out_graph, nullptr, nullptr));
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is in a capture that has ended or was invalidated; expected an active capture");
    }
    return VIA_OK;
}

}  // namespace

// Moves the object's one reference to the graph. On failure, releasing the object releases the thing.
Status give_to_graph(const ResolvedStream &stream, void *thing, CUhostFn release) {
    CUgraph graph = nullptr;
    CUuserObject object = nullptr;
    Status status = find_graph(stream, &graph);
    if (status == VIA_OK) {
        status =
            check_driver(driver().cuUserObjectCreate(&object, thing, release, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
                         "cuUserObjectCreate");
    }
    if (status != VIA_OK) {
        release(thing);
        return status;
    }
    const CUresult result = driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS) {
        (void)driver().cuUserObjectRelease(object, 1);
    }
    return check_driver(result, "cuGraphRetainUserObject");
}

Status hold_in_graph(const ResolvedStream &stream, Storage *const *storages, int64_t count) {
    Held *held = make_held(storages, count);
    if (held == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for what a graph holds");
    }
    return give_to_graph(stream, held, end_of_graph);
}

}  // namespace via::cuda
