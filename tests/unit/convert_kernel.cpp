// The kernels of conversions, compiled for the host: they make the bits that the host makes, of elements anywhere, and
// read and write nothing else.
#include "cuda/launch/convert_kernel.hpp"

#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include "copy/convert/convert_host.hpp"
#include "core/layout/axes.hpp"
#include "kernel_bounds.hpp"

namespace {

using via::ElementConversion;
using via::ElementLoops;
using via::ScalarKind;
using via::cuda::ConvertKernelPlan;
using via::kernels::Id;

constexpr auto kFirst = static_cast<size_t>(Id::via_convert_f64_f32);
constexpr auto kLast = static_cast<size_t>(Id::via_convert_16_1);
std::array<int, kLast - kFirst + 1> launches;
int affine_steps;

template <class Kernel>
void run(const ConvertKernelPlan &plan, bool backwards) {
    typename Kernel::Shared shared;
    for (uint64_t block = 0; block < plan.blocks; ++block) {
        Kernel::run(plan.params, shared, static_cast<uint32_t>(block), {Kernel::kThreads, backwards});
    }
}

void run_plan(const ConvertKernelPlan &plan, bool backwards) {
    ++launches[static_cast<size_t>(plan.kernel) - kFirst];
    switch (plan.kernel) {
        using via::kernels::AnyPair;
        using via::kernels::Convert;
        using via::kernels::OnePair;
#define VIA_RUN(name, ...) \
    case Id::name:         \
        return run<__VA_ARGS__>(plan, backwards);
        VIA_CONVERT_KERNELS(VIA_RUN)
#undef VIA_RUN
        default:
            assert_true(false);  // no kernel of conversions
    }
}

// Floats at whose sides conversions round differently: limits of narrower floats, halves, and what is no number.
constexpr float kEdges[] = {448,
                            464,
                            464.0001F,
                            480,
                            -464,
                            57344,
                            61439.996F,
                            61440,
                            -61440,
                            65504,
                            65520,
                            3.3895314e38F,
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::denorm_min(),
                            5.9604645e-8F,
                            0.0009765625F,
                            -0.0F};

// Elements of which some are zero, and some are all ones but for the sign. Of every 64 bytes the last are such a float.
struct Memory {
    explicit Memory(int64_t nbytes, Random *random) : bytes(static_cast<size_t>(nbytes) + 64) {
        for (char &byte : bytes) {
            byte = static_cast<char>(random->between(0, 9) < 2 ? 0 : random->between(0, 255));
        }
        for (size_t i = 64; i <= bytes.size(); i += 64) {
            const float edge = kEdges[static_cast<size_t>(random->between(0, std::size(kEdges) - 1))];
            std::memcpy(&bytes[i - sizeof edge], &edge, sizeof edge);
        }
        start = bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64);
    }
    Bounds bounds() const {
        const auto low = reinterpret_cast<uint64_t>(bytes.data());
        return {low, low + bytes.size()};
    }
    std::vector<char> bytes;
    char *start;
};

void check_loops(const ElementLoops &loops, const ElementConversion &elements, const Memory &src, Memory *dst,
                 ConvertKernelPlan *plan) {
    std::vector<char> before = dst->bytes;
    convert_elements(loops, elements);
    const std::vector<char> wanted = dst->bytes;
    std::copy(before.begin(), before.end(), dst->bytes.begin());

    plan_convert_kernel(loops, elements, plan);
    reachable = {{src.bounds(), dst->bounds()}};
    run_plan(*plan, loops.count % 2 == 0);
    assert_true(dst->bytes == wanted);
}

// A layout of two axes, which may be dense, and may begin at any byte.
struct Lead {
    int64_t dst;
    int64_t src;
    int64_t gap;  // elements from one to the next; 1: adjacent
};

