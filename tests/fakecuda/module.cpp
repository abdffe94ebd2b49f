// Modules, and launches of the kernels: those of the library and what a test has registered. Every sound image holds
// all of them.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "capture.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace fake {

struct Module {
    CUmodule handle = nullptr;
    bool library = false;
    bool sound = true;
    std::vector<CUfunction> functions;
};

struct Function {
    CUfunction handle = nullptr;
    std::string name;
    CUmodule module = nullptr;
    KernelEntry *entry = nullptr;
};

namespace {

constexpr unsigned int most_threads = 1024;
constexpr unsigned int most_shared_bytes = 48 * 1024;
constexpr int threads_per_multiprocessor = 2048;
constexpr int blocks_per_multiprocessor = 32;

bool begins_with(const void *image, const char *bytes, size_t count) { return std::memcmp(image, bytes, count) == 0; }

// Machine code (ELF), a fat binary, what wraps one, or PTX text.
bool looks_sound(const void *image) {
    const char *text = static_cast<const char *>(image);
    const size_t shown = strnlen(text, 8);
    return (shown >= 4 && begins_with(image,
                                      "\x7f"
                                      "ELF",
                                      4)) ||
           begins_with(image, "\x50\xed\x55\xba", 4) || begins_with(image, "\xb1\x43\x62\x46", 4) ||
           (shown == 8 && begins_with(image, ".version", 8)) || (shown >= 2 && begins_with(image, "//", 2));
}

std::shared_ptr<Module> add_module(Driver &state, bool library, bool sound) {
    auto made = std::make_shared<Module>();
    made->library = library;
    made->sound = sound;
    made->handle = state.modules.add(made);
    return made;
}

std::atomic<int> loads{0};

void end_if_a_module_is_loading() {
    if (loads.load() > 0 && driver().process == getpid()) {
        std::fprintf(stderr, "fake driver: the process exits while a module is being loaded\n");
        std::abort();
    }
}

void take_load_time(Call &call) {
    const auto time = std::chrono::milliseconds(call.state().setting(FAKE_LOAD_TIME));
    if (time.count() == 0) {
        return;
    }
    ++loads;
    call.outside([&] { std::this_thread::sleep_for(time); });
    --loads;
}

void load_module(Call &call, CUmodule *out, const void *image) {
    const auto context = call.context();
    require(out != nullptr && image != nullptr);
    require(looks_sound(image), CUDA_ERROR_INVALID_IMAGE);
    const auto wanted = static_cast<CUresult>(call.state().setting(FAKE_MODULE_RESULT));
    require(wanted == CUDA_SUCCESS, wanted);
    if (call.state().setting(FAKE_LOAD_UNSAFE) != 0) {
        call.unsafe();
    }
    call.wait_for_context(context);
    take_load_time(call);
    *out = add_module(call.state(), false, true)->handle;
}

std::shared_ptr<Module> module_of(Call &call, CUmodule handle) {
    return look_up(call, call.state().modules, handle, CUDA_ERROR_INVALID_HANDLE);
}

void unload(Call &call, CUmodule handle) {
    const auto module = module_of(call, handle);
    call.unsafe();
    if (!module->library) {
        call.wait_for_context(call.context());
    }
    call.state().modules.remove(handle);
    for (CUfunction function : module->functions) {
        call.state().functions.remove(function);
    }
}

CUfunction find_kernel(Call &call, CUmodule handle, const char *name) {
    const auto module = module_of(call, handle);
    require(name != nullptr);
    // A library is looked into only now.
    require(module->sound, CUDA_ERROR_INVALID_IMAGE);
    const auto at = call.state().kernels.find(name);
    require(at != call.state().kernels.end(), CUDA_ERROR_NOT_FOUND);
    auto made = std::make_shared<Function>();
    made->name = name;
    made->module = handle;
    made->entry = &at->second;
    made->handle = call.state().functions.add(made);
    module->functions.push_back(made->handle);
    return made->handle;
}

std::shared_ptr<Function> function_of(Call &call, CUfunction handle) {
    return look_up(call, call.state().functions, handle, CUDA_ERROR_INVALID_HANDLE);
}

// Parameter values as they were when the kernel was launched.
struct Parameters {
    std::vector<std::vector<char>> values;
    std::vector<void *> addresses;
};

void copy_value(Parameters &into, const void *from, size_t size) {
    const char *bytes = static_cast<const char *>(from);
    into.values.emplace_back(bytes, bytes + size);
}

// From one buffer, each parameter at a multiple of its size, as the ABI lays them out.
void copy_packed(Parameters &into, const KernelEntry &kernel, void **extra) {
    const char *buffer = nullptr;
    size_t size = 0;
    for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            buffer = static_cast<const char *>(extra[1]);
        } else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
            size = *static_cast<const size_t *>(extra[1]);
        }
    }
    size_t at = 0;
    for (const size_t bytes : kernel.param_sizes) {
        at = round_up(at, std::min(bytes, size_t{8}));
        require(buffer != nullptr && at + bytes <= size);
        copy_value(into, buffer + at, bytes);
        at += bytes;
    }
}

