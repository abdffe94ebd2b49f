#include "facts.hpp"

namespace facts {
namespace {

std::atomic<int> destroyed{0};
void CUDA_CB count(void *) { ++destroyed; }

int destroyed_soon() {
    for (int waited = 0; waited < 200 && (waited < 50 || destroyed == 0); ++waited) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return destroyed;
}

void user_objects() {
    CUcontext context = start();
    CUstream work = stream();
    CUuserObject object = nullptr;
    auto make = [&](unsigned int references) {
        destroyed = 0;
        MUST(cu(cuUserObjectCreate)(&object, nullptr, count, references, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    };
    say("create without the flag", cu(cuUserObjectCreate)(&object, nullptr, count, 1, 0));
    say("create with no references",
        cu(cuUserObjectCreate)(&object, nullptr, count, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    make(2);
    MUST(cu(cuUserObjectRelease)(object, 1));
    say("one of two released", destroyed_soon());
    MUST(cu(cuUserObjectRetain)(object, 1));
    MUST(cu(cuUserObjectRelease)(object, 2));
    say("all released", destroyed_soon());
    make(1);
    CUgraph graph = nullptr;
    MUST(cu(cuGraphCreate)(&graph, 0));
    say("moved to a graph", cu(cuGraphRetainUserObject)(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    say("still there", destroyed_soon());
    MUST(cu(cuGraphDestroy)(graph));
    say("gone with the graph", destroyed_soon());
    make(1);
    CUdeviceptr memory = device_memory(4096);
    CUgraphExec runnable = nullptr;
    MUST(cu(cuStreamBeginCapture)(work, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cu(cuMemsetD8Async)(memory, 1, 64, work));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph under_way = nullptr;
    const CUgraphNode *nodes = nullptr;
    size_t node_count = 9;
    cuuint64_t id = 0;
    say("capture info", cu(cuStreamGetCaptureInfo)(work, &status, &id, &under_way, &nodes, nullptr, &node_count));
    say("nodes to depend on", static_cast<long long>(node_count));
    say("retained under capture", cu(cuGraphRetainUserObject)(under_way, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    MUST(cu(cuStreamEndCapture)(work, &graph));
    say("same graph", graph == under_way);
    MUST(cu(cuGraphInstantiate)(&runnable, graph, 0));
    MUST(cu(cuGraphDestroy)(graph));
    say("kept by the executable graph", destroyed_soon());
    {
        Stall held(work);
        MUST(cu(cuGraphLaunch)(runnable, work));
        MUST(cu(cuGraphExecDestroy)(runnable));
        say("destroyed while its launch waits", destroyed_soon());
    }
    MUST(cu(cuStreamSynchronize)(work));
    say("gone after the launch", destroyed_soon());
    make(1);
    MUST(cu(cuStreamBeginCapture)(work, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cu(cuStreamGetCaptureInfo)(work, &status, &id, &under_way, &nodes, nullptr, &node_count));
    MUST(cu(cuGraphRetainUserObject)(under_way, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    cu(cuStreamQuery)(work);
    say("invalidated capture ends", cu(cuStreamEndCapture)(work, &graph));
    say("gone with the invalid graph", destroyed_soon());
    make(1);
    MUST(cu(cuStreamBeginCapture)(work, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cu(cuStreamGetCaptureInfo)(work, &status, &id, &under_way, &nodes, nullptr, &node_count));
    MUST(cu(cuGraphRetainUserObject)(under_way, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    MUST(cu(cuStreamQuery)(stream()));
    MUST(cu(cuStreamDestroy)(work));
    say("gone with a destroyed capturing stream", destroyed_soon());
    static std::atomic<bool> has_context{false};
    static std::thread::id released_on;
    static std::atomic<int> inside{-1};
    MUST(cu(cuUserObjectCreate)(
        &object, nullptr,
        [](void *) {
            CUcontext now = nullptr;
            inside = cu(cuCtxGetCurrent)(&now);
            released_on = std::this_thread::get_id();
        },
        1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    MUST(cu(cuUserObjectRelease)(object, 1));
    destroyed_soon();
    say("destructor on the releasing thread", released_on == std::this_thread::get_id());
    say("CUDA inside a destructor", inside);
    (void)context;
}

void launches() {
    start();
    CUstream work = stream(), other = stream();
    CUdeviceptr memory = device_memory(4096);
    char *pinned = pinned_memory(4096);
    static char plain[64], back[64];
    std::memset(plain, 1, 64);
    CUgraph graph = nullptr;
    CUgraphExec runnable = nullptr;
    MUST(cu(cuStreamBeginCapture)(work, CU_STREAM_CAPTURE_MODE_RELAXED));
    const CUresult captured = cu(cuMemcpyHtoDAsync)(memory, plain, 64, work);
    MUST(cu(cuMemcpyDtoHAsync)(pinned, memory, 64, work));
    say("end", cu(cuStreamEndCapture)(work, &graph));
    say("pageable copy captured", captured);
    std::memset(plain, 2, 64);
    say("instantiate", cu(cuGraphInstantiate)(&runnable, graph, 0));
    say("instantiate NULL", cu(cuGraphInstantiate)(&runnable, nullptr, 0));
    say("launch", cu(cuGraphLaunch)(runnable, other));
    MUST(cu(cuStreamSynchronize)(other));
    say("source read at", pinned[0] == 2 ? "launch" : pinned[0] == 1 ? "capture" : "never");
    std::memset(plain, 3, 64);
    MUST(cu(cuGraphLaunch)(runnable, nullptr));
    MUST(cu(cuStreamSynchronize)(nullptr));
    say("read again at the second launch", pinned[0] == 3);
    say("copied back", back[0]);
    MUST(cu(cuStreamBeginCapture)(work, CU_STREAM_CAPTURE_MODE_RELAXED));
    say("launch into a capture", cu(cuGraphLaunch)(runnable, work));
    say("its end", cu(cuStreamEndCapture)(work, &graph));
    MUST(cu(cuStreamBeginCapture)(work, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cu(cuMemsetD8Async)(memory, 1, 64, work));
    MUST(cu(cuStreamEndCapture)(work, &graph));
    MUST(cu(cuGraphInstantiate)(&runnable, graph, 0));
    MUST(cu(cuStreamBeginCapture)(work, CU_STREAM_CAPTURE_MODE_RELAXED));
    say("launch of a fill into a capture", cu(cuGraphLaunch)(runnable, work));
    say("end with a child", cu(cuStreamEndCapture)(work, &graph));
    CUdeviceptr owned = 0;
    MUST(cu(cuStreamBeginCapture)(work, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cu(cuMemAllocAsync)(&owned, 4096, work));
    MUST(cu(cuMemsetD8Async)(owned, 1, 4096, work));
    MUST(cu(cuMemFreeAsync)(owned, work));
    MUST(cu(cuStreamEndCapture)(work, &graph));
    unsigned int kind = 0;
    say("attribute of graph memory", cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, owned));
    MUST(cu(cuGraphInstantiate)(&runnable, graph, 0));
    say("launch with memory", cu(cuGraphLaunch)(runnable, work));
    say("launch again", cu(cuGraphLaunch)(runnable, work));
    say("ends", cu(cuStreamSynchronize)(work));
    say("launch into capture", [&] {
        MUST(cu(cuStreamBeginCapture)(other, CU_STREAM_CAPTURE_MODE_RELAXED));
        const CUresult result = cu(cuGraphLaunch)(runnable, other);
        cu(cuStreamEndCapture)(other, &graph);
        return static_cast<long long>(result);
    }());
    say("exec destroy", cu(cuGraphExecDestroy)(runnable));
}

}  // namespace

const std::vector<Group> graph_groups = {{"user objects", user_objects}, {"launches", launches}};

}  // namespace facts