void check(const ElementConversion &elements, const Lead &lead, Random *random) {
    const int64_t dst_bytes = bytes_of(elements.dst);
    const int64_t src_bytes = bytes_of(elements.src);
    const int64_t rows = lead.gap == 1 ? 1 : 7;
    const int64_t columns = random->between(1, 700);
    const int64_t count = rows * columns;
    const Memory src(count * lead.gap * src_bytes + 64, random);
    Memory dst(count * lead.gap * dst_bytes + 64, random);
    ElementLoops loops{};
    loops.dst = dst.start + lead.dst;
    loops.src = src.start + lead.src;
    loops.count = count;
    loops.ndim = lead.gap == 1 ? 1 : 2;
    loops.axes[0] = {columns, lead.gap * dst_bytes, (lead.gap == 1 ? 1 : rows) * src_bytes};
    loops.axes[1] = {rows, columns * lead.gap * dst_bytes, src_bytes};

    ConvertKernelPlan plan;
    check_loops(loops, elements, src, &dst, &plan);
    assert_true(lead.gap != 1 || lead.dst != 0 || lead.src != 0 || plan.params.is_adjacent);
}

// An array of axes in any order, with gaps; src may go backwards, and may be repeated. The steps are of elements.
struct Side {
    int64_t steps[6];
    int64_t lowest = 0;  // below the first element
    int64_t span = 1;
};

Side make_side(const std::vector<int64_t> &extents, bool is_src, Random *random) {
    std::vector<size_t> order(extents.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
        std::swap(order[i], order[static_cast<size_t>(random->between(0, static_cast<int64_t>(i)))]);
    }
    Side side;
    int64_t step = random->between(0, 3) == 0 ? 2 : 1;
    for (const size_t axis : order) {
        const bool is_repeated = is_src && random->between(0, 7) == 0;
        const bool is_backward = is_src && random->between(0, 7) == 0;
        side.steps[axis] = is_repeated ? 0 : is_backward ? -step : step;
        side.lowest += is_backward && !is_repeated ? (extents[axis] - 1) * step : 0;
        step = is_repeated ? step : step * extents[axis] + (random->between(0, 2) == 0 ? random->between(1, 5) : 0);
    }
    side.span = step;
    return side;
}

bool takes_affine(const ElementConversion &elements) {
    return elements.src < ScalarKind::Complex32 && elements.dst >= ScalarKind::Float16 &&
           elements.dst < ScalarKind::Complex32;
}

// A scale and an offset for all elements, or for each index of an axis, some of which do not fit a launch.
void check_affine(const ElementLoops &loops, ElementConversion elements, const Memory &src, Memory *dst,
                  Random *random) {
    if (!takes_affine(elements)) {
        return;
    }
    ElementLoops numbered = loops;
    numbered.numbered = static_cast<int32_t>(random->between(-1, loops.ndim - 1));
    if (numbered.numbered >= 0 && loops.axes[numbered.numbered].extent > 128) {
        numbered.numbered = -1;
    }
    numbered.number = numbered.numbered >= 0 ? random->between(0, 3) : 0;
    float scales[131];
    float offsets[131];
    for (int32_t i = 0; i < 131; ++i) {
        scales[i] = static_cast<float>(random->between(-1000, 1000)) / 255;
        offsets[i] = static_cast<float>(random->between(-1000, 1000)) / 7;
    }
    const via::AffineStep affine{scales, offsets};
    elements.affine = &affine;
    ConvertKernelPlan plan;
    check_loops(numbered, elements, src, dst, &plan);
    ++affine_steps;
}

// The order of dst, as the normal form has it.
void check_any_layout(const ElementConversion &elements, Random *random) {
    std::vector<int64_t> extents;
    int64_t count = 1;
    for (int64_t i = random->between(1, 5); i > 0; --i) {
        const int64_t all[] = {2, 3, 5, 16, 33, 64, 130, 257};
        const int64_t extent = all[static_cast<size_t>(random->between(0, std::size(all) - 1))];
        extents.push_back(count * extent > 60000 ? 2 : extent);
        count *= extents.back();
    }
    const Side to = make_side(extents, false, random);
    const Side from = make_side(extents, true, random);
    const int64_t dst_bytes = bytes_of(elements.dst);
    const int64_t src_bytes = bytes_of(elements.src);
    const Memory src(from.span * src_bytes + 64, random);
    Memory dst(to.span * dst_bytes + 64, random);
    const int64_t lead = random->between(0, 3) == 0 ? 1 : 0;
    ElementLoops loops{};
    loops.dst = dst.start + lead * random->between(0, 7);
    loops.src = src.start + from.lowest * src_bytes + lead * random->between(0, 7);
    loops.count = count;
    for (size_t i = 0; i < extents.size(); ++i) {
        via::insert_axis({extents[i], to.steps[i] * dst_bytes, from.steps[i] * src_bytes}, loops.axes, &loops.ndim);
    }
    ConvertKernelPlan plan;
    check_loops(loops, elements, src, &dst, &plan);
    check_affine(loops, elements, src, &dst, random);
}

