// The driver's copy calls.
#include "capture.hpp"
#include "copy.hpp"
#include "stream.hpp"

namespace fake {
namespace {

CUdeviceptr number_of(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

void copy_line(Call &call, Transfer transfer, Where to, Where from, CUstream on, When when) {
    const auto stream = call.stream(on);
    resolve(call.state(), transfer, transfer.to, to);
    resolve(call.state(), transfer, transfer.from, from);
    transfer_on(call, stream, transfer, when);
}

// On a stream of another device than the current context's, addresses are looked up in the current context: two H200s
// refused memory of the stream's device that the current one did not reach.
void require_reached_by_current(Call &call, CUstream on, CUdeviceptr address) {
    const BlockPtr block = find_block(call.state(), address);
    if (this_thread().stack.empty() || block == nullptr) {
        return;
    }
    const auto current = call.context_to_ask(nullptr);
    require(current->device == call.stream(on)->context->device || may_touch(*current, *block, By::kernel));
}

// One side of a 2-D or 3-D copy as the caller describes it.
struct Description {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z, pitch, height;
};

Side side_of(Description given, const Transfer &transfer) {
    require(given.type != CU_MEMORYTYPE_ARRAY, CUDA_ERROR_NOT_SUPPORTED);
    if (given.pitch == 0) {
        given.pitch = given.x + transfer.width;
    }
    if (given.height == 0) {
        given.height = given.y + transfer.height;
    }
    const bool one_row = transfer.height == 1 && transfer.depth == 1;
    require(one_row || transfer.empty() || given.pitch >= given.x + transfer.width);
    require(transfer.depth <= 1 || given.height >= given.y + transfer.height);
    Side side;
    side.pitch = given.pitch;
    side.slice = given.pitch * given.height;
    const CUdeviceptr base = given.type == CU_MEMORYTYPE_HOST ? number_of(given.host) : given.device;
    side.address = base + given.x + given.y * side.pitch + given.z * side.slice;
    return side;
}

Where where(CUmemorytype type) { return type == CU_MEMORYTYPE_DEVICE ? Where::on_device : Where::anywhere; }

void copy_solid(Call &call, Transfer transfer, const Description &to, const Description &from, CUstream on, When when) {
    const auto stream = call.stream(on);
    transfer.to = side_of(to, transfer);
    transfer.from = side_of(from, transfer);
    resolve(call.state(), transfer, transfer.to, where(to.type));
    resolve(call.state(), transfer, transfer.from, where(from.type));
    transfer_on(call, stream, transfer, when);
}

void copy_2d(Call &call, const CUDA_MEMCPY2D *copy, CUstream on, When when) {
    require(copy != nullptr);
    Transfer transfer;
    transfer.width = copy->WidthInBytes;
    transfer.height = copy->Height;
    copy_solid(
        call, transfer,
        {copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes, copy->dstY, 0, copy->dstPitch, 0},
        {copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes, copy->srcY, 0, copy->srcPitch, 0}, on,
        when);
}

template <class Copy>
void copy_3d(Call &call, const Copy *copy, CUstream on, When when) {
    require(copy != nullptr);
    Transfer transfer;
    transfer.width = copy->WidthInBytes;
    transfer.height = copy->Height;
    transfer.depth = copy->Depth;
    copy_solid(call, transfer,
               {copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes, copy->dstY, copy->dstZ,
                copy->dstPitch, copy->dstHeight},
               {copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes, copy->srcY, copy->srcZ,
                copy->srcPitch, copy->srcHeight},
               on, when);
}

// Comes after all work of three contexts and before all that follows in them.
void copy_peer(Call &call, Transfer transfer, CUcontext to, CUcontext from) {
    const auto mine = call.context();
    const std::vector<std::shared_ptr<Context>> parties = {mine, call.context(to), call.context(from)};
    resolve(call.state(), transfer, transfer.to, Where::on_device);
    resolve(call.state(), transfer, transfer.from, Where::on_device);
    break_captures_before_legacy(call.state(), *mine);
    if (transfer.empty()) {
        return;
    }
    auto op = std::make_shared<Op>();
    op->work = [transfer](Context &context) { run_transfer(transfer, context); };
    for (const auto &party : parties) {
        for (const OpPtr &earlier : unfinished(*party)) {
            op->after.push_back(earlier);
        }
    }
    enqueue(call.state(), mine->legacy, op);
    for (const auto &party : parties) {
        party->fence = op;
    }
}

void check_attributes(const CUmemcpyAttributes *attributes, const size_t *first, size_t kinds, size_t count) {
    require(attributes != nullptr && first != nullptr && kinds > 0 && kinds <= count && first[0] == 0);
    for (size_t i = 0; i < kinds; ++i) {
        require(attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_INVALID &&
                attributes[i].srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
        require(i == 0 || (first[i] > first[i - 1] && first[i] < count));
    }
}

// In a batch, pageable sources are read in stream order, so the call waits until they have been.
void run_batch(Call &call, const std::shared_ptr<Stream> &stream, const std::vector<Transfer> &transfers) {
    for (const Transfer &transfer : transfers) {
        if (transfer.from.plain || transfer.to.plain) {
            wait_for_stream(call, stream);
        }
        transfer_on(call, stream, transfer, When::in_order);
    }
}

struct Batch {
    CUdeviceptr *to, *from;
    size_t *sizes;
    size_t count;
    CUmemcpyAttributes *attributes;
    size_t *first;
    size_t kinds;
};

void copy_batch(Call &call, const Batch &batch, size_t *failed, CUstream on) {
    // Unlike every other copy on a stream, this one needs a current context.
    require(on != nullptr && on != CU_STREAM_LEGACY && !this_thread().stack.empty());
    const auto stream = call.stream(on);
    // Refused under capture, which goes on: the copy would be missing from the graph.
    require(stream->capture == nullptr, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require(batch.to != nullptr && batch.from != nullptr && batch.sizes != nullptr && batch.count > 0);
    check_attributes(batch.attributes, batch.first, batch.kinds, batch.count);
    std::vector<Transfer> transfers;
    for (size_t i = 0; i < batch.count; ++i) {
        if (failed != nullptr) {
            *failed = i;
        }
        Transfer transfer = line(batch.to[i], batch.from[i], batch.sizes[i]);
        require(!transfer.empty());
        resolve(call.state(), transfer, transfer.to, Where::anywhere);
        resolve(call.state(), transfer, transfer.from, Where::anywhere);
        transfers.push_back(transfer);
    }
    run_batch(call, stream, transfers);
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
    return enter(Fn::cuMemcpy, [&](Call &call) {
        copy_line(call, line(dst, src, ByteCount), Where::anywhere, Where::anywhere, CU_STREAM_LEGACY,
                  When::before_return);
    });
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
    return enter(Fn::cuMemcpyAsync, [&](Call &call) {
        require_reached_by_current(call, hStream, dst);
        require_reached_by_current(call, hStream, src);
        copy_line(call, line(dst, src, ByteCount), Where::anywhere, Where::anywhere, hStream, When::in_order);
    });
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount) {
    return enter(Fn::cuMemcpyHtoD_v2, [&](Call &call) {
        copy_line(call, line(dstDevice, number_of(srcHost), ByteCount), Where::on_device, Where::anywhere,
                  CU_STREAM_LEGACY, When::before_return);
    });
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream) {
    return enter(Fn::cuMemcpyHtoDAsync_v2, [&](Call &call) {
        copy_line(call, line(dstDevice, number_of(srcHost), ByteCount), Where::on_device, Where::anywhere, hStream,
                  When::in_order);
    });
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    return enter(Fn::cuMemcpyDtoH_v2, [&](Call &call) {
        copy_line(call, line(number_of(dstHost), srcDevice, ByteCount), Where::anywhere, Where::on_device,
                  CU_STREAM_LEGACY, When::before_return);
    });
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
    return enter(Fn::cuMemcpyDtoHAsync_v2, [&](Call &call) {
        copy_line(call, line(number_of(dstHost), srcDevice, ByteCount), Where::anywhere, Where::on_device, hStream,
                  When::in_order);
    });
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
    return enter(Fn::cuMemcpyDtoD_v2, [&](Call &call) {
        copy_line(call, line(dstDevice, srcDevice, ByteCount), Where::on_device, Where::on_device, CU_STREAM_LEGACY,
                  When::before_return);
    });
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream) {
    return enter(Fn::cuMemcpyDtoDAsync_v2, [&](Call &call) {
        copy_line(call, line(dstDevice, srcDevice, ByteCount), Where::on_device, Where::on_device, hStream,
                  When::in_order);
    });
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
                              size_t ByteCount) {
    return enter(Fn::cuMemcpyPeer,
                 [&](Call &call) { copy_peer(call, line(dstDevice, srcDevice, ByteCount), dstContext, srcContext); });
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                                   CUcontext srcContext, size_t ByteCount, CUstream hStream) {
    return enter(Fn::cuMemcpyPeerAsync, [&](Call &call) {
        require(call.stream(hStream)->capture == nullptr, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        for (CUcontext party : {dstContext, srcContext}) {
            if (party != nullptr) {
                call.context(party);
            }
        }
        copy_line(call, line(dstDevice, srcDevice, ByteCount), Where::on_device, Where::on_device, hStream,
                  When::in_order);
    });
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy) {
    return enter(Fn::cuMemcpy2D_v2, [&](Call &call) { copy_2d(call, pCopy, CU_STREAM_LEGACY, When::before_return); });
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy) {
    return enter(Fn::cuMemcpy2DUnaligned_v2,
                 [&](Call &call) { copy_2d(call, pCopy, CU_STREAM_LEGACY, When::before_return); });
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream) {
    return enter(Fn::cuMemcpy2DAsync_v2, [&](Call &call) { copy_2d(call, pCopy, hStream, When::in_order); });
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy) {
    return enter(Fn::cuMemcpy3D_v2, [&](Call &call) { copy_3d(call, pCopy, CU_STREAM_LEGACY, When::before_return); });
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream) {
    return enter(Fn::cuMemcpy3DAsync_v2, [&](Call &call) { copy_3d(call, pCopy, hStream, When::in_order); });
}

CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy) {
    return enter(Fn::cuMemcpy3DPeer, [&](Call &call) { copy_3d(call, pCopy, CU_STREAM_LEGACY, When::before_return); });
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream) {
    return enter(Fn::cuMemcpy3DPeerAsync, [&](Call &call) { copy_3d(call, pCopy, hStream, When::in_order); });
}

CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                    CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
                                    CUstream hStream) {
    return enter(Fn::cuMemcpyBatchAsync, [&](Call &call) {
        if (failIdx != nullptr) {
            *failIdx = SIZE_MAX;
        }
        copy_batch(call, {dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs}, failIdx, hStream);
    });
}

CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                       CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                                       CUstream hStream) {
    return enter(Fn::cuMemcpyBatchAsync_v2, [&](Call &call) {
        copy_batch(call, {dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs}, nullptr, hStream);
    });
}
}
