// The kernels of each instruction set that this processor has, given any piece that they may be given: they do what a
// loop over the elements does, and neither read nor write a byte beside it.
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

Span span_of(const via::Piece &piece, int64_t via::Axis::*step) {
    Span span{0, piece.run};
    for (const via::Axis *axis : {&piece.inner, &piece.outer}) {
        const int64_t reach = (axis->extent - 1) * axis->*step;
        (reach < 0 ? span.low : span.high) += reach;
    }
    return span;
}

void copy_naively(const via::Piece &piece, char *dst, const char *src) {
    for (int64_t i = 0; i < piece.outer.extent; ++i) {
        for (int64_t j = 0; j < piece.inner.extent; ++j) {
            std::memcpy(dst + i * piece.outer.dst_step + j * piece.inner.dst_step,
                        src + i * piece.outer.src_step + j * piece.inner.src_step, static_cast<size_t>(piece.run));
        }
    }
}

struct Choice {
    via::Kernel kernel;
    via::Piece piece;
    bool splits;  // may be done in two pieces along the inner axis
};

const via::SimdKernels &choose_level(Bytes *bytes) {
    const via::SimdKernels *kernels = via::simd_kernels_at(bytes->between(0, via::kSimdLevels - 1));
    return kernels != nullptr ? *kernels : *via::simd_kernels_at(0);
}

int64_t choose_gap(Bytes *bytes) { return bytes->flag() ? bytes->between(0, 70) : 0; }

// Runs of any length, apart in dst.
Choice choose_rows(Bytes *bytes, const via::SimdKernels &kernels) {
    via::Piece piece{};
    piece.run = bytes->between(1, 255) + (bytes->between(0, 7) == 0 ? 8 * bytes->byte() : 0);
    piece.inner = {bytes->between(1, 6), piece.run + choose_gap(bytes),
                   bytes->between(-90, 90) * 8 + bytes->between(0, 9)};
    piece.outer = {bytes->between(1, 4), piece.inner.extent * piece.inner.dst_step + choose_gap(bytes),
                   bytes->between(-90, 90) * 3};
    return {bytes->flag() ? kernels.rows_streaming : kernels.rows, piece, false};
}

// Elements adjacent in dst along the inner axis, in src along the outer one.
Choice choose_transpose(Bytes *bytes, const via::SimdKernels &kernels) {
    const int32_t index = bytes->between(0, 4);
    const int64_t item = int64_t{1} << index;
    const bool streaming = bytes->flag();
    via::Piece piece{};
    piece.run = item;
    piece.outer.extent = bytes->between(1, 140);
    piece.inner.extent = std::min<int64_t>(bytes->between(1, 140), via::kTransposeRowBytes / item);
    piece.inner.dst_step = item;
    piece.outer.src_step = item;
    piece.outer.dst_step = piece.inner.extent * item + choose_gap(bytes);
    const int64_t step = piece.outer.extent * item + choose_gap(bytes);
    piece.inner.src_step = !streaming && bytes->flag() ? -step : step;
    return {streaming ? kernels.transpose_streaming[index] : kernels.transpose[index], piece, streaming};
}

// Elements adjacent in dst along the inner axis, a few apart in src.
Choice choose_gather(Bytes *bytes, const via::SimdKernels &kernels) {
    constexpr int64_t kApart[] = {-1, 2, 3, 4};
    const int32_t index = bytes->between(0, 2);
    const int64_t item = int64_t{1} << index;
    via::Piece piece{};
    piece.run = item;
    piece.inner = {bytes->between(1, 200), item, bytes->pick(kApart) * item};
    piece.outer = {bytes->between(1, 4), piece.inner.extent * item + choose_gap(bytes), bytes->between(-90, 90) * 7};
    return {kernels.gather[index], piece, false};
}

Choice choose_elements(Bytes *bytes) {
    via::Piece piece{};
    piece.run = bytes->between(1, 70);
    piece.inner = {bytes->between(1, 40), piece.run + choose_gap(bytes), bytes->between(-90, 90)};
    piece.outer = {bytes->between(1, 5), piece.inner.extent * piece.inner.dst_step + choose_gap(bytes),
                   bytes->between(-90, 90)};
    return {via::element_kernel(piece.run), piece, false};
}

Choice choose_repeat(Bytes *bytes) {
    via::Piece piece{};
    piece.run = bytes->between(1, 70);
    piece.inner = {bytes->between(1, 200), piece.run, 0};
    piece.outer = {bytes->between(1, 4), piece.inner.extent * piece.run + choose_gap(bytes), 0};
    return {via::repeat_element, piece, false};
}

Choice choose(Bytes *bytes) {
    const via::SimdKernels &kernels = choose_level(bytes);
    switch (bytes->between(0, 7)) {
        case 0:
        case 1:
            return choose_rows(bytes, kernels);
        case 2:
        case 3:
        case 4:
            return choose_transpose(bytes, kernels);
        case 5:
            return choose_gather(bytes, kernels);
        case 6:
            return choose_elements(bytes);
        default:
            return choose_repeat(bytes);
    }
}

// One part of the inner axis, which knows how much of it lies on either side.
via::Piece part_of(const via::Piece &whole, int64_t first, int64_t count) {
    via::Piece part = whole;
    part.dst += first * whole.inner.dst_step;
    part.src += first * whole.inner.src_step;
    part.inner.extent = count;
    part.before = first;
    part.after = whole.inner.extent - first - count;
    return part;
}

void run(const Choice &choice, const via::Piece &piece, int64_t cut) {
    const int64_t first = choice.splits ? cut % piece.inner.extent : 0;
    if (first > 0) {
        choice.kernel(part_of(piece, 0, first));
    }
    choice.kernel(part_of(piece, first, piece.inner.extent - first));
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Bytes bytes(data, size);
    const int32_t dst_shift = bytes.between(0, 127);
    const int32_t src_shift = bytes.between(0, 127);
    const int32_t cut = bytes.byte();
    const Choice choice = choose(&bytes);
    const Span to = span_of(choice.piece, &via::Axis::dst_step);
    const Span from = span_of(choice.piece, &via::Axis::src_step);
    if (choice.kernel == nullptr || to.high - to.low > kMostBytes || from.high - from.low > kMostBytes) {
        return 0;
    }
    Block dst(to.low, to.high, dst_shift);
    Block expected(to.low, to.high, dst_shift);
    Block src(from.low, from.high, src_shift);
    via::Piece piece = choice.piece;
    piece.dst = dst.start();
    piece.src = src.start();
    copy_naively(piece, expected.start(), src.start());
    run(choice, piece, cut);
    EXPECT(std::memcmp(dst.bytes(), expected.bytes(), dst.size()) == 0);
    return 0;
}
