#include "copy/convert/convert_host.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "copy/choose_tiles.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/host/walk.hpp"
#include "copy/normalise.hpp"
#include "copy/plan/cache_sizes.hpp"
#include "copy/run.hpp"
#include "core/async/thread_pool.hpp"
#include "core/base/cached_objects.hpp"
#include "core/base/thread_state.hpp"
#include "core/layout/axes.hpp"
#include "core/layout/dtype.hpp"

namespace via {
namespace {

// What a run is converted through: the first-level cache holds three of them.
constexpr int64_t kBufferBytes = int64_t{4} << 10;

// What is brought together at a time, in the larger of the two elements.
constexpr int64_t kBlockBytes = int64_t{128} << 10;

// Shorter rows are not worth a call each.
constexpr int64_t kLeastRow = 32;

struct Scratch {
    alignas(kLineBytes) char src[kBlockBytes];
    alignas(kLineBytes) char dst[kBlockBytes];
};

constinit CachedObjects<Scratch, 32> scratches;

constexpr const ConvertKernels *kLevels[] = {
    &base_conversions,
#if defined(__x86_64__)
    &avx2_conversions,
    &avx512_conversions,
#endif
};

// Returns whether elements of a kind are of its wide type.
bool is_wide(ScalarKind kind) {
    return kind == ScalarKind::Int32 || kind == ScalarKind::Int64 || kind == ScalarKind::UInt64 ||
           kind == ScalarKind::Float32 || kind == ScalarKind::Float64;
}

// Returns the kind that the bits of a wide type are of.
ScalarKind kind_of(WideKind wide) {
    constexpr ScalarKind kKinds[] = {ScalarKind::UInt32, ScalarKind::UInt64, ScalarKind::UInt64, ScalarKind::Float32,
                                     ScalarKind::Float64};
    static_assert(std::size(kKinds) == kWideKinds);
    return kKinds[static_cast<int32_t>(wide)];
}

// Returns the same conversion, of fewer kinds. Integers wrap: the sign of dst changes nothing, nor does that of a
// source with as many bits or more.
ElementConversion in_few_kinds(ElementConversion elements) {
    constexpr ScalarKind kSigned[] = {ScalarKind::Int8, ScalarKind::Int16, ScalarKind::Int32, ScalarKind::Int64};
    const int32_t dst_bytes = bytes_of(elements.dst);
    const int32_t src_bytes = bytes_of(elements.src);
    if (elements.dst == elements.src || !is_whole_integer(elements.dst) || is_float_kind(elements.src)) {
        return elements;
    }
    if (is_whole_integer(elements.src) && dst_bytes < src_bytes) {
        elements.src = kSigned[std::countr_zero(static_cast<uint32_t>(src_bytes))];
    }
    elements.dst = raw_kind(dst_bytes);
    return elements;
}

}  // namespace

const ConvertKernels *convert_kernels_at(int level) {
    return simd_kernels_at(level) != nullptr ? kLevels[level] : nullptr;
}

const ConvertKernels &convert_kernels() { return *kLevels[simd_kernels().level]; }

PlainConverter::PlainConverter(const ElementConversion &given)
    : dst_bytes_(bytes_of(given.dst)), src_bytes_(bytes_of(given.src)), saturates_(given.saturates) {
    const ElementConversion elements = in_few_kinds(given);
    const ConvertKernels &kernels = convert_kernels();
    const WideKind wide = wide_of(elements.src);
    is_copy_ = elements.dst == elements.src;
    direct_ = kernels.direct(elements.dst, elements.src);
    decode_ = kernels.decode[static_cast<int32_t>(elements.src)];
    if (elements.dst != kind_of(wide)) {
        encode_ = kernels.encode[static_cast<int32_t>(wide)][static_cast<int32_t>(elements.dst)];
    }
    if (direct_.run == nullptr && is_wide(elements.src)) {
        direct_.run = encode_;
    }
    if (elements.swap_bytes > 1) {
        swap_ = kernels.swap[elements.swap_bytes == 2 ? 0 : elements.swap_bytes == 4 ? 1 : 2];
        swaps_ = src_bytes_ / elements.swap_bytes;
    }
    part_ = kBufferBytes / std::max({dst_bytes_, src_bytes_, int64_t{bytes_of(kind_of(wide))}});
}

void PlainConverter::run_part(char *dst, const char *src, int64_t count) const {
    alignas(kLineBytes) char swapped[kBufferBytes];
    alignas(kLineBytes) char wide[kBufferBytes];
    if (swap_ != nullptr) {
        swap_(is_copy_ ? dst : swapped, src, count * swaps_);
        src = swapped;
    }
    if (is_copy_) {
        if (swap_ == nullptr) {
            std::memcpy(dst, src, static_cast<size_t>(count * dst_bytes_));
        }
    } else if (direct_.run != nullptr) {
        direct_.run(dst, src, count, saturates_);
    } else if (encode_ == nullptr) {
        decode_(dst, src, count);
    } else {
        decode_(wide, src, count);
        encode_(dst, wide, count, saturates_);
    }
}

void PlainConverter::run(char *dst, const char *src, int64_t count) const {
    const bool at_once = is_copy_ || (swap_ == nullptr && (direct_.run != nullptr || encode_ == nullptr));
    for (int64_t at = 0; at < count;) {
        const int64_t some = at_once ? count : std::min(part_, count - at);
        run_part(dst + at * dst_bytes_, src + at * src_bytes_, some);
        at += some;
    }
}

bool PlainConverter::run_streaming(char *dst, const char *src, int64_t count) const {
    const bool can_stream = !is_copy_ && swap_ == nullptr && direct_.run_streaming != nullptr &&
                            reinterpret_cast<uintptr_t>(dst) % kLineBytes == 0;
    if (can_stream) {
        direct_.run_streaming(dst, src, count, saturates_);
    }
    return can_stream;
}

RunConverter::RunConverter(const ElementConversion &elements)
    : affine_(elements.affine),
      part_(kBufferBytes / std::max({int64_t{4}, int64_t{bytes_of(elements.dst)}, int64_t{bytes_of(elements.src)}})),
      plain_(elements),
      to_float_({ScalarKind::Float32, elements.src, elements.swap_bytes, false}),
      from_float_({elements.dst, ScalarKind::Float32, 0, elements.saturates}) {}

void RunConverter::run_affine(char *dst, const char *src, int64_t count, const RunNumbers &numbers) const {
    alignas(kLineBytes) char before[kBufferBytes];
    alignas(kLineBytes) char after[kBufferBytes];
    if (!to_float_.changes_nothing()) {
        to_float_.run(before, src, count);
        src = before;
    }
    char *const out = from_float_.changes_nothing() ? dst : after;
    convert_kernels().affine(out, src, count, affine_->scales + numbers.first, affine_->offsets + numbers.first,
                             numbers.by_element);
    if (out != dst) {
        from_float_.run(dst, out, count);
    }
}

void RunConverter::run(char *dst, const char *src, int64_t count, const RunNumbers &numbers) const {
    if (affine_ == nullptr) {
        plain_.run(dst, src, count);
        return;
    }
    for (int64_t at = 0; at < count; at += part_) {
        run_affine(dst + at * dst_bytes(), src + at * src_bytes(), std::min(part_, count - at), numbers.after(at));
    }
}

// Always inlined: GCC drops calls of functions that do nothing else.
[[gnu::always_inline]] static inline void prefetch(const char *start, int64_t nbytes) {
    for (int64_t at = 0; at < nbytes; at += kLineBytes) {
        __builtin_prefetch(start + at);
    }
}

static void stream_bytes(char *dst, const char *src, int64_t nbytes) {
    static constexpr Axis kNoAxes[2] = {{1, 0, 0}, {1, 0, 0}};
    simd_kernels().rows_streaming({dst, src, nbytes, kNoAxes, 2, 0});
}

// Begins with what brings dst to a line of the cache, so that the rest is written in whole lines.
void RunConverter::run_streaming(char *dst, const char *src, int64_t count, const RunNumbers &numbers) const {
    const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % kLineBytes);
    const int64_t to_line = past == 0 ? 0 : (kLineBytes - past) / dst_bytes();
    const int64_t at = std::min(to_line, count);
    run(dst, src, at, numbers);
    dst += at * dst_bytes();
    src += at * src_bytes();
    if (affine_ == nullptr && plain_.changes_nothing()) {
        stream_bytes(dst, src, (count - at) * dst_bytes());
    } else if (affine_ != nullptr || !plain_.run_streaming(dst, src, count - at)) {
        stream_parts(dst, src, count - at, numbers.after(at));
    }
}

