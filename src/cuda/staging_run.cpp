#include "cuda/staging_run.hpp"

#include <cstring>

#include "core/task.hpp"
#include "core/thread_pool.hpp"
#include "cuda/staging_store.hpp"

namespace via::cuda {
namespace {

// As NumPy has it: a smaller array may not be worth the memory.
constexpr int64_t kHugePagesFrom = int64_t{4} << 20;

// Chunks that the device fills ahead of the workers: enough to keep it busy while they change from one to the next,
// and no more slots held than that.
constexpr int32_t kMostAhead = 4;

}  // namespace

StagedRun::StagedRun(const StagedCopy &copy, const StreamUse &stream, Ring &ring)
    : copy_(copy), stream_(stream), ring_(ring) {
    cut_.nbytes = copy.nbytes;
    cut_.slot_bytes = ring.slot_bytes();
    cut_.address = reinterpret_cast<intptr_t>(copy.host);
    new_pages_ = !to_device() && looks_new(copy.host, copy.nbytes);
    cut_.by_huge_pages = new_pages_;
    if (new_pages_ && copy.nbytes >= kHugePagesFrom) {
        advise_huge_pages(copy.host, copy.nbytes);
    }
}

Status StagedRun::copy(int32_t workers) {
    parallel_for(workers, workers, work, this);
    give_back_rest();
    return outcome();
}

// Each worker goes on until there is nothing left to claim, so one that wakes late finds nothing and holds up nobody.
void StagedRun::work(void *run, int64_t) { static_cast<StagedRun *>(run)->work_here(); }

void StagedRun::work_here() {
    if (is_stopped()) {
        return;
    }
    const bool is_helper = pthread_equal(pthread_self(), caller_) == 0;
    const NearDevice near(is_helper ? ring_.cpus() : nullptr);
    const RelaxedCapture relaxed;
    ContextScope scope;
    if (scope.enter(stream_.context) != VIA_OK) {
        return;  // the caller's own was entered before
    }
    Piece piece{};
    while (claim(&piece)) {
        const bool copied = to_device() ? fill(piece) : empty(piece);
        finish(piece, copied);
    }
}

// ---------------------------------------------------------------------------------------------- claiming

bool StagedRun::claim(Piece *out_piece) {
    const std::lock_guard<QuickMutex> lock(mutex_);
    if (copy_.task != nullptr) {
        report_progress(copy_.task, done_.load(std::memory_order_relaxed));
        if (is_cancelled(copy_.task)) {
            cancelled_.store(true, std::memory_order_relaxed);
            stopped_.store(true, std::memory_order_relaxed);
        }
    }
    if (is_stopped() || ((current_ == nullptr || claimed_ == current_->length) && !open_next())) {
        return false;
    }
    const int64_t length = piece_length(cut_, current_->offset, current_->length, claimed_);
    *out_piece = {current_, claimed_, length};
    claimed_ += length;
    return true;
}

bool StagedRun::open_next() {
    current_ = nullptr;
    claimed_ = 0;
    return to_device() ? open_empty() : open_filled();
}

// A slot is waited for with the mutex held: the other workers have nothing to do either, and all slots that this copy
// holds have been claimed to the last piece, so that they come back without it.
bool StagedRun::open_empty() {
    Slot *slot = nullptr;
    if (cut_so_far_ == cut_.nbytes || !succeeded(ring_.take(&slot), "cuEventQuery")) {
        return false;
    }
    current_ = start_chunk(slot);
    return true;
}

bool StagedRun::open_filled() {
    Slot *slot = nullptr;
    if (first_ahead_ == nullptr &&
        (cut_so_far_ == cut_.nbytes || !succeeded(ring_.take(&slot), "cuEventQuery") || !start_filling(slot))) {
        return false;
    }
    current_ = first_ahead_;
    first_ahead_ = current_->next;
    last_ahead_ = first_ahead_ == nullptr ? nullptr : last_ahead_;
    ahead_--;
    return fill_ahead();
}

StagedRun::Chunk *StagedRun::start_chunk(Slot *slot) {
    Chunk &chunk = chunks_[slot->number];
    chunk.slot = slot;
    chunk.offset = cut_so_far_;
    chunk.length = chunk_length(cut_, cut_so_far_);
    chunk.next = nullptr;
    chunk.left.store(chunk.length, std::memory_order_relaxed);
    chunk.landed.store(false, std::memory_order_relaxed);
    chunk.being_asked.store(false, std::memory_order_relaxed);
    cut_so_far_ += chunk.length;
    return &chunk;
}

// Has the device fill a slot with the next chunk.
bool StagedRun::start_filling(Slot *slot) {
    Chunk *chunk = start_chunk(slot);
    const auto address = copy_.device + static_cast<CUdeviceptr>(chunk->offset);
    const auto length = static_cast<size_t>(chunk->length);
    if (!succeeded(driver().cuMemcpyDtoHAsync(slot->memory, address, length, stream_.handle), "cuMemcpyDtoHAsync") ||
        !succeeded(driver().cuEventRecord(slot->event, stream_.handle), "cuEventRecord")) {
        return false;  // give_back_rest waits for the stream
    }
    (last_ahead_ == nullptr ? first_ahead_ : last_ahead_->next) = chunk;
    last_ahead_ = chunk;
    ahead_++;
    return true;
}

bool StagedRun::fill_ahead() {
    while (ahead_ < kMostAhead && cut_so_far_ < cut_.nbytes) {
        Slot *slot = ring_.take_spare();
        if (slot == nullptr) {
            break;
        }
        if (!start_filling(slot)) {
            return false;
        }
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- copying

bool StagedRun::fill(const Piece &piece) {
    store_for_device(piece.chunk->slot->memory + piece.start, host(*piece.chunk) + piece.start, piece.length);
    return true;
}

// Plain stores: the slot's lines are in the last-level cache as a rule, and the caller reads the destination next.
bool StagedRun::empty(const Piece &piece) {
    char *dst = host(*piece.chunk) + piece.start;
    if (new_pages_) {
        populate_missing(dst, piece.length);  // while the device is still filling the slot
    }
    if (!wait_until_landed(*piece.chunk)) {
        return false;
    }
    std::memcpy(dst, piece.chunk->slot->memory + piece.start, static_cast<size_t>(piece.length));
    return true;
}

// One worker asks at a time; the driver's lock is worth sparing.
bool StagedRun::has_landed(Chunk &chunk) {
    if (chunk.landed.load(std::memory_order_acquire)) {
        return true;
    }
    if (chunk.being_asked.exchange(true, std::memory_order_acquire)) {
        return false;
    }
    const CUresult result = driver().cuEventQuery(chunk.slot->event);
    if (result == CUDA_SUCCESS) {
        chunk.landed.store(true, std::memory_order_release);
    } else if (result != CUDA_ERROR_NOT_READY) {
        stop(result, "cuEventQuery");
    }
    chunk.being_asked.store(false, std::memory_order_release);
    return result == CUDA_SUCCESS;
}

bool StagedRun::wait_until_landed(Chunk &chunk) {
    Patience patience;
    while (!has_landed(chunk)) {
        if (is_stopped()) {
            return false;
        }
        patience.pause();
    }
    return true;
}

// The worker that finishes the last piece passes the slot on; nobody touches the chunk after that.
void StagedRun::finish(const Piece &piece, bool copied) {
    Chunk &chunk = *piece.chunk;
    if (!copied) {
        return;  // give_back_rest takes care of the slot
    }
    done_.fetch_add(piece.length, std::memory_order_relaxed);
    if (chunk.left.fetch_sub(piece.length, std::memory_order_acq_rel) != piece.length) {
        return;
    }
    if (to_device()) {
        submit(chunk);
    } else {
        Slot *slot = chunk.slot;
        chunk.slot = nullptr;
        ring_.give_back(slot);
    }
}

void StagedRun::submit(Chunk &chunk) {
    const auto address = copy_.device + static_cast<CUdeviceptr>(chunk.offset);
    Slot *slot = chunk.slot;
    const CUresult result =
        driver().cuMemcpyHtoDAsync(address, slot->memory, static_cast<size_t>(chunk.length), stream_.handle);
    if (!succeeded(result, "cuMemcpyHtoDAsync")) {
        return;
    }
    chunk.slot = nullptr;
    (void)succeeded(ring_.give_back_behind(slot, stream_.handle), "cuEventRecord");
}

// ---------------------------------------------------------------------------------------------- the end

// The first failure is the one that is told.
void StagedRun::stop(CUresult result, const char *call) {
    const std::lock_guard<std::mutex> lock(failing_);
    if (failed_call_ == nullptr) {
        failure_ = result;
        failed_call_ = call;
    }
    stopped_.store(true, std::memory_order_relaxed);
}

bool StagedRun::succeeded(CUresult result, const char *call) {
    if (result == CUDA_SUCCESS) [[likely]] {
        return true;
    }
    stop(result, call);
    return false;
}

// After a failure or a cancellation: what the stream still does with slots or with the destination ends first.
void StagedRun::give_back_rest() {
    if (!is_stopped()) {
        return;
    }
    (void)driver().cuStreamSynchronize(stream_.handle);
    for (Chunk &chunk : chunks_) {
        if (chunk.slot != nullptr) {
            ring_.give_back(chunk.slot);
            chunk.slot = nullptr;
        }
    }
}

Status StagedRun::outcome() {
    if (failed_call_ != nullptr) {
        return driver_failure(failure_, failed_call_);
    }
    if (cancelled_.load(std::memory_order_relaxed)) {
        return fail(VIA_ERROR_CANCELLED, "the task was cancelled after %lld of %lld bytes",
                    static_cast<long long>(done_.load(std::memory_order_relaxed)),
                    static_cast<long long>(copy_.nbytes));
    }
    if (copy_.task != nullptr) {
        report_progress(copy_.task, copy_.nbytes);
    }
    return VIA_OK;
}

}  // namespace via::cuda
