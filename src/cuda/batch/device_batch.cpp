#include "cuda/device_batch.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "core/base/cached_objects.hpp"
#include "core/base/rounding.hpp"
#include "cuda/batch/batch_copies.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/memory/descriptor_table.hpp"
#include "cuda/stream/capture.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/stream_handles.hpp"

namespace via::cuda {
namespace {

// Caches which memory the kernels of one context reach at its host address. Memory of a device belongs to the context
// that allocated it, and only kernels of that context are sure to reach it. Pool memory and mapped memory belong to no
// context. Pinned memory is reached from everywhere, but may have another address on the device (if it is
// write-combined). Keeps the last ranges, since arrays that are copied as a batch tend to share allocations.
class RangeCache {
public:
    RangeCache() = default;
    explicit RangeCache(int32_t device_id) : device_id_(device_id) {}

    // Returns whether kernels that reach the memory of earlier copies reach both ends of this one too.
    bool takes(CUdeviceptr dst, CUdeviceptr src, LinkDirection direction) {
        const Ends &last = last_[static_cast<int32_t>(direction)];
        return (last.dst.contains(dst) && last.src.contains(src)) || takes_others(dst, src, direction);
    }

    // Returns the context whose kernels reach all of it, or nullptr for any context of the device.
    CUcontext context() const { return context_; }

private:
    struct Range {
        CUdeviceptr start;
        size_t nbytes;
        CUcontext context;

        bool contains(CUdeviceptr address) const { return address - start < nbytes; }
    };

    struct Ends {
        Range dst;
        Range src;
    };

    bool takes_others(CUdeviceptr dst, CUdeviceptr src, LinkDirection direction) {
        Ends ends{};
        if (!take(dst, direction != LinkDirection::ToHost, &ends.dst) ||
            !take(src, direction != LinkDirection::ToDevice, &ends.src)) {
            return false;
        }
        last_[static_cast<int32_t>(direction)] = ends;
        return true;
    }

    bool take(CUdeviceptr address, bool is_of_device, Range *out_range) {
        if (!find(address, out_range)) {
            return false;
        }
        if (!is_of_device) {
            return true;
        }
        if (context_ == nullptr) {
            context_ = out_range->context;
        }
        return out_range->context == nullptr || out_range->context == context_;
    }

    // Returns false if the driver does not know the memory, or has it at another address on the device.
    bool find(CUdeviceptr address, Range *out_range) {
        const Range *known = std::ranges::find_if(ranges_, [=](const Range &range) { return range.contains(address); });
        if (known != std::end(ranges_)) {
            *out_range = *known;
            return true;
        }
        if (!ask(address, out_range)) {
            return false;
        }
        ranges_[next_] = *out_range;
        next_ = (next_ + 1) % std::size(ranges_);
        return true;
    }

    // Asks inside a context: the driver reports device pointers only there.
    bool ask(CUdeviceptr address, Range *out_range) const {
        const CallbackScope quiet;  // single copies report what is wrong
        ContextScope scope;
        if (scope.enter_device(device_id_) != VIA_OK) {
            return false;
        }
        CUdeviceptr on_device = 0;
        CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                       CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
        void *values[] = {&out_range->start, &out_range->nbytes, &out_range->context, &on_device};
        static_assert(std::size(names) == std::size(values));
        const CUresult result = driver().cuPointerGetAttributes(std::size(names), names, values, address);
        return result == CUDA_SUCCESS && on_device == address && out_range->contains(address);
    }

