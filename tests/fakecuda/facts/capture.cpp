#include <sys/mman.h>

#include "facts.hpp"

namespace facts {
namespace {

CUdeviceptr number_of(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

int status_of(CUstream work) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = cu(cuStreamIsCapturing)(work, &status);
    return result == CUDA_SUCCESS ? status : -static_cast<int>(result);
}

// What a call answers while a stream is captured, and whether the capture is still good (1) or not (2) after it.
struct Bystander {
    const char *name;
    std::function<CUresult()> call;
};

struct Scene {
    CUcontext context = start();
    CUstream captured = stream(), idle = stream(), blocking = stream(CU_STREAM_DEFAULT);
    CUevent recorded = event();
    CUdeviceptr memory = device_memory(4096), target = device_memory(4096);
    char *pinned = pinned_memory(4096);
    char *plain = static_cast<char *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CUdeviceptr fresh = 0;
    void *fresh_host = nullptr;
    CUstream fresh_stream = nullptr;
    CUevent fresh_event = nullptr;
    CUmodule fresh_module = nullptr;
    CUlibrary fresh_library = nullptr;
    CUmemoryPool pool = nullptr;

    Scene() {
        test_module();
        kernel("spare");
        MUST(cu(cuEventRecord)(recorded, idle));
        MUST(cu(cuCtxSynchronize)());
    }
};

std::vector<Bystander> memory_calls(Scene &s) {
    return {
        {"cuMemAlloc", [&] { return cu(cuMemAlloc)(&s.fresh, 64); }},
        {"cuMemFree", [&] { return cu(cuMemFree)(s.fresh); }},
        {"cuMemFree NULL", [] { return cu(cuMemFree)(0); }},
        {"cuMemHostAlloc", [&] { return cu(cuMemHostAlloc)(&s.fresh_host, 64, 0); }},
        {"cuMemFreeHost", [&] { return cu(cuMemFreeHost)(s.fresh_host); }},
        {"cuMemHostRegister", [&] { return cu(cuMemHostRegister)(s.plain, 4096, 0); }},
        {"cuMemHostUnregister", [&] { return cu(cuMemHostUnregister)(s.plain); }},
        {"cuMemAllocManaged", [&] { return cu(cuMemAllocManaged)(&s.fresh, 64, CU_MEM_ATTACH_GLOBAL); }},
        {"cuMemAllocAsync idle", [&] { return cu(cuMemAllocAsync)(&s.fresh, 64, s.idle); }},
        {"cuMemFreeAsync idle", [&] { return cu(cuMemFreeAsync)(s.fresh, s.idle); }},
        {"cuMemGetAddressRange",
         [&] {
             CUdeviceptr base = 0;
             size_t size = 0;
             return cu(cuMemGetAddressRange)(&base, &size, s.memory);
         }},
        {"cuPointerGetAttribute",
         [&] {
             unsigned int kind = 0;
             return cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, s.memory);
         }},
        {"cuMemHostGetDevicePointer", [&] { return cu(cuMemHostGetDevicePointer)(&s.fresh, s.pinned, 0); }},
        {"cuMemGetInfo",
         [] {
             size_t a = 0, b = 0;
             return cu(cuMemGetInfo)(&a, &b);
         }},
        {"cuDeviceGetDefaultMemPool", [&] { return cu(cuDeviceGetDefaultMemPool)(&s.pool, 0); }},
        {"cuMemPoolTrimTo", [&] { return cu(cuMemPoolTrimTo)(s.pool, 0); }},
        {"cuMemcpyHtoD", [&] { return cu(cuMemcpyHtoD)(s.memory, s.plain, 64); }},
        {"cuMemcpyDtoD", [&] { return cu(cuMemcpyDtoD)(s.memory, s.target, 64); }},
        {"cuMemsetD8", [&] { return cu(cuMemsetD8)(s.memory, 0, 64); }},
        {"cuMemcpyDtoDAsync idle", [&] { return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 64, s.idle); }},
        {"cuMemcpyHtoDAsync pageable idle", [&] { return cu(cuMemcpyHtoDAsync)(s.memory, s.plain, 64, s.idle); }},
        {"cuMemcpyDtoHAsync pageable idle", [&] { return cu(cuMemcpyDtoHAsync)(s.plain, s.memory, 64, s.idle); }},
        {"cuMemcpyDtoDAsync blocking", [&] { return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 64, s.blocking); }},
        {"cuMemcpyDtoDAsync NULL", [&] { return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 64, nullptr); }},
        {"cuMemcpyDtoDAsync per thread",
         [&] { return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 64, CU_STREAM_PER_THREAD); }},
    };
}

