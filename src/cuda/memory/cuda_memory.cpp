#include "cuda/cuda_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <new>

#include "core/array/access_tracker.hpp"
#include "core/async/task_executor.hpp"
#include "core/base/thread_state.hpp"
#include "core/system/address_probe.hpp"
#include "cuda/memory/pinned_memory.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/topology/topology.hpp"

namespace via::cuda {
namespace {

// The differences between the kinds.
struct Row {
    int32_t kind;
    int32_t device_type;
    Counter counter;
    const char *what;
    const char *call;
    CUresult (*allocate)(void **out_address, size_t nbytes);  // nullptr: in stream order
    CUresult (*free)(void *address);
};

CUresult allocate_pinned(void **out_address, size_t nbytes) {
    return driver().cuMemHostAlloc(out_address, nbytes, CU_MEMHOSTALLOC_PORTABLE);
}

CUresult allocate_device(void **out_address, size_t nbytes) {
    CUdeviceptr address = 0;
    const CUresult result = driver().cuMemAlloc(&address, nbytes);
    *out_address = reinterpret_cast<void *>(address);
    return result;
}

CUresult allocate_managed(void **out_address, size_t nbytes) {
    CUdeviceptr address = 0;
    const CUresult result = driver().cuMemAllocManaged(&address, nbytes, CU_MEM_ATTACH_GLOBAL);
    *out_address = reinterpret_cast<void *>(address);
    return result;
}

CUresult free_pinned(void *address) { return driver().cuMemFreeHost(address); }

CUresult free_device(void *address) { return driver().cuMemFree(number_of(address)); }

constexpr Row kRows[] = {
    {VIA_MEMORY_PINNED, VIA_DEVICE_CUDA_HOST, Counter::PinnedBytes, "pinned memory", "cuMemHostAlloc", allocate_pinned,
     free_pinned},
    {VIA_MEMORY_DEVICE, VIA_DEVICE_CUDA, Counter::DeviceBytes, "device memory", "cuMemAlloc", allocate_device,
     free_device},
    {VIA_MEMORY_DEVICE_POOL, VIA_DEVICE_CUDA, Counter::DeviceBytes, "stream-ordered device memory", "cuMemAllocAsync",
     nullptr, free_device},
    {VIA_MEMORY_MANAGED, VIA_DEVICE_CUDA_MANAGED, Counter::ManagedBytes, "managed memory", "cuMemAllocManaged",
     allocate_managed, free_device},
};

const Row &row_of(int32_t kind) { return kRows[kind - VIA_MEMORY_PINNED]; }

static_assert(kRows[VIA_MEMORY_DEVICE_POOL - VIA_MEMORY_PINNED].kind == VIA_MEMORY_DEVICE_POOL &&
              kRows[VIA_MEMORY_MANAGED - VIA_MEMORY_PINNED].kind == VIA_MEMORY_MANAGED);

struct CudaMemory : via_memory {
    const Row *row;
    int32_t owner;  // the device whose context is allocated in: device_id is 0 for pinned and managed memory
};

// An allocation. Begins with a job, so that another thread can free it without allocating.
struct Block {
    Job job;
    CudaMemory *memory;
    void *address;
    int64_t nbytes;
    unsigned long long number = 0;  // no other allocation of this process has or had it
    UniqueFence ready{nullptr};     // where a stream allocates it, until the array knows
    ResolvedStream freed_on{};      // where it is freed after the work that uses it; no stream where none does any more
    PinnedBlock locked{};           // of a large pinned one; then it has no number
};
static_assert(offsetof(Block, job) == 0);

// Finds the number and the context of the allocation at an address, or 0.
CUresult identify(void *address, unsigned long long *out_number, CUcontext *out_context) {
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_CONTEXT};
    void *values[] = {out_number, out_context};
    return driver().cuPointerGetAttributes(2, names, values, number_of(address));
}

enum class Freed { Done, NotHere };

// Internal streams. Memory that is freed after running work delays later frees on the same stream, so idle memory uses
// another one.
constexpr int32_t kStreamOfFrees = 4;
constexpr int32_t kStreamOfLateFrees = 5;

bool find_stream_of_frees(const Block &block, ResolvedStream *out_stream) {
    *out_stream = block.freed_on;
    return out_stream->handle != nullptr || internal_stream(block.memory->owner, kStreamOfFrees, out_stream) == VIA_OK;
}

// Waits if no stream can free the memory: cuMemFree does not wait for users of pool memory (CUDA Runtime API,
// cudaFreeAsync).
CUresult free_in_order(const Block &block) {
    ResolvedStream stream{};
    const bool has_stream = find_stream_of_frees(block, &stream);
    if (has_stream && (block.ready.get() == nullptr || block.ready.get()->make_stream_wait(stream) == VIA_OK)) {
        const CUresult freed = driver().cuMemFreeAsync(number_of(block.address), stream.handle);
        if (freed == CUDA_SUCCESS || freed == CUDA_ERROR_NOT_PERMITTED) {
            return freed;
        }
    }
    if (block.ready.get() != nullptr && block.ready.get()->wait() != VIA_OK) {
        return CUDA_ERROR_NOT_READY;
    }
    if (has_stream) {
        (void)wait_for_work(stream.handle);
    }
    return block.memory->row->free(block.address);
}

// Frees nothing if the context was reset or destroyed: the memory is gone, and another allocation may have its address.
// A failed context frees nothing any more, and neither does a driver that has shut down.
Freed free_block(const Block &block) {
    if (block.locked.address != nullptr) {
        const RelaxedCapture relaxed;
        return unpin_block(block.locked) ? Freed::Done : Freed::NotHere;
    }
    unsigned long long number = 0;
    CUcontext context = nullptr;
    const CUresult result = asked_again([&] { return identify(block.address, &number, &context); });
    if (result == CUDA_ERROR_NOT_PERMITTED) {
        return Freed::NotHere;
    }
    if (result != CUDA_SUCCESS || number != block.number) {
        return Freed::Done;
    }
    const RelaxedCapture relaxed;
    ContextScope scope;
    if (context != nullptr && !scope.enter_to_free(context)) {
        return Freed::Done;
    }
    const Row &row = *block.memory->row;
    const CUresult freed = row.allocate == nullptr ? free_in_order(block) : row.free(block.address);
    return freed == CUDA_ERROR_NOT_PERMITTED ? Freed::NotHere : Freed::Done;
}

void forget_block(Block *block) {
    count(block->memory->row->counter, -block->nbytes);
    release_memory(block->memory);
    delete block;
}

// A release never touches the thread's last error.
void end_block(Block *block) {
    const CallbackScope scope;
    const bool freeable = block->address != nullptr && driver_is_usable(false);
    if (!freeable || free_block(*block) == Freed::Done) {
        return forget_block(block);
    }
    block->job = {[](Job *job) { end_block(reinterpret_cast<Block *>(job)); }, nullptr};
    (void)!execute(&block->job);  // on failure the memory stays, and is counted as what it is: allocated
}

void run_deleter(const Deleter &deleter) { end_block(static_cast<Block *>(deleter.context)); }

// Waiting for some of the fences does no harm if another one cannot be waited for on a stream.
bool free_after_fences(const Deleter &deleter, Fence *const *fences, int32_t count) {
    const CallbackScope scope;
    auto *block = static_cast<Block *>(deleter.context);
    ResolvedStream stream{};
    if (!driver_is_usable(false) || inside_driver_callback() ||
        internal_stream(block->memory->owner, kStreamOfLateFrees, &stream) != VIA_OK) {
        return false;
    }
    const RelaxedCapture relaxed;
    const bool follows = std::all_of(fences, fences + count, [&](Fence *fence) {
        return fence->is_on_device() && fence->make_stream_wait(stream) == VIA_OK;
    });
    block->freed_on = follows ? stream : ResolvedStream{};
    return follows;
}

Status out_of_memory(const Row &row, int64_t nbytes, int32_t device_id) {
    size_t free = 0;
    size_t total = 0;
    (void)driver().cuMemGetInfo(&free, &total);
    return fail_with_code(VIA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY,
                          "no %s for %lld bytes: %s answered CUDA_ERROR_OUT_OF_MEMORY; device %d has %zu bytes, %zu of "
                          "them free",
                          row.what, static_cast<long long>(nbytes), row.call, device_id, total, free);
}

Status check_allocated(CUresult result, const Row &row, int64_t nbytes, int32_t device_id) {
    return result == CUDA_ERROR_OUT_OF_MEMORY ? out_of_memory(row, nbytes, device_id) : check_driver(result, row.call);
}

// From this size on, pinning a mapping of the process is faster than the driver's allocator. A block may be a
// quarter of the usable memory: touching more than there is kills the process, where the driver reports an error.
constexpr int64_t kLeastPinned = int64_t{4} << 20;
constexpr int64_t kShareOfMemory = 4;

// Returns false, and reports no error, if the driver's allocator has to serve.
bool lock_block(Block *block, const ContextKey &key) {
    const CudaMemory &memory = *block->memory;
    if (memory.row->kind != VIA_MEMORY_PINNED || block->nbytes < kLeastPinned ||
        block->nbytes > usable_memory() / kShareOfMemory || !is_registered_in_place(memory.owner)) {
        return false;
    }
    const CallbackScope scope;
    if (pin_block(block->nbytes, node_of_device(memory.owner), key, &block->locked) != VIA_OK) {
        return false;
    }
    block->address = block->locked.address;
    return true;
}

Status note_number(Block *block) {
    CUcontext context = nullptr;
    return check_driver(identify(block->address, &block->number, &context), "cuPointerGetAttributes");
}

Status allocate_now(Block *block) {
    const CudaMemory &memory = *block->memory;
    ContextKey key{};
    ContextScope scope;
    VIA_TRY(scope.enter_device(memory.owner, &key));
    if (lock_block(block, key)) {
        return VIA_OK;
    }
    const CUresult result = memory.row->allocate(&block->address, static_cast<size_t>(block->nbytes));
    VIA_TRY(check_allocated(result, *memory.row, block->nbytes, memory.owner));
    const Status status = note_number(block);
    if (status != VIA_OK) {
        (void)memory.row->free(block->address);
    }
    return status;
}

Status resolve_for(const CudaMemory &memory, via_stream *stream, ResolvedStream *out_stream) {
    VIA_TRY(resolve(stream, memory.owner, out_stream));
    if (out_stream->device_id != memory.owner) {
        return fail(VIA_ERROR_DEVICE, "stream is of device %d; expected device %d, whose memory this is",
                    out_stream->device_id, memory.owner);
    }
    if (out_stream->capturing) {
        return fail(VIA_ERROR_STREAM_CAPTURE, "stream is being captured; expected one that can allocate memory");
    }
    return VIA_OK;
}

// Allocates for later work of this stream. Other work must wait for the fence.
Status allocate_in_order(Block *block, const ResolvedStream &stream) {
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    CUdeviceptr address = 0;
    const CUresult result = driver().cuMemAllocAsync(&address, static_cast<size_t>(block->nbytes), stream.handle);
    VIA_TRY(check_allocated(result, *block->memory->row, block->nbytes, stream.device_id));
    block->address = reinterpret_cast<void *>(address);
    Status status = record_fence(stream, block->ready.out());
    if (status == VIA_OK) {
        status = note_number(block);
    }
    if (status != VIA_OK) {
        (void)driver().cuMemFreeAsync(address, stream.handle);
    }
    return status;
}

Status fill_block(Block *block, via_stream *stream) {
    const Row &row = *block->memory->row;
    const RelaxedCapture relaxed;
    if (row.allocate == nullptr) {
        ResolvedStream resolved{};
        VIA_TRY(resolve_for(*block->memory, stream, &resolved));
        return block->nbytes > 0 ? allocate_in_order(block, resolved) : VIA_OK;
    }
    VIA_TRY(refuse_stream(stream, row.what));
    return block->nbytes > 0 ? allocate_now(block) : VIA_OK;
}

// Counts the block and holds its memory from here on.
Status make_block(CudaMemory *memory, int64_t nbytes, Block **out_block) {
    VIA_TRY(make_object("a block of memory", out_block, Job{}, memory, nullptr, nbytes));
    retain_memory(memory);
    count(memory->row->counter, nbytes);
    return VIA_OK;
}

Status allocate(via_memory *memory, int64_t nbytes, via_stream *stream, Deleter *out_deleter) {
    auto *cuda_memory = static_cast<CudaMemory *>(memory);
    VIA_TRY(need_driver(cuda_memory->row->what));
    Block *block = nullptr;
    VIA_TRY(make_block(cuda_memory, nbytes, &block));
    if (Status status = fill_block(block, stream); status != VIA_OK) {
        forget_block(block);
        return status;
    }
    const bool in_order = cuda_memory->row->allocate == nullptr;
    *out_deleter = {run_deleter, nullptr, block, block->address, nbytes, in_order ? free_after_fences : nullptr,
                    !in_order};
    return VIA_OK;
}

Status finish(const Deleter &deleter, via_array *array) {
    auto *block = static_cast<Block *>(deleter.context);
    if (block->ready.get() != nullptr) {
        VIA_TRY(set_last_write(array->storage, block->ready.get()));
        block->ready.reset(nullptr);
    }
    return VIA_OK;
}

void destroy(via_memory *memory) { delete static_cast<CudaMemory *>(memory); }

constexpr MemoryKind kCudaKind{allocate, finish, destroy};

Status check_pool(CUdevice device) {
    int there = 0;
    if (driver().cuMemAllocAsync == nullptr || driver().cuMemFreeAsync == nullptr) {
        return fail(
            VIA_ERROR_UNSUPPORTED,
            "kind is VIA_MEMORY_DEVICE_POOL, which this CUDA driver (%d) does not have; expected VIA_MEMORY_DEVICE",
            driver().version);
    }
    VIA_TRY_CUDA(cuDeviceGetAttribute(&there, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device));
    return there != 0
               ? VIA_OK
               : fail(VIA_ERROR_UNSUPPORTED,
                      "kind is VIA_MEMORY_DEVICE_POOL, which device %d does not support; expected VIA_MEMORY_DEVICE",
                      static_cast<int>(device));
}

}  // namespace

Status make_cuda_memory(int32_t kind, int32_t device_id, via_memory **out_memory) {
    const Row &row = row_of(kind);
    char what[64];
    std::snprintf(what, sizeof what, "kind is %s, which", name_of_kind(kind));
    VIA_TRY(need_driver(what));
    CUdevice device = 0;
    VIA_TRY(find_device(device_id, &device));
    if (kind == VIA_MEMORY_DEVICE_POOL) {
        VIA_TRY(check_pool(device));
    }
    const int32_t named = row.device_type == VIA_DEVICE_CUDA ? device_id : 0;
    *out_memory = new (std::nothrow) CudaMemory{{&kCudaKind, row.device_type, named}, &row, device_id};
    return *out_memory != nullptr ? VIA_OK : fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a handle");
}

}  // namespace via::cuda
