#include "capture.hpp"
#include "event.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace fake {
namespace {

std::shared_ptr<Context> make_context(Driver &state, int device, unsigned int flags) {
    require(state.lost == CUDA_SUCCESS, state.lost);
    auto made = std::make_shared<Context>();
    made->id = ++state.ids;
    made->device = device;
    made->flags = flags;
    made->legacy = make_stream(state, made, Stream::Kind::legacy, CU_STREAM_DEFAULT, 0);
    return made;
}

// What a context owned goes with it: streams, events, memory. Its modules are of no context here.
void drop_objects(Driver &state, const std::shared_ptr<Context> &context) {
    for (const auto &stream : std::vector(context->streams)) {
        abandon_capture(state, *stream);
        state.streams.remove(stream->handle);
        defer_release(state, stream);
    }
    for (const auto &event : state.events.all()) {
        if (event->context == context) {
            state.events.remove(event->handle);
        }
    }
    std::vector<BlockPtr> blocks;
    for (const auto &[base, block] : state.blocks) {
        if (block->context == context) {
            blocks.push_back(block);
        }
    }
    for (const BlockPtr &block : blocks) {
        end_block(state, block);
    }
}

void destroy(Call &call, const std::shared_ptr<Context> &context) {
    call.wait_for_device(context->device);
    if (context->alive) {
        context->alive = false;
        drop_objects(call.state(), context);
        context->legacy = nullptr;
        context->per_thread.clear();
    }
}

// Making a destroyed context current ends the process where the driver is a real one.
void require_made(Call &call, CUcontext context) {
    if (call.state().contexts.find(context) == nullptr && call.state().contexts.was_removed(context)) {
        call.state().count(FAKE_CONTEXT_AFTER_DESTROY);
        refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
}

std::shared_ptr<Context> activate(Call &call, Device &device) {
    if (device.primary == nullptr) {
        const auto made = make_context(call.state(), device.ordinal, device.primary_flags);
        made->primary = true;
        made->handle = device.primary_handle;
        call.state().contexts.put(made->handle, made);
        call.state().context_devices[made->handle] = device.ordinal;
        device.primary = made;
    }
    return device.primary;
}

void deactivate(Call &call, Device &device) {
    if (device.primary != nullptr) {
        destroy(call, device.primary);
        device.primary = nullptr;
    }
}

void create(Call &call, CUcontext *out, unsigned int flags, CUdevice ordinal) {
    require(out != nullptr);
    const auto made = make_context(call.state(), call.device(ordinal).ordinal, flags);
    *out = made->handle = call.state().contexts.add(made);
    call.state().context_devices[made->handle] = made->device;
    this_thread().stack.push_back(made->handle);
}

void leave_stack(CUcontext handle) {
    auto &stack = this_thread().stack;
    if (!stack.empty() && stack.back() == handle) {
        stack.pop_back();
    }
}

void destroy_created(Call &call, CUcontext handle) {
    const auto context =
        look_up(call, call.state().contexts, handle, CUDA_ERROR_INVALID_CONTEXT, FAKE_CONTEXT_AFTER_DESTROY);
    require(!context->primary, CUDA_ERROR_INVALID_CONTEXT);
    destroy(call, context);
    call.state().contexts.remove(handle);
    leave_stack(handle);
}

// A dead context stays current until the thread takes another; its device is still known.
int device_of_current(Call &call) {
    const auto &stack = this_thread().stack;
    require(!stack.empty() && stack.back() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    const auto at = call.state().context_devices.find(stack.back());
    require(at != call.state().context_devices.end(), CUDA_ERROR_INVALID_CONTEXT);
    return at->second;
}

void synchronize(Call &call, CUcontext handle) {
    const auto context = call.context(handle);
    refuse_captures_of(call.state(), *context);
    call.unsafe();
    call.wait_for_context(context);
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev) {
    return enter(Fn::cuDevicePrimaryCtxRetain, [&](Call &call) {
        require(pctx != nullptr);
        Device &device = call.device(dev);
        *pctx = activate(call, device)->handle;
        ++device.retains;
    });
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
    return enter(Fn::cuDevicePrimaryCtxRelease_v2, [&](Call &call) {
        Device &device = call.device(dev);
        require(device.retains > 0, CUDA_ERROR_INVALID_CONTEXT);
        if (--device.retains == 0) {
            deactivate(call, device);
        }
    });
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev) {
    return enter(Fn::cuDevicePrimaryCtxReset_v2, [&](Call &call) { deactivate(call, call.device(dev)); });
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
    return enter(Fn::cuDevicePrimaryCtxSetFlags_v2, [&](Call &call) { call.device(dev).primary_flags = flags; });
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active) {
    return enter(Fn::cuDevicePrimaryCtxGetState, [&](Call &call) {
        const Device &device = call.device(dev);
        require(flags != nullptr && active != nullptr);
        *flags = device.primary_flags;
        *active = device.primary != nullptr;
    });
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev) {
    return enter(Fn::cuCtxCreate_v2, [&](Call &call) { create(call, pctx, flags, dev); });
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *, int, unsigned int flags, CUdevice dev) {
    return enter(Fn::cuCtxCreate_v3, [&](Call &call) { create(call, pctx, flags, dev); });
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *, unsigned int flags, CUdevice dev) {
    return enter(Fn::cuCtxCreate_v4, [&](Call &call) { create(call, pctx, flags, dev); });
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx) {
    return enter(Fn::cuCtxDestroy_v2, [&](Call &call) { destroy_created(call, ctx); });
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx) {
    return enter(Fn::cuCtxPushCurrent_v2, [&](Call &call) {
        require(ctx != nullptr);
        require_made(call, ctx);
        this_thread().stack.push_back(ctx);
    });
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *pctx) {
    return enter(Fn::cuCtxPopCurrent_v2, [&](Call &) {
        auto &stack = this_thread().stack;
        require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
        if (pctx != nullptr) {
            *pctx = stack.back();
        }
        stack.pop_back();
    });
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx) {
    return enter(Fn::cuCtxSetCurrent, [&](Call &call) {
        require_made(call, ctx);
        auto &stack = this_thread().stack;
        if (!stack.empty()) {
            stack.pop_back();
        }
        if (ctx != nullptr) {
            stack.push_back(ctx);
        }
    });
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx) {
    return enter(Fn::cuCtxGetCurrent, [&](Call &) {
        require(pctx != nullptr);
        const auto &stack = this_thread().stack;
        *pctx = stack.empty() ? nullptr : stack.back();
    });
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device) {
    return enter(Fn::cuCtxGetDevice, [&](Call &call) {
        require(device != nullptr);
        *device = device_of_current(call);
    });
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx) {
    return enter(Fn::cuCtxGetDevice_v2, [&](Call &call) {
        require(device != nullptr);
        *device = ctx == nullptr ? device_of_current(call) : call.context(ctx)->device;
    });
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags) {
    return enter(Fn::cuCtxGetFlags, [&](Call &call) {
        require(flags != nullptr);
        *flags = call.context()->flags;
    });
}

CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long *ctxId) {
    return enter(Fn::cuCtxGetId, [&](Call &call) {
        require(ctxId != nullptr);
        *ctxId = call.context_to_ask(ctx)->id;
    });
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext ctx, unsigned int *version) {
    return enter(Fn::cuCtxGetApiVersion, [&](Call &call) {
        require(version != nullptr);
        call.context_to_ask(ctx);
        *version = 3020;
    });
}

CUresult CUDAAPI cuCtxSynchronize(void) {
    return enter(Fn::cuCtxSynchronize, [&](Call &call) { synchronize(call, nullptr); });
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx) {
    return enter(Fn::cuCtxSynchronize_v2, [&](Call &call) { synchronize(call, ctx); });
}

CUresult CUDAAPI cuCtxGetLimit(size_t *pvalue, CUlimit limit) {
    return enter(Fn::cuCtxGetLimit, [&](Call &call) {
        require(pvalue != nullptr && limit < CU_LIMIT_MAX, CUDA_ERROR_UNSUPPORTED_LIMIT);
        *pvalue = call.context()->limits[limit];
    });
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value) {
    return enter(Fn::cuCtxSetLimit, [&](Call &call) {
        require(limit < CU_LIMIT_MAX, CUDA_ERROR_UNSUPPORTED_LIMIT);
        call.context()->limits[limit] = value;
    });
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
    return enter(Fn::cuCtxEnablePeerAccess, [&](Call &call) {
        const auto context = call.context();
        require(Flags == 0);
        require(peerContext != nullptr, CUDA_ERROR_INVALID_CONTEXT);
        const auto peer = call.context(peerContext);
        require(peer->device != context->device && call.device(context->device).peers[peer->device],
                CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
        require(context->peers.insert(peerContext).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    });
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peerContext) {
    return enter(Fn::cuCtxDisablePeerAccess, [&](Call &call) {
        require(call.context()->peers.erase(peerContext) == 1, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    });
}
}
