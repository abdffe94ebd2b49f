// Fills by the driver and by kernels.
//
// The driver alone fills a block of memory. A pattern of one, two or four bytes is a memset; a longer element is
// written a few times and then doubled by copies. In a strided fill the driver fills the first row, or as much of it as
// makes a good source. A strided copy then repeats it over all rows, itself included, and needs no other memory.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "cuda/device_fill.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream_access.hpp"

namespace via::cuda {
namespace {

// The widest element that memsets write, one word each.
constexpr int64_t kMostWords = 16;

// Bytes written before doubling begins. Each doubling costs a launch.
constexpr int64_t kSeedBytes = int64_t{1} << 16;

// A dense fill.
struct Work {
    CUdeviceptr dst;
    int64_t count;  // elements
    int64_t item;   // bytes
    const char *element;
    CUstream stream;
};

// Returns the largest of 4, 2 and 1 that divides both the address and the size, as the driver's memsets require.
int64_t unit_of(CUdeviceptr dst, int64_t bytes) {
    const uint64_t both = dst | static_cast<uint64_t>(bytes);
    return both % 4 == 0 ? 4 : both % 2 == 0 ? 2 : 1;
}

// Returns whether the element repeats its first `period` bytes.
bool repeats(const Work &work, int64_t period) {
    return work.item % period == 0 &&
           std::memcmp(work.element, work.element + period, static_cast<size_t>(work.item - period)) == 0;
}

// Returns the shortest period that a memset can write, or 0.
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

// Writes one word of each of `rows` elements.
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

// Copies from a pageable block of the library, which the call reads before it returns.
Status send_elements(const Work &work, int64_t rows, const ResolvedStream &stream) {
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
    return uses_pageable_later(stream.device_id) ? wait_for_stream(stream) : VIA_OK;
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

Status enqueue(const Work &work, const ResolvedStream &stream) {
    ContextScope scope;
    VIA_TRY(enter_for(stream, &scope));
    if (const int64_t period = period_of(work); period != 0) {
        return set_all(work, period);
    }
    const int64_t rows = std::clamp<int64_t>(kSeedBytes / work.item, 1, work.count);
    VIA_TRY(is_made_of_words(work) ? set_words(work, unit_of(work.dst, work.item), rows)
                                   : send_elements(work, rows, stream));
    return double_up(work, rows);
}

// The steps of a fill: what the driver fills, and then the copies of it.
struct FillPlan {
    Work first;
    int32_t copies;  // 0: the fill is dense
    Transfer transfers[2];
    Axis axes[VIA_MAX_NDIM + 1];
};

// Copies the first `run` bytes of dst to an offset, for each index of the loops.
Transfer copy_of_first(const Fill &fill, int64_t offset, int64_t run, int32_t ndim, const Axis *axes) {
    int64_t nbytes = run;
    for (int32_t i = 0; i < ndim; ++i) {
        nbytes *= axes[i].extent;
    }
    return {.dst = static_cast<char *>(fill.dst) + offset,
            .src = fill.dst,
            .nbytes = nbytes,
            .dst_side = fill.side,
            .src_side = fill.side,
            .run = run,
            .ndim = ndim,
            .axes = axes};
}

// A long row is so many times its first part, and a rest that is shorter.
void plan_rows(const Fill &fill, FillPlan *plan) {
    const int64_t extent = has_rows(fill) ? fill.axes[0].extent : 1;
    const int64_t part = std::clamp<int64_t>(kSeedBytes / fill.run, 1, extent);
    const int64_t run = part * fill.run;
    plan->first.count = part;
    plan->axes[0] = {extent / part, run, 0};
    const int32_t rows = has_rows(fill) ? fill.ndim - 1 : fill.ndim;
    for (int32_t i = 0; i < rows; ++i) {
        const Axis &axis = fill.axes[fill.ndim - rows + i];
        plan->axes[1 + i] = {axis.extent, axis.dst_step, 0};
    }
    const int32_t parts = plan->axes[0].extent > 1 ? 1 : 0;
    plan->transfers[0] = copy_of_first(fill, 0, run, rows + parts, plan->axes + 1 - parts);
    plan->copies = 1;
    if (const int64_t rest = extent % part; rest != 0) {
        plan->transfers[1] = copy_of_first(fill, (extent - rest) * fill.run, rest * fill.run, rows, plan->axes + 1);
        plan->copies = 2;
    }
}

void plan_fill(const Fill &fill, const ResolvedStream &stream, FillPlan *plan) {
    plan->first = {reinterpret_cast<CUdeviceptr>(fill.dst), fill.ndim == 0 ? 1 : fill.axes[0].extent, fill.run,
                   static_cast<const char *>(fill.element), stream.handle};
    plan->copies = 0;
    if (!is_dense(fill)) {
        plan_rows(fill, plan);
    }
}

int32_t device_of_fill(const Fill &fill) {
    return fill.side.device_type == VIA_DEVICE_CUDA ? fill.side.device_id : device_of_thread();
}

// A memset of another device's memory needs peer access, which only the application may switch on.
Status check_fill(const Fill &fill, const FillPlan &plan, const ResolvedStream &stream) {
    const Work &work = plan.first;
    if (fill.side.device_type == VIA_DEVICE_CUDA && fill.side.device_id != stream.device_id) {
        return fail(VIA_ERROR_DEVICE, "stream is of device %d; expected one of device %d, where dst is",
                    stream.device_id, fill.side.device_id);
    }
    if (stream.capturing && period_of(work) == 0 && !is_made_of_words(work)) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "dst has elements of %lld bytes, and stream is being captured; expected at most %lld units of "
                    "1, 2 or 4 bytes, or one repeated",
                    static_cast<long long>(work.item), static_cast<long long>(kMostWords));
    }
    return plan.copies > 0 ? prepare_kernel(plan.transfers[0], stream) : VIA_OK;
}

Status enqueue_fill(const FillPlan &plan, const ResolvedStream &stream) {
    VIA_TRY(enqueue(plan.first, stream));
    for (int32_t i = 0; i < plan.copies; ++i) {
        VIA_TRY(enqueue_kernel(plan.transfers[i], stream));
    }
    return VIA_OK;
}

// Resolves the stream, plans, checks, and makes the stream wait for the array. `what` needs CUDA.
Status prepare(const Fill &fill, const char *what, via_stream *stream, ResolvedStream *out_stream, FillPlan *out_plan) {
    VIA_TRY(need_driver(what));
    VIA_TRY(resolve(stream, device_of_fill(fill), out_stream));
    plan_fill(fill, *out_stream, out_plan);
    VIA_TRY(check_fill(fill, *out_plan, *out_stream));
    return wait_until_ready(fill.array, *out_stream);
}

}  // namespace

Status fill_now(const Fill &fill) {
    ResolvedStream stream;
    FillPlan plan;
    VIA_TRY(prepare(fill, "a fill of CUDA's memory", nullptr, &stream, &plan));
    VIA_TRY(end_failed(enqueue_fill(plan, stream), stream));
    return wait_for_stream(stream);
}

Status fill_on(const Fill &fill, via_stream *stream) {
    ResolvedStream resolved;
    FillPlan plan;
    VIA_TRY(prepare(fill, "a fill of CUDA's memory or on a stream", stream, &resolved, &plan));
    if (resolved.capturing) {
        VIA_TRY(note_copy(fill.array, nullptr, resolved));
        return enqueue_fill(plan, resolved);
    }
    VIA_TRY(end_failed(enqueue_fill(plan, resolved), resolved));
    return note_copy(fill.array, nullptr, resolved);
}

}  // namespace via::cuda
