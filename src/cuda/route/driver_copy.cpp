#include "cuda/route/driver_copy.hpp"

#include <chrono>

#include "core/base/copy_contiguous.hpp"
#include "core/base/spin.hpp"
#include "cuda/memory/pinned_memory.hpp"
#include "cuda/stream/event_fence.hpp"

namespace via::cuda {
namespace {

// Gives up after this: fractions of a microsecond do not matter then.
constexpr std::chrono::microseconds kWatched{50};
constexpr int32_t kLooksPerTime = 16;

bool holds(const uint32_t *word, uint32_t value) { return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value; }

bool look_for_long(const uint32_t *word, uint32_t value) {
    const auto end = std::chrono::steady_clock::now() + kWatched;
    const auto written = [&] { return holds(word, value); };
    while (!spin_until(written, kLooksPerTime)) {
        if (std::chrono::steady_clock::now() >= end) {
            return written();
        }
    }
    return true;
}

// Returns whether polling a word saves time. A write to memory that every device maps takes 1.2 us with one device.
// With two H200s it takes 2.6 us, which is more than polling saves.
bool is_worth_it() { return driver().device_count == 1 && driver().cuStreamWriteValue32 != nullptr; }

// Returns false if the driver does not know the word at this address.
bool enqueue_write(const uint32_t *word, uint32_t value, const ResolvedStream &stream) {
    return driver().cuStreamWriteValue32(stream.handle, number_of(word), value, CU_STREAM_WRITE_VALUE_DEFAULT) ==
           CUDA_SUCCESS;
}

Status synchronize(const ResolvedStream &stream) {
    return check_driver(wait_for_work(stream.handle), "cuStreamSynchronize");
}

}  // namespace

Status wait_briefly(const ResolvedStream &stream) {
    if (!is_worth_it()) {
        return synchronize(stream);
    }
    PinnedFlag word(take_pinned_flag(stream.device_id));
    if (word.get() == nullptr) {
        return synchronize(stream);
    }
    const uint32_t next = *word.get() + 1;
    const bool written = enqueue_write(word.get(), next, stream);
    if (written && look_for_long(word.get(), next)) [[likely]] {
        return VIA_OK;
    }
    const Status status = synchronize(stream);
    if (written && !holds(word.get(), next)) {
        (void)word.release();  // the device may still write it
    }
    return status;
}

namespace {

// Pool memory and mapped memory use the primary context.
Status context_for_copy(const void *address, int32_t device_id, CUcontext *out_context) {
    *out_context = context_of(address);
    return *out_context != nullptr ? VIA_OK : primary_context(device_id, out_context);
}

// Passes managed memory as device memory: as host memory the driver would wait for it.
bool is_device_address(const Side &side) { return is_device(side) || side.device_type == VIA_DEVICE_CUDA_MANAGED; }

Status enqueue(const Transfer &transfer, const ResolvedStream &stream) {
    return copy_adjacent(transfer.dst, is_device_address(transfer.dst_side), transfer.src,
                         is_device_address(transfer.src_side), transfer.nbytes, stream.handle);
}

// Returns whether the driver waits inside the call for the stream's earlier work. It blocks other threads meanwhile,
// and that work may depend on one of them, so copies wait outside the call.
bool waits_inside(const Transfer &transfer) {
    constexpr int64_t kReadAtOnce = int64_t{1} << 20;
    return is_pageable(transfer.dst_side) || (is_pageable(transfer.src_side) && transfer.nbytes > kReadAtOnce);
}

// Returns whether bytes are read or written after the call. Memory that is named pageable may have been registered.
bool ends_later(const Transfer &transfer, const ResolvedStream &stream) {
    return is_pageable(transfer.dst_side) || (is_pageable(transfer.src_side) && uses_pageable_later(stream.device_id));
}

Status copy_after_work(const Transfer &transfer, const ResolvedStream &stream) {
    VIA_TRY(waits_inside(transfer) ? await_work(stream) : VIA_OK);
    VIA_TRY(enqueue(transfer, stream));
    return ends_later(transfer, stream) ? synchronize(stream) : VIA_OK;
}

Status copy_by_way_of(char *buffer, const Transfer &transfer, const ResolvedStream &stream) {
    const auto nbytes = static_cast<size_t>(transfer.nbytes);
    VIA_TRY_CUDA(cuMemcpyDtoHAsync(buffer, number_of(transfer.src), nbytes, stream.handle));
    VIA_TRY(wait_briefly(stream));
    copy_contiguous(transfer.dst, buffer, transfer.nbytes);
    return VIA_OK;
}

// Returns when the bytes have arrived.
Status copy_to_pageable(const Transfer &transfer, const ResolvedStream &stream) {
    const PinnedBuffer buffer(take_pinned_buffer(transfer.nbytes, stream.device_id));
    return buffer.get() != nullptr ? copy_by_way_of(buffer.get(), transfer, stream) : copy_after_work(transfer, stream);
}

}  // namespace

Status copy_by_driver(const Transfer &transfer, const ResolvedStream &stream) {
    const bool by_buffer = is_pageable(transfer.dst_side) && is_device_address(transfer.src_side);
    return by_buffer && !is_straight(transfer) ? copy_to_pageable(transfer, stream) : copy_after_work(transfer, stream);
}

// The driver refuses to capture a copy that names two contexts (error 900). It captures one that names addresses.
Status copy_to_peer(const Transfer &transfer, const ResolvedStream &stream) {
    const CUdeviceptr dst = number_of(transfer.dst);
    const CUdeviceptr src = number_of(transfer.src);
    const auto nbytes = static_cast<size_t>(transfer.nbytes);
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    if (stream.capturing) {
        VIA_TRY_CUDA(cuMemcpyAsync(dst, src, nbytes, stream.handle));
        return VIA_OK;
    }
    CUcontext dst_context = nullptr;
    CUcontext src_context = nullptr;
    VIA_TRY(context_for_copy(transfer.dst, transfer.dst_side.device_id, &dst_context));
    VIA_TRY(context_for_copy(transfer.src, transfer.src_side.device_id, &src_context));
    VIA_TRY_CUDA(cuMemcpyPeerAsync(dst, dst_context, src, src_context, nbytes, stream.handle));
    return VIA_OK;
}

Status await_work(const ResolvedStream &stream) {
    if (is_idle(stream)) {
        return VIA_OK;
    }
    UniqueFence fence;
    VIA_TRY(record_fence(stream, fence.out()));
    return fence.get()->wait();
}

}  // namespace via::cuda
