// Conversions between any two layouts, by whole calls: each element becomes what it becomes alone, by the loops that
// are compiled for every processor, and nothing else is touched.
#include <algorithm>
#include <cstring>

#include "bytes.hpp"
#include "copy/convert/convert_kernels.hpp"
#include "core/layout/dtype.hpp"

namespace {

using via::ScalarKind;

constexpr int32_t kMostNdim = 4;
constexpr int64_t kMostElements = 4096;
constexpr int64_t kBlockBytes = 65536;
constexpr int64_t kMostNumbers = 300;

struct Block {
    alignas(64) char bytes[kBlockBytes];
};

struct Shape {
    int32_t ndim;
    int64_t extents[kMostNdim];
    int64_t size;
};

// In bytes from the beginning of a block.
struct Side {
    int64_t start;
    int64_t steps[kMostNdim];
};

constexpr int32_t kSources[] = {VIA_BOOL,     VIA_INT8,    VIA_INT16,   VIA_INT32,         VIA_INT64,
                                VIA_UINT8,    VIA_UINT16,  VIA_UINT32,  VIA_UINT64,        VIA_FLOAT16,
                                VIA_BFLOAT16, VIA_FLOAT32, VIA_FLOAT64, VIA_FLOAT8_E4M3FN, VIA_FLOAT8_E5M2};

Shape choose_shape(Bytes *bytes) {
    Shape shape{};
    shape.ndim = bytes->between(0, kMostNdim);
    shape.size = 1;
    for (int32_t i = 0; i < shape.ndim; ++i) {
        const int32_t wanted = bytes->byte();
        const int64_t extent = wanted < 128 ? wanted % 9 : wanted < 240 ? wanted - 110 : 300;
        shape.extents[i] = std::min(extent, std::max<int64_t>(kMostElements / std::max<int64_t>(shape.size, 1), 1));
        shape.size *= shape.extents[i];
    }
    return shape;
}

// Axes in any order, some backwards, with gaps of any bytes between them; of a source also standing still. Returns
// false if they do not fit a block.
bool choose_side(Bytes *bytes, const Shape &shape, int64_t item, bool is_source, Side *side) {
    int64_t reach = item + (bytes->between(0, 3) == 0 ? bytes->between(0, 9) : 0);
    int64_t low = 0;
    bool taken[kMostNdim] = {};
    *side = {};
    for (int32_t left = shape.ndim; left > 0; --left) {
        int32_t axis = bytes->between(0, shape.ndim - 1);
        while (taken[axis]) {
            axis = (axis + 1) % shape.ndim;
        }
        taken[axis] = true;
        const int32_t kind = bytes->byte();
        const bool still = is_source && kind >= 240;
        side->steps[axis] = still ? 0 : kind % 4 == 3 ? -reach : reach;
        low += kind % 4 == 3 && !still ? (std::max<int64_t>(shape.extents[axis], 1) - 1) * reach : 0;
        reach = still ? reach : reach * std::max<int64_t>(shape.extents[axis], 1) + (kind % 8 == 1 ? kind / 8 : 0);
    }
    side->start = low + bytes->between(0, 80);
    return side->start + reach <= kBlockBytes;
}

// Calls visit with the place of each element on both sides, and its index along an axis.
template <class Visit>
void for_each_element(const Shape &shape, const Side &a, const Side &b, int32_t axis, const Visit &visit) {
    int64_t index[kMostNdim] = {};
    for (int64_t left = shape.size; left > 0; --left) {
        int64_t at_a = a.start;
        int64_t at_b = b.start;
        for (int32_t i = 0; i < shape.ndim; ++i) {
            at_a += index[i] * a.steps[i];
            at_b += index[i] * b.steps[i];
        }
        visit(at_a, at_b, shape.ndim > 0 ? index[axis] : 0);
        for (int32_t i = shape.ndim - 1; i >= 0 && ++index[i] == shape.extents[i]; --i) {
            index[i] = 0;
        }
    }
}

via_array *wrap(const Shape &shape, const Side &side, int32_t dtype, Block *block) {
    via_array *array = nullptr;
    EXPECT(via_wrap(block->bytes + side.start, dtype, shape.ndim, shape.extents, side.steps, VIA_DEVICE_CPU, 0,
                    VIA_WRAP_BYTE_STRIDES, nullptr, nullptr, &array) == VIA_OK);
    return array;
}

// One element, in two steps, or in four with a scale and an offset.
class Element {
public:
    Element(ScalarKind dst, ScalarKind src, const via_convert_options &options)
        : dst_(dst), src_(src), options_(options) {}

