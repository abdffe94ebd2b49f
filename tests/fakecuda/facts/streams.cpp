#include <sys/mman.h>

#include "facts.hpp"

namespace facts {
namespace {

CUdeviceptr number_of(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

void handles() {
    CUcontext context = start(), now = nullptr;
    unsigned long long null_id = 0, legacy_id = 0, thread_id = 0, id = 0, elsewhere = 0;
    unsigned int flags = 99;
    int priority = 99;
    MUST(cu(cuStreamGetId)(nullptr, &null_id));
    MUST(cu(cuStreamGetId)(CU_STREAM_LEGACY, &legacy_id));
    MUST(cu(cuStreamGetId)(CU_STREAM_PER_THREAD, &thread_id));
    std::thread([&] {
        MUST(cu(cuCtxSetCurrent)(context));
        MUST(cu(cuStreamGetId)(CU_STREAM_PER_THREAD, &elsewhere));
    }).join();
    say("NULL and legacy have one id", null_id == legacy_id);
    say("per thread has another", thread_id != legacy_id);
    say("another thread's differs", thread_id != elsewhere);
    CUstream work = stream(CU_STREAM_DEFAULT);
    MUST(cu(cuStreamGetId)(work, &id));
    say("a stream has its own", id != legacy_id && id != thread_id);
    for (CUstream which : {CUstream{nullptr}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, work, stream()}) {
        say("flags", cu(cuStreamGetFlags)(which, &flags));
        say("flags are", flags);
        say("priority", cu(cuStreamGetPriority)(which, &priority));
        say("context is current", cu(cuStreamGetCtx)(which, &now) == CUDA_SUCCESS && now == context);
    }
    say("create with bad flags", cu(cuStreamCreate)(&work, 6));
    say("destroy NULL", cu(cuStreamDestroy)(nullptr));
    say("destroy legacy", cu(cuStreamDestroy)(CU_STREAM_LEGACY));
    say("destroy per thread", cu(cuStreamDestroy)(CU_STREAM_PER_THREAD));
    int least = 9, greatest = 9;
    MUST(cu(cuCtxGetStreamPriorityRange)(&least, &greatest));
    say("priorities are a range", least >= greatest);
    MUST(cu(cuStreamCreateWithPriority)(&work, CU_STREAM_NON_BLOCKING, -100));
    MUST(cu(cuStreamGetPriority)(work, &priority));
    say("priority is clamped", priority == greatest);
}

void events() {
    start();
    CUstream work = stream(), other = stream();
    CUevent mark = event(), timed = event(0), timed_too = event(0);
    float elapsed = 0;
    say("query before record", cu(cuEventQuery)(mark));
    say("synchronize before record", cu(cuEventSynchronize)(mark));
    say("wait before record", cu(cuStreamWaitEvent)(work, mark, 0));
    say("elapsed before record", cu(cuEventElapsedTime)(&elapsed, timed, timed_too));
    say("bad wait flags", cu(cuStreamWaitEvent)(work, mark, 99));
    say("bad create flags", cu(cuEventCreate)(&mark, 1024));
    say("interprocess with timing", cu(cuEventCreate)(&mark, CU_EVENT_INTERPROCESS));
    mark = event();
    {
        Stall stall(work);
        MUST(cu(cuEventRecord)(mark, work));
        MUST(cu(cuEventRecord)(timed, work));
        say("query while stalled", cu(cuEventQuery)(mark));
        say("stream query while stalled", cu(cuStreamQuery)(work));
        say("elapsed while stalled", cu(cuEventElapsedTime)(&elapsed, timed, timed));
        MUST(cu(cuStreamWaitEvent)(other, mark, 0));
        say("waiting stream", cu(cuStreamQuery)(other));
        MUST(cu(cuEventRecord)(mark, stream()));
        say("record again elsewhere", cu(cuEventSynchronize)(mark));
        say("waiting stream still waits", cu(cuStreamQuery)(other));
        say("event destroyed while waited for", cu(cuEventDestroy)(mark));
        say("stream destroyed while busy", cu(cuStreamDestroy)(work));
        say("waiting stream waits on", cu(cuStreamQuery)(other));
    }
    say("waiting stream ends", cu(cuStreamSynchronize)(other));
    MUST(cu(cuEventSynchronize)(timed));  // of a stream that is gone, and that nobody waited for
    say("elapsed", cu(cuEventElapsedTime)(&elapsed, timed, timed));
    CUevent untimed = event();
    MUST(cu(cuEventRecord)(untimed, other));
    MUST(cu(cuEventSynchronize)(untimed));
    say("elapsed untimed", cu(cuEventElapsedTime)(&elapsed, timed, untimed));
}

void legacy() {
    start();
    CUstream blocking = stream(CU_STREAM_DEFAULT), free_stream = stream();
    CUdeviceptr memory = device_memory(4096);
    auto busy = [&](CUstream which) { return static_cast<long long>(cu(cuStreamQuery)(which)); };
    {
        Stall stall(blocking);
        MUST(cu(cuMemsetD8Async)(memory, 1, 64, nullptr));
        say("NULL waits for a blocking stream", busy(nullptr));
        MUST(cu(cuMemsetD8Async)(memory, 1, 64, free_stream));
        say("a non-blocking stream goes on", cu(cuStreamSynchronize)(free_stream));
        MUST(cu(cuMemsetD8Async)(memory, 1, 64, CU_STREAM_PER_THREAD));
        say("per thread waits behind NULL", busy(CU_STREAM_PER_THREAD));
    }
    MUST(cu(cuCtxSynchronize)());
    {
        Stall stall(nullptr);
        say("an idle blocking stream", busy(blocking));
        MUST(cu(cuMemsetD8Async)(memory, 1, 64, blocking));
        say("a blocking stream waits for NULL", busy(blocking));
        MUST(cu(cuMemsetD8Async)(memory, 1, 64, free_stream));
        say("a non-blocking stream goes on next to NULL", cu(cuStreamSynchronize)(free_stream));
    }
    MUST(cu(cuCtxSynchronize)());
    {
        Stall stall(blocking);
        say("NULL query, idle itself", busy(nullptr));
        CUevent mark = event();
        MUST(cu(cuEventRecord)(mark, nullptr));
        say("event on NULL waits for a blocking stream", cu(cuEventQuery)(mark));
    }
    MUST(cu(cuCtxSynchronize)());
    {
        Stall stall(free_stream);
        MUST(cu(cuMemsetD8Async)(memory, 1, 64, nullptr));
        say("NULL does not wait for a non-blocking stream", cu(cuStreamSynchronize)(nullptr));
    }
    MUST(cu(cuCtxSynchronize)());
    CUstream second = stream(CU_STREAM_DEFAULT);
    {
        Stall stall(blocking);
        MUST(cu(cuStreamWaitEvent)(nullptr, event(), 0));
        MUST(cu(cuMemsetD8Async)(memory, 1, 64, second));
        say("two blocking streams are free of each other without NULL work", busy(second));
    }
    MUST(cu(cuCtxSynchronize)());
}

CUevent kept_event;
CUstream kept_stream;
CUdeviceptr kept_memory;

void CUDA_CB ask_inside(void *) {
    int number = 0;
    unsigned int kind = 0;
    size_t size = 0;
    CUdeviceptr base = 0;
    CUcontext context = nullptr;
    const char *text = nullptr;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    say("cuGetErrorName", cu(cuGetErrorName)(CUDA_ERROR_UNKNOWN, &text));
    say("cuDriverGetVersion", cu(cuDriverGetVersion)(&number));
    say("cuDeviceGetCount", cu(cuDeviceGetCount)(&number));
    say("cuDeviceGetAttribute", cu(cuDeviceGetAttribute)(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    say("cuCtxGetCurrent", cu(cuCtxGetCurrent)(&context));
    say("a context is current", context != nullptr);
    say("cuThreadExchangeStreamCaptureMode", cu(cuThreadExchangeStreamCaptureMode)(&mode));
    say("cuPointerGetAttribute", cu(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, kept_memory));
    say("cuMemGetAddressRange", cu(cuMemGetAddressRange)(&base, &size, kept_memory));
    say("cuEventQuery", cu(cuEventQuery)(kept_event));
    say("cuStreamQuery", cu(cuStreamQuery)(kept_stream));
    say("cuEventRecord", cu(cuEventRecord)(kept_event, kept_stream));
    say("cuMemAlloc", cu(cuMemAlloc)(&base, 16));
    say("cuMemFree", cu(cuMemFree)(kept_memory));
    say("cuEventDestroy", cu(cuEventDestroy)(kept_event));
}

void host_functions() {
    start();
    kept_event = event();
    kept_stream = stream();
    kept_memory = device_memory(4096);
    CUstream work = stream();
    MUST(cu(cuLaunchHostFunc)(work, ask_inside, nullptr));
    MUST(cu(cuStreamSynchronize)(work));
    MUST(cu(cuStreamAddCallback)(
        work,
        [](CUstream, CUresult, void *) {
            CUdeviceptr base = 0;
            say("cuMemAlloc in a callback", cu(cuMemAlloc)(&base, 16));
        },
        nullptr, 0));
    MUST(cu(cuStreamSynchronize)(work));
}

void waiting() {
    start();
    CUstream work = stream(), other = stream();
    const size_t big = size_t{4} << 20;
    CUdeviceptr a = device_memory(big), b = device_memory(big), spare = device_memory(big);
    char *pinned = pinned_memory(big);
    char *plain = static_cast<char *>(mmap(nullptr, big, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char *target = static_cast<char *>(mmap(nullptr, big, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(plain, 1, big);
    std::memset(target, 1, big);
    auto report = [&](const std::string &what, CUstream on, const std::function<void()> &call) {
        say(what, returns_while_stalled(on, call));
    };
    for (size_t size : {4 * kilobyte, 64 * kilobyte, 128 * kilobyte, 256 * kilobyte, 512 * kilobyte, 1024 * kilobyte,
                        2048 * kilobyte, big}) {
        const std::string bytes = " of " + std::to_string(size);
        report("pageable h2d async" + bytes, work, [&] { MUST(cu(cuMemcpyHtoDAsync)(a, plain, size, work)); });
        report("pageable d2h async" + bytes, work, [&] { MUST(cu(cuMemcpyDtoHAsync)(target, a, size, work)); });
        report("pinned h2d async" + bytes, work, [&] { MUST(cu(cuMemcpyHtoDAsync)(a, pinned, size, work)); });
        report("pinned d2h async" + bytes, work, [&] { MUST(cu(cuMemcpyDtoHAsync)(pinned, a, size, work)); });
        report("pageable to pinned async" + bytes, work,
               [&] { MUST(cu(cuMemcpyAsync)(number_of(pinned), number_of(plain), size, work)); });
        report("pageable to pageable async" + bytes, work,
               [&] { MUST(cu(cuMemcpyAsync)(number_of(target), number_of(plain), size, work)); });
        report("pageable h2d behind NULL" + bytes, nullptr, [&] { MUST(cu(cuMemcpyHtoD)(a, plain, size)); });
        report("pinned h2d behind NULL" + bytes, nullptr, [&] { MUST(cu(cuMemcpyHtoD)(a, pinned, size)); });
        report("d2d behind NULL" + bytes, nullptr, [&] { MUST(cu(cuMemcpyDtoD)(a, b, size)); });
        report("pageable h2d next to a non-blocking stream" + bytes, work,
               [&] { MUST(cu(cuMemcpyHtoD)(a, plain, size)); });
    }
    report("pinned to pinned async", work,
           [&] { MUST(cu(cuMemcpyAsync)(number_of(pinned), number_of(pinned + 4096), 4096, work)); });
    report("memset behind NULL", nullptr, [&] { MUST(cu(cuMemsetD8)(a, 1, big)); });
    report("memset of pinned behind NULL", nullptr, [&] { MUST(cu(cuMemsetD8)(number_of(pinned), 1, big)); });
    report("memset of pinned async", work, [&] { MUST(cu(cuMemsetD8Async)(number_of(pinned), 1, big, work)); });
    report("cuMemAlloc during work", work, [&] { device_memory(big); });
    report("cuMemFree during work", work, [&] { MUST(cu(cuMemFree)(spare)); });
    report("cuMemFreeHost during work", work, [kept = pinned_memory(big)] { MUST(cu(cuMemFreeHost)(kept)); });
    report("cuMemHostAlloc during work", work, [&] { pinned_memory(big); });
    report("cuMemHostRegister during work", work, [&] { MUST(cu(cuMemHostRegister)(plain, big, 0)); });
    report("cuMemHostUnregister during work", work, [&] { MUST(cu(cuMemHostUnregister)(plain)); });
    report("cuMemAllocManaged during work", work,
           [&] { MUST(cu(cuMemAllocManaged)(&spare, 4096, CU_MEM_ATTACH_GLOBAL)); });
    report("cuMemFree of managed during work", work, [&] { MUST(cu(cuMemFree)(spare)); });
    report("cuMemAllocAsync elsewhere", work, [&] { MUST(cu(cuMemAllocAsync)(&spare, 4096, other)); });
    MUST(cu(cuCtxSynchronize)());
    report("cuMemFree of pool memory during work", work, [&] { MUST(cu(cuMemFree)(spare)); });
    report("cuMemFreeAsync of plain memory", work, [&] { MUST(cu(cuMemFreeAsync)(b, work)); });
    report("cuModuleLoadData during work", work, [] { test_module(); });
    report("cuModuleUnload during work", work, [] { MUST(cu(cuModuleUnload)(test_module())); });
    CUstream made = nullptr;
    report("cuStreamCreate during work", work, [&] { made = stream(); });
    report("cuStreamDestroy during work", work, [&] { MUST(cu(cuStreamDestroy)(made)); });
    report("cuStreamSynchronize of another", work, [&] { MUST(cu(cuStreamSynchronize)(other)); });
    report("cuCtxSynchronize", work, [] { MUST(cu(cuCtxSynchronize)()); });
    CUcontext context = nullptr;
    report("cuCtxCreate during work", work, [&] {
        MUST(cu(cuCtxCreate)(&context, nullptr, 0, 0));
        MUST(cu(cuCtxPopCurrent)(&context));
    });
    report("cuCtxDestroy of another", work, [&] { MUST(cu(cuCtxDestroy)(context)); });
    report("cuStreamDestroy while busy", work, [&] { MUST(cu(cuStreamDestroy)(work)); });
}

void wait_values() {
    start();
    CUstream work = stream();
    CUdeviceptr word = device_memory(4096);
    volatile char *pinned = pinned_memory(4096);
    MUST(cu(cuMemsetD8)(word, 0, 4096));
    MUST(cu(cuCtxSynchronize)());
    say("write", cu(cuStreamWriteValue32)(work, word, 7, 0));
    say("wait equal", cu(cuStreamWaitValue32)(work, word, 7, CU_STREAM_WAIT_VALUE_EQ));
    say("ends", cu(cuStreamSynchronize)(work));
    say("wait pinned",
        cu(cuStreamWaitValue32)(work, number_of(const_cast<char *>(pinned)), 1, CU_STREAM_WAIT_VALUE_GEQ));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    say("busy", cu(cuStreamQuery)(work));
    pinned[0] = 1;
    say("ends then", cu(cuStreamSynchronize)(work));
    say("write 64", cu(cuStreamWriteValue64)(work, word + 8, 7, 0));
    say("write odd", cu(cuStreamWriteValue32)(work, word + 1, 7, 0));
    say("write ordinary", cu(cuStreamWriteValue32)(work, number_of(&word), 7, 0));
    say("write past the end", cu(cuStreamWriteValue32)(work, word + 4096, 7, 0));
    say("ends after all", cu(cuStreamSynchronize)(work));
}

void modules() {
    start();
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUlibrary library = nullptr;
    CUkernel found = nullptr;
    CUdeviceptr global = 0;
    size_t size = 0;
    say("nonsense image", cu(cuModuleLoadData)(&module, "nonsense"));
    say("NULL image", cu(cuModuleLoadData)(&module, nullptr));
    say("unknown function", cu(cuModuleGetFunction)(&function, test_module(), "nothing"));
    say("unknown global", cu(cuModuleGetGlobal)(&global, &size, test_module(), "nothing"));
    int number = 0;
    say("max threads", cu(cuFuncGetAttribute)(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel("spare")));
    say("max threads are", number);
    say("blocks of 256", cu(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&number, kernel("spare"), 256, 0));
    say("nonsense library", cu(cuLibraryLoadData)(&library, "nonsense", nullptr, nullptr, 0, nullptr, nullptr, 0));
    CUdeviceptr parameter = 0;
    void *parameters[] = {&parameter};
    auto launch = [&](unsigned int grid, unsigned int block, unsigned int shared) {
        return cu(cuLaunchKernel)(kernel("spare"), grid, 1, 1, block, 1, 1, shared, nullptr, parameters, nullptr);
    };
    say("launch", launch(1, 1, 0));
    say("no blocks", launch(0, 1, 0));
    say("no threads", launch(1, 0, 0));
    say("1025 threads", launch(1, 1025, 0));
    say("huge grid", launch(0x80000000u, 1, 0));
    say("much shared memory", launch(1, 1, 64 * 1024));
    say("NULL function", cu(cuLaunchKernel)(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    say("unload", cu(cuModuleUnload)(test_module()));
    say("found", found != nullptr);
}

}  // namespace

const std::vector<Group> stream_groups = {
    {"handles", handles}, {"events", events},           {"legacy", legacy},   {"host functions", host_functions},
    {"waiting", waiting}, {"wait values", wait_values}, {"modules", modules},
};

}  // namespace facts