std::shared_ptr<Parameters> copy_parameters(const KernelEntry &kernel, void **params, void **extra) {
    auto copied = std::make_shared<Parameters>();
    if (extra != nullptr) {
        require(params == nullptr);
        copy_packed(*copied, kernel, extra);
    } else {
        require(params != nullptr || kernel.param_sizes.empty());
        for (size_t i = 0; i < kernel.param_sizes.size(); ++i) {
            copy_value(*copied, params[i], kernel.param_sizes[i]);
        }
    }
    for (auto &value : copied->values) {
        copied->addresses.push_back(value.data());
    }
    return copied;
}

int attribute_of(const KernelEntry &kernel, int attribute) {
    const auto at = kernel.attributes.find(attribute);
    if (at != kernel.attributes.end()) {
        return at->second;
    }
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            return static_cast<int>(most_threads);
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            return 32;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            return 90;
        default:
            return 0;
    }
}

void check_shape(const fake_launch &shape, const KernelEntry &kernel) {
    constexpr unsigned int most_blocks_in_x = 0x7FFFFFFF, most_blocks = 65535;
    require(shape.grid[0] >= 1 && shape.grid[0] <= most_blocks_in_x);
    require(shape.grid[1] >= 1 && shape.grid[1] <= most_blocks && shape.grid[2] >= 1 && shape.grid[2] <= most_blocks);
    require(shape.block[0] >= 1 && shape.block[1] >= 1 && shape.block[2] >= 1 && shape.block[2] <= 64);
    const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
    require(threads <= most_threads);
    const auto limit = static_cast<uint64_t>(attribute_of(kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    require(threads <= limit, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    const int granted = attribute_of(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    require(shape.shared_bytes <= std::max(most_shared_bytes, static_cast<unsigned int>(granted)));
}

void launch(Call &call, CUfunction handle, fake_launch shape, CUstream on, void **params, void **extra) {
    require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE);
    const auto stream = call.stream(on);
    const auto function = function_of(call, handle);
    const KernelEntry kernel = *function->entry;
    check_shape(shape, kernel);
    check_capture(*stream);
    shape.device = stream->context->device;
    const auto parameters = copy_parameters(kernel, params, extra);
    submit(call, stream, CU_GRAPH_NODE_TYPE_KERNEL, [kernel, shape, parameters](Context &) {
        // A graph launches it again: the kernel may change its copy of the values.
        Parameters mine = *parameters;
        mine.addresses.clear();
        for (auto &value : mine.values) {
            mine.addresses.push_back(value.data());
        }
        kernel.run(mine.addresses.data(), &shape, kernel.user);
    });
}

int blocks_that_fit(int block_size) {
    require(block_size > 0);
    if (block_size > static_cast<int>(most_threads)) {
        return 0;
    }
    return std::min(blocks_per_multiprocessor, threads_per_multiprocessor / block_size);
}

void report_attribute(Call &call, CUfunction handle, int attribute, int *out) {
    require(out != nullptr && attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX);
    *out = attribute_of(*function_of(call, handle)->entry, attribute);
}

void set_attribute(Call &call, CUfunction handle, int attribute, int value) {
    require(attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX);
    function_of(call, handle)->entry->attributes[attribute] = value;
}

CUmodule module_handle(CUlibrary library) { return reinterpret_cast<CUmodule>(library); }
CUfunction function_handle(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

}  // namespace

void watch_exit() {
    static const bool watched = std::atexit(end_if_a_module_is_loading) == 0;
    (void)watched;
}

}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image) {
    return enter(Fn::cuModuleLoadData, [&](Call &call) { load_module(call, module, image); });
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int, CUjit_option *, void **) {
    return enter(Fn::cuModuleLoadDataEx, [&](Call &call) { load_module(call, module, image); });
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin) {
    return enter(Fn::cuModuleLoadFatBinary, [&](Call &call) { load_module(call, module, fatCubin); });
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod) {
    return enter(Fn::cuModuleUnload, [&](Call &call) { unload(call, hmod); });
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name) {
    return enter(Fn::cuModuleGetFunction, [&](Call &call) {
        call.context();
        require(hfunc != nullptr);
        *hfunc = find_kernel(call, hmod, name);
    });
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule hmod, const char *name) {
    return enter(Fn::cuModuleGetGlobal_v2, [&](Call &call) {
        module_of(call, hmod);
        require(name != nullptr);
        refuse(CUDA_ERROR_NOT_FOUND);
    });
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *, void **, unsigned int,
                                   CUlibraryOption *, void **, unsigned int) {
    return enter(Fn::cuLibraryLoadData, [&](Call &call) {
        require(library != nullptr && code != nullptr);
        const auto wanted = static_cast<CUresult>(call.state().setting(FAKE_MODULE_RESULT));
        require(wanted == CUDA_SUCCESS, wanted);
        *library = reinterpret_cast<CUlibrary>(add_module(call.state(), true, looks_sound(code))->handle);
    });
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
    return enter(Fn::cuLibraryUnload, [&](Call &call) { unload(call, module_handle(library)); });
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name) {
    return enter(Fn::cuLibraryGetKernel, [&](Call &call) {
        require(pKernel != nullptr);
        *pKernel = reinterpret_cast<CUkernel>(find_kernel(call, module_handle(library), name));
    });
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *pMod, CUlibrary library) {
    return enter(Fn::cuLibraryGetModule, [&](Call &call) {
        call.context();
        require(pMod != nullptr);
        *pMod = module_of(call, module_handle(library))->handle;
    });
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel) {
    return enter(Fn::cuKernelGetFunction, [&](Call &call) {
        call.context();
        require(pFunc != nullptr);
        *pFunc = function_of(call, function_handle(kernel))->handle;
    });
}

CUresult CUDAAPI cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
    return enter(Fn::cuKernelGetAttribute, [&](Call &call) {
        call.device(dev);
        report_attribute(call, function_handle(kernel), attrib, pi);
    });
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
    return enter(Fn::cuKernelSetAttribute, [&](Call &call) {
        call.device(dev);
        set_attribute(call, function_handle(kernel), attrib, val);
    });
}

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc) {
    return enter(Fn::cuFuncGetAttribute, [&](Call &call) { report_attribute(call, hfunc, attrib, pi); });
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
    return enter(Fn::cuFuncSetAttribute, [&](Call &call) { set_attribute(call, hfunc, attrib, value); });
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *hmod, CUfunction hfunc) {
    return enter(Fn::cuFuncGetModule, [&](Call &call) {
        require(hmod != nullptr);
        *hmod = function_of(call, hfunc)->module;
    });
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                                unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra) {
    return enter(Fn::cuLaunchKernel, [&](Call &call) {
        launch(call, f, {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, 0}, hStream,
               kernelParams, extra);
    });
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra) {
    return enter(Fn::cuLaunchKernelEx, [&](Call &call) {
        require(config != nullptr);
        launch(call, f,
               {{config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ},
                config->sharedMemBytes,
                0},
               config->hStream, kernelParams, extra);
    });
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize, size_t) {
    return enter(Fn::cuOccupancyMaxActiveBlocksPerMultiprocessor, [&](Call &call) {
        require(numBlocks != nullptr);
        function_of(call, func);
        *numBlocks = blocks_that_fit(blockSize);
    });
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func, int blockSize,
                                                                      size_t, unsigned int) {
    return enter(Fn::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, [&](Call &call) {
        require(numBlocks != nullptr);
        function_of(call, func);
        *numBlocks = blocks_that_fit(blockSize);
    });
}
}
