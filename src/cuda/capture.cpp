#include <new>

#include "core/watcher.hpp"
#include "cuda/stream_use.hpp"

namespace via::cuda {
namespace {

// What a graph holds. The driver lets go of it on a thread that may call neither the driver nor an owner, so the end
// goes by a watch that has nothing to wait for.
struct Held {
    Watch watch;
    Storage *storage;
};

void let_go(Watch *watch) {
    auto *held = reinterpret_cast<Held *>(watch);
    Storage *storage = held->storage;
    delete held;
    release_storage(storage);
}

void CUDA_CB end_of_graph(void *held) { watch(&static_cast<Held *>(held)->watch); }

Status find_graph(const StreamUse &use, CUgraph *out_graph) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    VIA_TRY_CUDA(cuStreamGetCaptureInfo(use.handle, &status, nullptr, out_graph, nullptr, nullptr));
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        return fail(VIA_ERROR_STREAM_CAPTURE, "the capture of the stream has ended or was invalidated");
    }
    return VIA_OK;
}

// The object's one reference moves to the graph; where it does not, letting go of it lets go of the storage.
Status give_to_graph(CUgraph graph, CUuserObject object) {
    const CUresult result = driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS) {
        (void)driver().cuUserObjectRelease(object, 1);
    }
    return check_driver(result, "cuGraphRetainUserObject");
}

}  // namespace

Status hold_in_graph(const StreamUse &use, Storage *storage) {
    CUgraph graph = nullptr;
    VIA_TRY(find_graph(use, &graph));
    auto *held = new (std::nothrow) Held{{nullptr, 0, let_go, nullptr}, storage};
    if (held == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for what a graph holds");
    }
    CUuserObject object = nullptr;
    const CUresult result =
        driver().cuUserObjectCreate(&object, held, end_of_graph, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result != CUDA_SUCCESS) {
        delete held;
        return driver_failure(result, "cuUserObjectCreate");
    }
    storage->references.retain();
    return give_to_graph(graph, object);
}

}  // namespace via::cuda