    int32_t device_id_ = 0;
    Ends last_[3] = {};  // of the last copy of each kind that was taken
    Range ranges_[8] = {};
    size_t next_ = 0;
    CUcontext context_ = nullptr;
};

}  // namespace

struct Batch {
    int32_t device_id = 0;
    RangeCache reach;
    BatchCopies copies;
    List<CUdeviceptr> dsts;  // these three of large copies, for one call that takes many
    List<CUdeviceptr> srcs;
    List<size_t> sizes;
    List<Storage *> storages;
    std::mutex making;                 // of the table
    DescriptorTable *table = nullptr;  // from the first run that needs one
};

namespace {

constexpr char kBatch[] = "copies of CUDA's memory";

Status no_memory() { return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a list of copies"); }

// ------------------------------------------------------------------------------------------------ by the driver

Status enqueue_one(const BatchCopy &copy, const ResolvedStream &stream) {
    return copy_adjacent(reinterpret_cast<void *>(copy.dst), copy.direction != LinkDirection::ToHost,
                         reinterpret_cast<const void *>(copy.src), copy.direction != LinkDirection::ToDevice,
                         static_cast<int64_t>(copy.nbytes), stream.handle);
}

// The batch call takes no special stream, and does nothing in a capture.
bool takes_many_copies_on(const ResolvedStream &stream) { return !stream.capturing && !stream.is_special(); }

// Headers before CUDA 13 do not declare the form of the call that is asked for.
#if CUDA_VERSION >= 13000

// Returns whether one call can take many copies.
bool takes_many_copies() { return driver().cuMemcpyBatchAsync != nullptr; }

Status enqueue_fused(const Batch &batch, const ResolvedStream &stream) {
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    size_t first = 0;
    VIA_TRY_CUDA(cuMemcpyBatchAsync(batch.dsts.begin(), batch.srcs.begin(), batch.sizes.begin(),
                                    static_cast<size_t>(batch.sizes.count()), &attributes, &first, 1, stream.handle));
    return VIA_OK;
}

#else

bool takes_many_copies() { return false; }

Status enqueue_fused(const Batch &, const ResolvedStream &) { return VIA_OK; }

#endif

// Lists large copies for one call, if the driver has one for that.
Status collect_large(Batch *batch) {
    const List<BatchCopy> &large = batch->copies.large();
    if (large.count() < 2 || !takes_many_copies()) {
        return VIA_OK;
    }
    for (const BatchCopy &copy : large) {
        if (!batch->dsts.append(copy.dst) || !batch->srcs.append(copy.src) || !batch->sizes.append(copy.nbytes)) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for the addresses of %lld copies",
                        as_printed(large.count()));
        }
    }
    return VIA_OK;
}

// The batch call needs a current context whatever the stream.
Status enqueue_large(const Batch &batch, const ResolvedStream &stream) {
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    if (batch.sizes.count() > 1 && takes_many_copies_on(stream)) {
        return enqueue_fused(batch, stream);
    }
    for (const BatchCopy &copy : batch.copies.large()) {
        VIA_TRY(enqueue_one(copy, stream));
    }
    return VIA_OK;
}

// ------------------------------------------------------------------------------------------------ by kernels

// Batches of more copies are not kept.
constexpr int64_t kMostIdle = 32768;
constinit CachedObjects<Batch> spare;

void give_back(Batch *batch) {
    if (batch->copies.room() > kMostIdle || batch->storages.room() > 2 * kMostIdle) {
        delete batch;
        return;
    }
    batch->reach = {};
    batch->copies.clear();
    batch->dsts.resize(0);
    batch->srcs.resize(0);
    batch->sizes.resize(0);
    batch->storages.resize(0);
    batch->table = nullptr;
    spare.give_back(batch);
}

uint32_t blocks_for(int64_t pieces) { return static_cast<uint32_t>(divide_up(pieces, kernels::CopyGroups::kGroups)); }

// Returns the table of the pieces for this context, or nullptr.
DescriptorTable *table_for(Batch *batch, const ResolvedStream &stream) {
    const int64_t count = batch->copies.piece_count();
    const std::lock_guard<std::mutex> lock(batch->making);
    return DescriptorTable::keep(
        &batch->table, stream.key(), count * static_cast<int64_t>(sizeof(kernels::CopyPiece)),
        [&](void *memory) { (void)Pieces(batch->copies).take(count, static_cast<kernels::CopyPiece *>(memory)); });
}

Status launch_table(Batch *batch, DescriptorTable *table, const ResolvedStream &stream) {
    VIA_TRY(stream.capturing ? table->hold_in_graph(stream) : VIA_OK);
    const int64_t count = batch->copies.piece_count();
    const kernels::CopyTable::Params params{reinterpret_cast<uint64_t>(table->memory()), static_cast<uint32_t>(count)};
    return launch(kernels::Id::via_copy_table, blocks_for(count), &params, stream);
}

// Launches until all pieces are given, each time with as many as fit the parameters.
Status launch_lists(const Batch &batch, const ResolvedStream &stream) {
    kernels::CopyList::Params params;
    Pieces pieces(batch.copies);
    while (true) {
        params.count = static_cast<uint32_t>(pieces.take(kernels::CopyList::kPieces, params.pieces));
        if (params.count == 0) {
            return VIA_OK;
        }
        VIA_TRY(launch(kernels::Id::via_copy_list, blocks_for(params.count), &params, stream));
    }
}

Status enqueue_small(Batch *batch, const ResolvedStream &stream) {
    DescriptorTable *table =
        batch->copies.piece_count() > kernels::CopyList::kPieces ? table_for(batch, stream) : nullptr;
    return table != nullptr ? launch_table(batch, table, stream) : launch_lists(*batch, stream);
}

Status enqueue_all(Batch *batch, const ResolvedStream &stream) {
    VIA_TRY(enqueue_small(batch, stream));
    return enqueue_large(*batch, stream);
}

Status run_and_record(Batch *batch, const ResolvedStream &stream, Fence **out_fence) {
    VIA_TRY(end_failed(enqueue_all(batch, stream), stream));
    return record_or_wait(stream, out_fence);
}

Status run_captured(Batch *batch, const ResolvedStream &stream) {
    VIA_TRY(hold_in_graph(stream, batch->storages.begin(), batch->storages.count()));
    return enqueue_all(batch, stream);
}

// Reports no error: copies that run one by one report it, or succeed.
bool can_run(const Batch &batch, const ResolvedStream &stream) {
    if (stream.device_id != batch.device_id) {
        return false;
    }
    if (batch.copies.piece_count() == 0) {
        return true;
    }
    const CallbackScope quiet;
    const bool reaches = batch.reach.context() == nullptr || batch.reach.context() == stream.context;
    return reaches && load_kernels(stream) == VIA_OK;
}

}  // namespace

