#include "cuda/memory/peer_access.hpp"

#include <iterator>

namespace via::cuda {
namespace {

bool is_pool_open(CUmemoryPool pool, int32_t device_id, bool writes) {
    const unsigned int needed = writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
    CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device_id;
    return driver().cuMemPoolGetAccess != nullptr &&
           driver().cuMemPoolGetAccess(&access, pool, &location) == CUDA_SUCCESS && (access & needed) == needed;
}

// Returns whether kernels of the context reach the address. CU_POINTER_ATTRIBUTE_ACCESS_FLAGS would be the obvious
// question, but says READWRITE of everything (driver API 13.0, two H200s).
bool has_device_pointer(CUcontext context, const void *address) {
    ContextScope scope;
    CUdeviceptr there = 0;
    return scope.enter(context) == VIA_OK &&
           driver().cuPointerGetAttribute(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, number_of(address)) ==
               CUDA_SUCCESS &&
           there == number_of(address);
}

}  // namespace

bool find_peer_memory(const Side &side, const void *address, PeerMemory *out_memory) {
    const CallbackScope unsaid;
    *out_memory = {address, side.device_id, {}, nullptr, nullptr};
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    void *values[] = {&out_memory->context, &out_memory->pool};
    static_assert(std::size(names) == std::size(values));
    return driver().cuPointerGetAttributes(std::size(names), names, values, number_of(address)) == CUDA_SUCCESS &&
           find_active_primary(side.device_id, &out_memory->primary);
}

bool can_access(const PeerMemory &own, const PeerMemory &other, bool writes) {
    const CallbackScope unsaid;
    return other.pool != nullptr ? is_pool_open(other.pool, own.device_id, writes)
                                 : other.is_of_primary() && has_device_pointer(own.primary.context, other.address);
}

}  // namespace via::cuda