bool is_conversion(ScalarKind dst, ScalarKind src) {
    const bool from_complex = src >= ScalarKind::Complex32;
    return dst != src && (!from_complex || dst == ScalarKind::Bool);
}

uint8_t part_bytes(ScalarKind kind) {
    return static_cast<uint8_t>(kind >= ScalarKind::Complex32 ? bytes_of(kind) / 2 : bytes_of(kind));
}

void kernels_make_the_bits_of_the_host(void **) {
    Random random(27);
    for (int32_t pair = 0; pair < via::kScalarKinds * via::kScalarKinds; ++pair) {
        const auto to = static_cast<ScalarKind>(pair / via::kScalarKinds);
        const auto from = static_cast<ScalarKind>(pair % via::kScalarKinds);
        if (!is_conversion(to, from)) {
            continue;
        }
        const int64_t to_step = bytes_of(to);
        const int64_t from_step = bytes_of(from);
        for (const Lead &lead : {Lead{0, 0, 1}, Lead{to_step, 0, 1}, Lead{0, from_step, 3}, Lead{1, 3, 1}}) {
            check({to, from, 0, pair % 2 == 0}, lead, &random);
            check({to, from, part_bytes(from), pair % 2 != 0}, lead, &random);
        }
    }
}

void elements_that_stay_are_copied_or_swapped(void **) {
    Random random(28);
    for (const int32_t bytes : {1, 2, 4, 8}) {
        const ScalarKind kind = via::raw_kind(bytes);
        for (const Lead &lead : {Lead{0, 0, 1}, Lead{bytes, 0, 1}, Lead{0, 0, 2}}) {
            check({kind, kind, 0, false}, lead, &random);
            check({kind, kind, static_cast<uint8_t>(bytes), false}, lead, &random);
        }
    }
}

void tiles_hold_any_layout(void **) {
    Random random(29);
    constexpr ScalarKind kKinds[] = {ScalarKind::UInt8,   ScalarKind::Int16,        ScalarKind::BFloat16,
                                     ScalarKind::Float32, ScalarKind::Float8E4M3FN, ScalarKind::Float64,
                                     ScalarKind::Int64,   ScalarKind::Float16};
    const int32_t turns = QUICK_OR(120, 600);
    for (int32_t turn = 0; turn < turns; ++turn) {
        const ScalarKind to = kKinds[static_cast<size_t>(random.between(0, std::size(kKinds) - 1))];
        const ScalarKind from = kKinds[static_cast<size_t>(random.between(0, std::size(kKinds) - 1))];
        if (to != from) {
            check_any_layout({to, from, turn % 5 == 0 ? part_bytes(from) : uint8_t{0}, turn % 2 == 0}, &random);
        }
    }
    assert_true(affine_steps > turns / 3);
}

// What packing passes do: they leave the affine step to another pass.
void numbers_that_nothing_uses_keep_no_axis_apart(void **) {
    Random random(30);
    const Memory src(6144 + 64, &random);
    Memory dst(3072 + 64, &random);
    ElementLoops loops{};
    loops.dst = dst.start;
    loops.src = src.start;
    loops.count = 1536;
    loops.ndim = 2;
    loops.axes[0] = {512, 2, 4};
    loops.axes[1] = {3, 1024, 2048};
    loops.numbered = 1;
    loops.number = 5;
    ConvertKernelPlan plan;
    check_loops(loops, {ScalarKind::Float16, ScalarKind::Float32, 0, false}, src, &dst, &plan);
    assert_true(plan.params.is_adjacent);
}

void every_kernel_of_conversions_has_been_run(void **) {
    for (const int count : launches) {
        assert_true(count > 0);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(kernels_make_the_bits_of_the_host),
        cmocka_unit_test(elements_that_stay_are_copied_or_swapped),
        cmocka_unit_test(tiles_hold_any_layout),
        cmocka_unit_test(numbers_that_nothing_uses_keep_no_axis_apart),
        cmocka_unit_test(every_kernel_of_conversions_has_been_run),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