int32_t device_meant_by(via_stream *stream) { return stream != nullptr ? stream->device_id : kDeviceAtHand; }

Status make_batch(int32_t device_id, int32_t count, Batch **out_batch) {
    VIA_TRY(need_driver(kBatch));
    Batch *batch = spare.take();
    if (batch == nullptr) {
        return no_memory();
    }
    batch->device_id = device_id;
    batch->reach = RangeCache(device_id);
    *out_batch = batch;
    return batch->copies.reserve(count) ? VIA_OK : no_memory();
}

bool can_reach(Batch *batch, const void *dst, const void *src, LinkDirection direction) {
    return batch->reach.takes(number_of(dst), number_of(src), direction);
}

Status add_copy(Batch *batch, void *dst, const void *src, int64_t nbytes, LinkDirection direction) {
    const BatchCopy copy{reinterpret_cast<uint64_t>(dst), reinterpret_cast<uint64_t>(src),
                         static_cast<uint64_t>(nbytes), direction};
    return batch->copies.add(copy) ? VIA_OK : no_memory();
}

List<Storage *> *storages_of(Batch *batch) { return &batch->storages; }

Status finish_batch(Batch *batch) {
    return batch->copies.decide(takes_many_copies()) ? collect_large(batch) : no_memory();
}

void end_batch(Batch *batch, Fence *until) {
    if (batch == nullptr) {
        return;
    }
    if (batch->table != nullptr) {
        batch->table->release(until);
    }
    give_back(batch);
}

Status can_run_on(Batch *batch, via_stream *stream, bool *out_can, Timeline *out_timeline) {
    ResolvedStream resolved;
    VIA_TRY(resolve(stream, batch->device_id, &resolved));
    *out_can = can_run(*batch, resolved);
    *out_timeline = resolved.capturing ? Timeline{} : resolved.timeline();
    return VIA_OK;
}

bool can_run_in_task(Batch *batch) {
    const CallbackScope quiet;
    ResolvedStream stream;
    return internal_stream(batch->device_id, kTaskStream, &stream) == VIA_OK && can_run(*batch, stream);
}

Status run_batch_on(Batch *batch, Fence *dependency, via_stream *stream, Fence **out_fence) {
    ResolvedStream resolved;
    VIA_TRY(resolve(stream, batch->device_id, &resolved));
    if (dependency != nullptr) {
        VIA_TRY(dependency->make_stream_follow(resolved));
    }
    return resolved.capturing ? run_captured(batch, resolved) : run_and_record(batch, resolved, out_fence);
}

Status run_batch_for_task(Batch *batch, Fence **out_fence) {
    ResolvedStream stream;
    VIA_TRY(internal_stream(batch->device_id, kTaskStream, &stream));
    const RelaxedCapture relaxed;
    return run_and_record(batch, stream, out_fence);
}

}  // namespace via::cuda
