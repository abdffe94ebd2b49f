// Copies and fills between any two layouts in one block of memory, by every route of the host's: each is refused if and
// only if elements share bytes, and does what a loop over the elements does, touching nothing else.
#include <algorithm>
#include <bitset>
#include <cstring>

#include "bytes.hpp"
#include "copy/choose_tiles.hpp"
#include "copy/copy.hpp"
#include "copy/plan.hpp"
#include "copy/run.hpp"

namespace {

constexpr int32_t kMostNdim = 5;
constexpr int64_t kMostBytes = 2048;
constexpr int64_t kBlockBytes = 10240;

struct Block {
    alignas(64) char bytes[kBlockBytes];
};

Block make_pattern() {
    Block block;
    for (int64_t i = 0; i < kBlockBytes; ++i) {
        block.bytes[i] = static_cast<char>(i * 31 + i / 251);
    }
    return block;
}

struct Shape {
    int32_t dtype;
    int64_t item;  // bytes of an element; 0 for packed ones
    int32_t ndim;
    int64_t extents[kMostNdim];
    int64_t size;
};

// Where in the block the elements are, in bytes; in elements from the start on for packed ones.
struct Side {
    int64_t start;
    int64_t steps[kMostNdim];
};

enum class CopyRoute { Copy, Alone, Streamed, Task, Explained, Fill, FillZero };

Shape choose_shape(Bytes *bytes) {
    constexpr int32_t kDtypes[] = {
        VIA_UINT8, VIA_INT16, VIA_FLOAT32, VIA_FLOAT64, VIA_COMPLEX128,   -3, -5, -6, -7, -12, -24, -32,
        -40,       -100,      VIA_INT4,    0x00010101,  VIA_FLOAT6_E2M3FN};
    Shape shape{};
    shape.dtype = bytes->pick(kDtypes);
    const int64_t bits = via_dtype_bits(shape.dtype);
    shape.item = bits % 8 == 0 ? bits / 8 : 0;
    shape.ndim = bytes->between(0, kMostNdim);
    shape.size = 1;
    for (int32_t i = 0; i < shape.ndim; ++i) {
        const int64_t room = kMostBytes / std::max<int64_t>(shape.size * std::max<int64_t>(shape.item, 1), 1);
        const int32_t wanted = bytes->byte();
        shape.extents[i] = std::min<int64_t>(wanted < 200 ? wanted % 12 : wanted - 190, std::max<int64_t>(room, 1));
        shape.size *= shape.extents[i];
    }
    return shape;
}

// Axes in any order, some backwards, some apart by gaps; of a source also standing still. Now and then any steps.
Side choose_side(Bytes *bytes, const Shape &shape, bool is_source) {
    Side side{};
    int64_t reach = std::max<int64_t>(shape.item, 1) + (bytes->between(0, 3) == 0 ? bytes->between(0, 9) : 0);
    uint32_t order = bytes->byte();
    int32_t left = shape.ndim;
    bool taken[kMostNdim] = {};
    while (left > 0) {
        int32_t axis = shape.ndim - 1;
        for (uint32_t skipped = order % static_cast<uint32_t>(left); taken[axis] || skipped-- > 0;) {
            axis--;
        }
        order /= static_cast<uint32_t>(left--);
        taken[axis] = true;
        const int32_t kind = bytes->byte();
        const bool still = is_source && kind >= 240;
        side.steps[axis] = still ? 0 : kind < 176 ? reach : kind < 224 ? -reach : kind - 232;
        reach = still ? reach : reach * std::max<int64_t>(shape.extents[axis], 1) + (kind % 4 == 1 ? kind / 4 % 8 : 0);
    }
    return side;
}

struct Span {
    int64_t low;
    int64_t high;
};

Span span_of(const Shape &shape, const Side &side) {
    Span span{0, std::max<int64_t>(shape.item, 1)};
    for (int32_t i = 0; i < shape.ndim; ++i) {
        const int64_t steps = (shape.extents[i] - 1) * side.steps[i];
        (steps < 0 ? span.low : span.high) += steps;
    }
    return span;
}

// Puts the elements somewhere in the block; false if they are too far apart for it.
bool place(Bytes *bytes, const Shape &shape, Side *side) {
    const Span span = shape.size > 0 ? span_of(shape, *side) : Span{0, 0};
    const int64_t room = kBlockBytes - (span.high - span.low);
    if (room < 0) {
        return false;
    }
    const int64_t wanted = bytes->byte() * (bytes->flag() ? 1 : 64);
    side->start = std::min(wanted, room) - span.low;
    return true;
}

// Calls visit with the place of each element on both sides.
template <class Visit>
void for_each_element(const Shape &shape, const Side &a, const Side &b, const Visit &visit) {
    int64_t index[kMostNdim] = {};
    int64_t at_a = a.start;
    int64_t at_b = b.start;
    for (int64_t left = shape.size; left > 0; --left) {
        visit(at_a, at_b);
        for (int32_t i = shape.ndim - 1; i >= 0; --i) {
            at_a += a.steps[i];
            at_b += b.steps[i];
            if (++index[i] < shape.extents[i]) {
                break;
            }
            at_a -= a.steps[i] * shape.extents[i];
            at_b -= b.steps[i] * shape.extents[i];
            index[i] = 0;
        }
    }
}

// Whether elements of dst share bytes with one another, or, if there is a source, with its elements. Byte by byte, as
// all loops here: under AddressSanitizer a call to the C library takes longer than the few bytes of an element.
bool shares_bytes(const Shape &shape, const Side &dst, const Side &src, bool has_source) {
    static Block marks;
    std::memset(marks.bytes, 0, sizeof marks.bytes);
    int shared = 0;
    for_each_element(shape, dst, dst, [&](int64_t at, int64_t) {
        for (int64_t i = at; i < at + shape.item; ++i) {
            shared |= marks.bytes[i];
            marks.bytes[i] = 1;
        }
    });
    for_each_element(shape, src, src, [&](int64_t at, int64_t) {
        for (int64_t i = at; has_source && i < at + shape.item; ++i) {
            shared |= marks.bytes[i];
        }
    });
    return shared != 0;
}

int bit_at(const char *bytes, int64_t bit) { return static_cast<unsigned char>(bytes[bit / 8]) >> (bit % 8) & 1; }

void set_bit(char *bytes, int64_t bit, int value) {
    const auto mask = static_cast<char>(1 << bit % 8);
    bytes[bit / 8] = static_cast<char>(value != 0 ? bytes[bit / 8] | mask : bytes[bit / 8] & ~mask);
}

// Of a packed element.
int64_t first_bit(const Side &side, int64_t at, int64_t bits) { return side.start * 8 + (at - side.start) * bits; }

void copy_naively(const Shape &shape, const Side &dst, const Side &src, Block *block) {
    const int64_t bits = via_dtype_bits(shape.dtype);
    for_each_element(shape, dst, src, [&](int64_t to, int64_t from) {
        for (int64_t i = 0; i < shape.item; ++i) {
            block->bytes[to + i] = block->bytes[from + i];
        }
        for (int64_t bit = 0; shape.item == 0 && bit < bits; ++bit) {
            set_bit(block->bytes, first_bit(dst, to, bits) + bit,
                    bit_at(block->bytes, first_bit(src, from, bits) + bit));
        }
    });
}

void fill_naively(const Shape &shape, const Side &dst, const char *element, Block *block) {
    const int64_t bits = via_dtype_bits(shape.dtype);
    for_each_element(shape, dst, dst, [&](int64_t to, int64_t) {
        for (int64_t bit = 0; bit < bits; ++bit) {
            const int64_t first = shape.item != 0 ? to * 8 : first_bit(dst, to, bits);
            set_bit(block->bytes, first + bit, bit_at(element, bit));
        }
    });
}

via_array *wrap(const Shape &shape, const Side &side, Block *block) {
    via_array *array = nullptr;
    EXPECT(via_wrap(block->bytes + side.start, shape.dtype, shape.ndim, shape.extents, side.steps, VIA_DEVICE_CPU, 0,
                    shape.item != 0 ? VIA_WRAP_BYTE_STRIDES : 0, nullptr, nullptr, &array) == VIA_OK);
    return array;
}

via_status copy_as_task(via_array *dst, via_array *src) {
    via_task *task = nullptr;
    const via_status status = via_copy_submit(dst, src, nullptr, &task);
    if (status == VIA_OK) {
        EXPECT(via_task_wait(task) == VIA_OK);
        via_task_release(task);
    }
    return status;
}

via_status explain_and_copy(via_array *dst, via_array *src) {
    char text[1024];
    int64_t length = 0;
    const via_status reported = via_copy_explain(dst, src, sizeof text, text, &length);
    EXPECT(reported != VIA_OK ||
           (length > 0 && static_cast<int64_t>(std::strlen(text)) == std::min<int64_t>(length, 1023)));
    const via_status status = via_copy(dst, src);
    EXPECT(reported == status);
    return status;
}

// As a copy of another size might be done.
via_status copy_by_plan(via_array *dst, via_array *src, CopyRoute way) {
    via::Plan plan;
    const via_status status = via::check_copy(dst, src);
    if (status != VIA_OK || via_array_size(dst) == 0) {
        return status;
    }
    EXPECT(via::prepare_loops(dst, src, &plan) == VIA_OK);
    if (plan.trailing_bits != 0 || plan.in_bits) {
        return via_copy(dst, src);
    }
    via::choose_tiles(&plan, 1, way == CopyRoute::Streamed);
    via::run_plan(plan);
    return VIA_OK;
}

via_status copy(via_array *dst, via_array *src, CopyRoute way) {
    switch (way) {
        case CopyRoute::Copy:
            return via_copy(dst, src);
        case CopyRoute::Task:
            return copy_as_task(dst, src);
        case CopyRoute::Explained:
            return explain_and_copy(dst, src);
        default:
            return copy_by_plan(dst, src, way);
    }
}

// Rarely a task: threads take longer than all else here.
CopyRoute choose_copy_route(Bytes *bytes) {
    const int32_t kind = bytes->byte();
    return kind == 255   ? CopyRoute::Task
           : kind >= 250 ? CopyRoute::Explained
           : kind >= 220 ? CopyRoute::Fill
           : kind >= 210 ? CopyRoute::FillZero
           : kind >= 140 ? CopyRoute::Streamed
           : kind >= 70  ? CopyRoute::Alone
                         : CopyRoute::Copy;
}

bool is_undecided() { return std::strstr(via_last_error(), "could not be ruled out") != nullptr; }

// Whether packed elements of dst share bits with one another, or with some of src.
bool shares_bits(const Shape &shape, const Side &dst, const Side &src, bool reads) {
    static std::bitset<kBlockBytes * 8> written;
    const int64_t bits = via_dtype_bits(shape.dtype);
    bool shared = false;
    written.reset();
    for_each_element(shape, dst, src, [&](int64_t to, int64_t) {
        for (int64_t bit = first_bit(dst, to, bits); bit < first_bit(dst, to, bits) + bits; ++bit) {
            shared = shared || written[static_cast<size_t>(bit)];
            written.set(static_cast<size_t>(bit));
        }
    });
    for_each_element(shape, dst, src, [&](int64_t, int64_t from) {
        for (int64_t bit = first_bit(src, from, bits); reads && bit < first_bit(src, from, bits) + bits; ++bit) {
            shared = shared || written[static_cast<size_t>(bit)];
        }
    });
    return shared;
}

// Packed elements may be refused for sharing bytes, and are for sharing bits; fills of parts of bytes are not done.
void expect_packed_status(via_status status, bool fills, bool shared) {
    EXPECT(status == VIA_ERROR_OVERLAP || (status == VIA_OK && !shared) || (status == VIA_ERROR_UNSUPPORTED && fills));
}

void expect_status(via_status status, bool shared) {
    EXPECT(status == (shared ? VIA_ERROR_OVERLAP : VIA_OK) || (status == VIA_ERROR_OVERLAP && is_undecided()));
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const via_stats_info before = count_alive();
    static const Block pattern = make_pattern();
    static Block block;
    static Block expected;
    Bytes bytes(data, size);
    const CopyRoute way = choose_copy_route(&bytes);
    const bool fills = way == CopyRoute::Fill || way == CopyRoute::FillZero;
    const Shape shape = choose_shape(&bytes);
    Side dst = choose_side(&bytes, shape, false);
    Side src = fills ? dst : choose_side(&bytes, shape, true);
    if (!place(&bytes, shape, &dst) || !place(&bytes, shape, &src)) {
        return 0;
    }
    block = pattern;
    expected = pattern;
    char element[128] = {};
    for (size_t i = 0; i < sizeof element && way == CopyRoute::Fill; ++i) {
        element[i] = static_cast<char>(bytes.byte());
    }
    const bool shared = shape.item != 0 && shares_bytes(shape, dst, src, !fills);
    via_array *to = wrap(shape, dst, &block);
    via_array *from = wrap(shape, src, &block);
    const via_status status =
        fills ? via_fill(to, way == CopyRoute::Fill ? element : nullptr, nullptr) : copy(to, from, way);
    if (shape.item != 0) {
        expect_status(status, shared);
    } else {
        expect_packed_status(status, fills, shape.size > 0 && shares_bits(shape, dst, src, !fills));
    }
    if (status == VIA_OK) {
        fills ? fill_naively(shape, dst, element, &expected) : copy_naively(shape, dst, src, &expected);
    }
    EXPECT(std::memcmp(expected.bytes, block.bytes, sizeof block.bytes) == 0);
    via_array_release(to);
    via_array_release(from);
    expect_alive(before);
    return 0;
}
