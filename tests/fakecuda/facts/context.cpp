#include <sys/wait.h>
#include <unistd.h>

#include "facts.hpp"

namespace facts {
namespace {

// Which of some exported names cuGetProcAddress answers with.
void look_up(const char *name, int version, std::initializer_list<const char *> candidates, cuuint64_t flags = 0) {
    void *found = nullptr;
    CUdriverProcAddressQueryResult why = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult result = cu(cuGetProcAddress)(name, &found, version, flags, &why);
    std::string answer = std::to_string(result) + " why " + std::to_string(why);
    for (const char *candidate : candidates) {
        if (found != nullptr && found == symbol_or_null(candidate)) {
            answer += std::string(" ") + candidate;
        }
    }
    say(std::string(name) + " at " + std::to_string(version) + (flags ? " per thread" : ""), answer);
}

void addresses() {
    start();
    look_up("cuMemAlloc", 3010, {"cuMemAlloc", "cuMemAlloc_v2"});
    look_up("cuMemAlloc", 3020, {"cuMemAlloc", "cuMemAlloc_v2"});
    look_up("cuMemAlloc", 13000, {"cuMemAlloc", "cuMemAlloc_v2"});
    look_up("cuMemAlloc_v2", 13000, {"cuMemAlloc", "cuMemAlloc_v2"});
    look_up("cuMemcpyBatchAsync", 12070, {"cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2"});
    look_up("cuMemcpyBatchAsync", 12080, {"cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2"});
    look_up("cuMemcpyBatchAsync", 13000, {"cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2"});
    for (int version : {12090, 13000}) {
        look_up("cuCtxGetDevice", version, {"cuCtxGetDevice", "cuCtxGetDevice_v2"});
        look_up("cuCtxSynchronize", version, {"cuCtxSynchronize", "cuCtxSynchronize_v2"});
    }
    for (int version : {3020, 11030, 11040, 12040, 12050, 13000}) {
        look_up("cuCtxCreate", version, {"cuCtxCreate", "cuCtxCreate_v2", "cuCtxCreate_v3", "cuCtxCreate_v4"});
    }
    for (int version : {9010, 9020, 12040, 12050}) {
        look_up("cuStreamGetCtx", version, {"cuStreamGetCtx", "cuStreamGetCtx_v2"});
    }
    for (int version : {10000, 11000, 11040, 12000, 13000}) {
        look_up("cuGraphInstantiate", version,
                {"cuGraphInstantiate", "cuGraphInstantiate_v2", "cuGraphInstantiateWithFlags"});
    }
    for (int version : {10010, 11030, 12030}) {
        look_up("cuStreamGetCaptureInfo", version,
                {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v3"});
    }
    for (int version : {8000, 11070}) {
        look_up("cuStreamWaitValue32", version, {"cuStreamWaitValue32", "cuStreamWaitValue32_v2"});
    }
    for (int version : {2000, 12080}) {
        look_up("cuEventElapsedTime", version, {"cuEventElapsedTime", "cuEventElapsedTime_v2"});
    }
    for (int version : {11030, 12000}) {
        look_up("cuGetProcAddress", version, {"cuGetProcAddress", "cuGetProcAddress_v2"});
    }
    look_up("cuNoSuchThing", 13000, {});
    void *found = nullptr;
    say("not found without a status", cu(cuGetProcAddress)("cuNoSuchThing", &found, 13000, 0, nullptr));
    say("too new without a status", cu(cuGetProcAddress)("cuMemcpyBatchAsync", &found, 12000, 0, nullptr));
    look_up("cuMemAlloc", 99000, {"cuMemAlloc_v2"});
    look_up("cuMemcpyAsync", 13000, {"cuMemcpyAsync", "cuMemcpyAsync_ptsz"}, 2);
    look_up("cuMemcpyAsync", 13000, {"cuMemcpyAsync", "cuMemcpyAsync_ptsz"}, 1);
    look_up("cuMemAlloc", 13000, {"cuMemAlloc", "cuMemAlloc_v2"}, 2);
}

void before_init() {
    int number = -1;
    CUcontext context = nullptr;
    CUdeviceptr memory = 0;
    void *found = nullptr;
    const char *text = nullptr;
    say("cuDriverGetVersion", cu(cuDriverGetVersion)(&number));
    say("cuGetErrorName", cu(cuGetErrorName)(CUDA_ERROR_UNKNOWN, &text));
    say("cuGetErrorName of nothing", cu(cuGetErrorName)(nonsense<CUresult>(12345), &text));
    say("its name is NULL", text == nullptr);
    say("cuGetProcAddress", cu(cuGetProcAddress)("cuInit", &found, 12000, 0, nullptr));
    say("cuDeviceGetCount", cu(cuDeviceGetCount)(&number));
    say("cuCtxGetCurrent", cu(cuCtxGetCurrent)(&context));
    say("cuCtxSetCurrent NULL", cu(cuCtxSetCurrent)(nullptr));
    say("cuMemAlloc", cu(cuMemAlloc)(&memory, 16));
    say("cuPointerGetAttribute", cu(cuPointerGetAttribute)(&number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4096));
    say("cuStreamQuery", cu(cuStreamQuery)(nullptr));
    say("cuInit flags", cu(cuInit)(1));
}

void devices() {
    start();
    CUdevice device = 99;
    int number = 99;
    char name[8];
    say("get 0", cu(cuDeviceGet)(&device, 0));
    say("is 0", device);
    say("get 99", cu(cuDeviceGet)(&device, 99));
    say("get -1", cu(cuDeviceGet)(&device, -1));
    say("short name", cu(cuDeviceGetName)(name, 4, 0));
    say("its length", static_cast<long long>(std::strlen(name)));
    say("attribute of 99", cu(cuDeviceGetAttribute)(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99));
    say("nonsense attribute", cu(cuDeviceGetAttribute)(&number, nonsense<CUdevice_attribute>(5000), 0));
    say("short bus id", cu(cuDeviceGetPCIBusId)(name, 4, 0));
    say("peer of itself", cu(cuDeviceCanAccessPeer)(&number, 0, 0));
    say("peer of itself is", number);
    CUcontext context = nullptr;
    MUST(cu(cuCtxGetCurrent)(&context));
    say("enable itself", cu(cuCtxEnablePeerAccess)(context, 0));
    say("disable itself", cu(cuCtxDisablePeerAccess)(context));
    say("enable NULL", cu(cuCtxEnablePeerAccess)(nullptr, 0));
    say("retain 99", cu(cuDevicePrimaryCtxRetain)(&context, 99));
    say("create on 99", cu(cuCtxCreate)(&context, nullptr, 0, 99));
    say("set current nonsense NULL", cu(cuCtxSetCurrent)(nullptr));
    say("push NULL", cu(cuCtxPushCurrent)(nullptr));
}

void no_context() {
    CUcontext context = start();
    CUdeviceptr memory = device_memory(4096);
    char *pinned = pinned_memory(4096);
    CUstream work = stream();
    CUevent mark = event();
    static char plain[4096];
    MUST(cu(cuEventRecord)(mark, work));
    MUST(cu(cuCtxSynchronize)());
    CUcontext other = nullptr;
    MUST(cu(cuCtxPopCurrent)(&other));
    unsigned int kind = 0;
    int number = 0;
    size_t size = 0, total = 0;
    CUdevice device = 0;
    CUdeviceptr got = 0;
    CUstream fresh = nullptr;
    CUevent freshmark = nullptr;
    void *host = nullptr;
    unsigned long long id = 0;
    say("cuCtxPopCurrent of none", cu(cuCtxPopCurrent)(&other));
    say("cuCtxGetCurrent", cu(cuCtxGetCurrent)(&other));
    say("which is NULL", other == nullptr);
    say("cuCtxGetDevice", cu(cuCtxGetDevice)(&device));
    say("cuCtxGetId NULL", cu(cuCtxGetId)(nullptr, &id));
    say("cuCtxSynchronize", cu(cuCtxSynchronize)());
    say("cuMemAlloc", cu(cuMemAlloc)(&got, 16));
    say("cuMemAllocAsync", cu(cuMemAllocAsync)(&got, 16, work));
    say("cuMemHostAlloc", cu(cuMemHostAlloc)(&host, 16, 0));
    say("cuMemHostRegister", cu(cuMemHostRegister)(plain, 4096, 0));
    say("cuMemGetInfo", cu(cuMemGetInfo)(&size, &total));
    say("cuMemGetAddressRange", cu(cuMemGetAddressRange)(&got, &size, memory));
    say("cuPointerGetAttribute", cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    CUpointer_attribute ask = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *into = &kind;
    say("cuPointerGetAttributes", cu(cuPointerGetAttributes)(1, &ask, &into, memory));
    say("cuStreamCreate", cu(cuStreamCreate)(&fresh, 0));
    say("cuEventCreate", cu(cuEventCreate)(&freshmark, 0));
    say("cuStreamQuery NULL", cu(cuStreamQuery)(nullptr));
    say("cuStreamQuery legacy", cu(cuStreamQuery)(CU_STREAM_LEGACY));
    say("cuStreamQuery per thread", cu(cuStreamQuery)(CU_STREAM_PER_THREAD));
    say("cuStreamSynchronize", cu(cuStreamSynchronize)(work));
    say("cuStreamQuery", cu(cuStreamQuery)(work));
    say("cuStreamGetCtx", cu(cuStreamGetCtx)(work, &other));
    say("cuStreamGetCtx NULL", cu(cuStreamGetCtx)(nullptr, &other));
    say("cuStreamGetId", cu(cuStreamGetId)(work, &id));
    say("cuStreamIsCapturing", cu(cuStreamIsCapturing)(work, reinterpret_cast<CUstreamCaptureStatus *>(&number)));
    say("cuEventQuery", cu(cuEventQuery)(mark));
    say("cuEventSynchronize", cu(cuEventSynchronize)(mark));
    say("cuEventRecord", cu(cuEventRecord)(mark, work));
    say("cuStreamWaitEvent", cu(cuStreamWaitEvent)(work, mark, 0));
    say("cuLaunchHostFunc", cu(cuLaunchHostFunc)(work, [](void *) {}, nullptr));
    say("cuMemcpyHtoDAsync pageable", cu(cuMemcpyHtoDAsync)(memory, plain, 64, work));
    say("cuMemcpyHtoDAsync pinned", cu(cuMemcpyHtoDAsync)(memory, pinned, 64, work));
    say("cuMemcpyAsync", cu(cuMemcpyAsync)(memory, reinterpret_cast<CUdeviceptr>(pinned), 64, work));
    say("cuMemcpyHtoD", cu(cuMemcpyHtoD)(memory, plain, 64));
    say("cuMemsetD8Async", cu(cuMemsetD8Async)(memory, 1, 64, work));
    say("cuMemFreeAsync", cu(cuMemFreeAsync)(memory, work));
    say("cuMemFree of unknown", cu(cuMemFree)(4096));
    say("cuMemFreeHost", cu(cuMemFreeHost)(pinned));
    say("cuEventDestroy", cu(cuEventDestroy)(mark));
    say("cuStreamDestroy", cu(cuStreamDestroy)(work));
    say("cuCtxSetCurrent", cu(cuCtxSetCurrent)(context));
}

void primary() {
    CUcontext first = nullptr, second = nullptr;
    unsigned int flags = 0;
    int active = -1;
    unsigned long long id = 0, later = 0;
    MUST(cu(cuInit)(0));
    MUST(cu(cuDevicePrimaryCtxGetState)(0, &flags, &active));
    say("active at first", active);
    say("release of none", cu(cuDevicePrimaryCtxRelease)(0));
    MUST(cu(cuDevicePrimaryCtxRetain)(&first, 0));
    MUST(cu(cuDevicePrimaryCtxRetain)(&second, 0));
    say("same handle", first == second);
    MUST(cu(cuCtxGetId)(first, &id));
    MUST(cu(cuCtxSetCurrent)(first));
    MUST(cu(cuDevicePrimaryCtxGetState)(0, &flags, &active));
    say("active once retained", active);
    say("cuCtxDestroy of a primary", cu(cuCtxDestroy)(first));
    MUST(cu(cuDevicePrimaryCtxRelease)(0));
    MUST(cu(cuDevicePrimaryCtxRelease)(0));
    MUST(cu(cuDevicePrimaryCtxGetState)(0, &flags, &active));
    say("active once released", active);
    say("current stays", cu(cuCtxGetCurrent)(&second) == CUDA_SUCCESS && second == first);
    CUdeviceptr memory = 0;
    say("alloc once released", cu(cuMemAlloc)(&memory, 16));
    say("synchronize once released", cu(cuCtxSynchronize)());
    say("id once released", cu(cuCtxGetId)(first, &later));
    MUST(cu(cuDevicePrimaryCtxRetain)(&second, 0));
    say("same handle again", first == second);
    MUST(cu(cuCtxGetId)(second, &later));
    say("same id again", id == later);
    say("alloc again", cu(cuMemAlloc)(&memory, 16));
}

void reset() {
    CUcontext context = start();
    CUdeviceptr memory = device_memory(4096);
    char *pinned = pinned_memory(4096);
    CUevent mark = event();
    CUstream work = stream();
    unsigned long long id = 0, later = 0;
    unsigned int flags = 0, kind = 0;
    int active = -1;
    MUST(cu(cuEventRecord)(mark, work));
    MUST(cu(cuCtxGetId)(context, &id));
    say("reset", cu(cuDevicePrimaryCtxReset)(0));
    MUST(cu(cuDevicePrimaryCtxGetState)(0, &flags, &active));
    say("active", active);
    CUcontext now = nullptr;
    say("current", cu(cuCtxGetCurrent)(&now));
    say("current is the same", now == context);
    say("id", cu(cuCtxGetId)(context, &later));
    say("synchronize", cu(cuCtxSynchronize)());
    say("pointer", cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    say("pinned pointer",
        cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned)));
    say("retain", cu(cuDevicePrimaryCtxRetain)(&now, 0));
    say("same handle", now == context);
    say("id again", cu(cuCtxGetId)(now, &later));
    say("same id", id == later);
    say("alloc again", cu(cuMemAlloc)(&memory, 16));
    say("release 1", cu(cuDevicePrimaryCtxRelease)(0));
    say("release 2", cu(cuDevicePrimaryCtxRelease)(0));
    say("release 3", cu(cuDevicePrimaryCtxRelease)(0));
}

void two_contexts() {
    CUcontext mine = start();
    CUstream my_stream = stream();
    CUevent my_event = event();
    CUdeviceptr my_memory = device_memory(4096);
    CUcontext theirs = nullptr, now = nullptr;
    MUST(cu(cuCtxCreate)(&theirs, nullptr, 0, 0));
    MUST(cu(cuCtxGetCurrent)(&now));
    say("created is current", now == theirs);
    CUstream their_stream = stream();
    CUevent their_event = event();
    CUdeviceptr their_memory = device_memory(4096);
    char *pinned = pinned_memory(4096);
    say("record theirs on mine", cu(cuEventRecord)(their_event, my_stream));
    say("record mine on mine, theirs current", cu(cuEventRecord)(my_event, my_stream));
    say("record mine on NULL, theirs current", cu(cuEventRecord)(my_event, nullptr));
    say("wait for mine on theirs", cu(cuStreamWaitEvent)(their_stream, my_event, 0));
    say("wait for mine on NULL of theirs", cu(cuStreamWaitEvent)(nullptr, my_event, 0));
    say("copy on my stream, theirs current", cu(cuMemcpyDtoDAsync)(my_memory, their_memory, 64, my_stream));
    say("memset of my memory on their stream", cu(cuMemsetD8Async)(my_memory, 1, 64, their_stream));
    say("pinned copy on my stream, theirs current", cu(cuMemcpyHtoDAsync)(my_memory, pinned, 64, my_stream));
    say("free of my memory, theirs current", cu(cuMemFree)(my_memory));
    say("stream context is mine", cu(cuStreamGetCtx)(my_stream, &now) == CUDA_SUCCESS && now == mine);
    say("NULL stream context is theirs", cu(cuStreamGetCtx)(nullptr, &now) == CUDA_SUCCESS && now == theirs);
    CUcontext found = nullptr;
    MUST(cu(cuPointerGetAttribute)(&found, CU_POINTER_ATTRIBUTE_CONTEXT, their_memory));
    say("memory context is theirs", found == theirs);
    say("memory range, mine current", [&] {
        MUST(cu(cuCtxSetCurrent)(mine));
        CUdeviceptr base = 0;
        size_t size = 0;
        return static_cast<long long>(cu(cuMemGetAddressRange)(&base, &size, their_memory));
    }());
    MUST(cu(cuCtxPushCurrent)(theirs));
    MUST(cu(cuEventRecord)(their_event, their_stream));
    say("destroy current", cu(cuCtxDestroy)(theirs));
    say("current after", cu(cuCtxGetCurrent)(&now));
    say("current after is NULL", now == nullptr);
    say("current after is mine", now == mine);
    say("current after is the dead one", now == theirs);
    CUdeviceptr memory = 0;
    say("alloc", cu(cuMemAlloc)(&memory, 16));
    unsigned int kind = 0;
    say("their pointer", cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, their_memory));
    unsigned long long id = 0;
    say("id of the dead", cu(cuCtxGetId)(theirs, &id));
    MUST(cu(cuCtxSetCurrent)(mine));
}

void destroyed_elsewhere() {
    start();
    CUcontext doomed = nullptr;
    MUST(cu(cuCtxCreate)(&doomed, nullptr, 0, 0));
    std::thread([&] { MUST(cu(cuCtxDestroy)(doomed)); }).join();
    CUcontext now = nullptr;
    CUdeviceptr memory = 0;
    CUdevice device = 0;
    CUstream made = nullptr;
    unsigned int kind = 0;
    say("current", cu(cuCtxGetCurrent)(&now));
    say("it is the dead one", now == doomed);
    say("alloc", cu(cuMemAlloc)(&memory, 16));
    say("synchronize", cu(cuCtxSynchronize)());
    say("stream create", cu(cuStreamCreate)(&made, 0));
    say("stream query NULL", cu(cuStreamQuery)(nullptr));
    say("device", cu(cuCtxGetDevice)(&device));
    say("pointer of nothing", cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4096));
    say("pop", cu(cuCtxPopCurrent)(&now));
}

void forked() {
    start();
    CUdeviceptr memory = device_memory(4096);
    CUcontext context = nullptr;
    MUST(cu(cuCtxGetCurrent)(&context));
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        int number = 0;
        unsigned int kind = 0;
        size_t size = 0;
        CUdeviceptr base = 0;
        void *found = nullptr;
        const char *text = nullptr;
        say("cuInit", cu(cuInit)(0));
        say("cuDriverGetVersion", cu(cuDriverGetVersion)(&number));
        say("cuGetErrorName", cu(cuGetErrorName)(CUDA_ERROR_UNKNOWN, &text));
        say("cuGetProcAddress", cu(cuGetProcAddress)("cuInit", &found, 12000, 0, nullptr));
        say("cuDeviceGetCount", cu(cuDeviceGetCount)(&number));
        say("cuDeviceGetAttribute", cu(cuDeviceGetAttribute)(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
        say("cuCtxGetCurrent", cu(cuCtxGetCurrent)(&context));
        say("cuCtxSetCurrent", cu(cuCtxSetCurrent)(context));
        say("cuMemAlloc", cu(cuMemAlloc)(&base, 16));
        say("cuMemFree", cu(cuMemFree)(memory));
        say("cuMemGetAddressRange", cu(cuMemGetAddressRange)(&base, &size, memory));
        say("cuPointerGetAttribute", cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
        // Calls that name an event or a stream answer 0 here, or crash: they are not asked.
        say("cuStreamSynchronize", cu(cuStreamSynchronize)(nullptr));
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        say("cuThreadExchangeStreamCaptureMode", cu(cuThreadExchangeStreamCaptureMode)(&mode));
        std::_Exit(0);
    }
    waitpid(child, nullptr, 0);
    say("parent goes on", cu(cuMemFree)(memory));
}

void poisoned() {
    CUcontext context = start(), bystander = nullptr;
    MUST(cu(cuCtxCreate)(&bystander, nullptr, 0, 0));
    MUST(cu(cuCtxSetCurrent)(context));
    CUdeviceptr memory = device_memory(4096);
    char *pinned = pinned_memory(4096);
    static char plain[4096];
    CUstream work = stream(), other = stream();
    CUevent mark = event();
    CUdeviceptr parameter = 0;
    void *parameters[] = {&parameter};
    auto launch = [&](unsigned int grid, unsigned int block) {
        return cu(cuLaunchKernel)(kernel("fault"), grid, 1, 1, block, 1, 1, 0, work, parameters, nullptr);
    };
    say("bad grid", launch(0, 1));
    say("bad block", launch(1, 4096));
    {
        Stall stall(work);
        say("launch", launch(1, 1));
        say("record behind it", cu(cuEventRecord)(mark, work));
    }
    say("synchronize", cu(cuStreamSynchronize)(work));
    unsigned int kind = 0;
    int number = 0;
    size_t size = 0;
    CUdeviceptr base = 0;
    unsigned long long id = 0;
    void *host = nullptr;
    CUstream fresh = nullptr;
    say("again", cu(cuStreamSynchronize)(work));
    say("event query", cu(cuEventQuery)(mark));
    say("event synchronize", cu(cuEventSynchronize)(mark));
    say("event record", cu(cuEventRecord)(mark, work));
    say("other stream", cu(cuStreamQuery)(other));
    say("context synchronize", cu(cuCtxSynchronize)());
    say("alloc", cu(cuMemAlloc)(&base, 16));
    say("host alloc", cu(cuMemHostAlloc)(&host, 16, 0));
    say("host register", cu(cuMemHostRegister)(plain, 4096, 0));
    say("copy", cu(cuMemcpyHtoD)(memory, plain, 16));
    say("copy async", cu(cuMemcpyHtoDAsync)(memory, pinned, 16, other));
    say("pointer", cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    CUpointer_attribute ask = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *into = &kind;
    say("pointer attributes", cu(cuPointerGetAttributes)(1, &ask, &into, memory));
    say("range", cu(cuMemGetAddressRange)(&base, &size, memory));
    say("memory info", cu(cuMemGetInfo)(&size, &size));
    say("device attribute", cu(cuDeviceGetAttribute)(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    say("context id", cu(cuCtxGetId)(context, &id));
    say("stream create", cu(cuStreamCreate)(&fresh, 0));
    say("stream context", cu(cuStreamGetCtx)(work, &context));
    say("stream id", cu(cuStreamGetId)(work, &id));
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    say("is capturing", cu(cuStreamIsCapturing)(work, &capturing));
    say("host function", cu(cuLaunchHostFunc)(other, [](void *) {}, nullptr));
    say("event destroy", cu(cuEventDestroy)(mark));
    say("stream destroy", cu(cuStreamDestroy)(other));
    say("free", cu(cuMemFree)(memory));
    say("free host", cu(cuMemFreeHost)(pinned));
    CUcontext fine = nullptr;
    MUST(cu(cuCtxSetCurrent)(bystander));
    say("a context from before", cu(cuMemAlloc)(&base, 16));
    say("a context from before, synchronize", cu(cuCtxSynchronize)());
    say("a context from before, destroy", cu(cuCtxDestroy)(bystander));
    say("another context", cu(cuCtxCreate)(&fine, nullptr, 0, 0));
    say("retain", cu(cuDevicePrimaryCtxRetain)(&fine, 0));
    say("reset", cu(cuDevicePrimaryCtxReset)(0));
    say("retain after", cu(cuDevicePrimaryCtxRetain)(&fine, 0));
    say("alloc after", (cu(cuCtxSetCurrent)(fine), cu(cuMemAlloc)(&base, 16)));
}

}  // namespace

const std::vector<Group> context_groups = {
    {"addresses", addresses},
    {"before init", before_init},
    {"no context", no_context},
    {"primary", primary},
    {"reset", reset},
    {"two contexts", two_contexts},
    {"devices", devices},
    {"forked", forked},
    {"destroyed elsewhere", destroyed_elsewhere},
    {"poisoned", poisoned},
};

}  // namespace facts