std::vector<Bystander> order_calls(Scene &s) {
    return {
        {"cuEventQuery", [&] { return cu(cuEventQuery)(s.recorded); }},
        {"cuEventSynchronize", [&] { return cu(cuEventSynchronize)(s.recorded); }},
        {"cuEventRecord idle", [&] { return cu(cuEventRecord)(s.recorded, s.idle); }},
        {"cuEventRecord NULL", [&] { return cu(cuEventRecord)(s.recorded, nullptr); }},
        {"cuEventCreate", [&] { return cu(cuEventCreate)(&s.fresh_event, CU_EVENT_DISABLE_TIMING); }},
        {"cuEventDestroy", [&] { return cu(cuEventDestroy)(event()); }},
        {"cuStreamWaitEvent idle", [&] { return cu(cuStreamWaitEvent)(s.idle, s.recorded, 0); }},
        {"cuStreamQuery idle", [&] { return cu(cuStreamQuery)(s.idle); }},
        {"cuStreamQuery NULL", [] { return cu(cuStreamQuery)(nullptr); }},
        {"cuStreamQuery captured", [&] { return cu(cuStreamQuery)(s.captured); }},
        {"cuStreamSynchronize idle", [&] { return cu(cuStreamSynchronize)(s.idle); }},
        {"cuStreamSynchronize NULL", [] { return cu(cuStreamSynchronize)(nullptr); }},
        {"cuStreamSynchronize per thread", [] { return cu(cuStreamSynchronize)(CU_STREAM_PER_THREAD); }},
        {"cuStreamSynchronize captured", [&] { return cu(cuStreamSynchronize)(s.captured); }},
        {"cuCtxSynchronize", [] { return cu(cuCtxSynchronize)(); }},
        {"cuStreamCreate", [&] { return cu(cuStreamCreate)(&s.fresh_stream, CU_STREAM_NON_BLOCKING); }},
        {"cuStreamDestroy",
         [&] {
             const CUresult made = cu(cuStreamCreate)(&s.fresh_stream, CU_STREAM_NON_BLOCKING);
             return made != CUDA_SUCCESS ? made : cu(cuStreamDestroy)(s.fresh_stream);
         }},
        {"cuLaunchHostFunc idle", [&] { return cu(cuLaunchHostFunc)(s.idle, [](void *) {}, nullptr); }},
        {"cuStreamGetCtx captured",
         [&] {
             CUcontext now = nullptr;
             return cu(cuStreamGetCtx)(s.captured, &now);
         }},
        {"cuStreamGetId captured",
         [&] {
             unsigned long long id = 0;
             return cu(cuStreamGetId)(s.captured, &id);
         }},
        {"cuStreamGetFlags captured",
         [&] {
             unsigned int flags = 0;
             return cu(cuStreamGetFlags)(s.captured, &flags);
         }},
        {"cuStreamIsCapturing NULL",
         [] {
             CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
             return cu(cuStreamIsCapturing)(nullptr, &status);
         }},
        {"cuModuleLoadData", [&] { return cu(cuModuleLoadData)(&s.fresh_module, "nonsense"); }},
        {"cuModuleLoadData of a sound image", [&] { return cu(cuModuleLoadData)(&s.fresh_module, test_image); }},
        {"cuModuleUnload", [&] { return cu(cuModuleUnload)(s.fresh_module); }},
        {"cuStreamGetPriority captured",
         [&] {
             int priority = 0;
             return cu(cuStreamGetPriority)(s.captured, &priority);
         }},
        {"cuStreamGetDevice captured",
         [&] {
             CUdevice device = 0;
             return cu(cuStreamGetDevice)(s.captured, &device);
         }},
        {"cuStreamGetId idle",
         [&] {
             unsigned long long id = 0;
             return cu(cuStreamGetId)(s.idle, &id);
         }},
        {"cuLibraryLoadData",
         [&] { return cu(cuLibraryLoadData)(&s.fresh_library, "nonsense", nullptr, nullptr, 0, nullptr, nullptr, 0); }},
        {"cuModuleGetFunction",
         [] {
             CUfunction function = nullptr;
             return cu(cuModuleGetFunction)(&function, test_module(), "spare");
         }},
        {"cuLaunchKernel idle",
         [&] {
             CUdeviceptr parameter = 0;
             void *parameters[] = {&parameter};
             return cu(cuLaunchKernel)(kernel("spare"), 1, 1, 1, 1, 1, 1, 0, s.idle, parameters, nullptr);
         }},
        {"cuFuncGetAttribute",
         [] {
             int number = 0;
             return cu(cuFuncGetAttribute)(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel("spare"));
         }},
        {"cuCtxSetCurrent", [&] { return cu(cuCtxSetCurrent)(s.context); }},
        {"cuCtxGetId",
         [&] {
             unsigned long long id = 0;
             return cu(cuCtxGetId)(s.context, &id);
         }},
        {"cuCtxCreate",
         [&] {
             CUcontext made = nullptr;
             const CUresult result = cu(cuCtxCreate)(&made, nullptr, 0, 0);
             return result != CUDA_SUCCESS ? result : cu(cuCtxDestroy)(made);
         }},
        {"cuMemcpyBatchAsync idle",
         [&] {
             size_t size = 64, first = 0;
             CUmemcpyAttributes attributes = {};
             attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
             return cu(cuMemcpyBatchAsync)(&s.memory, &s.target, &size, 1, &attributes, &first, 1, s.idle);
         }},
        {"cuGraphInstantiate",
         [&] {
             CUgraph graph = nullptr;
             CUgraphExec runnable = nullptr;
             MUST(cu(cuGraphCreate)(&graph, 0));
             return cu(cuGraphInstantiate)(&runnable, graph, 0);
         }},
        {"cuMemAddressReserve", [&] { return cu(cuMemAddressReserve)(&s.fresh, 2 << 20, 0, 0, 0); }},
        {"cuDevicePrimaryCtxRetain", [&] { return cu(cuDevicePrimaryCtxRetain)(&s.context, 0); }},
        {"cuDevicePrimaryCtxRelease", [&] { return cu(cuDevicePrimaryCtxRelease)(0); }},
        {"cuDeviceGetAttribute",
         [] {
             int number = 0;
             return cu(cuDeviceGetAttribute)(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
         }},
        {"cuUserObjectCreate",
         [] {
             CUuserObject object = nullptr;
             return cu(cuUserObjectCreate)(&object, nullptr, [](void *) {}, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
         }},
    };
}

// What the one before has left to do is done first: a stream that is asked about has to be idle.
void try_during(Scene &s, CUstream captured, CUstreamCaptureMode mode, bool same_thread, const Bystander &one) {
    MUST(cu(cuCtxSynchronize)());
    MUST(cu(cuStreamBeginCapture)(captured, mode));
    CUresult result = CUDA_SUCCESS;
    auto act = [&] {
        cu(cuCtxSetCurrent)(s.context);
        result = one.call();
    };
    if (same_thread) {
        act();
    } else {
        std::thread(act).join();
    }
    const int status = status_of(captured);
    CUgraph graph = nullptr;
    const CUresult ended = cu(cuStreamEndCapture)(captured, &graph);
    if (graph != nullptr) {
        MUST(cu(cuGraphDestroy)(graph));
    }
    static const char *const modes[] = {"global", "local", "relaxed"};
    say(std::string(one.name) + (same_thread ? ", " : ", other thread, ") + modes[mode],
        std::to_string(result) + " status " + std::to_string(status) + " end " + std::to_string(ended));
}

void during_all(std::vector<Bystander> (*calls)(Scene &)) {
    Scene scene;
    for (const Bystander &one : calls(scene)) {
        try_during(scene, scene.captured, CU_STREAM_CAPTURE_MODE_RELAXED, true, one);
        try_during(scene, scene.captured, CU_STREAM_CAPTURE_MODE_GLOBAL, true, one);
        try_during(scene, scene.captured, CU_STREAM_CAPTURE_MODE_GLOBAL, false, one);
        try_during(scene, scene.captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, true, one);
        try_during(scene, scene.captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false, one);
    }
}

void during_memory() { during_all(memory_calls); }
void during_order() { during_all(order_calls); }

// The same few while a blocking stream is captured: the legacy stream would have to depend on it.
void during_blocking() {
    Scene s;
    const std::vector<Bystander> calls = {
        {"cuMemcpyDtoDAsync NULL", [&] { return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 64, nullptr); }},
        {"cuMemcpyHtoD", [&] { return cu(cuMemcpyHtoD)(s.memory, s.plain, 64); }},
        {"cuMemsetD8Async NULL", [&] { return cu(cuMemsetD8Async)(s.memory, 0, 64, nullptr); }},
        {"cuEventRecord NULL", [&] { return cu(cuEventRecord)(s.recorded, nullptr); }},
        {"cuStreamWaitEvent NULL", [&] { return cu(cuStreamWaitEvent)(nullptr, s.recorded, 0); }},
        {"cuStreamQuery NULL", [] { return cu(cuStreamQuery)(nullptr); }},
        {"cuStreamSynchronize NULL", [] { return cu(cuStreamSynchronize)(nullptr); }},
        {"cuStreamIsCapturing NULL",
         [] {
             CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
             return cu(cuStreamIsCapturing)(nullptr, &status);
         }},
        {"cuStreamGetCtx NULL",
         [] {
             CUcontext now = nullptr;
             return cu(cuStreamGetCtx)(nullptr, &now);
         }},
        {"cuMemcpyDtoDAsync blocking",
         [&] {
             CUstream other = stream(CU_STREAM_DEFAULT);
             return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 64, other);
         }},
        {"cuCtxSynchronize", [] { return cu(cuCtxSynchronize)(); }},
        {"cuMemAlloc", [&] { return cu(cuMemAlloc)(&s.fresh, 64); }},
    };
    for (const Bystander &one : calls) {
        try_during(s, s.blocking, CU_STREAM_CAPTURE_MODE_RELAXED, true, one);
        try_during(s, s.blocking, CU_STREAM_CAPTURE_MODE_GLOBAL, true, one);
        try_during(s, s.blocking, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false, one);
    }
}

