// A staged copy under way, shared by its workers.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "core/base/first_failure.hpp"
#include "cuda/staging/ring.hpp"
#include "cuda/staging/staging_endpoints.hpp"

namespace via::cuda {

// Chunks alternate between streams, so that a kernel on one stream runs while the other stream copies.
struct StagedStreams {
    static constexpr int32_t kMost = 2;
    ResolvedStream each[kMost];
    int32_t count;
};

class StagingPipeline {
public:
    // Takes the internal streams of the direction, and scratch memory if kernels have a part. All that the copy depends
    // on is complete.
    StagingPipeline(const StagedCopy &copy, const StagedStreams &streams, Ring &ring, char *scratch);
    StagingPipeline(const StagingPipeline &) = delete;
    StagingPipeline &operator=(const StagingPipeline &) = delete;

    // Copies with up to `workers` threads, the caller among them. Every slot has been returned by then. Towards the
    // device the streams may still read slots.
    VIA_NODISCARD Status copy(int32_t workers);

    bool has_new_pages() const { return ends_.has_new_pages(); }

private:
    // Chunks that the device fills ahead of the workers: enough to keep it busy while they go from one to the next.
    static constexpr int32_t kMostAhead = 4;

    // A slot while this copy holds it.
    struct Chunk {
        Slot *slot;
        const ResolvedStream *stream;
        int64_t offset;
        int64_t length;
        Chunk *next;  // of those that the device is filling ahead of the workers
        std::atomic<int64_t> left;
        std::atomic<bool> spoilt;  // some piece was not copied
        std::atomic<bool> landed;
        std::atomic<bool> being_asked;
    };

    struct Piece {
        Chunk *chunk;
        int64_t start;
        int64_t length;
    };

    static void work(void *run, int64_t worker);
    void work_here(int64_t worker);
    int32_t fair_share() const;

    bool claim(Piece *out_piece);
    void note_task();
    bool open_empty();
    bool open_filled(std::unique_lock<AdaptiveMutex> *lock);
    void queue(std::unique_lock<AdaptiveMutex> *lock, void (StagingPipeline::*fill_some)());
    void note_queued();
    void wait_for_queue(std::unique_lock<AdaptiveMutex> *lock);
    VIA_NODISCARD Status take_slot(Slot **out_slot);
    Chunk *start_chunk(Slot *slot);
    bool start_filling(Slot *slot);
    void fill_next();
    void fill_ahead();
    bool has_room_ahead() const { return ahead_ < kMostAhead && cut_so_far_ < ends_.nbytes(); }

    bool fill(const Piece &piece);
    bool empty(const Piece &piece);
    bool has_landed(Chunk &chunk);
    bool wait_until_landed(Chunk &chunk);
    void finish(const Piece &piece, bool copied);
    void submit(Chunk &chunk);
    bool leave_to_caller(Chunk &chunk);
    void submit_left();
    void give_up(Chunk &chunk);

    void stop(Status status);
    bool succeeded(Status status);
    bool is_stopped() const { return stopped_.load(std::memory_order_relaxed); }
    void give_back_rest();
    VIA_NODISCARD Status outcome();

    bool to_device() const { return ends_.to_device(); }
    bool is_caller() const { return pthread_equal(pthread_self(), caller_) != 0; }
    CUcontext context() const { return streams_.each[0].context; }
    // Where no chunk overlaps another, a kernel that stores to the slot itself is sooner done than one whose bytes a
    // copy engine brings there: 1.1 to 1.2 times on an H200, up to 1.5 MiB.
    bool is_only(const Chunk &chunk) const { return chunk.length == ends_.nbytes(); }
    char *scratch_of(const Slot &slot) const {
        return scratch_ != nullptr ? scratch_ + slot.number * ring_.slot_bytes() : nullptr;
    }

    const StagedStreams &streams_;
    Ring &ring_;
    char *const scratch_;
    StagingEndpoints ends_;
    via_task *const task_;
    const pthread_t caller_ = pthread_self();

    // Guarded by the mutex.
    AdaptiveMutex mutex_;
    int64_t cut_so_far_ = 0;
    int64_t chunk_count_ = 0;
    Chunk *current_ = nullptr;  // that has pieces left
    int64_t claimed_ = 0;       // of the current chunk
    Chunk *first_ahead_ = nullptr;
    Chunk *last_ahead_ = nullptr;
    int32_t ahead_ = 0;
    bool is_queueing_ = false;  // some worker queues chunks

    std::atomic<uint32_t> queued_{0};  // changes with what waiters wait for
    std::condition_variable changed_;
    std::atomic<bool> all_cut_{false};
    std::atomic<Chunk *> left_to_caller_{nullptr};  // that is filled
    std::atomic<int64_t> done_{0};
    std::atomic<bool> stopped_{false};
    std::atomic<bool> cancelled_{false};
    FirstFailure failure_;

    Chunk chunks_[Ring::kMostSlots] = {};
};

}  // namespace via::cuda
