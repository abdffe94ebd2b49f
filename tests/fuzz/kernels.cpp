// The kernels of each instruction set that this processor has, given any piece that they may be given: they do what a
// loop over the elements does, and neither read nor write a byte next to it.
#include <algorithm>
#include <cstring>
#include <memory>

#include "bytes.hpp"
#include "copy/host/elements.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/plan/cache_sizes.hpp"

namespace {

constexpr int64_t kMostBytes = 8192;

// A block that ends with the last byte that may be touched, at any place in a cache line.
class Block {
public:
    Block(int64_t low, int64_t high, int32_t shift)
        : size_(static_cast<size_t>(high - low + shift)), bytes_(new char[size_]), start_(shift - low) {
        for (size_t i = 0; i < size_; ++i) {
            bytes_[i] = static_cast<char>(i * 31 + i / 251);
        }
    }
    char *start() { return bytes_.get() + start_; }
    const char *bytes() const { return bytes_.get(); }
    size_t size() const { return size_; }

private:
    size_t size_;
    std::unique_ptr<char[]> bytes_;
    int64_t start_;
};

struct Span {
    int64_t low;
    int64_t high;
};

// What a kernel is to do: runs along two loops, the inner one first.
struct Choice {
    via::Kernel kernel;
    int64_t run;
    via::Axis axes[2];
};

Span span_of(const Choice &choice, int64_t via::Axis::*step) {
    Span span{0, choice.run};
    for (const via::Axis &axis : choice.axes) {
        const int64_t reach = (axis.extent - 1) * axis.*step;
        (reach < 0 ? span.low : span.high) += reach;
    }
    return span;
}

void copy_naively(const Choice &choice, char *dst, const char *src) {
    const auto &[inner, outer] = choice.axes;
    for (int64_t i = 0; i < outer.extent; ++i) {
        for (int64_t j = 0; j < inner.extent; ++j) {
            std::memcpy(dst + i * outer.dst_step + j * inner.dst_step, src + i * outer.src_step + j * inner.src_step,
                        static_cast<size_t>(choice.run));
        }
    }
}

const via::SimdKernels &choose_level(Bytes *bytes) {
    const via::SimdKernels *kernels = via::simd_kernels_at(bytes->between(0, via::kSimdLevels - 1));
    return kernels != nullptr ? *kernels : *via::simd_kernels_at(0);
}

int64_t choose_gap(Bytes *bytes) { return bytes->flag() ? bytes->between(0, 70) : 0; }

// Distances of lines that compete for the sets of a cache, or any.
int64_t choose_pitch(Bytes *bytes, int64_t nbytes) {
    return bytes->between(0, 3) == 0 ? (nbytes / via::kLineConflict + 1) * via::kLineConflict
                                     : nbytes + choose_gap(bytes);
}

// Runs of any length, with gaps between them in dst.
Choice choose_rows(Bytes *bytes, const via::SimdKernels &kernels) {
    Choice choice{};
    choice.kernel = bytes->flag() ? kernels.rows_streaming : kernels.rows;
    choice.run = bytes->between(1, 255) + (bytes->between(0, 7) == 0 ? 8 * bytes->byte() : 0);
    auto &[inner, outer] = choice.axes;
    inner = {bytes->between(1, 6), choice.run + choose_gap(bytes), bytes->between(-90, 90) * 8 + bytes->between(0, 9)};
    outer = {bytes->between(1, 4), inner.extent * inner.dst_step + choose_gap(bytes), bytes->between(-90, 90) * 3};
    return choice;
}

// Elements adjacent in dst along the inner axis, in src along the outer one.
Choice choose_transpose(Bytes *bytes, const via::SimdKernels &kernels) {
    const int32_t index = bytes->between(0, 4);
    Choice choice{};
    choice.kernel = kernels.transpose[index];
    const int64_t item = choice.run = int64_t{1} << index;
    auto &[inner, outer] = choice.axes;
    outer.extent = bytes->between(1, 140);
    inner.extent = bytes->between(1, 140);
    inner.dst_step = item;
    outer.src_step = item;
    outer.dst_step = choose_pitch(bytes, inner.extent * item);
    const int64_t step = choose_pitch(bytes, outer.extent * item);
    inner.src_step = bytes->flag() ? -step : step;
    return choice;
}

// Elements of up to 7 bytes whose neighbours in dst are near in src.
Choice choose_shuffle(Bytes *bytes, const via::SimdKernels &kernels) {
    Choice choice{};
    choice.run = bytes->between(1, 7);
    choice.kernel = kernels.shuffle != nullptr ? kernels.shuffle : via::element_kernel(choice.run);
    auto &[inner, outer] = choice.axes;
    inner = {bytes->between(1, 200), choice.run, bytes->between(-40, 40)};
    outer = {bytes->between(1, 20), inner.extent * choice.run + choose_gap(bytes), bytes->between(-90, 90)};
    return choice;
}

// The same the other way: their neighbours in src come near one another in dst.
Choice choose_spread(Bytes *bytes, const via::SimdKernels &kernels) {
    Choice choice{};
    choice.run = bytes->between(1, 7);
    choice.kernel = kernels.spread != nullptr ? kernels.spread : via::element_kernel(choice.run);
    auto &[inner, outer] = choice.axes;
    inner = {bytes->between(1, 200), choice.run + bytes->between(0, 40), choice.run};
    outer = {bytes->between(1, 20), inner.extent * inner.dst_step + choose_gap(bytes), inner.extent * choice.run};
    return choice;
}

Choice choose_elements(Bytes *bytes) {
    Choice choice{};
    choice.run = bytes->between(1, 70);
    choice.kernel = via::element_kernel(choice.run);
    auto &[inner, outer] = choice.axes;
    inner = {bytes->between(1, 40), choice.run + choose_gap(bytes), bytes->between(-90, 90)};
    outer = {bytes->between(1, 5), inner.extent * inner.dst_step + choose_gap(bytes), bytes->between(-90, 90)};
    return choice;
}

Choice choose_repeat(Bytes *bytes) {
    Choice choice{};
    choice.kernel = via::repeat_element;
    choice.run = bytes->between(1, 70);
    auto &[inner, outer] = choice.axes;
    inner = {bytes->between(1, 200), choice.run, 0};
    outer = {bytes->between(1, 4), inner.extent * choice.run + choose_gap(bytes), 0};
    return choice;
}

Choice choose(Bytes *bytes) {
    const via::SimdKernels &kernels = choose_level(bytes);
    switch (bytes->between(0, 8)) {
        case 0:
        case 1:
            return choose_rows(bytes, kernels);
        case 2:
        case 3:
        case 4:
            return choose_transpose(bytes, kernels);
        case 5:
            return choose_shuffle(bytes, kernels);
        case 6:
            return choose_spread(bytes, kernels);
        case 7:
            return choose_elements(bytes);
        default:
            return choose_repeat(bytes);
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Bytes bytes(data, size);
    const int32_t dst_shift = bytes.between(0, 127);
    const int32_t src_shift = bytes.between(0, 127);
    const int64_t ahead = 64 * bytes.byte();
    const Choice choice = choose(&bytes);
    const Span to = span_of(choice, &via::Axis::dst_step);
    const Span from = span_of(choice, &via::Axis::src_step);
    if (choice.kernel == nullptr || to.high - to.low > kMostBytes || from.high - from.low > kMostBytes) {
        return 0;
    }
    Block dst(to.low, to.high, dst_shift);
    Block expected(to.low, to.high, dst_shift);
    Block src(from.low, from.high, src_shift);
    copy_naively(choice, expected.start(), src.start());
    choice.kernel({dst.start(), src.start(), choice.run, choice.axes, 2, ahead});
    via::end_streaming();
    EXPECT(std::memcmp(dst.bytes(), expected.bytes(), dst.size()) == 0);
    return 0;
}
