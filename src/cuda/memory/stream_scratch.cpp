#include "cuda/memory/stream_scratch.hpp"

#include <mutex>

namespace via::cuda {
namespace {

// Bytes that a pool keeps for the next copy while none is in use. The device's default pool keeps nothing unless the
// application says so, and allocating from the system takes 130 us on an H200.
constexpr uint64_t kKeptBytes = uint64_t{64} << 20;
constexpr uint64_t kKeptBytesOfOpened = uint64_t{128} << 20;

struct Pool {
    ContextKey key;
    CUmemoryPool pool;
    uint64_t opened_to[kMostDevices];  // the number of the primary context that each device had then; 0: not opened
};

Pool pools[kMostDevices];
std::mutex making;

CUresult keep_bytes(CUmemoryPool pool, uint64_t nbytes) {
    return driver().cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &nbytes);
}

// Never makes a stream wait for another one's work to reuse memory.
CUresult set_up(CUmemoryPool pool) {
    int waits = 0;
    const CUresult result = keep_bytes(pool, kKeptBytes);
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

// Returns the library's pool of a device, or nullptr. It serves streams of any context while there is a
// primary one. Without the number of that context a reset, which may destroy the pool, would not be noticed. Call with
// the mutex held.
Pool *find_pool(int32_t device_id) {
    ContextKey key{};
    if (driver().cuMemPoolCreate == nullptr || driver().cuMemPoolSetAttribute == nullptr ||
        driver().cuMemAllocFromPoolAsync == nullptr || !find_active_primary(device_id, &key)) {
        return nullptr;
    }
    Pool &pool = pools[device_id];
    if (pool.pool == nullptr || (!(pool.key == key) && state_of(pool.key) == ContextState::Gone)) [[unlikely]] {
        pool = {key, make_pool(device_id), {}};
    }
    return pool.key == key && pool.pool != nullptr ? &pool : nullptr;
}

CUmemoryPool pool_for(const ResolvedStream &stream) {
    const CallbackScope quiet;
    const std::lock_guard<std::mutex> lock(making);
    const Pool *pool = find_pool(stream.device_id);
    return pool != nullptr ? pool->pool : nullptr;
}

CUresult open_to(CUmemoryPool pool, int32_t device_id) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device_id;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const CUresult result = driver().cuMemPoolSetAccess(pool, &access, 1);
    return result == CUDA_SUCCESS ? keep_bytes(pool, kKeptBytesOfOpened) : result;
}

// Returns the same pool, opened to another device, or nullptr. Opens it again after a reset of that device, since
// the driver does not say what became of the mapping.
CUmemoryPool opened_pool_of(int32_t device_id, int32_t peer_id) {
    const CallbackScope quiet;
    const std::lock_guard<std::mutex> lock(making);
    Pool *pool = driver().cuMemPoolSetAccess != nullptr ? find_pool(device_id) : nullptr;
    ContextKey key{};
    if (pool == nullptr || !find_active_primary(peer_id, &key)) {
        return nullptr;
    }
    uint64_t &opened = pool->opened_to[peer_id];
    if (opened != key.id && open_to(pool->pool, peer_id) == CUDA_SUCCESS) {
        opened = key.id;
    }
    return opened == key.id ? pool->pool : nullptr;
}

}  // namespace

bool has_scratch(int32_t device_id) {
    return driver().cuMemAllocAsync != nullptr && driver().cuMemFreeAsync != nullptr &&
           fixed_attribute<CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED>(device_id, 0) != 0;
}

namespace {

// Returns whether memory comes and goes in the order of the stream.
bool is_in_order(const ResolvedStream &stream) { return stream.capturing || has_scratch(stream.device_id); }

}  // namespace

Status Scratch::allocate(int64_t nbytes, const ResolvedStream &stream) {
    VIA_TRY(allocate_if_room(nbytes, stream));
    return address_ != 0 ? VIA_OK : check_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemAllocAsync");
}

bool can_reach_scratch(int32_t device_id, int32_t peer_id) {
    static DeviceFact facts[kMostDevices][kMostDevices];
    const auto ask = [&](int *reaches) { return driver().cuDeviceCanAccessPeer(reaches, peer_id, device_id); };
    return has_scratch(device_id) && driver().cuMemPoolSetAccess != nullptr &&
           facts[device_id][peer_id].get(ask, 0) != 0;
}

// Allocates graph memory in a capture, which belongs to the graph whatever the pool.
Status Scratch::allocate_if_room(int64_t nbytes, const ResolvedStream &stream) {
    const RelaxedCapture relaxed;
    return allocate_from(stream.capturing ? nullptr : pool_for(stream), nbytes, stream);
}

// Opens graph memory to the devices that the pool is open to now (CUDA programming guide, "Graph memory nodes").
Status Scratch::allocate_opened(int64_t nbytes, int32_t device_id, const ResolvedStream &first,
                                const ResolvedStream &last) {
    const RelaxedCapture relaxed;
    const int32_t peer_id = first.device_id == device_id ? last.device_id : first.device_id;
    const CUmemoryPool pool = opened_pool_of(device_id, peer_id);
    VIA_TRY(pool != nullptr ? allocate_from(pool, nbytes, first) : VIA_OK);
    stream_ = last;
    return VIA_OK;
}

Status Scratch::allocate_from(CUmemoryPool pool, int64_t nbytes, const ResolvedStream &stream) {
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    const auto size = static_cast<size_t>(nbytes);
    CUdeviceptr address = 0;
    const CUresult result = pool != nullptr ? driver().cuMemAllocFromPoolAsync(&address, size, pool, stream.handle)
                            : is_in_order(stream) ? driver().cuMemAllocAsync(&address, size, stream.handle)
                                                  : driver().cuMemAlloc(&address, size);
    if (result != CUDA_SUCCESS) {
        return result == CUDA_ERROR_OUT_OF_MEMORY ? VIA_OK : check_driver(result, "cuMemAllocAsync");
    }
    address_ = address;
    stream_ = stream;
    return VIA_OK;
}

// Leaves the thread's last error alone. Waits for the stream if the memory cannot be freed in its order: cuMemFree does
// not wait for users of pool memory.
Scratch::~Scratch() {
    if (address_ == 0) {
        return;
    }
    const CallbackScope quiet;
    const RelaxedCapture relaxed;
    ContextScope scope;
    const bool freed = scope.enter(stream_.context) == VIA_OK && is_in_order(stream_) &&
                       driver().cuMemFreeAsync(address_, stream_.handle) == CUDA_SUCCESS;
    if (!freed && !stream_.capturing) {
        (void)wait_for_work(stream_.handle);
        (void)driver().cuMemFree(address_);
    }
}

}  // namespace via::cuda
