
#include "cuda/custom_cuda_memory.hpp"
#include "core/array/access_tracker.hpp"
#include "cuda/pointer_attributes.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

// An allocation of a custom allocator.
struct CustomBlock {
    CustomMemory *memory;
    via_stream *stream = nullptr;  // held; nullptr for none
    void *native = nullptr;        // what free gets
    UniqueFence ready{nullptr};    // where the stream allocates it, until the array knows
};

// no_sync counts as no stream. A captured stream has no fences: ordering is up to the allocator then.
bool is_stream(via_stream *stream) { return stream != nullptr && stream->kind != StreamKind::NoSync; }

// A foreign stream may be gone when the memory is freed, and the thread of a per-thread one as well.
bool outlives_its_use(const via_stream &stream) {
    return stream.kind == StreamKind::Owned || stream.kind == StreamKind::Legacy;
}

void forget_block(CustomBlock *block) {
    if (block->stream != nullptr) {
        release_stream(block->stream);
    }
    release_memory(block->memory);
    delete block;
}

// A stream of the library's goes with its context.
void *native_if_alive(const CustomBlock &block) {
    const bool is_gone = block.stream != nullptr && block.stream->kind == StreamKind::Owned &&
                         (!driver_is_usable(false) || state_of(block.stream->key) != ContextState::Alive);
    return is_gone ? nullptr : block.native;
}

void run_deleter(const Deleter &deleter) {
    auto *block = static_cast<CustomBlock *>(deleter.context);
    if (deleter.address != nullptr) {
        call_free(block->memory, deleter.address, deleter.nbytes, native_if_alive(*block));
    }
    forget_block(block);
}

Status make_block(CustomMemory *memory, via_stream *stream, CustomBlock **out_block) {
    VIA_TRY(make_object("a block of memory", out_block, memory));
    retain_memory(memory);
    if (is_stream(stream)) {
        retain_stream(stream);
        (*out_block)->stream = stream;
        (*out_block)->native = native_stream(stream);
    }
    return VIA_OK;
}

// Checks the stream before it calls the allocator, and frees the memory again if the fence cannot be recorded.
Status fill_block(CustomBlock *block, int64_t nbytes, void **out_address) {
    ResolvedStream stream{};
    if (block->stream != nullptr) {
        const CustomMemory &memory = *block->memory;
        const bool on_device = memory.device_type == VIA_DEVICE_CUDA;
        VIA_TRY(resolve(block->stream, on_device ? memory.device_id : device_of_thread(), &stream));
        if (on_device && stream.device_id != memory.device_id) {
            return fail(VIA_ERROR_DEVICE, "stream is of device %d; expected device %d, whose memory this is",
                        stream.device_id, memory.device_id);
        }
    }
    if (nbytes == 0) {
        return VIA_OK;
    }
    VIA_TRY(call_alloc(block->memory, nbytes, block->native, out_address));
    if (block->stream == nullptr || stream.capturing) {
        return VIA_OK;
    }
    const Status status = record_fence(stream, block->ready.out());
    if (status != VIA_OK) {
        call_free(block->memory, *out_address, nbytes, block->native);
    }
    return status;
}

Status allocate(via_memory *memory, int64_t nbytes, via_stream *stream, Deleter *out_deleter) {
    VIA_TRY(need_driver("memory of a device"));
    CustomBlock *block = nullptr;
    VIA_TRY(make_block(static_cast<CustomMemory *>(memory), stream, &block));
    void *address = nullptr;
    if (Status status = fill_block(block, nbytes, &address); status != VIA_OK) {
        forget_block(block);
        return status;
    }
    *out_deleter = {run_deleter, nullptr, block, address, nbytes};
    return VIA_OK;
}

Status finish(const Deleter &deleter, via_array *array) {
    auto *block = static_cast<CustomBlock *>(deleter.context);
    VIA_TRY(check_pointer("the allocator's ", array));
    if (block->ready.get() != nullptr) {
        VIA_TRY(set_last_write(array->storage, block->ready.get()));
        block->ready.reset(nullptr);
    }
    if (block->stream != nullptr && !outlives_its_use(*block->stream)) {
        block->native = nullptr;
    }
    return VIA_OK;
}

constexpr MemoryKind kCustomCudaKind{allocate, finish, destroy_custom};

}  // namespace

Status make_custom_cuda_memory(int32_t device_type, int32_t device_id, const AllocatorCallbacks &callbacks,
                               via_memory **out_memory) {
    return make_custom_memory(kCustomCudaKind, device_type, device_id, callbacks, out_memory);
}

}  // namespace via::cuda
