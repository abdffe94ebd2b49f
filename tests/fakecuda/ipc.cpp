// Memory that other processes open. What the host answers to whom was seen on an H200 with driver 580.159.04: the same
// address in several importers, memory that stays while somebody has it open, whatever becomes of its owner.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include <fcntl.h>

#include "memory.hpp"

namespace fake {
namespace {

// What is in a handle: which file of which process.
struct Handle {
    unsigned long long magic;
    int process;
    int file;
    int gpu;
    unsigned int reserved;
    unsigned long long id;
    size_t size;
};
static_assert(sizeof(Handle) <= sizeof(CUipcMemHandle));

constexpr unsigned long long magic_number = 0x66616b6569706331;

// From now on the block is a file, so that others can see it; its place stays.
void make_physical(Block &block) {
    if (block.physical != nullptr) {
        return;
    }
    const size_t bytes = round_up(block.size, page_size());
    auto physical = std::make_shared<Physical>(bytes, block.device);
    require(pwrite(physical->file, block.view, block.size, 0) == static_cast<ssize_t>(block.size),
            CUDA_ERROR_OUT_OF_MEMORY);
    require(mmap(block.view, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file, 0) != MAP_FAILED,
            CUDA_ERROR_OUT_OF_MEMORY);
    block.physical = std::move(physical);
}

Handle read_handle(const CUipcMemHandle &given) {
    Handle handle{};
    std::memcpy(&handle, &given, sizeof handle);
    require(handle.magic == magic_number && handle.size > 0);
    return handle;
}

// A file of a process that is gone, or that has released it.
int open_file(const Handle &handle) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.process, handle.file);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        std::snprintf(path, sizeof path, "/proc/%d", handle.process);
        struct stat about{};
        refuse(stat(path, &about) == 0 ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_HANDLE);
    }
    return file;
}

BlockPtr find_opened(const Driver &state, const Handle &handle) {
    for (const auto &[base, block] : state.blocks) {
        if (block->opened > 0 && block->owner == std::pair(handle.process, handle.id)) {
            return block;
        }
    }
    return nullptr;
}

BlockPtr map_opened(Call &call, const Handle &handle, const std::shared_ptr<Context> &context) {
    const int file = open_file(handle);
    auto block = std::make_shared<Block>();
    const size_t bytes = round_up(handle.size, page_size());
    void *view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    require(view != MAP_FAILED, CUDA_ERROR_MAP_FAILED);
    block->kind = Block::Kind::device;
    block->device = call.state().renumbered(handle.gpu);
    block->size = handle.size;
    block->view = static_cast<char *>(view);
    block->owns_view = true;
    block->base = reinterpret_cast<CUdeviceptr>(reserve_addresses(call.state(), handle.size, page_size()));
    block->context = context;
    block->owner = {handle.process, handle.id};
    call.device(block->device).used += handle.size;
    add_block(call.state(), block);
    return block;
}

void get_handle(Call &call, CUipcMemHandle *out_handle, CUdeviceptr address) {
    call.context();
    require(out_handle != nullptr);
    const BlockPtr block = find_block(call.state(), address);
    require(block != nullptr && block->kind == Block::Kind::device && block->opened == 0);
    make_physical(*block);
    const int gpu = call.state().renumbered(block->device);
    const Handle handle{magic_number, getpid(), block->physical->file, gpu, 0, block->id, block->size};
    *out_handle = {};
    std::memcpy(out_handle, &handle, sizeof handle);
}

CUdeviceptr open_handle(Call &call, const CUipcMemHandle &given, unsigned int flags) {
    const auto context = call.context();
    require(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    const Handle handle = read_handle(given);
    require(handle.process != getpid(), CUDA_ERROR_INVALID_CONTEXT);
    BlockPtr block = find_opened(call.state(), handle);
    if (block == nullptr) {
        block = map_opened(call, handle, context);
    }
    ++block->opened;
    return block->base;
}

void close_handle(Call &call, CUdeviceptr address) {
    call.context();
    const BlockPtr block = find_base(call.state(), address);
    require(block != nullptr && block->opened > 0);
    if (--block->opened == 0) {
        call.wait_for_device(block->device);
        end_block(call.state(), block);
    }
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr) {
    return enter(Fn::cuIpcGetMemHandle, [&](Call &call) { get_handle(call, pHandle, dptr); });
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags) {
    return enter(Fn::cuIpcOpenMemHandle_v2, [&](Call &call) {
        require(pdptr != nullptr);
        *pdptr = open_handle(call, handle, Flags);
    });
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr) {
    return enter(Fn::cuIpcCloseMemHandle, [&](Call &call) { close_handle(call, dptr); });
}

}  // extern "C"
