#include "cuda/launch/convert_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "core/base/rounding.hpp"
#include "core/layout/axes.hpp"
#include "cuda/launch/module.hpp"

namespace via::cuda {
namespace {

// ------------------------------------------------------------------------------------------------ tiles

using Params = kernels::ConvertParams;

// What a kernel's tiles hold: boxes of a power of two of elements.
struct TileSize {
    int32_t bits;  // two to the power of these elements
    int32_t dst_bytes;
    int32_t src_bytes;
};

constexpr int32_t kLaneBits = 5;      // threads of a warp
constexpr int32_t kMostBits = 12;     // of a tile
constexpr int32_t kLeastRunBits = 4;  // that a run keeps when its axis is cut to fit
constexpr int32_t kRunBytes = 128;    // of a run that uses whole lines of the cache

int32_t log2_of(int64_t power) { return std::countr_zero(static_cast<uint64_t>(power)); }

int32_t bits_to_cover(int64_t extent) {
    return log2_of(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))));
}

// Returns the indices along an axis, those over its end included, of tiles of 2^bits.
int64_t padded(int64_t extent, int32_t bits) { return ((extent - 1) >> bits << bits) + (int64_t{1} << bits); }

struct AxisOrder {
    int32_t count;
    int32_t axes[ElementLoops::kMostAxes];
};

// Sorts axes by steps, those that are repeated last, and equal ones by their numbers.
AxisOrder order_of(const ElementLoops &loops, int64_t Axis::*step) {
    AxisOrder order{loops.ndim, {}};
    std::iota(order.axes, order.axes + order.count, 0);
    const auto rank = [&](int32_t axis) {
        return std::pair(static_cast<uint64_t>(std::abs(loops.axes[axis].*step)) - 1, axis);
    };
    std::ranges::sort(order.axes, order.axes + order.count, {}, rank);
    return order;
}

// Shares the bits of a tile among the axes.
class Shape {
public:
    Shape(const ElementLoops &loops, int32_t bits) : loops_(loops), left_(bits) {}

    // Lets runs of one side have so many bits.
    void grow_run(const AxisOrder &order, int32_t want) {
        for (int32_t i = 0; i < order.count && want > 0; ++i) {
            const int32_t axis = order.axes[i];
            const int32_t cover = bits_to_cover(loops_.axes[axis].extent);
            grow(axis, fit(axis, std::min(cover, want)));
            want -= bits_[axis];
            if (bits_[axis] < cover) {
                return;
            }
        }
    }

    // Gives away what is left, where that takes few indices over the end of an axis.
    void grow_rest(const AxisOrder &order) {
        for (int32_t i = 0; i < order.count; ++i) {
            const int32_t axis = order.axes[i];
            const int64_t extent = loops_.axes[axis].extent;
            int32_t want = std::min(bits_to_cover(extent), bits_[axis] + left_);
            const int64_t least = padded(extent, bits_[axis]);
            while (want > bits_[axis] && padded(extent, want) > least + least / 8) {
                --want;
            }
            grow(axis, want);
        }
    }

    int32_t bits(int32_t axis) const { return bits_[axis]; }
    int32_t left() const { return left_; }

private:
    // Cuts an axis finer if that leaves out fewer indices.
    int32_t fit(int32_t axis, int32_t want) const {
        const int64_t extent = loops_.axes[axis].extent;
        int32_t best = want;
        for (int32_t bits = want - 1; bits >= std::max(want - 2, kLeastRunBits); --bits) {
            best = padded(extent, bits) * 9 <= padded(extent, best) * 8 ? bits : best;
        }
        return best;
    }

    void grow(int32_t axis, int32_t bits) {
        const int32_t more = std::clamp(bits - bits_[axis], 0, left_);
        bits_[axis] += more;
        left_ -= more;
    }

    const ElementLoops &loops_;
    int32_t left_;
    int32_t bits_[ElementLoops::kMostAxes] = {};
};

int32_t run_bits(int32_t bytes) { return std::clamp(log2_of(kRunBytes / bytes), kLaneBits, 6); }

Shape choose_shape(const ElementLoops &loops, const TileSize &size, const AxisOrder &dst, const AxisOrder &src) {
    Shape shape(loops, size.bits);
    shape.grow_run(dst, kLaneBits);
    shape.grow_run(src, kLaneBits);
    shape.grow_run(dst, run_bits(size.dst_bytes));
    shape.grow_run(src, run_bits(size.src_bytes));
    shape.grow_rest(dst);
    return shape;
}

// One bit of an element's number.
struct Bit {
    int32_t axis;  // -1: of what is left over, which no element has
    int32_t rank;  // two to the power of this indices

