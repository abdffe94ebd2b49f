// Allocation that waits for nobody, and freeing that waits for everybody.
#include "memory.hpp"

#include <sys/mman.h>

namespace fake {
namespace {

constexpr size_t pitch_unit = 512;

CUdeviceptr allocate(Call &call, size_t bytes) {
    const auto context = call.context();
    require(bytes > 0);
    call.unsafe();
    const BlockPtr block = make_device_block(call.state(), call.device(context->device), Block::Kind::device, bytes);
    block->context = context;
    return block->base;
}

// The block that begins at this address, for freeing it; a second time is counted.
BlockPtr block_to_free(Call &call, CUdeviceptr address) {
    BlockPtr block = find_base(call.state(), address);
    if (block == nullptr && was_freed(call.state(), address)) {
        call.state().count(FAKE_DOUBLE_FREE);
    }
    require(block != nullptr && block->opened == 0);
    if (block->context != nullptr) {
        require(block->context->error == CUDA_SUCCESS, block->context->error);
    }
    return block;
}

void wait_before_free(Call &call, const Block &block) {
    if (call.state().setting(FAKE_FREE_WAITS) != 0 && block.kind != Block::Kind::pool) {
        call.wait_for_device(block.device);
    }
}

void free_device(Call &call, CUdeviceptr address) {
    call.unsafe();
    if (address == 0) {
        return;
    }
    const BlockPtr block = block_to_free(call, address);
    require(block->kind == Block::Kind::device || block->kind == Block::Kind::managed ||
            (block->kind == Block::Kind::pool && !block->freeing));
    wait_before_free(call, *block);
    require(block->state != Block::State::gone);
    end_block(call.state(), block);
}

void free_host(Call &call, void *address) {
    call.unsafe();
    if (address == nullptr) {
        return;
    }
    const BlockPtr block = block_to_free(call, reinterpret_cast<CUdeviceptr>(address));
    require(block->kind == Block::Kind::pinned);
    wait_before_free(call, *block);
    require(block->state != Block::State::gone);
    end_block(call.state(), block);
}

void *allocate_host(Call &call, size_t bytes, unsigned int flags) {
    const auto context = call.context();
    call.unsafe();
    if (bytes == 0) {
        return nullptr;
    }
    const BlockPtr block = make_host_block(call.state(), Block::Kind::pinned, bytes);
    block->context = context;
    block->device = context->device;
    block->flags = flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return block->view;
}

// Whether every page is there, and may be written.
bool writable(char *address, size_t bytes) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(address) / page_size() * page_size();
    const uintptr_t last = round_up(reinterpret_cast<uintptr_t>(address) + bytes, page_size());
    return madvise(reinterpret_cast<void *>(first), last - first, MADV_POPULATE_WRITE) == 0;
}

void register_host(Call &call, void *address, size_t bytes, unsigned int flags) {
    const auto context = call.context();
    require(address != nullptr && bytes > 0);
    call.unsafe();
    Driver &state = call.state();
    const auto base = reinterpret_cast<CUdeviceptr>(address);
    if (any_block_in(state, base, bytes)) {
        const BlockPtr there = find_block(state, base);
        refuse(there == nullptr || there->host() ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                                 : CUDA_ERROR_INVALID_VALUE);
    }
    require(writable(static_cast<char *>(address), bytes));
    auto block = std::make_shared<Block>();
    block->kind = Block::Kind::registered;
    block->base = base;
    block->size = bytes;
    block->view = static_cast<char *>(address);
    block->context = context;
    block->device = context->device;
    block->flags = flags | CU_MEMHOSTREGISTER_DEVICEMAP;
    add_block(state, block);
}

void unregister_host(Call &call, void *address) {
    call.unsafe();
    const auto base = reinterpret_cast<CUdeviceptr>(address);
    const BlockPtr around = find_block(call.state(), base);
    require(around != nullptr, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    require(around->kind == Block::Kind::registered && around->base == base);
    require(around->context->error == CUDA_SUCCESS, around->context->error);
    wait_before_free(call, *around);
    require(around->state != Block::State::gone, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    end_block(call.state(), around);
}

BlockPtr host_block(Call &call, const void *address) {
    call.context();
    BlockPtr block = find_block(call.state(), reinterpret_cast<CUdeviceptr>(address));
    require(block != nullptr && block->host());
    return block;
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize) {
    return enter(Fn::cuMemAlloc_v2, [&](Call &call) {
        require(dptr != nullptr);
        *dptr = allocate(call, bytesize);
    });
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                                    unsigned int ElementSizeBytes) {
    return enter(Fn::cuMemAllocPitch_v2, [&](Call &call) {
        require(dptr != nullptr && pPitch != nullptr);
        require(ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16);
        const size_t pitch = round_up(WidthInBytes, pitch_unit);
        *dptr = allocate(call, pitch * Height);
        *pPitch = pitch;
    });
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags) {
    return enter(Fn::cuMemAllocManaged, [&](Call &call) {
        const auto context = call.context();
        require(dptr != nullptr && bytesize > 0);
        require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
        call.unsafe();
        const BlockPtr block = make_host_block(call.state(), Block::Kind::managed, bytesize);
        block->context = context;
        block->device = context->device;
        block->sync_memops = true;
        *dptr = block->base;
    });
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr) {
    return enter(Fn::cuMemFree_v2, [&](Call &call) { free_device(call, dptr); });
}

CUresult CUDAAPI cuMemAllocHost_v2(void **pp, size_t bytesize) {
    return enter(Fn::cuMemAllocHost_v2, [&](Call &call) {
        require(pp != nullptr);
        *pp = allocate_host(call, bytesize, 0);
    });
}

CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags) {
    return enter(Fn::cuMemHostAlloc, [&](Call &call) {
        require(pp != nullptr && Flags <= 7);
        *pp = allocate_host(call, bytesize, Flags);
    });
}

CUresult CUDAAPI cuMemFreeHost(void *p) {
    return enter(Fn::cuMemFreeHost, [&](Call &call) { free_host(call, p); });
}

CUresult CUDAAPI cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags) {
    return enter(Fn::cuMemHostRegister_v2, [&](Call &call) { register_host(call, p, bytesize, Flags); });
}

CUresult CUDAAPI cuMemHostUnregister(void *p) {
    return enter(Fn::cuMemHostUnregister, [&](Call &call) { unregister_host(call, p); });
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags) {
    return enter(Fn::cuMemHostGetDevicePointer_v2, [&](Call &call) {
        require(pdptr != nullptr && Flags == 0);
        host_block(call, p);
        *pdptr = reinterpret_cast<CUdeviceptr>(p);
    });
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *pFlags, void *p) {
    return enter(Fn::cuMemHostGetFlags, [&](Call &call) {
        require(pFlags != nullptr);
        *pFlags = host_block(call, p)->flags;
    });
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free, size_t *total) {
    return enter(Fn::cuMemGetInfo_v2, [&](Call &call) {
        const auto context = call.context();
        require(free != nullptr && total != nullptr);
        *total = static_cast<size_t>(call.state().setting(FAKE_DEVICE_MEMORY));
        *free = *total - call.device(context->device).used;
    });
}
}
