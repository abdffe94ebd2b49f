// A job of the thread pool: indices that a caller and its helpers take.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace via {

// The parts that the indices of a job are cut into, each with a thread that begins there.
inline constexpr int32_t kMostParts = 16;

// Adjacent indices. The thread that begins here takes them from the front, the others from the back: what is next to
// those of another thread may share cache lines with them. On a line of its own: one thread takes most of them.
struct alignas(64) Part {
    std::atomic<int64_t> left{0};  // that nobody has taken
    std::atomic<int64_t> front{0};
    std::atomic<int64_t> back{0};

    bool has_work() const { return left.load(std::memory_order_relaxed) > 0; }

    // Returns whether there was one.
    bool take(bool from_front, int64_t *out_index) {
        if (left.fetch_sub(1, std::memory_order_relaxed) <= 0) {
            return false;
        }
        *out_index = from_front ? front.fetch_add(1, std::memory_order_relaxed)
                                : back.fetch_sub(1, std::memory_order_relaxed) - 1;
        return true;
    }
};

// Represents a call of parallel_for, on its caller's stack. Helpers use it only between join and leave, and the caller
// waits for those that have joined. A thread begins with its own part, the same in each job of as many parts: what it
// touched before is in its caches, or in its node's memory. Then it goes on with the parts of the others.
struct Job {
    Job(int64_t count, int32_t threads, void (*call)(void *, int64_t), void *argument)
        : work(call),
          context(argument),
          places(static_cast<int32_t>(std::min<int64_t>(threads, count)) - 1),
          num_parts(std::clamp(places + 1, 1, kMostParts)) {
        for (int32_t i = 0; i < num_parts; ++i) {
            const int64_t first = count * i / num_parts;
            const int64_t end = count * (i + 1) / num_parts;
            parts[i].left.store(end - first, std::memory_order_relaxed);
            parts[i].front.store(first, std::memory_order_relaxed);
            parts[i].back.store(end, std::memory_order_relaxed);
        }
    }

    // Calls the work for what is left, beginning with the thread's own part, until is_over() after a call. Returns
    // whether there was any. Callers are number 0.
    template <class IsOver>
    bool run(int32_t number, const IsOver &is_over) {
        const int32_t own = number == 0 ? 0 : 1 + (number - 1) % (num_parts - 1);
        bool any = false;
        int64_t index = 0;
        for (int32_t i = 0; i < num_parts; ++i) {
            Part &part = parts[(own + i) % num_parts];
            while (part.has_work() && part.take(i == 0, &index)) {
                work(context, index);
                any = true;
                if (is_over()) {
                    return true;
                }
            }
        }
        return any;
    }

    bool has_work() const {
        return places > 0 && std::any_of(parts, parts + num_parts, [](const Part &part) { return part.has_work(); });
    }

    void (*work)(void *context, int64_t index);
    void *context;
    const pthread_t caller = pthread_self();
    const int32_t cpu = sched_getcpu();  // of the caller
    int32_t places;                      // for helpers that may still join
    int32_t num_parts;
    std::atomic<int32_t> helpers{0};
    std::atomic<bool> was_helped{false};
    Job *following = nullptr;
    Part parts[kMostParts];
};

}  // namespace via