// By way of a buffer. Nothing reads while stores drain: where as much is read as written, parts are short, and the next
// one is read ahead.
void RunConverter::stream_parts(char *dst, const char *src, int64_t count, const RunNumbers &numbers) const {
    alignas(kLineBytes) char buffer[kBufferBytes];
    const bool reads_ahead = src_bytes() >= dst_bytes();
    const int64_t part = (affine_ == nullptr ? plain_.part() : part_) / (reads_ahead ? 4 : 1);
    for (int64_t at = 0; at < count;) {
        const int64_t some = std::min(part, count - at);
        if (reads_ahead) {
            prefetch(src + (at + some) * src_bytes(), some * src_bytes());
        }
        run(buffer, src + at * src_bytes(), some, numbers.after(at));
        stream_bytes(dst + at * dst_bytes(), buffer, some * dst_bytes());
        at += some;
    }
}

namespace {

bool has_rows(const ElementLoops &loops, const RunConverter &converter) {
    const Axis &axis = loops.axes[0];
    return axis.dst_step == converter.dst_bytes() && axis.src_step == converter.src_bytes() &&
           (axis.extent >= kLeastRow || loops.ndim == 1);
}

// Rounds down to a power of two.
int64_t square_root(int64_t value) { return int64_t{1} << (std::bit_width(static_cast<uint64_t>(value)) - 1) / 2; }

// Blocks go along the axes that are dense in either array first, a square of both, then along the others.
void cut_blocks(const ElementLoops &loops, int64_t most, int64_t *block) {
    std::fill_n(block, loops.ndim, 1);
    const int32_t near = find_source_axis(loops.axes, loops.ndim);
    int64_t left = most;
    const auto grow = [&](int32_t axis, int64_t limit) {
        const int64_t had = block[axis];
        block[axis] = std::clamp<int64_t>(std::min(limit, left * had), had, loops.axes[axis].extent);
        left = left * had / block[axis];
    };
    if (near > 0) {
        grow(0, square_root(most));
        grow(near, square_root(most));
    }
    for (int32_t i = 0; i < loops.ndim && left > 1; ++i) {
        grow(i, most);
    }
}

// Longer axes of numbers are runs of their own.
constexpr int64_t kLongestPeriod = 64;

// Returns after how many elements numbers begin again, since their axis is the innermost one: 3 for pixels. 0: never.
int64_t find_period(const ElementLoops &loops, const ElementConversion &elements) {
    const bool is_short = loops.numbered == 0 && loops.ndim > 1 && loops.axes[0].extent <= kLongestPeriod;
    return elements.affine != nullptr && is_short ? loops.axes[0].extent : 0;
}

// Joins that axis with the one that continues it: nothing cuts a run of numbers that are repeated.
ElementLoops joined(const ElementLoops &loops, int64_t period) {
    ElementLoops result = loops;
    if (period == 0) {
        return result;
    }
    result.number = 0;
    if (continues(loops.axes[0], loops.axes[1])) {
        result.axes[0].extent *= loops.axes[1].extent;
        std::copy(loops.axes + 2, loops.axes + loops.ndim, result.axes + 1);
        --result.ndim;
    }
    return result;
}

// Scales and offsets, repeated for as many elements as an affine step does at a time.
class RepeatedNumbers {
public:
    // Returns the elements with repeated numbers, if they have a period.
    ElementConversion repeat(ElementConversion elements, int64_t first, int64_t period) {
        for (int64_t i = 0; period > 0 && i < kCount; ++i) {
            scales_[i] = elements.affine->scales[first + i % period];
            offsets_[i] = elements.affine->offsets[first + i % period];
        }
        elements.affine = period > 0 ? &step_ : elements.affine;
        return elements;
    }

private:
    static constexpr int64_t kCount = kBufferBytes / int64_t{sizeof(float)} + kLongestPeriod;
    float scales_[kCount];
    float offsets_[kCount];
    const AffineStep step_{scales_, offsets_};
};

// Gives the calling thread the arithmetic that conversions are defined by: rounded to nearest, with subnormal numbers
// and without traps. Programs that were linked with -ffast-math, or look for errors, have set others, and threads of
// the library have inherited them. What the program has set returns at the end, with the flags of its own exceptions.
class DefaultArithmetic {
public:
    DefaultArithmetic() { set(kDefault); }
    ~DefaultArithmetic() { set(before_); }
    DefaultArithmetic(const DefaultArithmetic &) = delete;
    DefaultArithmetic &operator=(const DefaultArithmetic &) = delete;

private:
#if defined(__x86_64__)
    static constexpr uint32_t kDefault = 0x1F80;  // of MXCSR: all exceptions masked
    static uint32_t get() { return _mm_getcsr(); }
    static void set(uint32_t value) { _mm_setcsr(value); }
#elif defined(__aarch64__)
    static constexpr uint64_t kDefault = 0;  // of FPCR
    static uint64_t get() {
        uint64_t value = 0;
        asm volatile("mrs %0, fpcr" : "=r"(value));
        return value;
    }
    static void set(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
    static constexpr int32_t kDefault = 0;
    static int32_t get() { return kDefault; }
    static void set(int32_t) {}
#endif

    const decltype(get()) before_ = get();
};

// Which stores bypass the caches.
enum class Streaming : int32_t {
    Never,
    OfLarge,  // what exceeds the caches
    Always,   // what a device reads next
};

// A conversion cut into blocks, which threads share.
class Blocks {
public:
    Blocks(const ElementLoops &given, const ElementConversion &elements, Streaming streaming)
        : period_(find_period(given, elements)),
          loops_(joined(given, period_)),
          converter_(numbers_.repeat(elements, given.number, period_)) {
        const ElementLoops &loops = loops_;
        const int64_t item = std::max(converter_.dst_bytes(), converter_.src_bytes());
        by_rows_ = has_rows(loops, converter_);
        cut_blocks(loops, kBlockBytes / item, block_);
        for (int32_t i = 0; i < loops.ndim; ++i) {
            total_ *= (loops.axes[i].extent - 1) / block_[i] + 1;
        }
        const int64_t row = by_rows_ ? block_[0] * converter_.dst_bytes() : 0;
        const int64_t least = streaming == Streaming::OfLarge ? last_level_bytes() : 0;
        const int64_t both = loops_.count * (converter_.dst_bytes() + converter_.src_bytes());
        streaming_ = streaming != Streaming::Never && row >= kLeastStreamedRun && both >= least;
        const int64_t nbytes = loops.count * item;
        threads_ = threads_worth(nbytes);
        share_ = std::max<int64_t>(share_of(nbytes, threads_) / std::max<int64_t>(nbytes / total_, 1), 1);
    }