    bool operator==(const Bit &other) const = default;
};

// Numbers in the order of a side's axes.
void list_bits(const Shape &shape, const AxisOrder &order, Bit *bits) {
    int32_t count = 0;
    for (int32_t i = 0; i < order.count; ++i) {
        for (int32_t rank = 0; rank < shape.bits(order.axes[i]); ++rank) {
            bits[count++] = {order.axes[i], rank};
        }
    }
    for (int32_t rank = 0; rank < shape.left(); ++rank) {
        bits[count++] = {-1, rank};
    }
}

int32_t find_bit(const Bit *bits, const Bit &wanted) {
    return static_cast<int32_t>(std::find(bits, bits + kMostBits, wanted) - bits);
}

// Fields of indices, one for each axis of the tile, and a guard above each.
class Fields {
public:
    Fields(const ElementLoops &loops, const Shape &shape) {
        int32_t at = 0;
        const auto add = [&](int32_t bits, int64_t extent) {
            const int32_t begin = at;
            if (bits > 0) {
                last_ |= static_cast<uint32_t>(std::min(extent, int64_t{1} << bits) - 1) << at;
                guards_ |= uint32_t{1} << (at + bits);
                at += bits + 1;
            }
            return begin;
        };
        for (int32_t i = 0; i < loops.ndim; ++i) {
            begins_[i] = add(shape.bits(i), loops.axes[i].extent);
            is_filled_ = is_filled_ && loops.axes[i].extent >= int64_t{1} << shape.bits(i);
        }
        rest_ = add(shape.left(), 1);
        is_filled_ = is_filled_ && shape.left() == 0;
    }

    int32_t begin(int32_t axis) const { return axis < 0 ? rest_ : begins_[axis]; }
    uint32_t last() const { return last_; }
    uint32_t guards() const { return guards_; }
    bool is_filled() const { return is_filled_; }

private:
    int32_t begins_[ElementLoops::kMostAxes] = {};
    int32_t rest_ = 0;
    uint32_t last_ = 0;
    uint32_t guards_ = 0;
    bool is_filled_ = true;
};

// Places in shared memory: an element's number in the order of dst, with bits of it that the threads of a loading warp
// differ in also in the bits that choose a bank.
class Places {
public:
    Places(const Bit *dst, const Bit *src, int32_t dst_bytes) {
        const int32_t low = dst_bytes < 4 ? log2_of(4 / dst_bytes) : 0;
        const int32_t banks = dst_bytes < 8 ? kLaneBits : dst_bytes == 8 ? 4 : 3;
        int32_t at[kLaneBits];
        uint32_t taken = 0;
        for (int32_t i = 0; i < banks; ++i) {
            at[i] = find_bit(dst, src[i]);
            taken |= uint32_t{1} << at[i];
        }
        int32_t bank = low;
        for (int32_t i = 0; i < banks; ++i) {
            if (at[i] < low + banks) {
                continue;
            }
            while ((taken >> bank & 1) != 0) {
                ++bank;
            }
            also_[at[i]] = uint32_t{1} << bank++;
        }
    }

    uint32_t of_bit(int32_t number) const { return (uint32_t{1} << number) ^ also_[number]; }

private:
    uint32_t also_[kMostBits] = {};
};

void add_step(const Params::Step &step, Params::Step *sum) {
    sum->step += step.step;
    sum->index |= step.index;
    sum->place ^= step.place;
}

void set_walk(const Params::Step *bits, int32_t count, Params::Walk *walk) {
    std::copy_n(bits, Params::kThreadBits, walk->threads);
    for (int32_t number = 0; number < 1 << (count - Params::kThreadBits); ++number) {
        walk->elements[number] = {0, 0, 0};
        for (int32_t bit = 0; number >> bit != 0; ++bit) {
            if ((number >> bit & 1) != 0) {
                add_step(bits[Params::kThreadBits + bit], &walk->elements[number]);
            }
        }
    }
}

void plan_walk(const ElementLoops &loops, int64_t Axis::*step, const Bit *bits, int32_t count, const Bit *dst,
               const Fields &fields, const Places &places, Params::Walk *walk) {
    Params::Step steps[kMostBits];
    for (int32_t i = 0; i < count; ++i) {
        const Bit &bit = bits[i];
        steps[i].step = bit.axis < 0 ? 0 : (loops.axes[bit.axis].*step) * (int64_t{1} << bit.rank);
        steps[i].index = uint32_t{1} << (fields.begin(bit.axis) + bit.rank);
        steps[i].place = places.of_bit(find_bit(dst, bit));
    }
    set_walk(steps, count, walk);
}