    void convert(void *dst, const void *src, int64_t index) const {
        const via::ConvertKernels &kernels = via::base_conversions;
        char given[8];
        char wide[8];
        float number[1];
        std::memcpy(given, src, static_cast<size_t>(via::bytes_of(src_)));
        if (options_.byte_order == VIA_BYTE_ORDER_BIG) {
            std::reverse(given, given + via::bytes_of(src_));
        }
        kernels.decode[static_cast<int32_t>(src_)](wide, given, 1);
        auto kind = via::wide_of(src_);
        if (options_.scale != nullptr) {
            encode(kind, ScalarKind::Float32, number, wide, false);
            const int64_t at = options_.scale_count > 1 ? index : 0;
            kernels.affine(wide, number, 1, static_cast<const float *>(options_.scale) + at,
                           static_cast<const float *>(options_.offset) + at, false);
            kind = via::WideKind::Float32;
        }
        encode(kind, dst_, dst, wide, options_.overflow == VIA_OVERFLOW_SATURATE);
    }

private:
    static void encode(via::WideKind from, ScalarKind to, void *dst, const void *wide, bool saturates) {
        via::base_conversions.encode[static_cast<int32_t>(from)][static_cast<int32_t>(to)](dst, wide, 1, saturates);
    }

    const ScalarKind dst_;
    const ScalarKind src_;
    const via_convert_options &options_;
};

void fill_randomly(Bytes *bytes, Block *block) {
    uint64_t state = static_cast<uint64_t>(bytes->byte()) + 1;
    for (char &byte : block->bytes) {
        state = state * 6364136223846793005 + 1442695040888963407;
        byte = static_cast<char>(state >> 56);
    }
}

struct Numbers {
    float scales[kMostNumbers];
    float offsets[kMostNumbers];
};

Numbers make_numbers() {
    Numbers numbers;
    for (int32_t i = 0; i < kMostNumbers; ++i) {
        numbers.scales[i] = static_cast<float>(i - 100) / 255;
        numbers.offsets[i] = static_cast<float>(i % 7) - 2.5F;
    }
    return numbers;
}

via_convert_options choose_options(Bytes *bytes, const Shape &shape, bool takes_affine) {
    static Numbers numbers = make_numbers();
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    const int32_t kind = bytes->byte();
    options.casting = VIA_CASTING_UNSAFE;
    options.overflow = kind % 2 != 0 ? VIA_OVERFLOW_SATURATE : VIA_OVERFLOW_INFINITY;
    options.byte_order = kind / 2 % 4 == 0 ? VIA_BYTE_ORDER_BIG : VIA_BYTE_ORDER_NATIVE;
    if (takes_affine && kind >= 128) {
        options.scale = numbers.scales;
        options.offset = numbers.offsets;
        options.scale_axis = shape.ndim > 0 ? bytes->between(0, shape.ndim - 1) : 0;
        options.scale_count = shape.ndim > 0 && kind >= 160 ? shape.extents[options.scale_axis] : 1;
    }
    return options;
}

void expect_explained(via_array *dst, via_array *src, const via_convert_options &options) {
    char text[4096];
    int64_t length = 0;
    EXPECT(via_convert_explain(dst, src, &options, sizeof text, text, &length) == VIA_OK);
    EXPECT(length > 0 && static_cast<int64_t>(std::strlen(text)) == std::min<int64_t>(length, 4095));
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const via_stats_info before = count_alive();
    static Block source;
    static Block target;
    static Block expected;
    Bytes bytes(data, size);
    const int32_t from = bytes.pick(kSources);
    const int32_t to = bytes.pick(kSources);
    const Shape shape = choose_shape(&bytes);
    ScalarKind src_kind;
    ScalarKind dst_kind;
    EXPECT(via::find_scalar_kind(from, &src_kind) && via::find_scalar_kind(to, &dst_kind));
    Side dst;
    Side src;
    if (from == to || !choose_side(&bytes, shape, via::bytes_of(dst_kind), false, &dst) ||
        !choose_side(&bytes, shape, via::bytes_of(src_kind), true, &src)) {
        return 0;
    }
    const via_convert_options options = choose_options(&bytes, shape, via::is_float_kind(dst_kind));
    fill_randomly(&bytes, &source);
    std::memset(target.bytes, 0x5A, sizeof target.bytes);
    expected = target;
    via_array *const dst_array = wrap(shape, dst, to, &target);
    via_array *const src_array = wrap(shape, src, from, &source);
    const Element element(dst_kind, src_kind, options);
    for_each_element(shape, dst, src, options.scale_axis, [&](int64_t at, int64_t of, int64_t index) {
        element.convert(expected.bytes + at, source.bytes + of, index);
    });
    expect_explained(dst_array, src_array, options);
    EXPECT(via_convert(dst_array, src_array, &options, nullptr) == VIA_OK);
    EXPECT(std::memcmp(expected.bytes, target.bytes, sizeof target.bytes) == 0);
    via_array_release(dst_array);
    via_array_release(src_array);
    expect_alive(before);
    return 0;
}
