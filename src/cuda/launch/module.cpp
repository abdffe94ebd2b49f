#include "cuda/launch/module.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/base/lock.hpp"
#include "core/diagnostics/log.hpp"
#include "cuda/driver/per_context.hpp"

namespace via::cuda {
namespace {

constexpr int32_t kCount = static_cast<int32_t>(kernels::Id::count);

// The kernels that a context has loaded.
struct Loaded {
    CUfunction functions[kCount] = {};
};

constinit PerContext<Loaded> all_loaded;
std::mutex loading;
bool exiting = false;  // guarded by loading
uint32_t forks_at_first_load = 0;
constexpr std::chrono::seconds kLongestLoad{5};

// The driver's error, if it was asked to load kernels that it cannot.
std::atomic<CUresult> refused[kMostDevices];

// Skips kernels of other images.
Status find_functions(CUmodule module, Loaded *loaded) {
    for (int32_t i = 0; i < kCount; ++i) {
        const kernels::Info &info = kernels::kInfos[i];
        CUfunction function = nullptr;
        const CUresult result = driver().cuModuleGetFunction(&function, module, info.name);
        if (result == CUDA_ERROR_NOT_FOUND) {
            continue;
        }
        VIA_TRY(check_driver(result, "cuModuleGetFunction"));
        loaded->functions[i] = function;
        const auto shared_bytes = static_cast<int>(info.shared_bytes);
        VIA_TRY_CUDA(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes));
    }
    return VIA_OK;
}

bool is_refusal(CUresult result) {
    switch (result) {
        case CUDA_ERROR_INVALID_IMAGE:
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
        case CUDA_ERROR_INVALID_PTX:
        case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
        case CUDA_ERROR_JIT_COMPILATION_DISABLED:
            return true;
        default:
            return false;
    }
}

Status load_image(const void *image, int32_t device_id, Loaded *loaded) {
    CUmodule module = nullptr;
    const CUresult result = driver().cuModuleLoadData(&module, image);
    if (is_refusal(result)) {
        refused[device_id].store(result, std::memory_order_relaxed);
        return need_kernels(device_id, "a strided copy on a device");
    }
    VIA_TRY(check_driver(result, "cuModuleLoadData"));
    return find_functions(module, loaded);
}

Status load(const ResolvedStream &stream, Loaded *loaded) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    for (const void *const *image = kernels::images; *image != nullptr; ++image) {
        VIA_TRY(load_image(*image, stream.device_id, loaded));
    }
    return VIA_OK;
}

// Waits for a load at exit, but not for ever: loading waits for the context's work, which may never end. Does nothing
// in a forked child, which loads nothing and may find the mutex held.
void stop_loading() {
    const auto end = std::chrono::steady_clock::now() + kLongestLoad;
    while (fork_count() == forks_at_first_load && std::chrono::steady_clock::now() < end) {
        if (const std::unique_lock<std::mutex> lock(loading, std::try_to_lock); lock.owns_lock()) {
            exiting = true;
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// The driver's own exit handler crashes when it runs while a thread loads a module: in 4 of 52 exits of a program that
// calls the driver alone (an H200). Handlers run last in, first out, so one that is added once the driver is
// initialised lets the load end first.
Status hold_exit_while_loading() {
    static bool added = false;  // guarded by loading
    if (exiting) {
        return fail_with_code(VIA_ERROR_CUDA, CUDA_ERROR_DEINITIALIZED,
                              "the process is exiting, so the kernels of its context can no longer be loaded");
    }
    if (!added) {
        forks_at_first_load = fork_count();
        added = std::atexit(stop_loading) == 0;
    }
    return VIA_OK;
}

Status load_once(const ResolvedStream &stream) {
    const std::lock_guard<std::mutex> lock(loading);
    const auto begin = [&](Loaded *loaded) {
        VIA_TRY(hold_exit_while_loading());
        VIA_TRY(load(stream, loaded));
        VIA_NOTE("kernels loaded into a context of device %d", stream.device_id);
        return VIA_OK;
    };
    Loaded *loaded = nullptr;
    return all_loaded.find_or_make(stream.key(), "the kernels of a context", begin, &loaded);
}

// Returns whether the driver is of an older major version than the kernels: it loads none of them.
bool is_driver_older() { return driver().version / 1000 < kernels::toolkit_version / 1000; }

}  // namespace

const char *why_no_kernels(int32_t device_id) {
    if (*kernels::why_no_images != '\0') {
        return kernels::why_no_images;
    }
    if (is_driver_older()) {
        return "the driver is older than the CUDA Toolkit that they were built with";
    }
    switch (refused[device_id].load(std::memory_order_relaxed)) {
        case CUDA_SUCCESS:
            return "";
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
            return "they were not built for this GPU";
        default:
            return "the driver cannot load them";
    }
}

Status need_kernels(int32_t device_id, const char *what) {
    const char *why = why_no_kernels(device_id);
    if (*why == '\0') [[likely]] {
        return VIA_OK;
    }
    return fail_with_code(VIA_ERROR_UNSUPPORTED, refused[device_id].load(std::memory_order_relaxed),
                          "%s needs the library's kernels, and device %d has none: %s", what, device_id, why);
}

Status load_kernels(const ResolvedStream &stream) {
    if (all_loaded.find(stream.key()) != nullptr) [[likely]] {
        return VIA_OK;
    }
    VIA_TRY(need_kernels(stream.device_id, "a strided copy on a device"));
    if (stream.capturing) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is being captured, and the kernels of its context are not loaded; expected a "
                    "via_cuda_warmup, or another strided copy, before");
    }
    return load_once(stream);
}

Status launch(kernels::Id kernel, uint32_t blocks, const void *params, const ResolvedStream &stream) {
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    const Loaded *loaded = all_loaded.find(stream.key());
    if (loaded == nullptr) {
        return context_gone("stream", stream.device_id);
    }
    const kernels::Info &info = kernels::info(kernel);
    void *given[] = {const_cast<void *>(params)};
    VIA_TRY_CUDA(cuLaunchKernel(loaded->functions[static_cast<int32_t>(kernel)], blocks, 1, 1, info.threads, 1, 1,
                                info.shared_bytes, stream.handle, given, nullptr));
    return VIA_OK;
}

}  // namespace via::cuda
