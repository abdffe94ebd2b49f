// Fills by the driver: a pattern of one, two or four bytes is a memset; a longer element is set once, or a few times,
// and then doubled by copies.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "cuda/device_fill.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream_access.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {
namespace {

// The widest element that is put together from memsets; each word takes one.
constexpr int64_t kMostWords = 16;

// What is set before doubling begins: enough that the copies, of which each costs a launch, are few.
constexpr int64_t kSeedBytes = int64_t{1} << 16;

struct Work {
    CUdeviceptr dst;
    int64_t count;  // elements
    int64_t item;   // bytes
    const char *element;
    CUstream stream;
};

// The largest unit of 4, 2 and 1 bytes that an address and a size are multiples of: what the driver's memsets ask for.
int64_t unit_of(CUdeviceptr dst, int64_t bytes) {
    const uint64_t both = dst | static_cast<uint64_t>(bytes);
    return both % 4 == 0 ? 4 : both % 2 == 0 ? 2 : 1;
}

// Whether the element is its first `period` bytes again and again.
bool repeats(const Work &work, int64_t period) {
    return work.item % period == 0 &&
           std::memcmp(work.element, work.element + period, static_cast<size_t>(work.item - period)) == 0;
}

// The shortest period that a memset can write; 0 if there is none.
int64_t period_of(const Work &work) {
    for (int64_t period = 1; period <= unit_of(work.dst, work.item); period *= 2) {
        if (repeats(work, period)) {
            return period;
        }
    }
    return 0;
}

template <class Word>
Word word_at(const char *bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

Status set_all(const Work &work, int64_t period) {
    const auto count = static_cast<size_t>(work.count * (work.item / period));
    if (period == 1) {
        VIA_TRY_CUDA(cuMemsetD8Async(work.dst, word_at<unsigned char>(work.element), count, work.stream));
    } else if (period == 2) {
        VIA_TRY_CUDA(cuMemsetD16Async(work.dst, word_at<unsigned short>(work.element), count, work.stream));
    } else {
        VIA_TRY_CUDA(cuMemsetD32Async(work.dst, word_at<unsigned int>(work.element), count, work.stream));
    }
    return VIA_OK;
}

// One word of each of `rows` elements.
Status set_word(const Work &work, int64_t unit, int64_t at, int64_t rows) {
    const CUdeviceptr dst = work.dst + static_cast<CUdeviceptr>(at);
    const char *word = work.element + at;
    const auto pitch = static_cast<size_t>(work.item);
    const auto height = static_cast<size_t>(rows);
    if (unit == 1) {
        VIA_TRY_CUDA(cuMemsetD2D8Async(dst, pitch, word_at<unsigned char>(word), 1, height, work.stream));
    } else if (unit == 2) {
        VIA_TRY_CUDA(cuMemsetD2D16Async(dst, pitch, word_at<unsigned short>(word), 1, height, work.stream));
    } else {
        VIA_TRY_CUDA(cuMemsetD2D32Async(dst, pitch, word_at<unsigned int>(word), 1, height, work.stream));
    }
    return VIA_OK;
}

Status set_words(const Work &work, int64_t unit, int64_t rows) {
    for (int64_t at = 0; at < work.item; at += unit) {
        VIA_TRY(set_word(work, unit, at, rows));
    }
    return VIA_OK;
}

// From a block of the library's own, which is pageable, whatever the caller's element is in: it is read by the call.
Status send_elements(const Work &work, int64_t rows, const ResolvedStream &use) {
    const auto bytes = static_cast<size_t>(rows * work.item);
    const std::unique_ptr<char[]> block(new (std::nothrow) char[bytes]);
    if (block == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld bytes of elements", static_cast<long long>(bytes));
    }
    for (int64_t row = 0; row < rows; ++row) {
        std::memcpy(block.get() + row * work.item, work.element, static_cast<size_t>(work.item));
    }
    const CUresult result = driver().cuMemcpyHtoDAsync(work.dst, block.get(), bytes, work.stream);
    VIA_TRY(check_driver(result, "cuMemcpyHtoDAsync"));
    return uses_pageable_later(use.device_id) ? wait_for_stream(use) : VIA_OK;
}

Status double_up(const Work &work, int64_t rows) {
    const int64_t total = work.count * work.item;
    for (int64_t done = rows * work.item; done < total;) {
        const int64_t more = std::min(done, total - done);
        VIA_TRY_CUDA(cuMemcpyDtoDAsync(work.dst + static_cast<CUdeviceptr>(done), work.dst, static_cast<size_t>(more),
                                       work.stream));
        done += more;
    }
    return VIA_OK;
}

bool is_made_of_words(const Work &work) { return work.item / unit_of(work.dst, work.item) <= kMostWords; }

Status enqueue(const Work &work, const ResolvedStream &use) {
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    if (const int64_t period = period_of(work); period != 0) {
        return set_all(work, period);
    }
    const int64_t rows = std::clamp<int64_t>(kSeedBytes / work.item, 1, work.count);
    VIA_TRY(is_made_of_words(work) ? set_words(work, unit_of(work.dst, work.item), rows)
                                   : send_elements(work, rows, use));
    return double_up(work, rows);
}

Work work_of(const Fill &fill, const ResolvedStream &use) {
    static constexpr char kZero = 0;
    const auto dst = reinterpret_cast<CUdeviceptr>(fill.dst);
    if (fill.element == nullptr) {
        return {dst, fill.count * fill.item_bytes, 1, &kZero, use.handle};
    }
    return {dst, fill.count, fill.item_bytes, static_cast<const char *>(fill.element), use.handle};
}

int32_t device_of_fill(const Fill &fill) {
    return fill.side.device_type == VIA_DEVICE_CUDA ? fill.side.device_id : device_of_thread();
}

// A memset of another device's memory needs peer access, which is the application's to switch on.
Status check_fill(const Fill &fill, const Work &work, const ResolvedStream &use) {
    if (fill.side.device_type == VIA_DEVICE_CUDA && fill.side.device_id != use.device_id) {
        return fail(VIA_ERROR_DEVICE, "stream is of device %d; expected one of device %d, where dst is", use.device_id,
                    fill.side.device_id);
    }
    if (use.capturing && period_of(work) == 0 && !is_made_of_words(work)) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "dst has elements of %lld bytes, and stream is being captured; expected elements of at most %lld "
                    "words, or of one byte repeated",
                    static_cast<long long>(work.item), static_cast<long long>(kMostWords));
    }
    return VIA_OK;
}

