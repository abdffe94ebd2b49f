#include "cuda/staging/staging_pipeline.hpp"

#include <algorithm>
#include <utility>

#include "core/async/task.hpp"
#include "core/async/thread_pool.hpp"
#include "core/system/thread_count.hpp"

namespace via::cuda {
namespace {

// Counts the copies under way in this process for a scope.
std::atomic<int32_t> under_way{0};

class UnderWay {
public:
    UnderWay() { under_way.fetch_add(1, std::memory_order_relaxed); }
    ~UnderWay() { under_way.fetch_sub(1, std::memory_order_relaxed); }
    UnderWay(const UnderWay &) = delete;
    UnderWay &operator=(const UnderWay &) = delete;
};

}  // namespace

// Returns how many workers a copy may have of those under way. Workers that read and write files wait for these more
// than for a processor.
int32_t StagingPipeline::fair_share() const {
    const int32_t copies = std::max(under_way.load(std::memory_order_relaxed), 1);
    return ends_.is_io() ? INT32_MAX : std::max(num_threads() / copies, 1);
}

StagingPipeline::StagingPipeline(const StagedCopy &copy, const StagedStreams &streams, Ring &ring, char *scratch)
    : streams_(streams), ring_(ring), scratch_(scratch), ends_(copy, ring.slot_bytes()), task_(copy.task) {
    ends_.find_new_pages();
}

// Lets the device begin before helpers wake, which takes long.
Status StagingPipeline::copy(int32_t workers) {
    const UnderWay counted;
    workers = std::min(workers, fair_share());
    if (!to_device()) {
        fill_next();
        if (has_room_ahead()) {
            fill_ahead();
        }
    }
    parallel_for(workers, workers, work, this);
    submit_left();
    give_back_rest();
    return outcome();
}

// A worker goes on until nothing is left to claim, or until so many copies are under way that it is needed elsewhere;
// the first one stays. One that wakes late finds nothing and delays nobody.
void StagingPipeline::work(void *run, int64_t worker) { static_cast<StagingPipeline *>(run)->work_here(worker); }

void StagingPipeline::work_here(int64_t worker) {
    if (is_stopped()) {
        return;
    }
    const NearDevice near(is_caller() ? nullptr : ring_.cpus());
    if (!is_caller()) {
        stay_relaxed();
    }
    Piece piece{};
    while (worker < fair_share() && claim(&piece)) {
        const bool copied = to_device() ? fill(piece) : empty(piece);
        finish(piece, copied);
        if (is_caller()) {
            submit_left();
        }
    }
}

// ---------------------------------------------------------------------------------------------- claiming

bool StagingPipeline::claim(Piece *out_piece) {
    std::unique_lock<AdaptiveMutex> lock(mutex_);
    note_task();
    const bool opens = current_ == nullptr;
    if (is_stopped() || (opens && !(to_device() ? open_empty() : open_filled(&lock)))) {
        return false;
    }
    const int64_t length = ends_.piece_length(current_->offset, current_->length, claimed_);
    *out_piece = {current_, claimed_, length};
    claimed_ += length;
    if (claimed_ == current_->length) {
        current_ = nullptr;  // before its last piece is copied, after which another chunk may reuse it
        claimed_ = 0;
    }
    if (!to_device() && opens && has_room_ahead() && !is_queueing_) {
        queue(&lock, &StagingPipeline::fill_ahead);
    }
    return true;
}

void StagingPipeline::note_task() {
    if (task_ == nullptr) {
        return;
    }
    report_progress(task_, ends_.progress(done_.load(std::memory_order_relaxed)));
    if (is_cancelled(task_)) {
        cancelled_.store(true, std::memory_order_relaxed);
        stopped_.store(true, std::memory_order_relaxed);
    }
}

// Waits for a slot with the mutex held: the other workers have nothing to do either. Every slot of this copy is claimed
// to the last piece, so it comes back without the mutex.
bool StagingPipeline::open_empty() {
    Slot *slot = nullptr;
    if (cut_so_far_ == ends_.nbytes() || !succeeded(take_slot(&slot))) {
        return false;
    }
    current_ = start_chunk(slot);
    return true;
}

// Opens the next chunk that the device fills, or leaves that to another worker. Queues one if nobody does.
bool StagingPipeline::open_filled(std::unique_lock<AdaptiveMutex> *lock) {
    while (current_ == nullptr && first_ahead_ == nullptr) {
        if (is_queueing_) {
            wait_for_queue(lock);
        } else if (cut_so_far_ < ends_.nbytes()) {
            queue(lock, &StagingPipeline::fill_next);
        } else {
            return false;
        }
        if (is_stopped()) {
            return false;
        }
    }
    if (current_ == nullptr) {
        current_ = first_ahead_;
        first_ahead_ = current_->next;
        last_ahead_ = first_ahead_ == nullptr ? nullptr : last_ahead_;
        ahead_--;
    }
    return true;
}

// Queues chunks as the only worker that does, without the mutex: planning and launching a kernel takes long, and the
// others go on with what has landed.
void StagingPipeline::queue(std::unique_lock<AdaptiveMutex> *lock, void (StagingPipeline::*fill_some)()) {
    is_queueing_ = true;
    lock->unlock();
    (this->*fill_some)();
    lock->lock();
    is_queueing_ = false;
    note_queued();
}

// Wakes those who wait: a chunk has been queued, or another of them may queue. Call with the mutex held.
void StagingPipeline::note_queued() {
    queued_.fetch_add(1, std::memory_order_relaxed);
    changed_.notify_all();
}

// Sleeps, rather than yields: a thread that yields its processor may lose it for milliseconds where others are busy.
void StagingPipeline::wait_for_queue(std::unique_lock<AdaptiveMutex> *lock) {
    constexpr int32_t kLooks = 500;
    const uint32_t seen = queued_.load(std::memory_order_relaxed);
    const auto has_changed = [&] { return queued_.load(std::memory_order_relaxed) != seen; };
    lock->unlock();
    (void)spin_until(has_changed, kLooks);
    lock->lock();
    mutex_.wait(&changed_, has_changed);
}

Status StagingPipeline::take_slot(Slot **out_slot) { return check_driver(ring_.take(out_slot), "cuEventQuery"); }

StagingPipeline::Chunk *StagingPipeline::start_chunk(Slot *slot) {
    Chunk &chunk = chunks_[slot->number];
    chunk.slot = slot;
    chunk.stream = &streams_.each[chunk_count_++ % streams_.count];
    chunk.offset = cut_so_far_;
    chunk.length = ends_.chunk_length(cut_so_far_);
    chunk.next = nullptr;
    chunk.left.store(chunk.length, std::memory_order_relaxed);
    chunk.spoilt.store(false, std::memory_order_relaxed);
    chunk.landed.store(false, std::memory_order_relaxed);
    chunk.being_asked.store(false, std::memory_order_relaxed);
    cut_so_far_ += chunk.length;
    all_cut_.store(cut_so_far_ == ends_.nbytes(), std::memory_order_relaxed);
    return &chunk;
}

// Queues the next chunk into a slot. Returns whether there is room for another.
bool StagingPipeline::start_filling(Slot *slot) {
    Chunk *chunk = nullptr;
    {
        const std::lock_guard<AdaptiveMutex> lock(mutex_);
        chunk = start_chunk(slot);
    }
    ContextScope scope;
    if (!succeeded(scope.enter(context())) ||
        !succeeded(ends_.fetch(slot->memory, is_only(*chunk) ? nullptr : scratch_of(*slot), chunk->offset,
                               chunk->length, *chunk->stream)) ||
        !succeeded(check_driver(driver().cuEventRecord(slot->event, chunk->stream->handle), "cuEventRecord"))) {
        return false;  // give_back_rest waits for the streams
    }
    const std::lock_guard<AdaptiveMutex> lock(mutex_);
    (last_ahead_ == nullptr ? first_ahead_ : last_ahead_->next) = chunk;
    last_ahead_ = chunk;
    ahead_++;
    note_queued();
    return has_room_ahead();
}

void StagingPipeline::fill_next() {
    Slot *slot = nullptr;
    if (succeeded(take_slot(&slot))) {
        (void)start_filling(slot);
    }
}

void StagingPipeline::fill_ahead() {
    Slot *slot = ring_.take_idle();
    while (slot != nullptr && start_filling(slot) && !is_stopped()) {
        slot = ring_.take_idle();
    }
}

// ---------------------------------------------------------------------------------------------- copying

bool StagingPipeline::fill(const Piece &piece) {
    const Chunk &chunk = *piece.chunk;
    return succeeded(ends_.fill(chunk.slot->memory + piece.start, chunk.offset + piece.start, piece.length));
}

bool StagingPipeline::empty(const Piece &piece) {
    Chunk &chunk = *piece.chunk;
    ends_.prepare(chunk.offset + piece.start, piece.length);  // while the device is still filling the slot
    if (!wait_until_landed(chunk)) {
        return false;
    }
    return succeeded(ends_.empty(chunk.slot->memory + piece.start, chunk.offset + piece.start, piece.length));
}

// Lets one worker at a time ask, to spare the driver's lock.
bool StagingPipeline::has_landed(Chunk &chunk) {
    if (chunk.landed.load(std::memory_order_acquire)) {
        return true;
    }
    if (chunk.being_asked.exchange(true, std::memory_order_acquire)) {
        return false;
    }
    const CUresult result = asked_again([&] { return driver().cuEventQuery(chunk.slot->event); });
    if (result == CUDA_SUCCESS) {
        chunk.landed.store(true, std::memory_order_release);
    } else if (result != CUDA_ERROR_NOT_READY) {
        stop(check_driver(result, "cuEventQuery"));
    }
    chunk.being_asked.store(false, std::memory_order_release);
    return result == CUDA_SUCCESS;
}

bool StagingPipeline::wait_until_landed(Chunk &chunk) {
    bool landed = false;
    wait_until([&] {
        landed = has_landed(chunk);
        return landed || is_stopped();
    });
    return landed;
}

// Passes the slot on if this was the last piece. The chunk must not be touched after that.
void StagingPipeline::finish(const Piece &piece, bool copied) {
    Chunk &chunk = *piece.chunk;
    if (copied) {
        done_.fetch_add(piece.length, std::memory_order_relaxed);
    } else {
        chunk.spoilt.store(true, std::memory_order_relaxed);
    }
    if (chunk.left.fetch_sub(piece.length, std::memory_order_acq_rel) != piece.length) {
        return;
    }
    if (chunk.spoilt.load(std::memory_order_relaxed)) {
        give_up(chunk);
    } else if (!to_device()) {
        ring_.give_back(std::exchange(chunk.slot, nullptr));
    } else if (is_caller() || !leave_to_caller(chunk)) {
        submit(chunk);
    }
}

// Leaves one of the last chunks to the caller, whose calls of the driver take 5 us where those of a thread that has
// just woken take 40. Not before all chunks are cut: until then the caller may wait for a slot, or for one who does.
bool StagingPipeline::leave_to_caller(Chunk &chunk) {
    Chunk *none = nullptr;
    return all_cut_.load(std::memory_order_relaxed) && left_to_caller_.compare_exchange_strong(none, &chunk);
}

void StagingPipeline::submit_left() {
    Chunk *chunk = left_to_caller_.exchange(nullptr);
    if (chunk != nullptr) {
        submit(*chunk);
    }
}

void StagingPipeline::submit(Chunk &chunk) {
    Slot *slot = chunk.slot;
    ContextScope scope;
    if (!succeeded(scope.enter(context())) ||
        !succeeded(ends_.send(slot->memory, scratch_of(*slot), chunk.offset, chunk.length, *chunk.stream))) {
        give_up(chunk);
        return;
    }
    chunk.slot = nullptr;
    (void)succeeded(check_driver(ring_.give_back_later(slot, chunk.stream->handle), "cuEventRecord"));
}

// Returns the slot at once, since another worker may wait for one. Copies that fail at the same time would otherwise
// hold the slots that the others wait for.
void StagingPipeline::give_up(Chunk &chunk) {
    (void)wait_for_work(chunk.stream->handle);
    // Empties the chunk before another one gets the slot and reuses this one.
    ring_.give_back(std::exchange(chunk.slot, nullptr));
}

// ---------------------------------------------------------------------------------------------- the end

void StagingPipeline::stop(Status status) {
    failure_.keep(status);
    stopped_.store(true, std::memory_order_relaxed);
}

bool StagingPipeline::succeeded(Status status) {
    if (status == VIA_OK) [[likely]] {
        return true;
    }
    stop(status);
    return false;
}

// Waits for the streams and returns all slots after a failure or a cancellation.
void StagingPipeline::give_back_rest() {
    if (!is_stopped()) {
        return;
    }
    for (int32_t i = 0; i < streams_.count; ++i) {
        (void)wait_for_work(streams_.each[i].handle);
    }
    for (Chunk &chunk : chunks_) {
        if (chunk.slot != nullptr) {
            ring_.give_back(std::exchange(chunk.slot, nullptr));
        }
    }
}

Status StagingPipeline::outcome() {
    if (failure_.status() != VIA_OK) {
        return fail_with_code(failure_.status(), failure_.record().code, "%s", failure_.record().text);
    }
    if (cancelled_.load(std::memory_order_relaxed)) {
        return fail_cancelled(ends_.progress(done_.load(std::memory_order_relaxed)), ends_.progress(ends_.nbytes()),
                              "bytes");
    }
    if (task_ != nullptr) {
        report_progress(task_, ends_.progress(ends_.nbytes()));
    }
    return VIA_OK;
}

}  // namespace via::cuda
