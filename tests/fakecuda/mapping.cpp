// Virtual memory management: addresses, memory, and the one mapped to the other.
#include <sys/mman.h>

#include "memory.hpp"

namespace fake {
namespace {

void check_properties(Call &call, const CUmemAllocationProp *properties) {
    require(properties != nullptr && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED);
    require(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    call.device(properties->location.id);
}

std::shared_ptr<Reservation> reservation_around(Driver &state, CUdeviceptr address, size_t size) {
    const auto after = state.reservations.upper_bound(address);
    require(after != state.reservations.begin());
    const auto &found = std::prev(after)->second;
    require(address >= found->base && size <= found->base + found->size - address);
    return found;
}

std::vector<BlockPtr> mappings_in(Driver &state, CUdeviceptr address, size_t size) {
    std::vector<BlockPtr> found;
    for (auto at = state.blocks.lower_bound(address); at != state.blocks.end() && at->first < address + size; ++at) {
        if (at->second->kind == Block::Kind::mapping) {
            found.push_back(at->second);
        }
    }
    return found;
}

bool aligned(size_t value) { return value % device_granularity == 0; }

void reserve(Call &call, CUdeviceptr *out, size_t size, size_t alignment) {
    require(out != nullptr && size > 0 && aligned(size));
    auto made = std::make_shared<Reservation>();
    char *at = reserve_addresses(call.state(), size, std::max(alignment, device_granularity));
    void *view = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(view != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    made->base = reinterpret_cast<CUdeviceptr>(at);
    made->size = size;
    made->view = static_cast<char *>(view);
    call.state().reservations[made->base] = made;
    *out = made->base;
}

void map(Call &call, CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle) {
    Driver &state = call.state();
    const auto held = state.physicals.find(handle);
    require(held != state.physicals.end() && offset == 0 && size == held->second.first->size && aligned(address));
    const auto reservation = reservation_around(state, address, size);
    require(mappings_in(state, address, size).empty());
    const BlockPtr before = find_block(state, address);
    require(before == nullptr);
    auto block = std::make_shared<Block>();
    block->kind = Block::Kind::mapping;
    block->base = address;
    block->size = size;
    block->physical = held->second.first;
    block->device = block->physical->device;
    block->reservation = reservation;
    block->view = reservation->view + (address - reservation->base);
    require(
        mmap(block->view, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, block->physical->file, 0) != MAP_FAILED,
        CUDA_ERROR_OUT_OF_MEMORY);
    add_block(state, block);
}

void unmap(Call &call, CUdeviceptr address, size_t size) {
    Driver &state = call.state();
    const auto reservation = reservation_around(state, address, size);
    const std::vector<BlockPtr> found = mappings_in(state, address, size);
    for (const BlockPtr &block : found) {
        require(block->end() <= address + size);
    }
    if (state.setting(FAKE_FREE_WAITS) != 0 && !found.empty()) {
        call.wait_for_device(found.front()->device);
    }
    for (const BlockPtr &block : found) {
        mmap(block->view, block->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        end_block(state, block);
    }
}

void set_access(Call &call, CUdeviceptr address, size_t size, const CUmemAccessDesc *descriptions, size_t count) {
    const std::vector<BlockPtr> found = mappings_in(call.state(), address, size);
    size_t covered = 0;
    for (const BlockPtr &block : found) {
        covered += block->size;
    }
    require(descriptions != nullptr && covered == size);
    for (size_t i = 0; i < count; ++i) {
        const int device = call.device(descriptions[i].location.id).ordinal;
        for (const BlockPtr &block : found) {
            require(device == block->device || call.device(device).peers[block->device], CUDA_ERROR_INVALID_DEVICE);
            if (descriptions[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
                block->access.erase(device);
            } else {
                block->access[device] = descriptions[i].flags;
            }
        }
    }
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags) {
    return enter(Fn::cuMemGetAllocationGranularity, [&](Call &call) {
        check_properties(call, prop);
        require(granularity != nullptr);
        *granularity = device_granularity;
    });
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr,
                                     unsigned long long flags) {
    return enter(Fn::cuMemAddressReserve, [&](Call &call) {
        require(flags == 0 && (alignment & (alignment - 1)) == 0);
        reserve(call, ptr, size, alignment);
    });
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    return enter(Fn::cuMemAddressFree, [&](Call &call) {
        auto &reservations = call.state().reservations;
        const auto at = reservations.find(ptr);
        require(at != reservations.end() && at->second->size == size);
        require(mappings_in(call.state(), ptr, size).empty());
        call.state().freed[ptr] = size;
        reservations.erase(at);
    });
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                             unsigned long long flags) {
    return enter(Fn::cuMemCreate, [&](Call &call) {
        check_properties(call, prop);
        require(handle != nullptr && size > 0 && aligned(size) && flags == 0);
        Driver &state = call.state();
        *handle = new_handle();
        state.physicals[*handle] = {std::make_shared<Physical>(size, prop->location.id), 1};
    });
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
    return enter(Fn::cuMemRelease, [&](Call &call) {
        auto &physicals = call.state().physicals;
        const auto at = physicals.find(handle);
        require(at != physicals.end());
        if (--at->second.second == 0) {
            physicals.erase(at);
        }
    });
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr) {
    return enter(Fn::cuMemRetainAllocationHandle, [&](Call &call) {
        require(handle != nullptr);
        const BlockPtr block = find_block(call.state(), reinterpret_cast<CUdeviceptr>(addr));
        require(block != nullptr && block->physical != nullptr);
        for (auto &[number, held] : call.state().physicals) {
            if (held.first == block->physical) {
                ++held.second;
                *handle = number;
                return;
            }
        }
        *handle = new_handle();
        call.state().physicals[*handle] = {block->physical, 1};
    });
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                          unsigned long long flags) {
    return enter(Fn::cuMemMap, [&](Call &call) {
        require(flags == 0);
        map(call, ptr, size, offset, handle);
    });
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size) {
    return enter(Fn::cuMemUnmap, [&](Call &call) { unmap(call, ptr, size); });
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count) {
    return enter(Fn::cuMemSetAccess, [&](Call &call) { set_access(call, ptr, size, desc, count); });
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr) {
    return enter(Fn::cuMemGetAccess, [&](Call &call) {
        const BlockPtr block = find_block(call.state(), ptr);
        require(flags != nullptr && location != nullptr && block != nullptr);
        const auto at = block->access.find(location->id);
        *flags = at == block->access.end() ? 0ull : static_cast<unsigned long long>(at->second);
    });
}
}