// What was given to the stream before a failure must have ended before the caller lets go of the memory.
Status run(const Work &work, const ResolvedStream &use) {
    const Status status = enqueue(work, use);
    if (status != VIA_OK && !use.capturing) {
        const RelaxedCapture relaxed;
        ContextScope scope;
        if (enter_for(use, &scope) == VIA_OK) {
            (void)wait_for_work(use.handle);
        }
    }
    return status;
}

}  // namespace

Status fill_now(const Fill &fill) {
    VIA_TRY(need_driver("a fill of CUDA's memory"));
    ResolvedStream use;
    VIA_TRY(resolve(nullptr, device_of_fill(fill), &use));
    const Work work = work_of(fill, use);
    VIA_TRY(check_fill(fill, work, use));
    VIA_TRY(wait_until_ready(fill.array, use));
    VIA_TRY(run(work, use));
    return wait_for_stream(use);
}

Status fill_on(const Fill &fill, via_stream *stream) {
    VIA_TRY(need_driver("a fill of CUDA's memory or on a stream"));
    ResolvedStream use;
    VIA_TRY(resolve(stream, device_of_fill(fill), &use));
    const Work work = work_of(fill, use);
    VIA_TRY(check_fill(fill, work, use));
    VIA_TRY(wait_until_ready(fill.array, use));
    if (use.capturing) {
        VIA_TRY(note_copy(fill.array, nullptr, use));
        return enqueue(work, use);
    }
    VIA_TRY(run(work, use));
    return note_copy(fill.array, nullptr, use);
}

}  // namespace via::cuda
