// The thread pool: helper threads that share the work of a caller. Started when needed; idle ones end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/system/thread_count.hpp"

namespace via {

// Whether all of the work takes a multiple of the time that waking a thread takes, or less. The caller does brief work
// alone while helpers come late, which they do where other processes keep the processors busy.
enum class Length { Long, Brief };

// Calls work(context, i) once for each i from 0 to count - 1, on up to `threads` threads, the caller's included.
// Returns after all calls. Several callers may use it at once; the work must not. Never fails: without further threads
// the caller does all the work.
void parallel_for(int64_t count, int32_t threads, void (*work)(void *context, int64_t index), void *context,
                  Length length = Length::Long);

// Calls work(from, to) for adjacent ranges of `first` to `last` - 1, each index once, as parallel_for does: at most
// `each` indices at a time, or all of them on a single thread.
template <class Work>
void parallel_ranges(int64_t first, int64_t last, int64_t each, int32_t threads, const Work &work,
                     Length length = Length::Long) {
    if (threads == 1 || last - first <= each) {
        if (first < last) {
            work(first, last);
        }
        return;
    }
    auto range = [=, &work](int64_t index) {
        const int64_t from = first + index * each;
        work(from, std::min(from + each, last));
    };
    parallel_for((last - first - 1) / each + 1, threads,
                 [](void *context, int64_t index) { (*static_cast<decltype(range) *>(context))(index); }, &range,
                 length);
}

// Returns the number of threads that so many bytes are worth, where it is not known how long they take.
inline int32_t threads_worth(int64_t nbytes) {
    constexpr int64_t kLeastShared = int64_t{1} << 20;
    constexpr int64_t kBytesPerThread = int64_t{128} << 10;
    return nbytes < kLeastShared ? 1 : static_cast<int32_t>(std::min<int64_t>(nbytes / kBytesPerThread, num_threads()));
}

// Returns the bytes that a thread takes at a time. It takes several shares of little work, so that one that is held up
// does not hold up all.
inline int64_t share_of(int64_t nbytes, int32_t threads) {
    constexpr int64_t kSharesEach = 4;
    return std::clamp(nbytes / (threads * kSharesEach), int64_t{32} << 10, int64_t{256} << 10);
}

// Represents brief work of the calling thread, from its start to its end.
class BriefWork {
public:
    BriefWork();
    ~BriefWork();
    BriefWork(const BriefWork &) = delete;
    BriefWork &operator=(const BriefWork &) = delete;

    // Returns whether helpers should share the work however brief it is: it follows other such work so closely that
    // those who shared that still poll.
    bool is_in_succession() const;
};

// Returns whether a helper works, or polls for work: it joins at once then, and need not be woken.
bool helpers_are_awake();

// Counts the helpers, for tests.
int32_t helper_count();

}  // namespace via