// Sets where an element's number is found in its index.
void plan_number(const ElementLoops &loops, const Shape &shape, const Fields &fields, Params *params) {
    params->number_mask = 0;
    params->number_shift = 0;
    params->number_digit = -1;
    params->number_unit = 0;
    if (loops.numbered >= 0) {
        params->number_mask = (uint32_t{1} << shape.bits(loops.numbered)) - 1;
        params->number_shift = fields.begin(loops.numbered);
    }
}

uint64_t plan_digits(const ElementLoops &loops, const Shape &shape, const Fields &fields, Params *params) {
    uint64_t total = 1;
    params->digit_count = 0;
    for (int32_t i = 0; i < loops.ndim; ++i) {
        const Axis &axis = loops.axes[i];
        const int32_t bits = shape.bits(i);
        const int64_t tiles = padded(axis.extent, bits) >> bits;
        if (tiles == 1) {
            continue;
        }
        total *= static_cast<uint64_t>(tiles);
        Params::Digit &digit = params->digits[params->digit_count++];
        if (i == loops.numbered) {
            params->number_digit = params->digit_count - 1;
            params->number_unit = uint32_t{1} << bits;
        }
        digit.tiles = kernels::make_divisor<uint32_t>(tiles);
        digit.missing = static_cast<uint32_t>(padded(axis.extent, bits) - axis.extent) << fields.begin(i);
        digit.dst_step = axis.dst_step * (int64_t{1} << bits);
        digit.src_step = axis.src_step * (int64_t{1} << bits);
    }
    return total;
}

// Plans the tiles, which a launch numbers from 0. Returns how many there are.
uint64_t plan_tiles(const ElementLoops &loops, const TileSize &size, Params *params) {
    const AxisOrder dst = order_of(loops, &Axis::dst_step);
    const AxisOrder src = order_of(loops, &Axis::src_step);
    const Shape shape = choose_shape(loops, size, dst, src);
    const Fields fields(loops, shape);
    Bit dst_bits[kMostBits];
    Bit src_bits[kMostBits];
    list_bits(shape, dst, dst_bits);
    list_bits(shape, src, src_bits);
    const Places places(dst_bits, src_bits, size.dst_bytes);
    params->last = fields.last();
    params->guards = fields.guards();
    params->is_filled = fields.is_filled();
    plan_walk(loops, &Axis::src_step, src_bits, size.bits, dst_bits, fields, places, &params->loading);
    plan_walk(loops, &Axis::dst_step, dst_bits, size.bits, dst_bits, fields, places, &params->storing);
    plan_number(loops, shape, fields, params);
    return plan_digits(loops, shape, fields, params);
}

// ------------------------------------------------------------------------------------------------ kernels

struct Sized {
    int32_t src_bytes;
    int32_t dst_bytes;
    kernels::Id kernel;
    uint32_t group;
    uint32_t per_block;
    bool is_pair;  // of these types alone, at multiples of their sizes
    bool takes_affine;
    ScalarKind dst;
    ScalarKind src;
};

using kernels::AnyPair;
using kernels::Convert;
using kernels::OnePair;

template <class Kernel>
constexpr Sized sized(kernels::Id kernel) {
    using Pair = typename Kernel::Pair;
    return {Kernel::kSrcBytes, Kernel::kDstBytes,  kernel,         Kernel::kGroup, Kernel::kPerBlock,
            Pair::is_aligned,  Pair::takes_affine, Pair::kDstKind, Pair::kSrcKind};
}

constexpr Sized kSized[] = {
#define VIA_SIZED(name, ...) sized<__VA_ARGS__>(kernels::Id::name),
    VIA_CONVERT_KERNELS(VIA_SIZED)
#undef VIA_SIZED
};

bool is_narrow(ScalarKind kind) {
    static constexpr bool kNarrow[] = {
#define VIA_NARROW(name, bytes, wide) kIsNarrow<ScalarKind::name>,
        VIA_SCALAR_KINDS(VIA_NARROW)
#undef VIA_NARROW
    };
    return kNarrow[static_cast<int32_t>(kind)];
}

// Returns the bytes, at most those of an element, that every element begins at a multiple of.
uint8_t word_of(const void *start, const ElementLoops &loops, int64_t Axis::*step, int32_t item) {
    return static_cast<uint8_t>(alignment_in(reinterpret_cast<uint64_t>(start) | static_cast<uint64_t>(item) |
                                             bits_of_steps(loops.axes, loops.ndim, step)));
}

