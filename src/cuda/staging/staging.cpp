#include "cuda/staging/staging.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "core/base/no_cancellation.hpp"
#include "core/base/text_buffer.hpp"
#include "core/system/pages.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/io_endpoint.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/memory/prefault.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/staging/calibration.hpp"
#include "cuda/staging/staging_pipeline.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"

namespace via::cuda {
namespace {

// Internal streams, two for each direction: slots never wait for a long copy of pinned memory.
constexpr int32_t kStreamToDevice = 2;
constexpr int32_t kStreamToHost = 3;
constexpr int32_t kToSecond = 4;

constexpr int64_t kLeastForTwoStreams = int64_t{256} << 10;

// The driver faults in new pages one by one, at 2 GB/s. One worker is faster.
constexpr int64_t kNewPagesFrom = int64_t{128} << 10;

int32_t worker_count(const StagedCopy &copy, bool new_pages) {
    if (copy.io.endpoint != nullptr) {
        return copy.io.workers;
    }
    if (copy.transfer.ndim > 0 && !new_pages) {
        return worth_waking(copy.transfer, copy.plan, num_threads());
    }
    const int64_t nbytes = copy.transfer.nbytes;
    if (new_pages) {
        const int64_t pages = round_up(nbytes, kHugePage) / kHugePage;
        return static_cast<int32_t>(std::clamp<int64_t>(pages, 1, std::min(num_threads(), kMostWorkersOfSlow)));
    }
    if (is_soon_done(copy.transfer)) {
        return 1;
    }
    const int64_t wanted = nbytes / kBytesOfWorker;
    return static_cast<int32_t>(std::clamp<int64_t>(wanted, 1, std::min(num_threads(), kMostWorkers)));
}

// Returns the memory that the kernels reach.
const Transfer &reached_by(const StagedCopy &copy) {
    return copy.device_part != nullptr ? copy.device_part->reached() : copy.transfer;
}

// Takes two streams for kernels, which then run while the other stream copies. What fits one slot needs one stream.
Status find_streams(const StagedCopy &copy, StagedStreams *streams) {
    const int32_t first = is_to_device(copy.transfer) ? kStreamToDevice : kStreamToHost;
    streams->count = copy.needs_kernel() && copy.transfer.nbytes > kLeastForTwoStreams ? StagedStreams::kMost : 1;
    for (int32_t i = 0; i < streams->count; ++i) {
        VIA_TRY(internal_stream(device_of_transfer(copy.transfer), first + i * kToSecond, &streams->each[i]));
    }
    return VIA_OK;
}

// Returns the ring's scratch memory, or nullptr if there is none. Kernels in another context, where the memory is, do
// not reach that: they get memory of a pool.
Status find_scratch(const StagedCopy &copy, const StagedStreams &streams, Ring &ring, Scratch *pooled,
                    char **out_scratch) {
    const ResolvedStream &first = streams.each[0];
    if (reaches_memory(reached_by(copy), first)) {
        return ring.scratch(out_scratch);
    }
    if (!has_scratch(first.device_id)) {
        return VIA_OK;
    }
    VIA_TRY(pooled->allocate_if_room(ring.shape().nbytes(), first));
    for (int32_t i = 1; i < streams.count; ++i) {
        VIA_TRY(follow(streams.each[i], first));
    }
    *out_scratch = static_cast<char *>(pooled->address());
    return VIA_OK;
}

Status stage(const StagedCopy &copy, const StagedStreams &streams, Ring &ring, Scratch *pooled) {
    ContextScope scope;
    VIA_TRY(scope.enter(streams.each[0].context));
    char *scratch = nullptr;
    if (copy.needs_kernel()) {
        VIA_TRY(prepare_kernel(reached_by(copy), streams.each[0]));
        VIA_TRY(find_scratch(copy, streams, ring, pooled, &scratch));
    }
    StagingPipeline run(copy, streams, ring, scratch);
    return run.copy(worker_count(copy, run.has_new_pages()));
}

// Makes the first stream wait for the others, and records its fence.
Status stream_fences(const StagedStreams &streams, Fence **out_fence) {
    for (int32_t i = 1; i < streams.count; ++i) {
        VIA_TRY(follow(streams.each[0], streams.each[i]));
    }
    return record_fence(streams.each[0], out_fence);
}

// Waits for the streams if no fence can be recorded.
Status record_end(const StagedStreams &streams, Fence **out_fence) {
    const Status status = stream_fences(streams, out_fence);
    for (int32_t i = 0; status != VIA_OK && i < streams.count; ++i) {
        (void)wait_for_work(streams.each[i].handle);
    }
    return status;
}

Status acquire_ring(int32_t device_id, RingSize size, UniqueRing *ring) {
    ContextKey key{};
    VIA_TRY(primary_context(device_id, &key));
    return Ring::acquire(device_id, key, size, ring->out());
}

// Bytes copied in sum from which on a ring of each size has gained what it takes to make. Copies go to the driver until
// then, or through a smaller one.
constexpr int64_t kWorthMaking[] = {int64_t{16} << 20, int64_t{32} << 20, int64_t{512} << 20};
constexpr int64_t kWorthLarge = kWorthMaking[static_cast<int32_t>(RingSize::Large)];
std::atomic<int64_t> bytes_in_sum[kMostDevices];

// Returns how many sizes of a ring, from the smallest on, are worth making for this copy and those before.
int32_t count_worth_making(int64_t nbytes, int32_t device_id) {
    std::atomic<int64_t> &bytes = bytes_in_sum[device_id];
    int64_t sum = bytes.load(std::memory_order_relaxed);
    if (sum < kWorthLarge) [[unlikely]] {
        nbytes = std::min(nbytes, kWorthLarge);
        sum = bytes.fetch_add(nbytes, std::memory_order_relaxed) + nbytes;
    }
    return static_cast<int32_t>(std::ranges::count_if(kWorthMaking, [&](int64_t worth) { return sum >= worth; }));
}

}  // namespace

bool may_have_ring() { return shape_ring(most_ring_bytes()).slot_count > 0; }

bool is_staged(const Transfer &transfer) {
    if (!has_pageable(transfer) || !has_device(transfer) || is_straight(transfer)) {
        return false;
    }
    const Direction direction = is_to_device(transfer) ? Direction::ToDevice : Direction::ToHost;
    return reaches_threshold(direction, transfer.nbytes, device_of_transfer(transfer)) ||
           (direction == Direction::ToHost && transfer.nbytes >= kNewPagesFrom &&
            looks_new(transfer.dst, transfer.nbytes));
}

// Reports no error: the driver's own copy serves as well.
bool has_ring(int64_t nbytes, int32_t device_id) {
    const int32_t sizes = count_worth_making(nbytes, device_id);
    if (sizes == 0) {
        return false;
    }
    const CallbackScope scope;
    const RelaxedCapture relaxed;
    UniqueRing ring;
    return acquire_ring(device_id, static_cast<RingSize>(sizes - 1), &ring) == VIA_OK;
}

Status run_staged(const StagedCopy &copy, Fence **out_fence) {
    *out_fence = nullptr;
    VIA_TRY(need_driver("a staged copy"));
    if (copy.transfer.nbytes == 0) {
        return VIA_OK;
    }
    const NoCancellation whole;
    const RelaxedCapture relaxed;
    StagedStreams streams;
    VIA_TRY(find_streams(copy, &streams));
    UniqueRing ring;
    const ResolvedStream &first = streams.each[0];
    const int32_t sizes = std::max(count_worth_making(0, first.device_id), 1);
    VIA_TRY(Ring::acquire(first.device_id, first.key(), static_cast<RingSize>(sizes - 1), ring.out()));
    Scratch pooled;  // freed on the first stream, after the others
    VIA_TRY(stage(copy, streams, *ring.get(), &pooled));
    return is_to_device(copy.transfer) ? record_end(streams, out_fence) : VIA_OK;
}

Status prepare_ring(int32_t device_id) {
    VIA_TRY(need_driver("a ring of staging slots"));
    find_ring_bytes();
    if (!may_have_ring()) {
        return VIA_OK;
    }
    const RelaxedCapture relaxed;
    UniqueRing ring;
    VIA_TRY(acquire_ring(device_id, RingSize::Large, &ring));
    bytes_in_sum[device_id].store(kWorthLarge, std::memory_order_relaxed);
    return VIA_OK;
}

int64_t ring_bytes(int64_t capacity, char *out_why) {
    const int64_t most = most_ring_bytes();
    const RingShape shape = shape_ring(most);
    if (shape.slot_count == 0) {
        std::snprintf(out_why, static_cast<size_t>(capacity),
                      "this process may pin %lld bytes for it, a sixteenth of its memory; expected at least %lld",
                      static_cast<long long>(most), static_cast<long long>(kLeastSlot * kFewestSlots));
    }
    return shape.nbytes();
}

void describe_ring(const StagedCopy &copy, TextBuffer *text) {
    const RingShape shape = shape_ring(most_ring_bytes());
    text->add("%d workers, %d slots of up to %lld KiB", worker_count(copy, false), shape.slot_count,
              as_printed(shape.slot_bytes >> 10));
}

bool can_stage_io(const Transfer &transfer, StagedPlan *out_plan) {
    const int32_t device_id = device_of_transfer(transfer);
    *out_plan = transfer.ndim > 0 ? plan_staged(transfer, runs_kernels(device_id)) : StagedPlan{};
    const bool all_in_order =  // of the endpoint
        out_plan->adjacent_on_host && make_staged_order(transfer, *out_plan).nbytes == transfer.nbytes;
    return all_in_order && has_ring(transfer.nbytes, device_id);
}

Status transfer_io(const Transfer &transfer, const StagedPlan &plan, const IoPart &io, via_task *task,
                   Fence **out_fence) {
    return run_staged({transfer, plan, task, io}, out_fence);
}

}  // namespace via::cuda