    int64_t nbytes() const { return loops_.count * converter_.dst_bytes(); }
    int64_t total() const { return total_; }

    // Converts blocks first to last - 1 on the calling thread.
    void run(int64_t first, int64_t last) const {
        const DefaultArithmetic scope;
        Scratch *scratch = by_rows_ ? nullptr : scratches.take();
        for (int64_t i = first; i < last; ++i) {
            ElementLoops part;
            locate(i, &part);
            if (by_rows_) {
                convert_rows(part);
            } else if (scratch != nullptr) {
                convert_strided(part, scratch);
            } else {
                convert_each(part);
            }
        }
        if (streaming_) {
            end_streaming();
        }
        if (scratch != nullptr) {
            scratches.give_back(scratch);
        }
    }

    // Shares them among threads.
    void run_shared(int64_t first, int64_t last) const {
        parallel_ranges(first, last, share_, threads_, [this](int64_t from, int64_t to) { run(from, to); });
    }

    ConvertShape shape() const { return {total_, threads_, by_rows_, streaming_}; }

private:
    RunNumbers numbers_at(int64_t number, bool by_element) const {
        return {period_ > 0 ? number % period_ : number, by_element, period_};
    }

    void locate(int64_t number, ElementLoops *part) const {
        part->dst = loops_.dst;
        part->src = loops_.src;
        part->ndim = loops_.ndim;
        part->numbered = loops_.numbered;
        part->number = loops_.number;
        part->count = 1;
        for (int32_t i = 0; i < loops_.ndim; ++i) {
            const Axis &axis = loops_.axes[i];
            const int64_t along = (axis.extent - 1) / block_[i] + 1;
            const int64_t from = number % along * block_[i];
            number /= along;
            part->axes[i] = {std::min(block_[i], axis.extent - from), axis.dst_step, axis.src_step};
            move_along(i, from, part);
            part->count *= part->axes[i].extent;
        }
    }