// Kernels of one pair come first. GCC 14 ends with an internal error if the kinds are compared next to one another.
const Sized &choose_kernel(const ElementConversion &elements, int32_t dst_word, int32_t src_word) {
    return *std::find_if(std::begin(kSized), std::end(kSized), [&](const Sized &each) {
        const bool serves = !each.is_pair || (each.dst == elements.dst && dst_word == each.dst_bytes &&
                                              each.src == elements.src && src_word == each.src_bytes);
        return serves && (elements.affine == nullptr || each.takes_affine) &&
               each.src_bytes == bytes_of(elements.src) && each.dst_bytes == bytes_of(elements.dst);
    });
}

// Returns whether all elements are adjacent in both, in groups that begin at multiples of their size.
bool is_adjacent(const ElementLoops &loops, const Sized &kernel) {
    const Axis &axis = loops.axes[0];
    const auto starts_at = [&](const void *start, int32_t item) {
        return reinterpret_cast<uint64_t>(start) % (kernel.group * static_cast<uint64_t>(item)) == 0;
    };
    return loops.ndim == 1 && loops.numbered < 0 && axis.dst_step == kernel.dst_bytes &&
           axis.src_step == kernel.src_bytes && starts_at(loops.dst, kernel.dst_bytes) &&
           starts_at(loops.src, kernel.src_bytes);
}

// Returns how many scales and offsets the loops use.
int64_t count_numbers(const ElementLoops &loops, const AffineStep *affine) {
    return affine == nullptr ? 0 : loops.numbered < 0 ? 1 : loops.axes[loops.numbered].extent;
}

void set_numbers(const ElementLoops &loops, const AffineStep *affine, kernels::ConvertParams *params) {
    if (const int64_t count = count_numbers(loops, affine);
        count > 0 && count <= kernels::ConvertParams::kMostNumbers) {
        std::copy_n(affine->scales + loops.number, count, params->scales);
        std::copy_n(affine->offsets + loops.number, count, params->offsets);
    }
}

}  // namespace

void plan_convert_kernel(const ElementLoops &given, const ElementConversion &elements, ConvertKernelPlan *out_plan) {
    const ElementLoops loops = merged(given, elements);
    kernels::ConvertParams &params = out_plan->params;
    params.dst = reinterpret_cast<uint64_t>(loops.dst);
    params.src = reinterpret_cast<uint64_t>(loops.src);
    static_cast<ElementConversion &>(params.elements) = elements;
    params.elements.wide = wide_of(elements.src);
    params.elements.is_narrow = is_narrow(elements.dst);
    params.elements.is_affine = elements.affine != nullptr;
    params.dst_word = word_of(loops.dst, loops, &Axis::dst_step, bytes_of(elements.dst));
    params.src_word = word_of(loops.src, loops, &Axis::src_step, bytes_of(elements.src));
    const Sized &kernel = choose_kernel(elements, params.dst_word, params.src_word);
    out_plan->kernel = kernel.kernel;
    params.is_adjacent = is_adjacent(loops, kernel);
    set_numbers(loops, elements.affine, &params);
    const int32_t bits = std::countr_zero(kernel.per_block);
    out_plan->blocks = plan_tiles(loops, {bits, kernel.dst_bytes, kernel.src_bytes}, &params);
}

namespace {

// Launches parts of the axis that an affine step goes along, each with as many numbers as a launch takes.
Status launch_by_numbers(const ElementLoops &loops, const ElementConversion &elements, const ResolvedStream &stream) {
    const int64_t extent = loops.axes[loops.numbered].extent;
    for (int64_t at = 0; at < extent; at += kernels::ConvertParams::kMostNumbers) {
        ElementLoops part = loops;
        move_along(loops.numbered, at, &part);
        part.axes[loops.numbered].extent = std::min<int64_t>(extent - at, kernels::ConvertParams::kMostNumbers);
        part.count = loops.count / extent * part.axes[loops.numbered].extent;
        VIA_TRY(launch_convert(part, elements, stream));
    }
    return VIA_OK;
}

}  // namespace

Status launch_convert(const ElementLoops &loops, const ElementConversion &elements, const ResolvedStream &stream) {
    if (count_numbers(loops, elements.affine) > kernels::ConvertParams::kMostNumbers) {
        return launch_by_numbers(loops, elements, stream);
    }
    ConvertKernelPlan plan;
    plan_convert_kernel(loops, elements, &plan);
    if (plan.blocks <= kMostBlocks) {
        return launch(plan.kernel, static_cast<uint32_t>(plan.blocks), &plan.params, stream);
    }
    Status status = VIA_OK;
    const auto launch_box = [&](const ElementLoops &box) {
        status = status == VIA_OK ? launch_convert(box, elements, stream) : status;
    };
    const int64_t half = loops.count / 2;
    for_each_box(loops, 0, half, launch_box);
    for_each_box(loops, half, loops.count - half, launch_box);
    return status;
}

}  // namespace via::cuda
