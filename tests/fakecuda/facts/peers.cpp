#include "facts.hpp"

namespace facts {
namespace {

CUresult store(CUdeviceptr at, CUstream on) {
    void *parameters[] = {&at};
    const CUresult launched = cu(cuLaunchKernel)(kernel("store"), 1, 1, 1, 1, 1, 1, 0, on, parameters, nullptr);
    return launched != CUDA_SUCCESS ? launched : cu(cuStreamSynchronize)(on);
}

struct Pair {
    CUcontext near = start(), far = nullptr;
    CUstream near_stream = stream(), far_stream = nullptr;
    CUdeviceptr near_memory = device_memory(4096), far_memory = 0;
    char *pinned = pinned_memory(1 << 20);
    CUevent near_event = event(), far_event = nullptr;

    Pair() {
        kernel("store");
        MUST(cu(cuDevicePrimaryCtxRetain)(&far, 1));
        MUST(cu(cuCtxSetCurrent)(far));
        far_stream = stream();
        far_memory = device_memory(4096);
        far_event = event();
        MUST(cu(cuCtxSetCurrent)(near));
    }
};

void peers() {
    Pair p;
    int number = 0;
    say("can access", cu(cuDeviceCanAccessPeer)(&number, 0, 1));
    say("can", number);
    say("record far on near", cu(cuEventRecord)(p.far_event, p.near_stream));
    MUST(cu(cuEventRecord)(p.far_event, p.far_stream));
    say("near waits for far", cu(cuStreamWaitEvent)(p.near_stream, p.far_event, 0));
    say("copy across", cu(cuMemcpyDtoD)(p.near_memory, p.far_memory, 64));
    say("copy across async", cu(cuMemcpyAsync)(p.far_memory, p.near_memory, 64, p.near_stream));
    say("copy peer", cu(cuMemcpyPeer)(p.far_memory, p.far, p.near_memory, p.near, 64));
    say("copy peer, contexts swapped", cu(cuMemcpyPeer)(p.far_memory, p.near, p.near_memory, p.far, 64));
    say("copy peer async on far", cu(cuMemcpyPeerAsync)(p.far_memory, p.far, p.near_memory, p.near, 64, p.far_stream));
    say("copy peer past the end", cu(cuMemcpyPeer)(p.far_memory, p.far, p.near_memory, p.near, 5000));
    say("copy peer of pinned",
        cu(cuMemcpyPeer)(p.far_memory, p.far, reinterpret_cast<CUdeviceptr>(p.pinned), p.near, 64));
    say("fill of far memory on near", cu(cuMemsetD8Async)(p.far_memory, 1, 64, p.near_stream));
    say("far memory's ordinal", [&] {
        MUST(cu(cuPointerGetAttribute)(&number, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p.far_memory));
        return number;
    }());
    say("pinned memory's ordinal, far current", [&] {
        MUST(cu(cuCtxSetCurrent)(p.far));
        MUST(cu(cuPointerGetAttribute)(&number, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                       reinterpret_cast<CUdeviceptr>(p.pinned)));
        return number;
    }());
    say("pinned of near is asynchronous on far", returns_while_stalled(p.far_stream, [&] {
            MUST(cu(cuMemcpyHtoDAsync)(p.far_memory, p.pinned, 4096, p.far_stream));
        }));
    MUST(cu(cuCtxSetCurrent)(p.near));
    say("free during work of far", returns_while_stalled(p.near_stream, [&] {
            MUST(cu(cuCtxSetCurrent)(p.far));
            MUST(cu(cuMemFree)(device_memory(64)));
            MUST(cu(cuCtxSetCurrent)(p.near));
        }));
    say("copy peer during work of near", returns_while_stalled(p.near_stream, [&] {
            MUST(cu(cuMemcpyPeer)(p.far_memory, p.far, p.near_memory, p.near, 64));
        }));
    say("copy peer during work of far", [&] {
        MUST(cu(cuCtxSetCurrent)(p.far));
        const std::string answer = returns_while_stalled(p.far_stream, [&] {
            MUST(cu(cuCtxSetCurrent)(p.near));
            MUST(cu(cuMemcpyPeer)(p.far_memory, p.far, p.near_memory, p.near, 64));
            MUST(cu(cuCtxSetCurrent)(p.far));
        });
        MUST(cu(cuCtxSetCurrent)(p.near));
        return answer;
    }());
    CUdeviceptr there = 0;
    say("far memory has no pointer for near",
        cu(cuPointerGetAttribute)(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p.far_memory));
    say("access flags of near", [&] {
        MUST(cu(cuPointerGetAttribute)(&number, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p.far_memory));
        return number;
    }());
    say("disable before enable", cu(cuCtxDisablePeerAccess)(p.far));
    say("enable", cu(cuCtxEnablePeerAccess)(p.far, 0));
    say("far memory has a pointer for near",
        cu(cuPointerGetAttribute)(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p.far_memory));
    say("enable twice", cu(cuCtxEnablePeerAccess)(p.far, 0));
    say("kernel on far memory", store(p.far_memory, p.near_stream));
    say("disable", cu(cuCtxDisablePeerAccess)(p.far));
    CUmemoryPool pool = nullptr;
    CUdeviceptr pooled = 0;
    MUST(cu(cuDeviceGetDefaultMemPool)(&pool, 1));
    MUST(cu(cuMemAllocFromPoolAsync)(&pooled, 4096, pool, p.near_stream));
    MUST(cu(cuStreamSynchronize)(p.near_stream));
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    say("fill of far pool memory", cu(cuMemsetD8)(pooled, 1, 64));
    say("far pool memory has no pointer for near",
        cu(cuPointerGetAttribute)(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pooled));
    say("open the pool", cu(cuMemPoolSetAccess)(pool, &access, 1));
    say("far pool memory has a pointer for near",
        cu(cuPointerGetAttribute)(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pooled));
    say("kernel on far pool memory", store(pooled, p.near_stream));
    MUST(cu(cuCtxSetCurrent)(p.near));
    say("kernel on far memory without access", store(p.far_memory, p.near_stream));
    MUST(cu(cuCtxSetCurrent)(p.far));
    say("far after near is poisoned", cu(cuStreamSynchronize)(p.far_stream));
    say("far alloc", cu(cuMemAlloc)(&pooled, 64));
}

}  // namespace

const std::vector<Group> peer_groups = {{"peers", peers}};

}  // namespace facts