    // Calls convert(dst, src, number) for each index of the axes from `level` on.
    template <class Convert>
    static void walk(const ElementLoops &part, int32_t level, const Convert &convert) {
        int64_t index[ElementLoops::kMostAxes] = {};
        char *dst = part.dst;
        const char *src = part.src;
        for (;;) {
            convert(dst, src, part.numbered < level ? part.number : part.number + index[part.numbered]);
            int32_t i = level;
            for (; i < part.ndim; ++i) {
                const Axis &axis = part.axes[i];
                dst += axis.dst_step;
                src += axis.src_step;
                if (++index[i] < axis.extent) {
                    break;
                }
                dst -= axis.extent * axis.dst_step;
                src -= axis.extent * axis.src_step;
                index[i] = 0;
            }
            if (i == part.ndim) {
                return;
            }
        }
    }

    void convert_rows(const ElementLoops &part) const {
        walk(part, 1, [&](char *dst, const char *src, int64_t number) {
            const RunNumbers numbers = numbers_at(number, part.numbered == 0);
            if (streaming_) {
                converter_.run_streaming(dst, src, part.axes[0].extent, numbers);
            } else {
                converter_.run(dst, src, part.axes[0].extent, numbers);
            }
        });
    }

    void convert_each(const ElementLoops &part) const {
        walk(part, 0, [&](char *dst, const char *src, int64_t number) {
            converter_.run(dst, src, 1, numbers_at(number, false));
        });
    }