// A thread that has made itself relaxed does what it likes during a global capture.
void exchange_mode() {
    Scene s;
    MUST(cu(cuStreamBeginCapture)(s.captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    std::thread([&] {
        MUST(cu(cuCtxSetCurrent)(s.context));
        say("exchange", cu(cuThreadExchangeStreamCaptureMode)(&mode));
        say("was", mode);
        say("event query", cu(cuEventQuery)(s.recorded));
        say("alloc", cu(cuMemAlloc)(&s.fresh, 64));
    }).join();
    say("status", status_of(s.captured));
    mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    MUST(cu(cuThreadExchangeStreamCaptureMode)(&mode));
    say("alloc by the capturing thread", cu(cuMemAlloc)(&s.fresh, 64));
    say("status then", status_of(s.captured));
    mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    MUST(cu(cuThreadExchangeStreamCaptureMode)(&mode));
    say("mode was", mode);
    say("alloc by the capturing thread, thread-local", cu(cuMemAlloc)(&s.fresh, 64));
    say("status at last", status_of(s.captured));
    mode = nonsense<CUstreamCaptureMode>(7);
    say("nonsense mode", cu(cuThreadExchangeStreamCaptureMode)(&mode));
    CUgraph graph = nullptr;
    say("end", cu(cuStreamEndCapture)(s.captured, &graph));
    say("graph", graph != nullptr);
    mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    MUST(cu(cuStreamBeginCapture)(s.captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    say("global capture by a thread-local thread, alloc", cu(cuMemAlloc)(&s.fresh, 64));
    say("its end", cu(cuStreamEndCapture)(s.captured, &graph));
    MUST(cu(cuStreamBeginCapture)(s.captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    std::thread([&] {
        mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        MUST(cu(cuCtxSetCurrent)(s.context));
        MUST(cu(cuThreadExchangeStreamCaptureMode)(&mode));
        say("other thread, thread-local, event query", cu(cuEventQuery)(s.recorded));
    }).join();
    say("its end too", cu(cuStreamEndCapture)(s.captured, &graph));
}

// Calls on the captured stream itself.
void on_captured() {
    Scene s;
    auto attempt = [&](const std::string &what, const std::function<CUresult()> &call) {
        MUST(cu(cuStreamBeginCapture)(s.captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        const CUresult result = call();
        const int status = status_of(s.captured);
        CUgraph graph = nullptr;
        const CUresult ended = cu(cuStreamEndCapture)(s.captured, &graph);
        size_t nodes = 0;
        if (graph != nullptr) {
            MUST(cu(cuGraphGetNodes)(graph, nullptr, &nodes));
            MUST(cu(cuGraphDestroy)(graph));
        }
        say(what, std::to_string(result) + " status " + std::to_string(status) + " end " + std::to_string(ended) +
                      " nodes " + std::to_string(nodes));
    };
    CUstream c = s.captured;
    attempt("nothing", [] { return CUDA_SUCCESS; });
    attempt("d2d", [&] { return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 64, c); });
    attempt("d2d of nothing", [&] { return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 0, c); });
    attempt("d2d past the end", [&] { return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 5000, c); });
    attempt("pinned h2d", [&] { return cu(cuMemcpyHtoDAsync)(s.memory, s.pinned, 64, c); });
    attempt("pinned d2h", [&] { return cu(cuMemcpyDtoHAsync)(s.pinned, s.memory, 64, c); });
    attempt("pageable h2d", [&] { return cu(cuMemcpyHtoDAsync)(s.memory, s.plain, 64, c); });
    attempt("pageable d2h", [&] { return cu(cuMemcpyDtoHAsync)(s.plain, s.memory, 64, c); });
    attempt("pageable to pageable",
            [&] { return cu(cuMemcpyAsync)(number_of(s.plain), number_of(s.plain + 4096), 64, c); });
    attempt("memset", [&] { return cu(cuMemsetD8Async)(s.memory, 0, 64, c); });
    attempt("host function", [&] { return cu(cuLaunchHostFunc)(c, [](void *) {}, nullptr); });
    attempt("callback", [&] { return cu(cuStreamAddCallback)(c, [](CUstream, CUresult, void *) {}, nullptr, 0); });
    attempt("event record", [&] { return cu(cuEventRecord)(s.fresh_event = event(), c); });
    attempt("external event record",
            [&] { return cu(cuEventRecordWithFlags)(s.fresh_event, c, CU_EVENT_RECORD_EXTERNAL); });
    attempt("external event wait", [&] { return cu(cuStreamWaitEvent)(c, s.recorded, CU_EVENT_WAIT_EXTERNAL); });
    attempt("wait for an event outside", [&] { return cu(cuStreamWaitEvent)(c, s.recorded, 0); });
    attempt("wait for an event never recorded", [&] { return cu(cuStreamWaitEvent)(c, event(), 0); });
    attempt("begin again", [&] { return cu(cuStreamBeginCapture)(c, CU_STREAM_CAPTURE_MODE_RELAXED); });
    attempt("write value", [&] { return cu(cuStreamWriteValue32)(c, s.memory, 1, 0); });
    attempt("alloc async", [&] { return cu(cuMemAllocAsync)(&s.fresh, 64, c); });
    attempt("alloc and free async", [&] {
        MUST(cu(cuMemAllocAsync)(&s.fresh, 64, c));
        return cu(cuMemFreeAsync)(s.fresh, c);
    });
    CUdeviceptr plain = device_memory(64);
    attempt("free async of plain memory", [&] { return cu(cuMemFreeAsync)(plain, c); });
    MUST(cu(cuMemAllocAsync)(&s.fresh, 64, s.idle));
    MUST(cu(cuStreamSynchronize)(s.idle));
    attempt("free async of outside pool memory", [&] { return cu(cuMemFreeAsync)(s.fresh, c); });
    attempt("batch", [&] {
        CUdeviceptr to = s.memory, from = s.target;
        size_t size = 64, first = 0;
        CUmemcpyAttributes attributes = {};
        attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        return cu(cuMemcpyBatchAsync)(&to, &from, &size, 1, &attributes, &first, 1, c);
    });
    attempt("2d", [&] {
        CUDA_MEMCPY2D copy = {};
        copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = s.target;
        copy.dstDevice = s.memory;
        copy.srcPitch = copy.dstPitch = 64;
        copy.WidthInBytes = 16;
        copy.Height = 4;
        return cu(cuMemcpy2DAsync)(&copy, c);
    });
    attempt("kernel", [&] {
        CUdeviceptr parameter = 0;
        void *parameters[] = {&parameter};
        return cu(cuLaunchKernel)(kernel("spare"), 1, 1, 1, 1, 1, 1, 0, c, parameters, nullptr);
    });
    attempt("query, and then a copy", [&] {
        cu(cuStreamQuery)(c);
        return cu(cuMemcpyDtoDAsync)(s.memory, s.target, 64, c);
    });
    attempt("end into NULL", [&] { return cu(cuStreamEndCapture)(c, nullptr); });
}

void shapes() {
    Scene s;
    CUgraph graph = nullptr;
    const auto mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    say("begin on NULL", cu(cuStreamBeginCapture)(nullptr, mode));
    say("begin on legacy", cu(cuStreamBeginCapture)(CU_STREAM_LEGACY, mode));
    say("begin on per thread", cu(cuStreamBeginCapture)(CU_STREAM_PER_THREAD, mode));
    say("end on per thread", cu(cuStreamEndCapture)(CU_STREAM_PER_THREAD, &graph));
    say("end without begin", cu(cuStreamEndCapture)(s.idle, &graph));
    CUevent fork = event(), join = event();
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    MUST(cu(cuEventRecord)(fork, s.captured));
    say("query of a captured event", cu(cuEventQuery)(fork));
    say("status", status_of(s.captured));
    cu(cuStreamEndCapture)(s.captured, &graph);
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    MUST(cu(cuEventRecord)(fork, s.captured));
    say("synchronize of a captured event", cu(cuEventSynchronize)(fork));
    say("status then", status_of(s.captured));
    cu(cuStreamEndCapture)(s.captured, &graph);
    say("query after the end", cu(cuEventQuery)(fork));
    say("wait after the end", cu(cuStreamWaitEvent)(s.idle, fork, 0));
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    MUST(cu(cuEventRecord)(fork, s.captured));
    MUST(cu(cuStreamWaitEvent)(s.idle, fork, 0));
    say("forked status", status_of(s.idle));
    say("end on the forked", cu(cuStreamEndCapture)(s.idle, &graph));
    say("status after that", status_of(s.captured));
    say("end", cu(cuStreamEndCapture)(s.captured, &graph));
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    MUST(cu(cuEventRecord)(fork, s.captured));
    MUST(cu(cuStreamWaitEvent)(s.idle, fork, 0));
    MUST(cu(cuMemsetD8Async)(s.memory, 0, 64, s.idle));
    say("unjoined with work", cu(cuStreamEndCapture)(s.captured, &graph));
    say("forked status after", status_of(s.idle));
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    MUST(cu(cuEventRecord)(fork, s.captured));
    MUST(cu(cuStreamWaitEvent)(s.idle, fork, 0));
    say("unjoined without work", cu(cuStreamEndCapture)(s.captured, &graph));
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    MUST(cu(cuEventRecord)(fork, s.captured));
    MUST(cu(cuStreamWaitEvent)(s.idle, fork, 0));
    MUST(cu(cuMemsetD8Async)(s.memory, 0, 64, s.idle));
    MUST(cu(cuEventRecord)(join, s.idle));
    MUST(cu(cuStreamWaitEvent)(s.captured, join, 0));
    say("joined", cu(cuStreamEndCapture)(s.captured, &graph));
    say("forked status after joined", status_of(s.idle));
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    MUST(cu(cuEventRecord)(fork, s.captured));
    say("wait of NULL for a captured event", cu(cuStreamWaitEvent)(nullptr, fork, 0));
    say("status of it", status_of(s.captured));
    cu(cuStreamEndCapture)(s.captured, &graph);
    CUstream second = stream();
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    MUST(cu(cuStreamBeginCapture)(second, mode));
    MUST(cu(cuEventRecord)(fork, s.captured));
    say("wait of another capture", cu(cuStreamWaitEvent)(second, fork, 0));
    say("statuses", std::to_string(status_of(s.captured)) + " " + std::to_string(status_of(second)));
    say("ends", std::to_string(cu(cuStreamEndCapture)(s.captured, &graph)) + " " +
                    std::to_string(cu(cuStreamEndCapture)(second, &graph)));
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    std::thread([&] {
        MUST(cu(cuCtxSetCurrent)(s.context));
        say("end by another thread", cu(cuStreamEndCapture)(s.captured, &graph));
    }).join();
    say("status after it", status_of(s.captured));
    say("end by the right one", cu(cuStreamEndCapture)(s.captured, &graph));
    MUST(cu(cuStreamBeginCapture)(s.captured, CU_STREAM_CAPTURE_MODE_RELAXED));
    std::thread([&] {
        MUST(cu(cuCtxSetCurrent)(s.context));
        say("relaxed, end by another thread", cu(cuStreamEndCapture)(s.captured, &graph));
    }).join();
    MUST(cu(cuStreamBeginCapture)(second, mode));
    say("destroy while capturing", cu(cuStreamDestroy)(second));
    MUST(cu(cuStreamBeginCapture)(s.captured, mode));
    cu(cuStreamQuery)(s.captured);
    graph = reinterpret_cast<CUgraph>(1);
    say("invalid: copy", cu(cuMemcpyDtoDAsync)(s.memory, s.target, 64, s.captured));
    say("invalid: record", cu(cuEventRecord)(fork, s.captured));
    say("invalid: query", cu(cuStreamQuery)(s.captured));
    say("invalid: end", cu(cuStreamEndCapture)(s.captured, &graph));
    say("invalid: graph is NULL", graph == nullptr);
    say("invalid: usable again", cu(cuStreamQuery)(s.captured));
}

}  // namespace

const std::vector<Group> capture_groups = {
    {"during a capture", during_order},
    {"during a capture, memory", during_memory},
    {"during a blocking capture", during_blocking},
    {"exchange mode", exchange_mode},
    {"on the captured stream", on_captured},
    {"shapes of capture", shapes},
};

}  // namespace facts
