#include "cuda/memory/stream_scratch.hpp"

#include <mutex>

namespace via::cuda {
namespace {

// What a pool keeps for the next copy when nothing of it is in use. The device's own pool keeps nothing, unless the
// application has it do so, and getting memory from the system takes 130 us.
constexpr uint64_t kKeptBytes = uint64_t{64} << 20;

struct Pool {
    ContextKey key;
    CUmemoryPool pool;
};

Pool pools[kMostDevices];
std::mutex making;

// No stream is ever made to wait for another one's work so that memory can be used again.
CUresult set_up(CUmemoryPool pool) {
    uint64_t kept = kKeptBytes;
    int waits = 0;
    const CUresult result = driver().cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
    return result != CUDA_SUCCESS
               ? result
               : driver().cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &waits);
}

CUmemoryPool make_pool(int32_t device_id) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device_id;
    CUmemoryPool pool = nullptr;
    if (driver().cuMemPoolCreate(&pool, &properties) != CUDA_SUCCESS) {
        return nullptr;
    }
    if (set_up(pool) != CUDA_SUCCESS) {
        (void)driver().cuMemPoolDestroy(pool);
        return nullptr;
    }
    return pool;
}

// Without making it active.
bool find_active_primary(const ResolvedStream &use, ContextKey *out_key) {
    unsigned int flags = 0;
    int active = 0;
    if (driver().cuDevicePrimaryCtxGetState(use.device_id, &flags, &active) != CUDA_SUCCESS || active == 0 ||
        primary_context(use.device_id, &out_key->context) != VIA_OK) {
        return false;
    }
    out_key->id = out_key->context == use.context ? use.context_id : context_id(out_key->context);
    return out_key->id != 0;
}

// A pool of the library's own, for streams of any context while there is a primary one: a reset of that may take it
// away, which is not to be told where the context's number is not known. nullptr: the device's serves.
CUmemoryPool pool_for(const ResolvedStream &use) {
    const CallbackScope unsaid;
    ContextKey key{};
    if (driver().cuMemPoolCreate == nullptr || driver().cuMemPoolSetAttribute == nullptr ||
        driver().cuMemAllocFromPoolAsync == nullptr || !find_active_primary(use, &key)) {
        return nullptr;
    }
    const std::lock_guard<std::mutex> lock(making);
    Pool &pool = pools[use.device_id];
    if (pool.pool == nullptr || (!(pool.key == key) && state_of(pool.key) == ContextState::Gone)) [[unlikely]] {
        pool = {key, make_pool(use.device_id)};
    }
    return pool.key == key ? pool.pool : nullptr;
}

}  // namespace

bool has_scratch(int32_t device_id) {
    int there = 0;
    const auto ask = [&] {
        return driver().cuDeviceGetAttribute(&there, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device_id);
    };
    return driver().cuMemAllocAsync != nullptr && driver().cuMemFreeAsync != nullptr &&
           asked_again(ask) == CUDA_SUCCESS && there != 0;
}

Status Scratch::allocate(int64_t nbytes, const ResolvedStream &use) {
    VIA_TRY(allocate_if_room(nbytes, use));
    return address_ != 0 ? VIA_OK : check_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemAllocAsync");
}

Status Scratch::allocate_if_room(int64_t nbytes, const ResolvedStream &use) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    VIA_TRY(scope.enter(use.context));
    const auto size = static_cast<size_t>(nbytes);
    // What a graph allocates is the graph's, whatever pool is named.
    const CUmemoryPool pool = use.capturing ? nullptr : pool_for(use);
    CUdeviceptr address = 0;
    const CUresult result = pool != nullptr ? driver().cuMemAllocFromPoolAsync(&address, size, pool, use.handle)
                                            : driver().cuMemAllocAsync(&address, size, use.handle);
    if (result != CUDA_SUCCESS) {
        return result == CUDA_ERROR_OUT_OF_MEMORY ? VIA_OK : check_driver(result, "cuMemAllocAsync");
    }
    address_ = address;
    use_ = use;
    return VIA_OK;
}

// A release never touches the thread's last error. What cannot be freed in the stream's order is freed after it:
// cuMemFree does not wait for those who use memory of a pool.
Scratch::~Scratch() {
    if (address_ == 0) {
        return;
    }
    const CallbackScope unsaid;
    const RelaxedCapture relaxed;
    ContextScope scope;
    const bool freed =
        enter_for(use_, &scope) == VIA_OK && driver().cuMemFreeAsync(address_, use_.handle) == CUDA_SUCCESS;
    if (!freed && !use_.capturing) {
        (void)wait_for_work(use_.handle);
        (void)driver().cuMemFree(address_);
    }
}

}  // namespace via::cuda
