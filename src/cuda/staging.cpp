#include "cuda/staging.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "core/no_cancellation.hpp"
#include "core/thread_count.hpp"
#include "cuda/crossover.hpp"
#include "cuda/staging_run.hpp"

namespace via::cuda {
namespace {

// Own streams, so that slots never wait behind a long copy of page-locked memory.
constexpr int32_t kStreamToDevice = 2;
constexpr int32_t kStreamToHost = 3;

// More threads than this gain nothing: the link is full. Faulting in new pages takes more, by the huge page.
constexpr int32_t kMostWorkers = 8;
constexpr int32_t kMostWorkersNewPages = 12;
constexpr int64_t kBytesOfWorker = int64_t{128} << 10;

// The driver faults in new pages one by one, at 2 GB/s; even one worker does better.
constexpr int64_t kNewPagesFrom = int64_t{128} << 10;

int32_t worker_count(int64_t nbytes, bool new_pages) {
    const int32_t most = std::min(num_threads(), new_pages ? kMostWorkersNewPages : kMostWorkers);
    const int64_t wanted = new_pages ? (nbytes + kHugePage - 1) / kHugePage : nbytes / kBytesOfWorker;
    return static_cast<int32_t>(std::clamp<int64_t>(wanted, 1, most));
}

Status stage(const StagedCopy &copy, const StreamUse &stream, Ring &ring) {
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    StagedRun run(copy, stream, ring);
    return run.copy(worker_count(copy.nbytes, run.has_new_pages()));
}

// Where no mark can be had for what the stream still does, it is waited for.
Status mark_end(const StreamUse &stream, Mark **out_mark) {
    const Status status = record_mark(stream, out_mark);
    if (status != VIA_OK) {
        (void)driver().cuStreamSynchronize(stream.handle);
    }
    return status;
}

Status acquire_ring(int32_t device_id, RingHolder *ring) {
    CUcontext context = nullptr;
    VIA_TRY(primary_context(device_id, &context));
    return Ring::acquire(device_id, {context, context_id(context)}, ring->out());
}

// Making the ring takes longer than any small copy wins by it: those go to the driver until together they would have
// won as much. A large copy makes it at once.
constexpr int64_t kMakesRing = int64_t{8} << 20;
constexpr int64_t kMakeRingTogether = int64_t{32} << 20;
std::atomic<int64_t> bytes_without_ring[kMostDevices];

bool is_worth_a_ring(int64_t nbytes, int32_t device_id) {
    std::atomic<int64_t> &together = bytes_without_ring[device_id];
    if (together.load(std::memory_order_relaxed) >= kMakeRingTogether) [[likely]] {
        return true;
    }
    const int64_t counted = nbytes >= kMakesRing ? kMakeRingTogether : nbytes;
    return together.fetch_add(counted, std::memory_order_relaxed) + counted >= kMakeRingTogether;
}

}  // namespace

bool is_staged(Direction direction, int64_t nbytes, int32_t device_id, const void *host) {
    return nbytes >= crossover(direction, device_id) ||
           (direction == Direction::ToHost && host != nullptr && nbytes >= kNewPagesFrom && looks_new(host, nbytes));
}

// What went wrong is nobody's error.
bool has_ring(int64_t nbytes, int32_t device_id) {
    if (!is_worth_a_ring(nbytes, device_id)) {
        return false;
    }
    const CallbackScope scope;
    const RelaxedCapture relaxed;
    RingHolder ring;
    return acquire_ring(device_id, &ring) == VIA_OK;
}

Status run_staged(const StagedCopy &copy, Mark **out_mark) {
    *out_mark = nullptr;
    VIA_TRY(need_driver("a staged copy"));
    if (copy.nbytes == 0) {
        return VIA_OK;
    }
    const bool to_device = copy.direction == Direction::ToDevice;
    const NoCancellation whole;
    const RelaxedCapture relaxed;
    StreamUse stream{};
    VIA_TRY(own_stream(copy.device_id, to_device ? kStreamToDevice : kStreamToHost, &stream));
    RingHolder ring;
    VIA_TRY(Ring::acquire(copy.device_id, {stream.context, stream.context_id}, ring.out()));
    VIA_TRY(stage(copy, stream, *ring.get()));
    return to_device ? mark_end(stream, out_mark) : VIA_OK;
}

Status prepare_ring(int32_t device_id) {
    VIA_TRY(need_driver("a ring of staging slots"));
    char why[160];
    if (ring_bytes(device_id, sizeof why, why) == 0) {
        return VIA_OK;
    }
    const RelaxedCapture relaxed;
    RingHolder ring;
    VIA_TRY(acquire_ring(device_id, &ring));
    bytes_without_ring[device_id].store(kMakeRingTogether, std::memory_order_relaxed);
    return VIA_OK;
}

int64_t ring_bytes(int32_t, int64_t capacity, char *out_why) {
    int64_t slot_bytes = 0;
    int32_t slot_count = 0;
    const int64_t most = most_ring_bytes();
    shape_ring(most, &slot_bytes, &slot_count);
    if (slot_count == 0) {
        std::snprintf(out_why, static_cast<size_t>(capacity),
                      "this process may page-lock %lld bytes for it, a sixteenth of its memory, which is too little",
                      static_cast<long long>(most));
    }
    return slot_bytes * slot_count;
}

void describe_ring(Direction, int64_t nbytes, int32_t, int64_t capacity, char *out_text) {
    int64_t slot_bytes = 0;
    int32_t slot_count = 0;
    shape_ring(most_ring_bytes(), &slot_bytes, &slot_count);
    std::snprintf(out_text, static_cast<size_t>(capacity), "%d workers, %d slots of up to %lld KiB",
                  worker_count(nbytes, false), slot_count, static_cast<long long>(slot_bytes >> 10));
}

}  // namespace via::cuda