    // Converts elements that are adjacent in both, in the order of the part.
    void convert_dense(const ElementLoops &part, char *dst, const char *src) const {
        int64_t run = part.numbered < 0 ? part.count : part.numbered == 0 ? part.axes[0].extent : 1;
        for (int32_t i = 0; i < part.numbered; ++i) {
            run *= part.axes[i].extent;
        }
        run = period_ > 0 && run % period_ == 0 ? part.count : run;
        const int64_t extent = part.numbered < 1 ? 1 : part.axes[part.numbered].extent;
        for (int64_t at = 0; at < part.count; at += run) {
            converter_.run(dst + at * converter_.dst_bytes(), src + at * converter_.src_bytes(), run,
                           numbers_at(part.number + at / run % extent, part.numbered == 0));
        }
    }

    // Returns whether elements of one size are apart, and plans the strided copy of them.
    static bool plan_copy(const ElementLoops &part, int64_t item, Plan *plan) {
        normalise_bytes(part.dst, part.src, item, plan);
        plan->nbytes = part.count * item;
        for (int32_t i = 0; i < part.ndim; ++i) {
            if (part.axes[i].extent > 1) {
                plan->axes[plan->ndim++] = part.axes[i];
            }
        }
        merge_axes(&plan->run, plan->axes, &plan->ndim);
        return plan->ndim > 0;
    }

    static void copy_alone(Plan *plan) {
        choose_tiles(plan, 1);
        run_plan(*plan);
    }

    void convert_strided(const ElementLoops &part, Scratch *scratch) const {
        Plan plan;
        const char *src = part.src;
        if (plan_copy(packed_to(part, scratch->src, converter_.src_bytes()), converter_.src_bytes(), &plan)) {
            copy_alone(&plan);
            src = scratch->src;
        }
        if (plan_copy(unpacked_from(part, scratch->dst, converter_.dst_bytes()), converter_.dst_bytes(), &plan)) {
            convert_dense(part, scratch->dst, src);
            copy_alone(&plan);
        } else {
            convert_dense(part, part.dst, src);
        }
    }

    const int64_t period_;
    const ElementLoops loops_;
    RepeatedNumbers numbers_;
    const RunConverter converter_;
    int64_t block_[ElementLoops::kMostAxes];
    int64_t total_ = 1;
    int64_t share_ = 1;
    int32_t threads_ = 1;
    bool by_rows_ = false;
    bool streaming_ = false;
};

// Converts elements first to first + count - 1 on the calling thread. `place` returns the loops of a box between the
// memory of this call; it gets the number of elements before the box.
template <class Place>
void convert_boxes(const ElementLoops &loops, const ElementConversion &elements, int64_t first, int64_t count,
                   Streaming streaming, const Place &place) {
    int64_t done = 0;
    for_each_box(loops, first, count, [&](const ElementLoops &box) {
        const Blocks blocks(place(box, done), elements, streaming);
        blocks.run(0, blocks.total());
        done += box.count;
    });
}

}  // namespace

void convert_elements(const ElementLoops &loops, const ElementConversion &elements) {
    count(Counter::PlannedRoutes, 1);
    const Blocks blocks(loops, elements, Streaming::OfLarge);
    blocks.run_shared(0, blocks.total());
}

Status convert_in_pieces(const ElementLoops &loops, const ElementConversion &elements, int64_t done_before,
                         via_task *task) {
    count(Counter::PlannedRoutes, 1);
    const Blocks blocks(loops, elements, Streaming::OfLarge);
    return run_in_pieces(blocks.total(), blocks.nbytes(), done_before, task,
                         [&](int64_t first, int64_t last) { blocks.run_shared(first, last); });
}

void convert_part(const ElementLoops &loops, const ElementConversion &elements, int64_t first, int64_t count) {
    convert_boxes(loops, elements, first, count, Streaming::Never,
                  [&](const ElementLoops &box, int64_t) { return merged(box, elements); });
}

void convert_to_packed(const ElementLoops &loops, const ElementConversion &elements, int64_t first, int64_t count,
                       void *packed) {
    const int64_t item = bytes_of(elements.dst);
    convert_boxes(loops, elements, first, count, Streaming::Always, [&](const ElementLoops &box, int64_t done) {
        return merged(packed_to(box, static_cast<char *>(packed) + done * item, item), elements);
    });
}

void convert_from_packed(const ElementLoops &loops, const ElementConversion &elements, int64_t first, int64_t count,
                         const void *packed) {
    const int64_t item = bytes_of(elements.src);
    convert_boxes(loops, elements, first, count, Streaming::Never, [&](const ElementLoops &box, int64_t done) {
        return merged(unpacked_from(box, static_cast<const char *>(packed) + done * item, item), elements);
    });
}

ConvertShape find_shape(const ElementLoops &loops, const ElementConversion &elements) {
    return Blocks(loops, elements, Streaming::OfLarge).shape();
}

namespace {

// Compilers make no vectors of a loop whose two arrays are one: each block goes through a buffer in the first cache.
void swap_in_place(char *memory, int64_t nbytes, int64_t width, SwapRun swap) {
    alignas(64) char buffer[4096];
    for (int64_t at = 0; at < nbytes; at += sizeof buffer) {
        const int64_t some = std::min<int64_t>(nbytes - at, sizeof buffer);
        swap(buffer, memory + at, some / width);
        std::memcpy(memory + at, buffer, static_cast<size_t>(some));
    }
}

}  // namespace

void swap_bytes(void *dst, const void *src, int64_t nbytes, int64_t width) {
    const SwapRun swap = convert_kernels().swap[std::countr_zero(static_cast<uint64_t>(width)) - 1];
    if (dst == src) {
        swap_in_place(static_cast<char *>(dst), nbytes, width, swap);
    } else {
        swap(dst, src, nbytes / width);
    }
}

}  // namespace via
